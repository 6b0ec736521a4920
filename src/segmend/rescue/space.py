"""Room for what is written, looked for before anything is."""

from __future__ import annotations

from collections.abc import Sequence

from segmend.errors import SegmendError
from segmend.logdir import disk
from segmend.rescue.request import Due, Request


def require_space(request: Request, due: Sequence[Due]) -> None:
    """Raise `SegmendError` where even the largest replica of each partition finds no room."""
    if request.offsets or request.since or request.until:
        return
    needed = sum(each.size for each in due)
    available = disk.space(request.out).available
    if needed > available:
        raise SegmendError(
            f"{request.out}: {available:,} bytes are free there, and about {needed:,} are needed; make room, "
            "or choose with --topic or --offsets"
        )
