"""What goes with a partition's directory: who else has its records, as far as that is known here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from segmend.errors import UsageError
from segmend.formats.names import parse_dir_name
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.logdir.tree import LogDir, PartitionDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.replicas.comparison import BatchTally, has_all
from segmend.surgery.replicas.replica_log import DamagedBytes, ReplicaLog


@frozen
class Price:
    """`unsaved`: no other replica is known to have these `records`, from offset `first` to `last`."""

    partition: PartitionDir
    why: str
    unsaved: bool = False
    records: int = 0
    first: int | None = None
    last: int | None = None


def price_of(
    partition: PartitionDir, broker: BrokerDirs, replicas: Sequence[str], *,
    leaving: Sequence[PartitionDir], tell: Callable[[int], None] = lambda _: None,
) -> Price:  # fmt: skip
    """What its going costs; reads it all unless the metadata has other replicas in sync. `UsageError`.

    `tell` is told the size of each log that was read.
    """
    if partition.unreadable is not None:
        raise partition.unreadable
    own = ReplicaLog.of(partition, tell)
    others = [*_beside(partition, broker, leaving), *_given(partition, replicas)]
    for other in others:
        if has_all(own, ReplicaLog.of(other)):
            return Price(partition=partition, why=f"{other.path} proves to have every batch of it")
    if others:
        why = f"{others[0].path} lacks some of it, or differs"
    else:
        nodes = _in_sync(partition, broker)
        if nodes:
            which = f"node {nodes[0]} is" if len(nodes) == 1 else f"nodes {', '.join(map(str, nodes))} are"
            why = (
                f"{which} in sync with it by the metadata here, as of when this node stopped; their "
                "files were not looked at"
            )
            return Price(partition=partition, why=why)
        why = _nobody(partition, broker)
    return _counted(partition, own, why)


def _counted(partition: PartitionDir, own: ReplicaLog, why: str) -> Price:
    tally, hurt = BatchTally(), 0
    for item in own.items():
        if isinstance(item, DamagedBytes):
            hurt += 1
        elif not item.header.is_control:
            tally.add(item.header)
    if not (tally.records or hurt):
        return Price(partition=partition, why="no record is in it")
    why += f"; {hurt} of its places are damaged, where more may be" if hurt else ""
    return Price(
        partition=partition, why=why, unsaved=True, records=tally.records, first=tally.first, last=tally.last
    )


def _beside(
    partition: PartitionDir, broker: BrokerDirs, leaving: Sequence[PartitionDir]
) -> Iterator[PartitionDir]:
    """What these log dirs have of it elsewhere, and keep."""
    for other in (p for log_dir in broker.dirs for p in log_dir.current):
        same = other.key == partition.key and other.topic_id == partition.topic_id
        if same and other not in leaving:
            yield other


def _given(partition: PartitionDir, replicas: Sequence[str]) -> Iterator[PartitionDir]:
    """The directories that `--replica` names, or those of the name in the log dirs that it names."""
    for path in replicas:
        real = disk.real_path(path)
        if disk.path_type(real) != "dir":
            raise UsageError(f"--replica {path}: no such directory")
        home, _, name = real.rpartition("/")
        parsed = parse_dir_name(name)
        inner = LogDir.open(real).partition(f"{partition.topic}-{partition.partition}")
        if inner is None and (parsed.topic, parsed.partition) == partition.key:
            inner = PartitionDir.forced(LogDir.open(home), name)
        if inner is None or not inner.layout.logs:
            continue
        if disk.real_path(inner.path) == disk.real_path(partition.path):
            raise UsageError(f"--replica {path}: is what is to be deleted")
        ids = inner.topic_id, partition.topic_id
        if None in ids or ids[0] == ids[1]:
            yield inner


def _in_sync(partition: PartitionDir, broker: BrokerDirs) -> Sequence[int]:
    """Other nodes in the ISR of the topic that has this id."""
    image = broker.metadata
    topic_id = None if image is None else image.ids.get(partition.topic)
    if image is None or partition.kind != "current" or topic_id is None:
        return ()
    if partition.topic_id not in (None, topic_id):
        return ()
    leader = image.leaders.get((topic_id, partition.partition))
    return () if leader is None else [node for node in leader.isr if node != broker.node_id]


def _nobody(partition: PartitionDir, broker: BrokerDirs) -> str:
    image = broker.metadata
    if image is None:
        return "nothing on these disks tells of another replica"
    if partition.topic not in image.ids:
        return f"the metadata here knows no topic {partition.topic}: this may be all that is left of it"
    if partition.topic_id not in (None, image.ids[partition.topic]):
        return f"it is of an earlier topic {partition.topic}: this may be all that is left of that"
    if image.alone(*partition.key):
        return "it is the only replica"
    return "by the metadata here no other replica is in sync with it"
