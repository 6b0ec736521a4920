"""A directory where another one is to go: an empty one may be set aside, one with records never."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.errors import SegmendError
from segmend.logdir.tree import LogDir, PartitionDir


def replaced(
    dirs: Sequence[LogDir], key: tuple[str, int], source: str, *, allowed: bool
) -> Iterator[PartitionDir]:
    """Directories, in any log dir, that a broker takes for the partition `key`, which comes out of `source`.

    Raises `SegmendError` for one that has records, and for all unless they may go (`--replace`).
    """
    for other in (p for log_dir in dirs for p in log_dir.current if p.key == key):
        if not is_empty(other):
            raise SegmendError(
                f"{other.path}: is there, and has records; a broker refuses two of {other.name} (to compare: "
                f"segmend show {other.path} {source})"
            )
        if not allowed:
            raise SegmendError(f"{other.path}: is there, and is empty: --replace sets it aside")
        yield other


def is_empty(partition: PartitionDir) -> bool:
    """Whether nothing in it could be a record."""
    layout = partition.layout
    return partition.size == 0 and not (layout.shadowed or layout.swap or layout.cleaned)
