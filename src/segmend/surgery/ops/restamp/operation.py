"""The topic id in partition.metadata, set to the one that the topic has now.

A topic that was deleted and made anew has another id than before, and so has one of another cluster: a
volume out of a snapshot, or a directory that was copied, keeps the old one. A broker with KRaft takes
such a replica for a stray, or does not lead it (`UnifiedLog.assignTopicId`, InconsistentTopicIdException).

Whether these records belong to the topic of that id, no file tells: that is said by asking for it.

Leader epochs above the topic's stay in leader-epoch-checkpoint, though with them no follower comes into sync
(3.9.2 and 4.3.1). Without them 4.3.1 also took three into the ISR of which one had other records, and they
stayed different; whether all replicas are equal, no node's files tell. `plan graft` sees both logs, and gives
a follower the epochs of its leader. What brokers do with unequal ones whose entries stay was not played.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.broker.checkpoints import TOPIC_IDS
from segmend.broker.leading import OTHER_ID
from segmend.errors import SegmendError, UsageError
from segmend.formats.partition_metadata import FILE_NAME, PartitionMetadata, render
from segmend.frozen import frozen
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.options import arguments_of, flag, option, required
from segmend.surgery.plan import Left, Loss, Plan
from segmend.surgery.planning import accepted_loss, assembly, selection
from segmend.surgery.planning.assembly import Draft
from segmend.surgery.planning.expected import (
    CURRENT,
    EVEN_STRAY,
    NO_METADATA,
    NO_TOPIC_IDS,
    ExpectedReplica,
    who_cuts,
    wished_id,
)
from segmend.surgery.replicas.comparison import BatchTally, has_all, tally_of
from segmend.surgery.replicas.given import given_replicas
from segmend.surgery.replicas.replica_log import ReplicaLog
from segmend.surgery.request import Request
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.surgery.witnesses import witnesses

NAME = "restamp"
EXAMPLES = """\
examples:
  segmend plan restamp /data/a /data/b --topic orders -o plan.json         the id that the metadata here has
  segmend plan restamp /data/a /data/b --topic 'orders*' -o plan.json
  segmend plan restamp /data/a --topic orders --topic-id JTJWqc3YQ3mqoxqVcVOkXg -o plan.json
                                                as kafka-topics.sh --describe --topic orders tells it
  segmend plan restamp /data/a --topic orders --replica /mnt/b2/data/a --replica /mnt/b3/data/a -o plan.json
                                                where other nodes may lead: these prove to have the records

