"""Where journals lie unless another place is given."""

from __future__ import annotations

import os
import pwd
from typing import Final

_OF_ROOT: Final = "/var/lib/segmend"
_BELOW_HOME: Final = ".local/state/segmend"


def default_state_dir() -> str:
    """`$XDG_STATE_HOME/segmend`; for root /var/lib/segmend, for others below the home directory."""
    home = os.environ.get("XDG_STATE_HOME")
    if home and home.startswith("/"):
        return f"{home}/segmend"
    return _OF_ROOT if os.geteuid() == 0 else os.path.expanduser(f"~/{_BELOW_HOME}")


def usual_state_dir(uid: int) -> str | None:
    """Where those of a user lie, unless he has told otherwise; None for one without a home."""
    if uid == 0:
        return _OF_ROOT
    try:
        home = pwd.getpwuid(uid).pw_dir
    except (KeyError, OverflowError):
        return None
    return f"{home}/{_BELOW_HOME}" if home.startswith("/") else None
