"""Where journals lie unless another place is given."""

from __future__ import annotations

import os
import pwd
import shlex
from typing import Final

_OF_ROOT: Final = "/var/lib/segmend"
_BELOW_HOME: Final = ".local/state/segmend"


def default_state_dir() -> str:
    """`$XDG_STATE_HOME/segmend`; for root /var/lib/segmend, for others below the home directory."""
    home = os.environ.get("XDG_STATE_HOME")
    if home and home.startswith("/"):
        return f"{home}/segmend"
    return _OF_ROOT if os.geteuid() == 0 else os.path.expanduser(f"~/{_BELOW_HOME}")


def state_option(path: str) -> str:
    """What makes a command look there, to be put behind its words: nothing for the usual place."""
    if os.path.realpath(path) == os.path.realpath(default_state_dir()):
        return ""
    return f" --state-dir {shlex.quote(path)}"


def usual_state_dir(uid: int) -> str | None:
    """Where those of a user lie, unless he has told otherwise; None for one without a home."""
    if uid == 0:
        return _OF_ROOT
    try:
        home = pwd.getpwuid(uid).pw_dir
    except (KeyError, OverflowError):
        return None
    return f"{home}/{_BELOW_HOME}" if home.startswith("/") else None
