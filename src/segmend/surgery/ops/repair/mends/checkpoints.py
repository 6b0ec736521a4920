"""The four offset checkpoints of a log dir: what can be read is kept, what the logs prove is added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from segmend.findings import Finding
from segmend.formats.offset_checkpoint import (
    CLEANER_OFFSET,
    FILE_NAMES,
    HIGH_WATERMARK,
    LOG_START_OFFSET,
    RECOVERY_POINT,
)
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.tail import whole_end_offset
from segmend.surgery.derive.log_starts import is_lost, told_by_epochs
from segmend.surgery.ops.repair.scene import Scene
from segmend.surgery.recipes import Rebuild

CODES = frozenset(("C01", "C02", "C05", "C06", "C07", "C08", "C10", "C11", "C11b"))

_VALUES = {"C08": LOG_START_OFFSET, "C11b": CLEANER_OFFSET}
"""Findings about one line; the others are about a file."""

_NOTES = {
    RECOVERY_POINT: "a partition without a recovery point is scanned as a whole by an unclean start",
    HIGH_WATERMARK: "a partition without a high watermark waits for its followers before it serves its end",
    LOG_START_OFFSET: "a partition without a log start offset shows again what DeleteRecords deleted",
    CLEANER_OFFSET: "a partition without a cleaner offset is compacted from its start again",
}

Key = tuple[str, int]


def jobs(finding: Finding, scene: Scene) -> Iterator[Rebuild]:
    name = _VALUES.get(finding.code) or finding.file or ""
    if name in FILE_NAMES:
        yield from rewritten(scene.log_dir(finding), name, scene)


def rewritten(log_dir: LogDir, name: str, scene: Scene) -> Iterator[Rebuild]:
    """One of the four files with what it says, as far as that can be true, and what follows from the logs."""
    rows = _in_order(log_dir, name, _offsets(log_dir, name, scene))
    yield Rebuild(
        log_dir=log_dir, partition="", file=name, recipe="offset-checkpoint",
        arguments={"entries": [[topic, partition, offset] for (topic, partition), offset in rows]},
        note=f"{log_dir.path}: {_NOTES[name]}",
    )  # fmt: skip


def _in_order(log_dir: LogDir, name: str, offsets: Mapping[Key, int]) -> list[tuple[Key, int]]:
    """In the order of the lines that can be read; new ones behind them, by name."""
    order = {key: number for number, key in enumerate(log_dir.checkpointed(name))}
    return sorted(offsets.items(), key=lambda row: (order.get(row[0], len(order)), row[0]))


def _offsets(log_dir: LogDir, name: str, scene: Scene) -> dict[Key, int]:
    """What the file is to say: readable lines that can be true, and what follows from the logs."""
    said = {key: offset for key, offset in log_dir.checkpointed(name).items() if offset >= 0}
    for partition in log_dir.partitions:
        if partition.kind != "current":
            continue
        key = partition.topic, partition.partition
        offset = _offset(partition, name, said.get(key), scene)
        if offset is None:
            said.pop(key, None)
        else:
            said[key] = offset
    return said


def _offset(partition: PartitionDir, name: str, said: int | None, scene: Scene) -> int | None:
    """One line; None for none, which every broker takes for the safe value."""
    if name in _VALUES.values():
        return _within(partition, name, said)
    if said is not None:
        return said
    if not partition.log_dir.is_clean:
        # What was flushed, or replicated, before a crash is not known: the start finds out.
        return None
    if name == RECOVERY_POINT:
        return whole_end_offset(partition)
    return whole_end_offset(partition) if name == HIGH_WATERMARK and _is_alone(partition, scene) else None


def _within(partition: PartitionDir, name: str, said: int | None) -> int | None:
    """A log start or cleaner offset that the log reaches."""
    if said is not None and said <= whole_end_offset(partition):
        return said
    if name == CLEANER_OFFSET:
        return None if said is None else _log_start(partition)
    return told_by_epochs(partition) if said is not None or is_lost(partition) else None


def _log_start(partition: PartitionDir) -> int:
    """Where a broker resets a cleaner offset beyond the end to (`LogCleanerManager.cleanableOffsets`).

    The line stays: that the cleaner has been at work here, offsets may be missing, is known from it alone.
    """
    first = min((segment.base_offset for segment in partition.segments), default=0)
    start = partition.log_dir.log_start_offsets.get(partition.key, 0)
    return max(first, start) if start <= whole_end_offset(partition) else first


def _is_alone(partition: PartitionDir, scene: Scene) -> bool:
    topic_id = scene.image.ids.get(partition.topic)
    return topic_id is not None and len(scene.image.replicas.get((topic_id, partition.partition), ())) == 1
