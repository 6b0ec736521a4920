"""One directory of a partition, of whatever kind: loaded, judged against the metadata, and told.

Follows `LogManager.loadLog` and what `ReplicaManager` makes of the log when the metadata arrives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from segmend.broker.checkpoints import drops_epochs
from segmend.broker.cleaner import SETS_ASIDE
from segmend.broker.cleanup_policy import compacted, newly_compacted
from segmend.broker.failures import CANNOT_WRITE_CHECKPOINT, ENDS_WITH_IT, LoadFailure, fatal
from segmend.broker.identity import NEITHER
from segmend.broker.index_room import known_room
from segmend.broker.leading import NO_SUCH_TOPIC, OTHER_ID
from segmend.broker.strays import (
    MISSING_TOPIC_ID,
    NO_TOPIC_ID,
    RENAMED,
    STRAYS,
    MissingTopicId,
    StrayHandling,
    stray_reason,
)
from segmend.formats.config_values import integer
from segmend.formats.offset_checkpoint import CLEANER_OFFSET, HIGH_WATERMARK, LOG_START_OFFSET, RECOVERY_POINT
from segmend.formats.partition_metadata import FILE_NAME
from segmend.frozen import field, frozen, replace
from segmend.loading.cleaner_reads import Spoiled, thrown_over
from segmend.loading.coordinator_state import not_loaded
from segmend.loading.dirs import DirState, is_needed
from segmend.loading.high_watermark import AssignedReplicas, high_watermark, replicas_of
from segmend.loading.later import UNLESS_DEAD, by_deletion, by_first_cleaning, by_retention
from segmend.loading.limits import Known, Retention, Sources, TopicSettings, retention_of
from segmend.loading.load import LoadedLog, load
from segmend.loading.metadata_log import UNKNOWN
from segmend.loading.reached import cut_short, doubtful_mark, gone_on, note_short
from segmend.loading.reads import Budget, note_failing_reads
from segmend.loading.remote import as_led, begins_there
from segmend.loading.segment import Lost, lost_from
from segmend.loading.state import Settings
from segmend.loading.timing.estimate import LoadJob
from segmend.loading.usable import fails_later
from segmend.loading.values import DirectoryOutcome, Extent, Later, PartitionOutcome, Service
from segmend.logdir.file_system import WRITE, Unreadable
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage
from segmend.node.older import newest_of_topic

MIN_ISR = "min.insync.replicas"
_READ_AT_MOST = 256 << 20
_UNKNOWN_TOPIC = " of the broker; the topic's own settings are not on this disk"
EMPTY = Extent(log_start_offset=0, log_end_offset=0, segments=1, bytes=0)

UNREAD = "what reads of {} give, and what goes of it after the start: {}"
"""Of a log that loads, where the rest cannot be looked at."""


@frozen
class Situation:
    """What is the same for all replicas of the broker; `image` is the metadata that it goes by.

    `keeps_strays` says why no stray is deleted. `told` are settings of topics that who asks knows.
    """

    broker: BrokerDirs
    now_ms: int
    budget: Budget
    image: MetadataImage | None
    keeps_strays: str | None = None
    told: TopicSettings | None = None
    retentions: dict[str, Retention] = field(default_factory=dict)

    def assigned(self, partition: PartitionDir) -> bool:
        """Whether the metadata expects the partition on this node."""
        image = self.image
        return image is not None and image.assigned(partition.topic, partition.partition, self.broker.node_id)

    @property
    def dynamic(self) -> Mapping[str, str]:
        """Settings of the broker that were changed while it ran, as far as the metadata tells them."""
        return {} if self.image is None else self.image.dynamic(self.broker.node_id)

    def topic(self, name: str) -> Mapping[str, str]:
        """The topic's own settings, as far as the metadata tells them, or who asks."""
        if self.told is not None and name in self.told.of:
            return self.told.of[name]
        return {} if self.image is None else self.image.configs.get(name, {})

    def known(self, topic: str) -> Known:
        """Which settings of the topic have been seen."""
        file, image = self.broker.given is not None, self.image is not None
        if self.told is not None and topic in self.told.of:
            return Known(dynamic=image, broker=file, topic_source=self.told.source)
        return Known(topic=image, dynamic=image, broker=file)

    def sources(self, topic: str) -> Sources:
        """Where the settings of the topic come from."""
        return Sources(
            config=self.broker.config, topic=self.topic(topic), dynamic=self.dynamic, known=self.known(topic)
        )

    def retention(self, topic: str) -> Retention:
        """By what settings segments of the topic go; a topic of many partitions is looked up once."""
        if topic not in self.retentions:
            self.retentions[topic] = retention_of(self.sources(topic), topic)
        return self.retentions[topic]

    def replicas(self, partition: PartitionDir) -> AssignedReplicas | None:
        """Who has the partition; None where nobody tells."""
        name, number, node_id = partition.topic, partition.partition, self.broker.node_id
        told = None if self.told is None else self.told.replicas.get((name, number))
        if told is None and self.image is None:
            return None
        min_isr = integer(self.sources(name).of(MIN_ISR, MIN_ISR, "1").value) or 1
        if told is not None:
            return AssignedReplicas(replicas=told[0], isr=told[1], min_isr=min_isr, node_id=node_id)
        return None if self.image is None else replicas_of(self.image, name, number, node_id, min_isr)


