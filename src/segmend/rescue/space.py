"""Room for what is written, looked for before anything is."""

from __future__ import annotations

from collections.abc import Sequence

from segmend.errors import SegmendError
from segmend.logdir import disk
from segmend.rescue.request import Due, Request
from segmend.surgery.writing.atomic import TEMPORARY


def require_space(request: Request, due: Sequence[Due]) -> None:
    """Raise `SegmendError` where even the largest replica of each partition finds no room."""
    if request.offsets or request.since or request.until:
        return
    needed = sum(each.size for each in due)
    available = disk.space(request.out).available + _begun(request.out)
    if needed > available:
        raise SegmendError(
            f"{request.out}: {available:,} bytes are free there, and about {needed:,} or more are needed; "
            "make room, or choose with --topic or --offsets"
        )


def _begun(out: str) -> int:
    """Bytes of what a run that was stopped left: they are kept, or make room."""
    return sum(_sizes(f"{out}/{name}") for name in disk.names(out) if name.endswith(TEMPORARY))


def _sizes(path: str) -> int:
    if disk.path_type(path) == "dir":
        return sum(_sizes(f"{path}/{name}") for name in disk.names(path))
    return disk.file_stat(path).size
