"""Partitions taken off a broker's disk: their directories go to the quarantine, their lines with them.

A directory that is removed by hand leaves its lines in the four checkpoints; a new one of that name then
has the log start offset and the high watermark of the old. `LogManager.asyncDelete` removes both, and so
does this; but nothing is gone: `segmend undo` or `segmend quarantine restore` brings it back.

The cluster is not told. A broker that is to hold the replica makes an empty one when it starts and
fetches all of it from the leader; where there is no other replica, readers of the topic lose it. So what no
other replica is known to have is given up only by its figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from segmend.formats.offset_checkpoint import FILE_NAMES
from segmend.frozen import frozen
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.counted import Counted
from segmend.surgery.options import arguments_of, option, required
from segmend.surgery.plan import Left, Loss, Plan
from segmend.surgery.planning import accepted_loss, assembly, selection
from segmend.surgery.planning.assembly import Draft
from segmend.surgery.replicas.comparison import has_all, tally_of
from segmend.surgery.replicas.given import given_replicas
from segmend.surgery.replicas.replica_log import ReplicaLog
from segmend.surgery.request import Request
from segmend.surgery.step import Step
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.witnesses import witnesses

NAME = "delete"
EXAMPLES = """\
examples:
  segmend plan delete /data/a /data/b --partition orders-3 -o plan.json
  segmend plan delete /data/a /data/b --partition 'orders-*' --replica /mnt/b2/data/a -o plan.json
                                                     what that broker proves to have is not lost
  segmend plan delete /data/a --partition orders-3 --accept-loss 120-records -o plan.json

With them gone for good: segmend quarantine discard JOURNAL, as apply names it."""


@frozen
class Options:
    """What `plan delete` may be asked."""

    partition: tuple[str, ...] = required(
        "what to delete, or a glob such as 'orders-*'; repeatable", "TOPIC-N"
    )
    replica: tuple[str, ...] = option(
        "another replica's directory or log dir: what it proves to have is not lost; repeatable",
        "DIR",
        default=(),
    )
    accept_loss: int | None = option(
        "also those whose N records no other replica is known to have", "N-records", accepted_loss.records
    )


def plan(request: Request[Options]) -> Plan:
    """The plan; raises `UsageError` for what is not there, or another loss than the one that was accepted."""
    options = request.options
    assembly.refuse_strangers(request.broker, request.given)
    chosen = selection.by_name(request, options.partition)
    prices = list(_prices(request, chosen))
    last = [price for price in prices if price.unsaved]
    total = sum(price.records for price in last)
    accepted_loss.refuse_other_figure(options.accept_loss, total)
    going = prices if options.accept_loss is not None else [price for price in prices if not price.unsaved]
    gone = [price.partition for price in going]
    steps: list[Step] = [*_lines(request.broker, gone)]
    steps += [Quarantine.of(price.partition.path, f"deleted; {price.why}") for price in going]
    draft = Draft(
        steps=steps, losses=[_loss(price) for price in going if price.unsaved],
        notes=list(_notes(request, going)), left=[_left(p, total) for p in last if p not in going],
        extra=witnesses(price.proof for price in going if price.proof is not None),
    )  # fmt: skip
    arguments = arguments_of(options)
    return assembly.make(NAME, arguments, request, draft)


def _prices(request: Request[Options], chosen: Sequence[PartitionDir]) -> Iterator[Price]:
    tell = Counted(sum(each.size for each in chosen), request.on_progress).add
    for each in chosen:
        yield price_of(each, request.broker, request.options.replica, leaving=chosen, tell=tell)


def _lines(broker: BrokerDirs, gone: Sequence[PartitionDir]) -> Iterator[Step]:
    """All four checkpoints of each log dir that keeps no other directory of the name."""
    served = {each.key for each in gone if each.kind == "current"}
    for log_dir in broker.dirs:
        staying = {p.key for p in log_dir.current if p not in gone}
        changes: Mapping[tuple[str, int], None] = dict.fromkeys(sorted(served - staying))
        for name in FILE_NAMES:
            yield from assembly.checkpoint_step(log_dir, name, changes, "lines of what is deleted")


def _loss(price: Price) -> Loss:
    partition = price.partition
    return Loss(
        dir=partition.log_dir.path, topic=partition.topic, partition=partition.partition,
        records=price.records, bytes=partition.size, first_offset=price.first, last_offset=price.last,
        what=f"{partition.name} as a whole: {price.why}",
    )  # fmt: skip


def _left(price: Price, total: int) -> Left:
    why = (
        f"{price.why}; --replica DIR proves that another one has its {price.records} records; to delete all "
        f"such without: --accept-loss {total}-records"
    )
    return Left(why=why, path=price.partition.path)


def _notes(request: Request[Options], going: Sequence[Price]) -> Iterator[str]:
    yield from (f"{price.partition.path}: {price.why}" for price in going if not price.unsaved)
    image, node_id = request.broker.metadata, request.broker.node_id
    for partition in (price.partition for price in going if price.partition.kind == "current"):
        if image is None or not image.assigned(*partition.key, node_id):
            continue
        leader = image.leaders.get((image.ids[partition.topic], partition.partition))
        yield (
            f"{partition.name}: node {node_id} is to hold it, so its start makes an empty one and fetches "
            f"{partition.size:,} bytes from the leader, if there is one; to be rid of it, reassign it first"
        )
        if leader is not None and node_id in leader.isr:
            yield (
                f"{partition.name}: the metadata here has node {node_id} in sync: start it only while "
                "another replica leads; as the leader it would have nothing, and have the others cut to that"
            )
    for log_dir in request.dirs:
        if log_dir.is_clean and any(price.partition.log_dir is log_dir for price in going):
            yield f"{log_dir.path}: {assembly.MARKER_KEPT}"


@frozen
class Price:
    """`unsaved`: no other replica is known to have these `records`, from offset `first` to `last`.

    `proof` is the one that has all of it.
    """

    partition: PartitionDir
    why: str
    unsaved: bool = False
    records: int = 0
    first: int | None = None
    last: int | None = None
    proof: PartitionDir | None = None


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
    ids = () if partition.topic_id is None else (partition.topic_id,)
    others = [*_beside(partition, broker, leaving), *given_replicas(partition, replicas, ids)]
    for other in others:
        if has_all(own, ReplicaLog.of(other)):
            why = f"{other.path} proves to have every batch of it"
            return Price(partition=partition, why=why, proof=other)
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
    tally, hurt = tally_of(own)
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
    for other in broker.current:
        same = other.key == partition.key and other.topic_id == partition.topic_id
        if same and other not in leaving:
            yield other


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
