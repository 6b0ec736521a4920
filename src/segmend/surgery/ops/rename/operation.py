"""Partitions given to another topic: renamed, or copied, with their checkpoint lines and the topic's id.

To restore records under another name beside what is there now, or to look at a clone of a topic. No
record is changed: offsets, times, producers and leader epochs stay. With KRaft the new topic must be there
first, with a replica on this node: a broker serves a directory by the topic id in its partition.metadata
(`LogManager.isStrayKraftReplica`), and that id only the cluster gives. What it made for the topic meanwhile
is empty, and goes aside with `--replace`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from segmend.broker.checkpoints import TOPIC_IDS
from segmend.errors import SegmendError, UsageError
from segmend.formats.names import CLUSTER_METADATA_TOPIC, MAX_TOPIC_LENGTH, is_legal_topic, topics_collide
from segmend.formats.offset_checkpoint import FILE_NAMES
from segmend.formats.partition_metadata import FILE_NAME
from segmend.frozen import frozen
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.fingerprint import MISSING, Fingerprint, below, look
from segmend.surgery.new_bytes import NewBytes
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
    topic_id_step,
    wished_id,
)
from segmend.surgery.planning.topic_dirs import replaced
from segmend.surgery.request import Request
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.surgery.writing.transfer import allocated

_OLD = "{topic}"

NAME = "rename"
EXAMPLES = """\
examples:
  segmend plan rename /data/a /data/b --topic orders --to restored-orders --replace -o plan.json
  segmend plan rename /data/a /data/b --topic 'orders*' --to 'restored-{topic}' --replace -o plan.json
  segmend plan rename /data/a /data/b --topic orders --to clone --copy --replace -o plan.json
  segmend plan rename /data/a/orders-3 --topic orders --to restored -o plan.json     one partition

With KRaft make the topic first (kafka-topics.sh --create --topic restored-orders --partitions N), then stop
the broker. Kafka's own topics (__consumer_offsets, ...) are meant by their own names only."""


@frozen
class Options:
    """What `plan rename` may be asked."""

    topic: tuple[str, ...] = required("whose partitions, or a glob such as 'orders*'; repeatable", "TOPIC")
    to: str = required("the name from now on; {topic} in it stands for the old one", "NAME")
    topic_id: str = option(
        f"the id of the new topic; '{CURRENT}': the one in the metadata on these disks", "ID", default=CURRENT
    )
    copy: bool = flag(
        "leave the partitions where they are, and make copies (blocks are shared if they can be)"
    )
    replace: bool = flag("set empty partitions of the new name aside")
    even_stray: bool = flag(EVEN_STRAY)


def plan(request: Request[Options]) -> Plan:
    """The plan; raises `UsageError` for names that cannot be, `SegmendError` for what is in the way."""
    options = request.options
    assembly.refuse_strangers(request.broker, request.given)
    chosen = selection.by_topic(request, options.topic)
    names = new_names(request, chosen, options.to, options.topic_id, stays=options.copy)
    for each in names:
        why = each.replica.unexpected()
        if why is not None and not options.even_stray:
            raise SegmendError(f"{each.replica.path}: {why}; {_way_out(each)}")
    aside = [
        Quarantine.of(other.path, f"empty, and in the place of {each.partition.path}")
        for each in names
        for other in replaced(request.broker, each.key, each.partition.path, allowed=options.replace)
    ]
    steps: list[Step] = [*aside, *_lines(request, names)]
    cleared = {step.path for step in aside}
    total, done = sum(each.partition.size for each in names), 0
    for each in names:
        request.on_progress(done, total)
        steps += copied(each) if options.copy else moved(each, replacing=each.replica.path in cleared)
        done += each.partition.size
    arguments = arguments_of(options)
    losses = [loss for each in names for loss in each.replica.cut_off(each.partition) if not options.copy]
    draft = Draft(steps=steps, losses=losses, notes=list(_notes(request, names)))
    return assembly.make(NAME, arguments, request, draft)


def _way_out(each: NewName) -> str:
    return (
        f"make topic {each.topic} with more than {each.partition.partition} partitions and a replica on this "
        "node, stop the broker, then plan again; if the metadata here is only old: --even-stray"
    )