Key = tuple[str, str, int]


@frozen
class Loaded:
    """`key` (what, topic, partition) is that by which the broker then knows it; None if it does not.

    `loads_as`: the same while logs are loaded, when no two may have one; up to 3.6 no stray is known before.
    `again`: its dir is offline, and what is told is of the one that takes its place. `other_id`: its topic
    id is not the one that its name has in the metadata. `in_remote`: it begins in remote storage. `epoch` is
    the newest leader epoch of a log that is served, `producer` the highest id of its producers. `in_service`
    is what is not known of it once clients ask for it, and matters to no start that ends.
    """

    outcome: PartitionOutcome | DirectoryOutcome
    dir_state: DirState
    path: str
    key: Key | None = None
    loads_as: Key | None = None
    failure: LoadFailure | None = None
    open_transactions: bool = False
    before: Extent = Extent()
    after: Extent | None
    unknown: str | None = None
    in_service: str | None = None
    later: tuple[Later, ...] = ()
    again: bool = False
    other_id: bool = False
    in_remote: bool = False
    epoch: int = -1
    producer: int = -1

    @property
    def service(self) -> Service | None:
        """What clients have of it; None of what is no current replica."""
        return self.outcome.outcome if isinstance(self.outcome, PartitionOutcome) else None


def searched(situation: Situation) -> Situation:
    """With the partition that has no topic id, and so ends the search for strays, if there is one."""
    release = situation.broker.release
    if situation.image is None or STRAYS.of(release) == StrayHandling.RENAME:
        return situation  # Each is looked at by itself.
    for each in situation.broker.current:
        if FILE_NAME not in each.entries and not situation.assigned(each):
            return replace(situation, keeps_strays=NO_TOPIC_ID.say(release, each.path))
    return situation


def load_directory(dir_state: DirState, partition: PartitionDir, situation: Situation) -> Loaded:
    loaded = load(partition, load_settings(dir_state, partition, situation))
    dir_state.jobs.append(LoadJob(name=partition.name, work=loaded.state.work))
    stray, failure = _stray(loaded, partition, situation)
    failure = loaded.failure or failure
    if partition.kind != "current":
        return _other(dir_state, partition, loaded, stray, failure, situation)
    return _current(dir_state, partition, loaded, stray, failure, situation)


def unseen(dir_state: DirState, partition: PartitionDir) -> Loaded:
    """A current partition that is not looked at; it is there, and nothing is said of it."""
    line = PartitionOutcome(
        dir=dir_state.path, name=partition.name, topic=partition.topic, partition=partition.partition,
        before=Extent(), after=Extent(),
    )  # fmt: skip
    key = ("current", *partition.key)
    return Loaded(
        outcome=line, dir_state=dir_state, path=partition.path, key=key, loads_as=key, after=Extent()
    )


def load_settings(dir_state: DirState, partition: PartitionDir, situation: Situation) -> Settings:
    key = partition.key
    topic = situation.topic(partition.topic)
    interval = integer(topic.get("index.interval.bytes"))
    config = situation.broker.config
    return Settings(
        release=situation.broker.release,
        clean=dir_state.clean,
        recovery_point=dir_state.of(RECOVERY_POINT, key) or 0,
        log_start=max(dir_state.of(LOG_START_OFFSET, key) or 0, 0),
        interval=interval or config.number("log.index.interval.bytes"),
        interval_known=interval is not None or situation.image is not None,
        longest_index=known_room(situation.broker.given, topic),
        segment_bytes=integer(topic.get("segment.bytes")) or config.number("log.segment.bytes"),
        recover=partition.kind != "delete",
        remote=situation.retention(partition.topic).storage,
        drops_epochs=not situation.broker.kraft
        and drops_epochs(topic, config.given, situation.broker.release),
    )


