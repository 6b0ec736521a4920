"""What readers do not get any more once a plan is reversed: it had brought, or mended, these batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from segmend.logdir.partition_dir import PartitionDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.counted import Counted, Tell
from segmend.surgery.plan import Loss
from segmend.surgery.planning.view import planned
from segmend.surgery.replicas.comparison import BatchTally
from segmend.surgery.replicas.replica_log import ReplicaLog, SoundBatch
from segmend.surgery.step import Step
from segmend.surgery.steps.move_dir import MoveDir


def losses(broker: BrokerDirs, steps: Sequence[Step], tell: Tell) -> Iterator[Loss]:
    """Of each partition whose logs change; both its logs are read, as `tell` is told. Raises `Unreadable`."""
    changed = {step.paths[0].rpartition("/")[0] for step in steps if step.paths[0].endswith(".log")}
    came = {step.target: step.source for step in steps if isinstance(step, MoveDir)}
    if not changed:
        return
    after = {each.path: each for each in _partitions(planned(broker, steps))}
    now = {each.path: each for each in _partitions(broker)}
    pairs = [(old, after.get(path)) for path in sorted(changed) if (old := now.get(came.get(path, path)))]
    told = Counted(sum(each.size for pair in pairs for each in pair if each is not None), tell)
    for old, new in pairs:
        gone = _gone(old, new, told.add)
        if gone.records:
            yield Loss(
                dir=old.log_dir.path, topic=old.topic, partition=old.partition, records=gone.records,
                bytes=gone.bytes, first_offset=gone.first, last_offset=gone.last,
                what=f"{old.name}: what the plan had brought or mended",
            )  # fmt: skip


def _partitions(broker: BrokerDirs) -> Iterator[PartitionDir]:
    return broker.current


def _gone(old: PartitionDir, new: PartitionDir | None, tell: Callable[[int], None]) -> BatchTally:
    """The sound batches of today of which none is there afterwards."""
    stay = {each.header[1:] for each in _batches(new, tell)} if new is not None else set()
    tally = BatchTally()
    for batch in _batches(old, tell):
        if batch.header[1:] not in stay and not batch.header.is_control:
            tally.add(batch.header)
    return tally


def _batches(partition: PartitionDir, tell: Callable[[int], None]) -> Iterator[SoundBatch]:
    return (item for item in ReplicaLog.of(partition, tell).items() if isinstance(item, SoundBatch))
