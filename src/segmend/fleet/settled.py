"""The files of a partition once it was read: each is asked for its status once, whatever is told of it."""

from __future__ import annotations

from segmend.formats.names import SEGMENT_SUFFIXES, file_prefix
from segmend.logdir.file_system import FOLDERS
from segmend.logdir.files import FileEntry
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir


class Settled:
    """Entries of their own: what was asked of others before the reading does not count."""

    def __init__(self, partition: PartitionDir) -> None:
        types = partition.entries.items()
        self.files = {n: partition.entry(n) for n, type in types if type not in FOLDERS}

    def of(self, segment: LogSegment) -> list[FileEntry | None]:
        stem = file_prefix(segment.base_offset)
        return [self.files.get(stem + suffix) for suffix in SEGMENT_SUFFIXES]