def _stray(
    loaded: LoadedLog, partition: PartitionDir, situation: Situation
) -> tuple[str | None, LoadFailure | None]:
    """(Kafka's words if it is a stray, the exception if the start ends over it)."""
    release = situation.broker.release
    handling = STRAYS.of(release)
    if not situation.broker.kraft or loaded.failure or loaded.unknown:
        return None, None
    if partition.kind in ("delete", "stray"):
        return None, None
    if handling == StrayHandling.NONE:
        return None, None
    missing = loaded.topic_id is None
    if missing and MISSING_TOPIC_ID.of(release) == MissingTopicId.KEPT:
        # The replica gets its id when the metadata makes it leader or follower.
        assigned = situation.image is None or situation.assigned(partition)
        return None if assigned else NO_TOPIC_ID.say(release, partition.path), None
    if missing and MISSING_TOPIC_ID.of(release) == MissingTopicId.FATAL:
        says = NO_TOPIC_ID.say(release, partition.path)
        return None, fatal("RuntimeException", says, partition.name)
    reason = stray_reason(
        situation.image,
        topic_id=loaded.topic_id,
        partition=partition.partition,
        node_id=situation.broker.node_id,
        path=partition.path,
    )
    return reason, None


def _other(
    dir_state: DirState,
    partition: PartitionDir,
    loaded: LoadedLog,
    stray: str | None,
    failure: LoadFailure | None,
    situation: Situation,
) -> Loaded:
    outcomes = {"delete": "deleted", "stray": "kept", "future": "loaded"}
    outcome = "failed" if failure else "stray-renamed" if stray else outcomes[partition.kind]
    outcome = UNKNOWN if loaded.unknown else outcome
    later = (by_deletion(partition),) if partition.kind == "delete" and failure is None else ()
    line = DirectoryOutcome(
        dir=dir_state.path, name=partition.name, kind=partition.kind, outcome=outcome,
        topic=partition.topic, partition=partition.partition, effects=tuple(loaded.state.effects),
        failure=None if failure is None else str(failure),
    )  # fmt: skip
    key, loads_as = _keys(partition, stray, failure, situation)
    return Loaded(
        outcome=line, dir_state=dir_state, path=partition.path, failure=failure, later=later,
        key=key, loads_as=loads_as,
        open_transactions=loaded.open_transactions, before=loaded.before, after=loaded.after,
        unknown=loaded.unknown or loaded.by_listing or loaded.dangling,
    )  # fmt: skip


def unnoted(dir_state: DirState) -> str | None:
    """What comes of a cleaner that has cleaned a log of the dir, and can write down for none how far."""
    path, files = f"{dir_state.path}/{CLEANER_OFFSET}", dir_state.log_dir.files
    there = dir_state.log_dir.entries
    beside = f"{CLEANER_OFFSET}.tmp"
    kept = files.fixed(path) if CLEANER_OFFSET in there else None
    kept = kept or (files.denial(f"{dir_state.path}/{beside}", WRITE) if beside in there else None)
    if kept is None:
        return None
    says = f"{CANNOT_WRITE_CHECKPOINT.format(path)}: {path}.tmp -> {CLEANER_OFFSET} ({kept})"
    return f"how long {dir_state.path} serves: the cleaner's first log of it ends with that: {says}"


def _doubt(dir_state: DirState, loaded: LoadedLog, situation: Situation) -> str | None:
    """What is not known of a log that is served."""
    return (
        doubtful_mark(dir_state, loaded, situation.image)
        or cut_short(dir_state, loaded, situation.image)
        or gone_on(dir_state, loaded)
    )


