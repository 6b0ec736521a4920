"""LogSegment: one segment of a partition by the broker's own rules, and the files it has."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from segmend.formats.names import file_prefix
from segmend.logdir.files import FileEntry

if TYPE_CHECKING:
    from segmend.logdir.partition_dir import PartitionDir


class LogSegment:
    """A segment as the broker loads it: the base offset, and the files with the padded name.

    `log` is None when only an unpadded file stands for this base (`688.log`): the broker
    then creates an empty segment and never reads that file (`shadowed` names it).
    """

    __slots__ = ("base_offset", "partition")

    def __init__(self, partition: PartitionDir, base_offset: int) -> None:
        self.partition = partition
        self.base_offset = base_offset

    def _file(self, suffix: str) -> FileEntry | None:
        return self.partition.file(f"{file_prefix(self.base_offset)}{suffix}")

    @property
    def name(self) -> str:
        """The file name of the log, whether it is there or not."""
        return f"{file_prefix(self.base_offset)}.log"

    @property
    def log(self) -> FileEntry | None:
        return self._file(".log")

    @property
    def index(self) -> FileEntry | None:
        return self._file(".index")

    @property
    def timeindex(self) -> FileEntry | None:
        return self._file(".timeindex")

    @property
    def txnindex(self) -> FileEntry | None:
        """The index of aborted transactions (`TransactionIndex`); its absence is normal."""
        return self._file(".txnindex")

    @property
    def files(self) -> list[FileEntry]:
        """The files that are there, the log first."""
        return [f for f in (self.log, self.index, self.timeindex, self.txnindex) if f is not None]

    @property
    def is_active(self) -> bool:
        """Whether the broker appends here: the segment with the highest base offset."""
        return self.base_offset == self.partition.base_offsets[-1]

    @property
    def next_base_offset(self) -> int | None:
        bases = self.partition.base_offsets
        at = bisect_left(bases, self.base_offset) + 1
        return bases[at] if at < len(bases) else None

    def __repr__(self) -> str:
        return f"LogSegment({self.partition.path}/{self.name})"
