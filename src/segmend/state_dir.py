"""Where journals lie unless another place is given."""

from __future__ import annotations

import os


def default_state_dir() -> str:
    """`$XDG_STATE_HOME/segmend`; for root /var/lib/segmend, for others below the home directory."""
    home = os.environ.get("XDG_STATE_HOME")
    if home and home.startswith("/"):
        return f"{home}/segmend"
    return "/var/lib/segmend" if os.geteuid() == 0 else os.path.expanduser("~/.local/state/segmend")
