"""What keeps this process out of a path, and what its user may do about that."""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Iterator
from typing import Final

_LETTERS: Final = ((os.R_OK, "r"), (os.W_OK, "w"), (os.X_OK, "x"))


def way_in(path: str, wanted: int) -> str | None:
    """What gives this user the `wanted` rights of a path; None if he seems to have them, or it is gone."""
    for place in (*_above(path), path):
        needed = wanted | os.X_OK if os.path.isdir(place) else wanted
        asked = needed if place == path else os.X_OK
        if os.path.lexists(place) and not os.access(place, asked, effective_ids=True):
            return _way(place, needed)
    return None


def _above(path: str) -> Iterator[str]:
    """The directories on the way, from the root down."""
    at = path.find("/", 1)
    while at > 0:
        yield path[:at]
        at = path.find("/", at + 1)


def _way(path: str, rights: int) -> str:
    try:
        owner = os.stat(path).st_uid
    except OSError:
        return f"{posixpath.dirname(path)} is closed to this user"
    if os.geteuid() not in (0, owner):
        return f"{path} is user {owner}'s: run this as that user, or as root"
    return f"chmod u+{''.join(letter for bit, letter in _LETTERS if rights & bit)} {shlex.quote(path)}"
