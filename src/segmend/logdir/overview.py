"""What one line says of a partition, a segment or a log dir: plain values for tables and JSON.

Made from names, `stat`, the checkpoints and the ends of the first and last segments; the
records between are not read. What cannot be read is None, with the flag `unreadable`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from segmend.formats.names import RENAMED_KINDS, DirKind
from segmend.frozen import frozen
from segmend.logdir.file_system import FILES, Space, or_none
from segmend.logdir.log_dir import LogDir
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.tail import Tail, first_timestamp, last_timestamp, tail

__all__ = [
    "DirOverview",
    "PartitionOverview",
    "SegmentOverview",
    "Space",
    "dir_overview",
    "log_end_offset",
    "partition_overview",
    "segment_overview",
]


@frozen
class PartitionOverview:
    """One partition directory. Sizes in bytes, times in ms (-1: none), None: not known.

    `size` counts the logs as brokers do, `allocated` all blocks of all files.
    `log_start_offset` and `log_end_offset` are what a broker would begin with; the high
    watermark, recovery point and first dirty offset are the lines of the checkpoints.
    """

    dir: str
    name: str
    topic: str
    partition: int
    kind: DirKind
    topic_id: str | None
    segments: int
    size: int
    allocated: int
    log_start_offset: int | None
    log_end_offset: int | None
    high_watermark: int | None
    recovery_point: int | None
    first_dirty_offset: int | None
    leader_epoch: int | None
    oldest_timestamp: int
    newest_timestamp: int
    flags: tuple[str, ...]


@frozen
class SegmentOverview:
    """One segment, from its names, sizes and ends."""

    base_offset: int
    next_offset: int | None
    size: int | None
    index_size: int | None
    timeindex_size: int | None
    txnindex_size: int | None
    oldest_timestamp: int
    newest_timestamp: int
    modified: int | None
    flags: tuple[str, ...]


@frozen
class DirOverview:
    """One log dir: whose it is, how it was left, and the space under it; `foreign_files` have their sizes."""

    dir: str
    node_id: int | None
    cluster_id: str | None
    directory_id: str | None
    clean_shutdown: bool
    broker_running: bool | None
    partitions: int
    foreign: tuple[str, ...]
    not_found: tuple[str, ...]
    foreign_files: Mapping[str, int]
    space: Space | None
    device: int | None


def dir_overview(log_dir: LogDir) -> DirOverview:
    """Identity, marker, lock and space; never raises."""
    meta = log_dir.meta_properties.value
    status = or_none(log_dir.files.file_stat, log_dir.path)
    return DirOverview(
        dir=log_dir.path,
        node_id=log_dir.node_id,
        cluster_id=meta.cluster_id if meta else None,
        directory_id=log_dir.directory_id,
        clean_shutdown=log_dir.is_clean,
        broker_running=log_dir.broker_running(),
        partitions=len(log_dir.partitions),
        foreign=tuple(log_dir.foreign),
        not_found=tuple(log_dir.not_found),
        foreign_files={name: _file_size(log_dir, name) for name in log_dir.foreign_files},
        space=or_none(log_dir.space),
        device=status.device if status else None,
    )


def _file_size(log_dir: LogDir, name: str) -> int:
    entry = log_dir.entry(name)
    status = None if entry is None else or_none(entry.stat)
    return status.size if status else 0


def partition_overview(partition: PartitionDir) -> PartitionOverview:
    """One partition; never raises."""
    log_dir, key = partition.log_dir, partition.key
    size, allocated = _sizes(partition)
    end = _end(partition)
    epochs = partition.leader_epochs.value
    metadata = partition.partition_metadata.value
    start = _log_start_offset(partition)
    checkpointed = partition.kind in ("current", "cluster-metadata")
    high_watermark = log_dir.high_watermarks.get(key) if checkpointed else None
    return PartitionOverview(
        dir=log_dir.path,
        name=partition.name,
        topic=partition.topic,
        partition=partition.partition,
        kind=partition.kind,
        topic_id=metadata.topic_id if metadata else None,
        segments=len(partition.base_offsets),
        size=size,
        allocated=allocated,
        log_start_offset=start,
        log_end_offset=end.next_offset if end else None,
        high_watermark=high_watermark,
        recovery_point=log_dir.recovery_points.get(key) if checkpointed else None,
        first_dirty_offset=log_dir.cleaner_offsets.get(key) if checkpointed else None,
        leader_epoch=max((e.epoch for e in epochs.entries), default=None) if epochs else None,
        oldest_timestamp=_oldest(partition.segments),
        newest_timestamp=_newest(partition.segments, end),
        flags=tuple(_flags(partition, end, start, high_watermark)),
    )


def segment_overview(segment: LogSegment) -> SegmentOverview:
    """One segment; never raises."""
    log = segment.log
    end = or_none(tail, segment)
    status = or_none(log.stat) if log else None
    flags = []
    if segment.is_active:
        flags.append("active")
    if log is None:
        flags.append("shadowed")
    elif status is None or end is None:
        flags.append("unreadable")
    if end is not None and end.unread_bytes:
        flags.append("tail?")
    indexes = (segment.index, segment.timeindex, segment.txnindex)
    sizes = [or_none(index.files.file_size, index.path) if index else None for index in indexes]
    flags += [f"no-{name}" for name, size in zip(("index", "timeindex"), sizes, strict=False) if size is None]
    return SegmentOverview(
        base_offset=segment.base_offset,
        next_offset=end.next_offset if end else None,
        size=status.size if status else None,
        index_size=sizes[0],
        timeindex_size=sizes[1],
        txnindex_size=sizes[2],
        oldest_timestamp=_oldest([segment]),
        newest_timestamp=end.max_timestamp if end else -1,
        modified=status.mtime_ns // 1_000_000 if status else None,
        flags=tuple(flags),
    )


def log_end_offset(partition: PartitionDir) -> int | None:
    """The log end offset a broker would begin with; None if the last segment is unreadable."""
    end = _end(partition)
    return end.next_offset if end else None


def _end(partition: PartitionDir) -> Tail | None:
    if not partition.segments:
        return None
    return or_none(tail, partition.segments[-1])


def _log_start_offset(partition: PartitionDir) -> int | None:
    """The larger of the checkpointed log start and the first base offset (`LogLoader`)."""
    checkpointed = partition.log_dir.log_start_offsets.get(partition.key, -1)
    if not partition.base_offsets:
        return checkpointed if checkpointed >= 0 else None
    return max(checkpointed, partition.base_offsets[0])


def _sizes(partition: PartitionDir) -> tuple[int, int]:
    logs = set(partition.layout.logs.values())
    files, path, size, allocated = partition.log_dir.files, partition.path, 0, 0
    for name, type in partition.entries.items():
        if type in FILES:
            both = or_none(files.size_and_allocated, f"{path}/{name}")
            if both is not None:
                allocated += both[1]
                size += both[0] if name in logs else 0
    return size, allocated


def _oldest(segments: list[LogSegment]) -> int:
    """The timestamp of the first record of the first segment that has one."""
    for segment in segments:
        log = segment.log
        time = or_none(first_timestamp, log) if log else None
        if time is not None and time != -1:
            return time
    return -1


def _newest(segments: list[LogSegment], end: Tail | None) -> int:
    """The newest timestamp of the last segment; of the one before while the last is empty."""
    newest = end.max_timestamp if end else -1
    for segment in reversed(segments[:-1]):
        if newest != -1:
            break
        newest = last_timestamp(segment.timeindex)
    return newest


def _flags(
    partition: PartitionDir, end: Tail | None, start: int | None, high_watermark: int | None
) -> Iterator[str]:
    if partition.kind in RENAMED_KINDS:
        yield partition.kind
    if partition.unreadable is not None or (end is None and partition.segments):
        yield "unreadable"
    if partition.is_link:
        yield "link"
    if end is not None:
        yield from _end_flags(end, start, high_watermark)
    layout = partition.layout
    for flag, names in (
        ("unparsable", layout.unparsable),
        ("shadowed", layout.shadowed),
        ("orphans", layout.orphans),
        ("swap", layout.swap),
        ("cleaned", layout.cleaned),
        ("deleted", layout.deleted),
    ):
        if names:
            yield flag
    loaded = (partition.leader_epochs, partition.partition_metadata, partition.quorum_state)
    if any(file.damages or file.unreadable for file in loaded):
        yield "damaged"


def _end_flags(end: Tail, start: int | None, high_watermark: int | None) -> Iterator[str]:
    if end.next_offset == start:
        yield "empty"
    if start is not None and end.next_offset < start:
        yield "LEO<start"
    if high_watermark is not None and high_watermark != end.next_offset:
        yield "HW<LEO" if high_watermark < end.next_offset else "HW>LEO"
    if end.unread_bytes:
        yield "tail?"
