"""A directory that ends in -stray or -delete (or an abandoned -future) brought back as TOPIC-N.

Since 3.7 a KRaft broker asks the metadata for the topic id in partition.metadata when it loads a
directory; without an answer the directory is `-stray` again (`LogManager.isStrayKraftReplica`; 3.0
to 3.6 delete it). So that is asked here first. A topic that was deleted and made anew has another id:
`--topic-id current` gives the old records to the new topic.

Nobody closed the log of such a directory: its active segment may still have the long, zero-filled
indexes of a running broker, which a start after a clean stop would believe (all of it "from 1970",
deleted within a minute). Then the index of that segment is set aside, which makes any release
recover this segment alone; without the clean marker the whole log is recovered in any case.
Lines of an earlier directory of that name leave the checkpoints: a log start offset above the end
of the log would have the log deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from segmend.broker.sanity import TIME_INDEX
from segmend.errors import SegmendError, UsageError
from segmend.formats import offset_index, time_index
from segmend.formats.names import MAX_TOPIC_LENGTH, RENAMED_KINDS, DirName, is_legal_topic
from segmend.formats.offset_checkpoint import CLEANER_OFFSET, HIGH_WATERMARK, LOG_START_OFFSET, RECOVERY_POINT
from segmend.frozen import frozen
from segmend.loading.load import LoadedLog, load
from segmend.loading.state import Settings
from segmend.logdir.files import FileEntry
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.fingerprint import look
from segmend.surgery.options import arguments_of, flag, option, required
from segmend.surgery.plan import Plan
from segmend.surgery.planning import assembly
from segmend.surgery.planning.assembly import Draft
from segmend.surgery.planning.expected import CURRENT, ExpectedReplica, topic_id_step, wished_id
from segmend.surgery.planning.topic_dirs import replaced
from segmend.surgery.request import Request
from segmend.surgery.step import Step
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.writing.transfer import allocated

_LONGEST: Final = 255
"""Bytes of a name, as file systems have it."""

NAME = "adopt"
EXAMPLES = """\
examples:
  segmend plan adopt /data/a /data/b --directory orders-3.1f0c...-stray -o plan.json
  segmend plan adopt /data/a --directory orders-3.1f0c...-stray --replace -o plan.json     an empty one goes
  segmend plan adopt /data/a --directory orders-3.9d2b...-delete --topic-id current -o plan.json"""


@frozen
class Options:
    """What `plan adopt` may be asked."""

    directory: str = required("the directory in one of the log dirs", "NAME")
    topic_id: str | None = option(
        f"serve it under this topic id; '{CURRENT}': the one its topic has now", "ID"
    )
    topic: str | None = option("its topic, where a broker has cut the name to 255 bytes", "TOPIC")
    replace: bool = flag("set an empty partition of that name aside")
    even_stray: bool = flag("also if the metadata on these disks does not expect it")


def plan(request: Request[Options]) -> Plan:
    """The plan; raises `UsageError`, and `SegmendError` for what would not be served, or is in the way."""
    options = request.options
    assembly.refuse_strangers(request.broker, request.given)
    adopted = adoption(request, options.directory, options.topic_id, options.topic)
    why = adopted.unexpected()
    if why is not None and not options.even_stray:
        raise SegmendError(f"{adopted.partition.path}: {why}; {_way_out(adopted)}")
    empty = list(replaced(request.broker, adopted.key, adopted.partition.path, allowed=options.replace))
    loaded = adopted.load()
    arguments = arguments_of(options)
    notes = [*([why] if why else []), *_notes(adopted, loaded)]
    losses = [*adopted.replica.cut_off(adopted.partition)] if adopted.topic_id != adopted.old_id else []
    draft = Draft(steps=list(_steps(request, adopted, empty, loaded)), losses=losses, notes=notes)
    return assembly.make(NAME, arguments, request, draft)


def _way_out(adopted: Adoption) -> str:
    image = adopted.broker.metadata
    current = None if image is None else image.ids.get(adopted.topic)
    if current is not None and current != adopted.topic_id:
        return f"topic {adopted.topic} has the id {current} now: --topic-id {CURRENT} adopts it for that"
    if adopted.topic_id is not None and current is None:
        return (
            f"make topic {adopted.topic} anew with a replica on node {adopted.broker.node_id}, "
            f"then --topic-id {CURRENT}; if the metadata on these disks is only old: --even-stray"
        )
    node_id = adopted.broker.node_id
    return f"assign the replica to node {node_id} first; if the metadata here is only old: --even-stray"


def _steps(
    request: Request[Options], adopted: Adoption, empty: Sequence[PartitionDir], loaded: LoadedLog
) -> Iterator[Step]:
    source, target = adopted.partition.path, adopted.target
    for other in empty:
        yield Quarantine.of(other.path, f"empty, and in the place of {source}")
    # Nothing of an earlier directory of the name; the high watermark of a log that is all there is.
    reason = f"of {adopted.name}"
    for log_dir in request.dirs:
        home = log_dir is adopted.partition.log_dir
        for name in (RECOVERY_POINT, LOG_START_OFFSET, HIGH_WATERMARK, CLEANER_OFFSET):
            offset = _high_watermark(adopted, loaded) if home and name == HIGH_WATERMARK else None
            yield from assembly.checkpoint_step(log_dir, name, {adopted.key: offset}, reason)
    yield MoveDir.of(source, target, "adopted", replacing=bool(empty))
    index = _active_index(adopted)
    if index is not None:
        yield Quarantine(
            path=f"{target}/{index}", before=look(f"{source}/{index}", content=False),
            allocated=allocated(f"{source}/{index}"), reason="so that the broker recovers this segment",
        )  # fmt: skip
    if adopted.topic_id is not None and adopted.topic_id != adopted.old_id:
        reason = f"topic id {adopted.topic_id} instead of {adopted.old_id or 'none'}"
        yield topic_id_step(adopted.partition, target, adopted.topic_id, reason)


def _high_watermark(adopted: Adoption, loaded: LoadedLog) -> int | None:
    """The end of a sole replica. Else none, which is the log's start: what others have decides.

    But a follower without leader epochs truncates to its high watermark, and would lose all.
    """
    epochs = adopted.partition.leader_epochs.value
    if adopted.sole or epochs is None or not epochs.entries:
        return None if loaded.after is None else loaded.after.log_end_offset
    return None


def _active_index(adopted: Adoption) -> str | None:
    if not adopted.partition.log_dir.is_clean or is_closed(adopted.partition, adopted.broker.release):
        return None
    layout = adopted.partition.layout
    return layout.index.get(max(layout.logs))


def _notes(adopted: Adoption, loaded: LoadedLog) -> Iterator[str]:
    after = loaded.after
    if after is not None:
        yield f"{adopted.name} will have the offsets {after.log_start_offset} to {after.log_end_offset}"
    lost = [effect for effect in loaded.state.effects if effect.records_lost]
    for effect in lost:
        says = effect.broker_says or effect.effect
        yield f"{effect.file}: the load cuts off {effect.records_lost} records: {says}"
    if adopted.broker.kraft and adopted.broker.metadata is None:
        yield "no metadata on these disks: whether the cluster expects this replica here cannot be told"
    elif adopted.broker.kraft and adopted.unexpected() is None:
        nodes = ", ".join(map(str, adopted.replicas))
        yield f"the metadata expects it: topic id {adopted.topic_id}, replicas on {nodes}"
    if len(adopted.replicas) > 1:
        yield "the log of the partition's leader decides: as a follower this replica is cut to agree with it"
    if adopted.old_id is not None and adopted.topic_id != adopted.old_id:
        yield f"records of topic id {adopted.old_id} are then served as those of {adopted.topic_id}"
        yield from adopted.replica.newer_epochs(adopted.partition)
    if not adopted.partition.log_dir.is_clean:
        yield "it has no recovery point: the next start reads all of it and rebuilds its indexes"
    else:
        yield f"{adopted.partition.log_dir.path}: {assembly.MARKER_KEPT}"


@frozen
class Adoption:
    """The directory, and the name and topic id under which it is to be served.

    `topic` is that of the name, or of the id where a long name was cut; `old_id` the id in its
    partition.metadata.
    """

    partition: PartitionDir
    topic: str
    old_id: str | None
    topic_id: str | None
    broker: BrokerDirs

    @property
    def number(self) -> int:
        return self.partition.partition

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.number}"

    @property
    def target(self) -> str:
        """Where it goes: beside where it is."""
        return f"{self.partition.log_dir.path}/{self.name}"

    @property
    def key(self) -> tuple[str, int]:
        return self.topic, self.number

    @property
    def replica(self) -> ExpectedReplica:
        return ExpectedReplica(
            broker=self.broker, topic=self.topic, number=self.number, topic_id=self.topic_id, path=self.target
        )

    @property
    def replicas(self) -> Sequence[int]:
        """The nodes that are to hold it, as far as the metadata here tells."""
        return self.replica.nodes

    @property
    def sole(self) -> bool:
        """Whether this node holds the only replica."""
        return tuple(self.replicas) == (self.broker.node_id,)

    def unexpected(self) -> str | None:
        """Why a start would not serve it, in Kafka's words and what then happens; None if it would."""
        return self.replica.unexpected(renames="renames it to -stray again")

    def load(self) -> LoadedLog:
        """As the next start will load it; the log end offset is in `after`. Raises `SegmendError`."""
        parsed = DirName(self.name, "current", self.topic, self.number)
        partition = PartitionDir(self.partition.log_dir, self.partition.name, parsed)
        clean = partition.log_dir.is_clean
        last = max(partition.layout.logs, default=0)
        # Under the clean marker at most the active segment is recovered, if its index is set aside.
        loaded = load(
            partition, Settings(release=self.broker.release, clean=False, recovery_point=last if clean else 0)
        )
        if loaded.failure is not None:
            raise SegmendError(
                f"{self.partition.path}: no broker can load it: {loaded.failure} (segmend check tells more)"
            )
        return loaded