def _current(
    dir_state: DirState,
    partition: PartitionDir,
    loaded: LoadedLog,
    stray: str | None,
    failure: LoadFailure | None,
    situation: Situation,
) -> Loaded:
    after, outcome, reason = loaded.after or Extent(), Service.SERVED, stray
    later: tuple[Later, ...] = ()
    other_id, unread, doubt, in_service = False, None, None, None
    if loaded.unknown is not None:
        outcome, stray = Service.UNSERVED, f"not known: {loaded.unknown}"
        reason = stray
    elif failure is not None:
        after = Extent()
    elif stray is not None and situation.keeps_strays is not None:
        after, outcome = Extent(), Service.UNSERVED
        loaded.state.note("partition-unserved", says=situation.keeps_strays)
    elif stray is not None:
        after = _set_aside(loaded, stray, situation)
        outcome = Service.STRAY if after.log_end_offset is None else Service.EMPTY
    elif (reason := _unserved(loaded, situation)) is not None:
        loaded.state.note("partition-unserved", says=reason)
        after, outcome, other_id = Extent(), Service.UNSERVED, situation.assigned(partition)
    else:
        cleaned_to = dir_state.of(CLEANER_OFFSET, partition.key)
        own, config = situation.topic(partition.topic), situation.broker.config
        cleaned = compacted(partition.topic, cleaned_to, own, situation.dynamic, config.given)
        alone = situation.image is not None and situation.image.alone(partition.topic, partition.partition)
        begins = dir_state.of(LOG_START_OFFSET, partition.key)
        limits = situation.retention(partition.topic).limits
        after, unread = as_led(loaded, after, limits, alone=alone, begins=begins)
        try:
            told = situation.image is not None
            hole = note_failing_reads(loaded, situation.budget, compacted=cleaned, told=told)
            later = (*_closed(dir_state, loaded, situation), *_served(dir_state, loaded, after, situation))
            doubt = _doubt(dir_state, loaded, situation)
            in_service = not_loaded(partition, situation.broker.release, situation.image) or hole
            in_service = in_service or (unnoted(dir_state) if cleaned and config.cleaner_runs else None)
        except Unreadable as refused:
            unread = UNREAD.format(partition.path, refused)
    line = PartitionOutcome(
        dir=dir_state.path, name=partition.name, topic=partition.topic, partition=partition.partition,
        before=loaded.before, after=after, effects=tuple(loaded.state.effects),
        failure=None if failure is None else str(failure), segments=len(loaded.state.segments),
        outcome=outcome, reason=reason,
    )  # fmt: skip
    key, loads_as = _keys(partition, stray, failure, situation)
    return Loaded(
        outcome=line, dir_state=dir_state, path=partition.path, failure=failure, later=later,
        key=key, loads_as=loads_as,
        open_transactions=loaded.open_transactions, before=loaded.before, after=loaded.after,
        unknown=loaded.unknown or unread or loaded.by_listing or loaded.dangling or doubt,
        in_service=in_service, other_id=other_id,
        in_remote=begins_there(line, loaded),
        epoch=newest_of_topic(partition, situation.image),
        producer=max(loaded.state.states, default=-1),
    )  # fmt: skip


def _keys(
    partition: PartitionDir, stray: str | None, failure: LoadFailure | None, situation: Situation
) -> tuple[Key | None, Key | None]:
    """By what the broker knows the replica in the end, and while it loads."""
    if failure is not None or partition.kind not in ("current", "future"):
        return None, None
    key = (partition.kind, partition.topic, partition.partition)
    found_late = STRAYS.of(situation.broker.release) == StrayHandling.DELETE
    return (None if stray else key), (key if found_late or not stray else None)


def _closed(dir_state: DirState, loaded: LoadedLog, situation: Situation) -> Iterator[Later]:
    """The dir that goes offline once the log is written to, or read; and perhaps the broker with it."""
    partition, failure = loaded.state.partition, fails_later(loaded.state)
    if failure is not None:
        when, says = failure
        ends = f". {ENDS_WITH_IT}" if is_needed(dir_state, situation.broker) else ""
        yield Later(
            dir=dir_state.path, file=partition.name, what="log dir offline", why=f"{when}: {says}{ends}",
            seconds=None, topic=partition.topic, partition=partition.partition, broker_says=says, fails=True,
        )  # fmt: skip


def _unserved(loaded: LoadedLog, situation: Situation) -> str | None:
    """Why a log that stays is nobody's: by the id of the broker, or of its topic in the metadata."""
    image, partition = situation.image, loaded.state.partition
    if situation.broker.gets_new_id:
        return NEITHER
    if image is None or (loaded.topic_id is None and situation.broker.kraft):
        return None
    known = image.ids.get(partition.topic)
    if known is None:
        return NO_SUCH_TOPIC.format(partition.topic)
    if not image.assigned(partition.topic, partition.partition, situation.broker.node_id):
        return NO_SUCH_TOPIC.format(partition.name)
    if loaded.topic_id is None or known in (loaded.topic_id, partition.topic):
        return None  # With ZooKeeper a topic may be known by its name alone, and the log by none at all.
    name = f"{partition.topic}-{partition.partition}"
    return OTHER_ID.format(known, name, loaded.topic_id)