def _lines(request: Request[Options], names: Sequence[NewName]) -> Iterator[Step]:
    """The line of the old name is that of the new one; other log dirs keep none of either."""
    for log_dir in request.dirs:
        for name in FILE_NAMES:
            loaded = log_dir.offset_checkpoint(name)
            offsets = {} if loaded.value is None else loaded.value.offsets()
            changes: dict[tuple[str, int], int | None] = {}
            if not request.options.copy:
                changes.update((each.partition.key, None) for each in names)
            for each in names:
                here = each.partition.log_dir is log_dir
                changes[each.key] = offsets.get(each.partition.key) if here else None
            yield from assembly.checkpoint_step(log_dir, name, changes, "lines of the new names")


def _notes(request: Request[Options], names: Sequence[NewName]) -> Iterator[str]:
    for each in names:
        old, new = each.partition.topic_id, each.replica.topic_id
        if new is None and old is not None:
            yield f"{each.replica.path}: goes without {FILE_NAME}; the broker writes the new id itself"
        if each.replica.nodes and each.replica.unexpected() is None:
            nodes = ", ".join(map(str, each.replica.nodes))
            yield f"the metadata here expects {each.name}: topic id {new}, replicas on {nodes}"
        if len(each.replica.nodes) > 1:
            yield (
                f"{each.name}: the log of its leader decides: give each replica its records before one of "
                "them starts, or an empty one that leads has this one cut to nothing"
            )
        if (why := each.replica.unexpected()) is not None:
            yield why
        yield from each.replica.newer_epochs(each.partition)
    if not request.broker.kraft:
        topics = ", ".join(sorted({each.topic for each in names}))
        yield f"ZooKeeper, not these disks, tells whether {topics} is there, with replicas on this node"
    elif request.broker.metadata is None:
        yield NO_METADATA
    for log_dir in request.dirs:
        if any(each.partition.log_dir is log_dir for each in names):
            yield (
                f"{log_dir.path}: {assembly.MARKER_KEPT}" if log_dir.is_clean else
                f"{log_dir.path}: was not stopped cleanly: the next start recovers these logs, too"
            )  # fmt: skip


def moved(each: NewName, *, replacing: bool) -> Iterator[Step]:
    """The directory renamed, and its topic id set, or set aside where the broker is to write it."""
    source, path = each.partition.path, f"{each.replica.path}/{FILE_NAME}"
    reason = f"{each.partition.topic} is {each.topic} from now on"
    yield MoveDir.of(source, each.replica.path, reason, replacing=replacing)
    old = look(f"{source}/{FILE_NAME}")
    if each.replica.topic_id is not None and each.replica.topic_id != each.partition.topic_id:
        yield _stamped(each, old)
    elif each.replica.topic_id is None and old.kind == "file":
        yield Quarantine(
            path=path, before=old.but(sha256=None), allocated=allocated(f"{source}/{FILE_NAME}"),
            reason=f"the id of {each.partition.topic}",
        )  # fmt: skip


def copied(each: NewName) -> Iterator[Step]:
    """A directory with the same files, but for the topic id; raises `SegmendError` for what is no file."""
    source, target = each.partition.path, each.replica.path
    yield MakeDir.like(target, source, f"a copy of {each.partition.name}")
    for name, status in below(source):
        if status.type != "file":
            raise SegmendError(f"{source}/{name}: is no plain file; move it out of the way first")
        if name == FILE_NAME:
            continue
        like = look(f"{source}/{name}", content=False)
        content = NewBytes.range_of(f"{source}/{name}", 0, status.size)
        yield AppendFile(
            path=f"{target}/{name}", before=MISSING, after=like, content=content,
            reason=f"as in {posixpath.basename(source)}",
        )  # fmt: skip
    if each.replica.topic_id is not None:
        yield _stamped(each, MISSING)


def _stamped(each: NewName, before: Fingerprint) -> ReplaceFile:
    """`before` is what the file under the new name is by then."""
    reason = f"topic id {each.replica.topic_id} of {each.topic}"
    return topic_id_step(each.partition, each.replica.path, each.replica.topic_id, reason, before=before)