Restamp all replicas before any of them starts: who leads without these records has the others cut to that."""


@frozen
class Options:
    """What `plan restamp` may be asked."""

    topic: tuple[str, ...] = required("whose replicas, or a glob such as 'orders*'; repeatable", "TOPIC")
    topic_id: str = option(
        f"this id; '{CURRENT}': the one that the topic has in the metadata on these disks",
        "ID",
        default=CURRENT,
    )
    replica: tuple[str, ...] = option(
        "the replica on another node, its directory or log dir: what it proves to have is not cut off here; "
        "repeatable",
        "DIR",
        default=(),
    )
    accept_loss: int | None = option(
        "also those of whose N records a leader on another node may have none, and has them cut off",
        "N-records",
        accepted_loss.records,
    )
    even_stray: bool = flag(EVEN_STRAY)


@frozen
class _Stamp:
    """One replica before and after."""

    partition: PartitionDir
    before: ExpectedReplica
    after: ExpectedReplica


@frozen
class _Risk:
    """Records that a follower loses where one of these nodes leads without them; of others there are proofs.

    So 4.3.1 cut the one restamped replica of three to nothing, which it would have kept as a stray.
    """

    stamp: _Stamp
    nodes: Sequence[int]
    tally: BatchTally
    proofs: Sequence[PartitionDir]


def plan(request: Request[Options]) -> Plan:
    """The plan; raises `UsageError` where no id is known, `SegmendError` for one that would not be served."""
    options = request.options
    assembly.refuse_strangers(request.broker, request.given)
    if not TOPIC_IDS.of(request.release):
        raise UsageError(NO_TOPIC_IDS.format(request.release))
    chosen = selection.by_topic(request, options.topic)
    stamps = [_stamp(request, partition) for partition in chosen]
    if options.topic_id != CURRENT and len(topics := sorted({p.topic for p in chosen})) > 1:
        raise UsageError(
            f"--topic-id {options.topic_id}: one id, and {len(topics)} topics: {', '.join(topics)}"
        )
    changed = [each for each in stamps if each.before.topic_id != each.after.topic_id]
    for each in changed:
        why = each.after.unexpected()
        if why is not None and not options.even_stray:
            hint = "if the metadata here is only old: --even-stray"
            raise SegmendError(f"{each.after.path}: with id {each.after.topic_id}: {why}; {hint}")
    _refuse_twins(stamps, changed)
    _refuse_shared_id(request, changed)
    exposed = list(_exposed(request, changed))
    risks = [each for each in exposed if each.nodes]
    total = sum(risk.tally.records for risk in risks)
    accepted_loss.refuse_other_figure(options.accept_loss, total)
    kept = () if options.accept_loss is not None else [risk.stamp for risk in risks]
    going = [each for each in changed if each not in kept]
    arguments = arguments_of(options)
    notes = [
        *_notes(request, stamps, changed),
        *(w for e in changed for w in e.after.newer_epochs(e.partition)),
    ]
    draft = Draft(
        steps=[_step(each) for each in going], notes=notes,
        losses=[] if kept else [_loss(risk) for risk in risks],
        left=[_left(risk, total) for risk in risks if kept],
        extra=witnesses(proof for each in exposed if each.stamp in going for proof in each.proofs),
    )  # fmt: skip
    return assembly.make(NAME, arguments, request, draft)


def _exposed(request: Request[Options], changed: Sequence[_Stamp]) -> Iterator[_Risk]:
    exposed = [(each, nodes) for each in changed if (nodes := each.after.others_that_may_lead)]
    total, done = sum(each.partition.size for each, _ in exposed), 0

    def tell(size: int) -> None:
        nonlocal done
        done += size
        request.on_progress(done, total)

    for each, nodes in exposed:
        tally, _ = tally_of(ReplicaLog.of(each.partition, tell))
        proven = _proven(request, each) if tally.records else {}
        unproven = sorted(nodes - proven.keys()) if tally.records else []
        yield _Risk(stamp=each, nodes=unproven, tally=tally, proofs=[*proven.values()])


def _proven(request: Request[Options], each: _Stamp) -> dict[int, PartitionDir]:
    """By node the replicas that were given, and have every batch of this one."""
    ids = [topic_id for topic_id in (each.before.topic_id, each.after.topic_id) if topic_id is not None]
    own, proven = ReplicaLog.of(each.partition), dict[int, PartitionDir]()
    for other in given_replicas(each.partition, request.options.replica, ids):
        node_id = other.log_dir.node_id
        if node_id is not None and has_all(own, ReplicaLog.of(other)):
            proven[node_id] = other
    return proven


def _loss(risk: _Risk) -> Loss:
    partition, tally = risk.stamp.partition, risk.tally
    return Loss(
        dir=partition.log_dir.path, topic=partition.topic, partition=partition.partition,
        records=tally.records, bytes=partition.size, first_offset=tally.first, last_offset=tally.last,
        what=f"at most: {who_cuts(risk.nodes)}",
    )  # fmt: skip


def _left(risk: _Risk, total: int) -> Left:
    why = (
        f"{who_cuts(risk.nodes)}; --replica DIR proves that it has these {risk.tally.records} records; to "
        f"restamp all such without: --accept-loss {total}-records"
    )
    return Left(why=why, path=risk.stamp.partition.path)


def _refuse_twins(stamps: Sequence[_Stamp], changed: Sequence[_Stamp]) -> None:
    """Two directories of one partition, with one id: no broker starts with them."""
    for each in changed:
        mine = each.partition
        twins = (e.partition for e in stamps if (e.partition.kind, e.partition.key) == (mine.kind, mine.key))
        other = next((twin.path for twin in twins if twin is not mine), None)
        if other is not None:
            hint = "with one id no broker starts; move one of them out of the log dirs first"
            raise SegmendError(f"{mine.path}: {other} is the same partition: {hint}")


def _refuse_shared_id(request: Request[Options], changed: Sequence[_Stamp]) -> None:
    """Where no metadata tells whose the id is, the directories of another topic may."""
    if request.options.topic_id == CURRENT:
        return
    for each in changed:
        topic, topic_id = each.partition.topic, each.after.topic_id
        beside = (each for each in request.broker.current if each.topic != topic)
        other = next((p for p in beside if p.topic_id == topic_id), None)
        if other is not None:
            raise SegmendError(f"{each.after.path}: {topic_id} is the id of {other.path}, another topic")


def _stamp(request: Request[Options], partition: PartitionDir) -> _Stamp:
    topic, number = partition.key
    topic_id = wished_id(request.options.topic_id, topic, request.broker)
    old, new = (
        ExpectedReplica(broker=request.broker, topic=topic, number=number, topic_id=each, path=partition.path)
        for each in (partition.topic_id, topic_id)
    )
    return _Stamp(partition=partition, before=old, after=new)


def _step(each: _Stamp) -> ReplaceFile:
    data = render(PartitionMetadata(topic_id=each.after.topic_id))
    reason = f"topic id {each.after.topic_id} instead of {each.before.topic_id or 'none'}"
    return ReplaceFile.with_bytes(f"{each.partition.path}/{FILE_NAME}", data, reason)


def _notes(request: Request[Options], stamps: Sequence[_Stamp], changed: Sequence[_Stamp]) -> Iterator[str]:
    if len(changed) < len(stamps):
        yield f"{len(stamps) - len(changed)} of {len(stamps)} replicas have their id already"
    for each in changed:
        path, old, new = each.partition.path, each.before.topic_id, each.after.topic_id
        as_it_is = each.before.unexpected()
        if old is not None and (as_it_is is None or request.broker.image is None):
            as_it_is = OTHER_ID.format(new, each.partition.name, old)
        yield f"{path}: as it is: {as_it_is or 'it has no topic id, and gets that of its topic'}"
        if old is not None:
            yield f"{path}: records of topic id {old} are then served as those of {new}"
        nodes = ", ".join(map(str, each.after.nodes))
        unexpected = each.after.unexpected()
        if unexpected is not None:
            yield f"{path}: after this plan: {unexpected}"
        elif nodes:
            yield f"{path}: the metadata here expects it so, on nodes {nodes}"
        if len(each.after.nodes) > 1:
            yield f"{path}: the log of its leader decides: as a follower this one is cut to agree with it"
    if request.broker.metadata is None and changed:
        yield NO_METADATA