def _set_aside(loaded: LoadedLog, reason: str, situation: Situation) -> Extent:
    """Say that the directory is a stray; what clients then see of the partition."""
    state = loaded.state
    partition = state.partition
    lost = _all_of(loaded)
    if STRAYS.of(situation.broker.release) == StrayHandling.DELETE:
        state.note("directory-deleted", says=reason, lost=lost)
    else:
        renamed = f"{partition.topic}-{partition.partition}.<id>-stray"
        says = f"{reason.removesuffix('.')}. {RENAMED.format(partition.path, renamed)}"
        state.note("stray-renamed", says=says, lost=lost)
    image = situation.image
    expected = image is None or image.assigned(partition.topic, partition.partition, situation.broker.node_id)
    if not expected or _lies_elsewhere(partition, situation):
        return Extent()
    state.note("log-recreated-empty", offset=0)
    return EMPTY


def _lies_elsewhere(partition: PartitionDir, situation: Situation) -> bool:
    """Whether another directory is the partition, and no stray: it has the place that a new log would get."""
    image, node_id = situation.image, situation.broker.node_id
    name, number = f"{partition.topic}-{partition.partition}", partition.partition
    others = (log_dir.partition(name) for log_dir in situation.broker.dirs)
    return any(
        stray_reason(image, topic_id=each.topic_id, partition=number, node_id=node_id, path=each.path) is None
        for each in others
        if each is not None and each.path != partition.path
    )


def _all_of(loaded: LoadedLog) -> Lost:
    """Everything in the log; counted by offsets where it would take long to read."""
    segments, after = loaded.state.segments, loaded.after
    size = sum(each.size for each in segments)
    if size <= _READ_AT_MOST or after is None:
        return sum((lost_from(each, 0) for each in segments), Lost())
    return Lost(records=(after.log_end_offset or 0) - (after.log_start_offset or 0), bytes=size)


def _served(dir_state: DirState, loaded: LoadedLog, after: Extent, situation: Situation) -> tuple[Later, ...]:
    """The high watermark, and what retention and a first cleaning will do."""
    partition = loaded.state.partition
    note_short(dir_state, loaded, after, situation.image)
    stored = dir_state.of(HIGH_WATERMARK, partition.key)
    mark = high_watermark(after, stored, situation.replicas(partition), situation.broker.release)
    retention = situation.retention(partition.topic)
    cleaned = dir_state.of(CLEANER_OFFSET, partition.key)
    gone = [*by_retention(loaded, after, retention, mark, cleaned, now_ms=situation.now_ms)]
    own, config = situation.topic(partition.topic), situation.broker.config
    taken = newly_compacted(partition.topic, cleaned, own, situation.dynamic, config.given)
    if config.cleaner_runs and taken and not gone:
        gone += by_first_cleaning(loaded)
    if situation.known(partition.topic).topic:
        return tuple(gone)
    return tuple(replace(each, why=f"{each.why}{_UNKNOWN_TOPIC}") for each in gone)


def unless_cleaner_dies(outcomes: Sequence[Loaded], situation: Situation) -> Iterator[Later]:
    """What comes later of all of them; where one ends the cleaner for all, what that deletes hangs on it."""
    fatal_log: tuple[str, Spoiled] | None = None
    if not SETS_ASIDE.of(situation.broker.release) and any(
        _by_cleaner(e, situation) for o in outcomes for e in o.later
    ):
        places = ((one, over) for one in outcomes if (over := _ends_cleaner(one, situation)) is not None)
        fatal_log = next(((one.path, over) for one, over in places), None)
    for each in (each for one in outcomes for each in one.later):
        if fatal_log is not None and _by_cleaner(each, situation):
            yield replace(each, why=f"{each.why}{UNLESS_DEAD.format(*fatal_log)}")
        else:
            yield each


def _by_cleaner(each: Later, situation: Situation) -> bool:
    return each.limit is not None and situation.retention(each.topic or "").limits.compact


def _ends_cleaner(one: Loaded, situation: Situation) -> Spoiled | None:
    """Over what in this log the cleaner throws, if it takes it at all."""
    if one.key is None or one.key[0] != "current" or one.after is None:
        return None
    partition = one.dir_state.log_dir.partition(one.outcome.name)
    limits = situation.retention(one.key[1]).limits
    if partition is None or not (limits.compact and limits.looked_at):
        return None
    try:
        return thrown_over(load(partition.afresh(), load_settings(one.dir_state, partition, situation)))
    except Unreadable:
        return None