def adoption(request: Request[object], name: str, wish: str | None, told: str | None) -> Adoption:
    """What `--directory`, `--topic-id` (`wish`) and `--topic` name. Raises `UsageError`, `SegmendError`."""
    partition = _named(request, name)
    metadata = request.broker.metadata
    partition.partition_metadata.readable()
    old_id = partition.topic_id
    topic_id = old_id if wish is None else wished_id(wish, told or partition.topic, request.broker)
    known = "" if metadata is None or topic_id is None else metadata.names.get(topic_id, "")
    topic = _whole(partition, told or known, asked=told is not None)
    return Adoption(partition=partition, topic=topic, old_id=old_id, topic_id=topic_id, broker=request.broker)


def _whole(partition: PartitionDir, name: str, *, asked: bool) -> str:
    """The topic's name: a broker cuts it to what has room (`LocalLog.logDirNameWithSuffixCappedLength`).

    Raises `UsageError` where nothing tells whether it did, or another one is asked for.
    """
    fits = name.startswith(partition.topic)
    cut = len(os.fsencode(partition.name)) == _LONGEST
    if asked and not (fits and cut and is_legal_topic(name) and len(name) <= MAX_TOPIC_LENGTH):
        begins = "whose name begins with" if cut else "called"
        raise UsageError(f"--topic {name}: {partition.name} is of a topic {begins} {partition.topic}")
    if cut and not fits:
        raise UsageError(
            f"--directory {partition.name}: has {_LONGEST} bytes, as a name that a broker cut, and nothing "
            "here tells the whole one: --topic TOPIC"
        )
    return name if fits else partition.topic


