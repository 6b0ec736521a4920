"""Log dirs of a fleet that could not be looked into; for the sub-commands that go on without them."""

from __future__ import annotations

from collections.abc import Iterable

from segmend.cli.output import note
from segmend.errors import ExitCode
from segmend.fleet.listing import Place


def note_unread(places: Iterable[Place], so: str) -> int:
    """Name each, with what follows from it, and return the exit code of that."""
    code = 0
    for place in places:
        if place.unread:
            note(f"{place.path}: {place.unread}; {so}")
            code = ExitCode.OPERATIONAL
    return code
