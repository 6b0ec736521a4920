"""Whether a graft's source is fit to lead: the leader epochs of both replicas, and whom the metadata names.

Who leads in an epoch has all that was written in it, and in every one before (KIP-101 makes its followers
so). A source that ends in an older epoch than the replica knows nothing of what that replica's leader
wrote since; nor has one led that lacks records of the newest epoch that both have.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Final

from segmend.errors import SegmendError
from segmend.formats.batch import RecordBatch
from segmend.loading.epochs import EpochCache
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.derive.file_bytes import leader_epochs_of
from segmend.surgery.replicas.comparison import BatchTally, Comparison
from segmend.surgery.replicas.leader import Leader
from segmend.surgery.replicas.registered import Heard
from segmend.wording import plural

_NONE: Final = -1
"""The epoch of batches before 0.11, and of a log without any."""


def newest_epoch(partition: PartitionDir | None, read: BatchTally) -> int:
    """The leader epoch in which a replica ends: of its last batch, or begun behind it.

    A file that is damaged, or that goes back, tells nothing.
    """
    entries = [] if partition is None else [epoch for _, epoch in _lines(partition)]
    return max(read.last_epoch, entries[-1] if entries else _NONE)


def _lines(partition: PartitionDir) -> list[tuple[int, int]]:
    loaded = partition.leader_epochs
    entries = () if loaded.value is None or loaded.damages else loaded.value.entries
    return [(each.start_offset, each.epoch) for each in entries]


def forgotten(target: PartitionDir | None, source: PartitionDir, heard: Heard | None) -> bool:
    """Whether a replica has leader epochs that its topic has not come to, and the source forgot when it led.

    They are of a topic of this name before (`plan restamp`). No follower comes into sync by them: its leader
    cannot tell where such an epoch ended (seen on 3.9.2 and 4.3.1).
    """
    mine, theirs = ([] if each is None else _lines(each) for each in (target, source))
    if not mine or not theirs or heard is None:
        return False
    return max(theirs[-1][1], heard.registered.epoch) < mine[-1][1]


def lines_up_to(source: PartitionDir, end: int) -> bytes:
    """The source's leader epochs as they are, that of its leader behind its last batch included."""
    return leader_epochs_of(EpochCache((epoch, start) for start, epoch in _lines(source) if start <= end))


def compacted_by(leader: Leader) -> Callable[[RecordBatch], bool]:
    """Tells of a batch that the leader lacks whether it had it: of its epoch, below what it compacted."""
    lines, dirty = _lines(leader.partition), leader.first_dirty_offset
    starts = [start for start, _ in lines]

    def is_compacted(batch: RecordBatch) -> bool:
        at = bisect_right(starts, batch.base_offset) - 1
        return batch.last_offset < dirty and at >= 0 and lines[at][1] == batch.partition_leader_epoch

    return is_compacted


def refuse_stale(
    target: str, source: str, ends: tuple[int, int], comparison: Comparison, heard: Heard | None
) -> None:
    """Raise `SegmendError` for a source that may not take from the replica what only that one has.

    `ends` are the newest epochs of target and source. A replica that has nothing of its own loses nothing by
    any source: it fetches the rest from whoever leads.
    """
    mine, theirs = ends
    lost, follows = comparison.lost, None if heard is None else _follower(theirs, heard)
    if lost.batches and (why := _stale(target, mine, theirs, comparison) or follows):
        raise SegmendError(
            f"{source}: {why}; {plural(lost.records, 'record')} (offsets {lost.first} to {lost.last}) of "
            f"{target} would go, and nothing shows that the topic has lost them: graft from the replica that "
            "led last, or make one history of both: segmend plan merge"
        )


def _stale(target: str, mine: int, theirs: int, comparison: Comparison) -> str | None:
    if theirs < mine:
        return f"ends in leader epoch {theirs}, and {target} goes on in epoch {mine}"
    if mine == theirs != _NONE and mine in comparison.lost.epochs:
        return f"has not all of leader epoch {mine}, as the leader of it has"
    return None


def _follower(epoch: int, heard: Heard) -> str | None:
    """A source that is neither the leader nor in sync by the metadata, unless it led later than that says."""
    told, node = heard.registered, heard.source
    if node is None or node in (told.leader, *told.isr, *told.elr) or epoch > told.epoch:
        return None
    who = f"node {told.leader}" if told.leader >= 0 else "nobody"
    able = ", ".join(map(str, told.isr or told.elr)) or "none"
    return f"is of node {node}, and by the metadata {who} leads in epoch {told.epoch} (in sync: {able})"
