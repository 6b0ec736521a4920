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
from segmend.logdir.tree import PartitionDir
from segmend.surgery.options import arguments_of, flag, option, required
from segmend.surgery.plan import Plan
from segmend.surgery.planning import assembly, selection
from segmend.surgery.planning.assembly import Draft
from segmend.surgery.planning.expected import (
    CURRENT,
    EVEN_STRAY,
    NO_METADATA,
    NO_TOPIC_IDS,
    ExpectedReplica,
    wished_id,
)
from segmend.surgery.request import Request
from segmend.surgery.steps.replace_file import ReplaceFile

NAME = "restamp"
EXAMPLES = """\
examples:
  segmend plan restamp /data/a /data/b --topic orders -o plan.json         the id that the metadata here has
  segmend plan restamp /data/a /data/b --topic 'orders*' -o plan.json
  segmend plan restamp /data/a --topic orders --topic-id JTJWqc3YQ3mqoxqVcVOkXg -o plan.json
                                                as kafka-topics.sh --describe --topic orders tells it"""


@frozen
class Options:
    """What `plan restamp` may be asked."""

    topic: tuple[str, ...] = required("whose replicas, or a glob such as 'orders*'; repeatable", "TOPIC")
    topic_id: str = option(
        f"this id; '{CURRENT}': the one that the topic has in the metadata on these disks",
        "ID",
        default=CURRENT,
    )
    even_stray: bool = flag(EVEN_STRAY)


@frozen
class _Stamp:
    """One replica before and after."""

    partition: PartitionDir
    before: ExpectedReplica
    after: ExpectedReplica


def plan(request: Request[Options]) -> Plan:
    """The plan; raises `UsageError` where no id is known, `SegmendError` for one that would not be served."""
    options = request.options
    assembly.refuse_strangers(request.dirs, request.given)
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
    arguments = arguments_of(options)
    notes = [
        *_notes(request, stamps, changed),
        *(w for e in changed for w in e.after.newer_epochs(e.partition)),
    ]
    return assembly.make(
        NAME, arguments, request, Draft(steps=[_step(each) for each in changed], notes=notes)
    )


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
        beside = (p for log_dir in request.dirs for p in log_dir.current if p.topic != topic)
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