def _named(request: Request[object], name: str) -> PartitionDir:
    plain = name.rstrip("/").rpartition("/")[2]
    matching = [each for each in request.broker.partitions if each.name == plain]
    if "/" in name.rstrip("/"):
        matching = [
            p
            for p in matching
            if request.dir_called(name.rstrip("/").rpartition("/")[0], "--directory") is p.log_dir
        ]
    if not matching:
        raise UsageError(f"--directory {name}: no such directory of a partition ({', '.join(request.given)})")
    if len(matching) > 1:
        raise UsageError(f"--directory {name}: in {len(matching)} log dirs; give its path")
    if matching[0].kind not in RENAMED_KINDS:
        raise UsageError(f"--directory {name}: is no -stray, -delete or -future directory")
    if matching[0].is_link:
        raise UsageError(f"--directory {name}: is a symbolic link; adopt what it points to by hand")
    if matching[0].unreadable is not None:
        raise matching[0].unreadable
    return matching[0]


def is_closed(partition: PartitionDir, release: Release) -> bool:
    """Whether the indexes of its active segment end as those of a log that was closed: no zeros, no gap."""
    if not partition.layout.logs:
        return True
    active = partition.segments[-1]
    indexes = [(active.index, offset_index.ENTRY_SIZE)]
    if TIME_INDEX.of(release):
        indexes.append((active.timeindex, time_index.ENTRY_SIZE))
    return all(entry is not None and _ends_well(entry, unit) for entry, unit in indexes)


def _ends_well(entry: FileEntry, unit: int) -> bool:
    with entry.reader() as reader:
        whole = reader.size % unit == 0
        return whole and (reader.size == 0 or any(reader.read(unit, reader.size - unit)))