@frozen
class NewName:
    """A partition, and the replica that it is to be."""

    partition: PartitionDir
    replica: ExpectedReplica

    @property
    def topic(self) -> str:
        return self.replica.topic

    @property
    def key(self) -> tuple[str, int]:
        """New topic, and number."""
        return self.topic, self.partition.partition

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition.partition}"


def new_names(
    request: Request[object], chosen: Sequence[PartitionDir], to: str, topic_id: str, *, stays: bool
) -> list[NewName]:
    """Each partition with its new name; raises `UsageError` for one that cannot be."""
    topics = {p.topic: to.replace(_OLD, p.topic) for p in chosen}
    for old, new in topics.items():
        _refuse_name(old, new)
    if len(set(topics.values())) < len(topics):
        raise UsageError(f"--to {to}: gives {len(topics)} topics one name; put {_OLD} into it")
    if topic_id != CURRENT and len(topics) > 1:
        raise UsageError(f"--topic-id {topic_id}: one id, and {len(topics)} topics")
    gone = set() if stays else set(topics)
    # `CreateTopics` refuses such names; a directory would bring one in behind its back.
    wanted = sorted(set(topics.values()))
    for name in wanted:
        for other in (*sorted(_known(request) - gone), *wanted):
            if other != name and topics_collide(name, other):
                raise UsageError(f"--to {name}: collides with topic {other}: '.' and '_' count as the same")
    if topic_id == CURRENT:
        _refuse_unmade(request, to, wanted)
    return [NewName(partition=p, replica=_replica(request, p, topics[p.topic], topic_id)) for p in chosen]


def _refuse_unmade(request: Request[object], to: str, wanted: Sequence[str]) -> None:
    """Raise `UsageError` with all topics that the cluster, by the metadata here, has yet to be told of."""
    if not TOPIC_IDS.of(request.release) or not request.broker.kraft:
        return
    known = () if request.broker.metadata is None else request.broker.metadata.ids
    if unmade := [name for name in wanted if name not in known]:
        raise UsageError(
            f"--to {to}: the metadata on these disks knows no topic {', '.join(unmade)}; first "
            f"kafka-topics.sh --create --topic {unmade[0]} --partitions N"
            f"{', and so on' if unmade[1:] else ''}, then stop the broker and plan again; or --topic-id ID"
        )


def _refuse_name(old: str, new: str) -> None:
    if new == old:
        raise UsageError(f"--to {new}: is its name already")
    if not is_legal_topic(new):
        raise UsageError(
            f"--to {new}: no topic can be called so; letters, digits, '.', '_' and '-' are allowed"
        )
    if len(new) > MAX_TOPIC_LENGTH:
        raise UsageError(f"--to {new}: has {len(new)} characters; Kafka allows {MAX_TOPIC_LENGTH}")
    if CLUSTER_METADATA_TOPIC in (old, new):
        raise UsageError(f"--to {new}: the cluster's metadata is no topic of clients")


def _known(request: Request[object]) -> set[str]:
    image = request.broker.metadata
    return {each.topic for each in request.broker.current} | set(() if image is None else image.ids)


def _replica(request: Request[object], partition: PartitionDir, topic: str, topic_id: str) -> ExpectedReplica:
    path = f"{partition.log_dir.path}/{topic}-{partition.partition}"
    wanted = _id(request, topic, topic_id)
    return ExpectedReplica(
        broker=request.broker, topic=topic, number=partition.partition, topic_id=wanted, path=path
    )


def _id(request: Request[object], topic: str, wish: str) -> str | None:
    """The id to write; None where the broker finds it out by itself, as with ZooKeeper, or knows none."""
    if not TOPIC_IDS.of(request.release):
        if wish != CURRENT:
            raise UsageError(f"--topic-id {wish}: {NO_TOPIC_IDS.format(request.release)}")
        return None
    if wish == CURRENT and not request.broker.kraft:
        return None
    return wished_id(wish, topic, request.broker)
