"""Why each segment is deleted or stays: the retention of `later`, asked about every segment.

A log that was not closed is recovered as the next start does it. Where a broker runs over it, or where
that would take too long to read, it is taken as it stands: as that broker has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from segmend.broker.retention import Outlook, SegmentFate, judge, outlook
from segmend.explain.record_times import RecordTimes, doubt, record_times
from segmend.explain.standing import standing
from segmend.formats.offset_checkpoint import CLEANER_OFFSET, HIGH_WATERMARK
from segmend.frozen import field, frozen, replace
from segmend.loading.dirs import DirState
from segmend.loading.high_watermark import Watermark, high_watermark
from segmend.loading.later import limits_of, look_of, retained
from segmend.loading.limits import Retention
from segmend.loading.prelude import ForecastOptions, Prelude
from segmend.loading.reads import Budget
from segmend.loading.replicas import Situation
from segmend.logdir.as_user import AsUser
from segmend.logdir.file_system import READ, WRITE, Unreadable
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import NEWEST, Release
from segmend.node.broker_dirs import BrokerDirs


@frozen
class Reasons:
    """One partition. `high_watermark` is the checkpoint's, None if it has none; `mark` says where it will be.

    `now_ms` is the time that the segments are judged for; `recovered`: as the next start leaves them.
    `records` are the records' own times of doubtful segments, by base offset. `closed` is the path that
    may not be read, if `failure` is for that.
    """

    dir: str
    name: str
    topic: str
    partition: int
    retention: Retention
    kraft: bool
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int | None = None
    mark: Watermark = Watermark()
    now_ms: int = 0
    recovered: bool = False
    verdicts: Sequence[SegmentFate] = ()
    failure: str | None = None
    closed: str | None = None
    release: Release = NEWEST
    records: Mapping[int, RecordTimes] = field(default_factory=dict)

    @property
    def outlook(self) -> Outlook:
        return outlook(self.verdicts, self.now_ms, self.log_start_offset)

    @property
    def settings_known(self) -> bool:
        return self.retention.known

    @property
    def goes(self) -> list[SegmentFate]:
        """The segments that the next look deletes."""
        return [each for each in self.verdicts if each.goes]

    @property
    def held(self) -> list[SegmentFate]:
        """Those whose time has come, and that stay all the same."""
        return [
            each
            for each in self.verdicts
            if each.holds in ("behind", "high-watermark", "not-copied", "next-look")
        ]

    @property
    def blocker(self) -> SegmentFate | None:
        """The first segment that stays, if it keeps others that are due."""
        first = next((each for each in self.verdicts if each.goes is None), None)
        return first if self.held or (first is not None and first.holds == "future") else None

    @property
    def doubtful(self) -> list[SegmentFate]:
        """Segments whose time is none of their records': zeros, the file's mtime, another unit."""
        return [each for each in self.verdicts if doubt(each) not in (None, "future")]

    @property
    def matters(self) -> bool:
        """Whether something is unusual, or is about to be deleted."""
        future = any(each.holds == "future" for each in self.verdicts)
        return bool(self.failure or self.goes or self.held or self.doubtful or future)

    @property
    def next_date(self) -> int | None:
        """When the oldest segment that stays goes by time (ms)."""
        return next((each.date_ms for each in self.verdicts if each.goes is None), None)

    @property
    def size(self) -> int:
        return sum(each.segment.size for each in self.verdicts)


def reasons(
    broker: BrokerDirs, options: ForecastOptions, wanted: Callable[[PartitionDir], bool]
) -> Iterator[Reasons]:
    """The wanted partitions of a broker, in the order of its dirs, judged for `options.now_ms`."""
    if options.user is not None:
        broker = broker.seen_by(AsUser(options.user))
    prelude = Prelude(broker, options, Budget())
    situation = prelude.situation()
    for state in prelude.states:
        running = not state.clean and bool(state.log_dir.broker_running())
        for partition in state.log_dir.partitions:
            if partition.kind == "current" and wanted(partition):
                yield _reasons_or_closed(state, partition, situation, running=running)


def _reasons_or_closed(
    state: DirState, partition: PartitionDir, situation: Situation, *, running: bool
) -> Reasons:
    """What this process may not read is told of its partition, and keeps none of the others back."""
    try:
        return _reasons(state, partition, situation, running=running)
    except Unreadable as error:
        return Reasons(
            dir=state.path, name=partition.name, topic=partition.topic, partition=partition.partition,
            retention=situation.retention(partition.topic), kraft=situation.broker.kraft,
            now_ms=situation.now_ms, failure=str(error), closed=error.path if error.forbidden else None,
        )  # fmt: skip


def _reasons(state: DirState, partition: PartitionDir, situation: Situation, *, running: bool) -> Reasons:
    retention = situation.retention(partition.topic)
    stands = standing(state, partition, situation, running=running)
    loaded = stands.loaded
    judged = Reasons(
        dir=state.path, name=partition.name, topic=partition.topic, partition=partition.partition,
        retention=retention, kraft=situation.broker.kraft, now_ms=situation.now_ms,
        recovered=stands.recovered, release=situation.broker.release,
    )  # fmt: skip
    after = loaded.after
    if after is None:
        failure = loaded.failure
        place = f"{state.path.rstrip('/')}/{failure.file}" if failure is not None and failure.file else ""
        denied = place and partition.log_dir.files.denial(place, READ | WRITE)
        return replace(judged, failure=str(failure or loaded.unknown), closed=place if denied else None)
    cleaned = state.of(CLEANER_OFFSET, partition.key)
    limits, open_end = limits_of(loaded, after, retention, cleaned), stands.open_end
    segments = retained(loaded, after, limits, situation.now_ms, every=True, running=open_end)
    stored = state.of(HIGH_WATERMARK, partition.key)
    mark = high_watermark(after, stored, situation.replicas(partition), situation.broker.release)
    look = look_of(loaded, after, limits, mark, situation.now_ms)
    verdicts = judge(segments, limits, look, retention.check_interval_ms)
    return replace(
        judged, log_start_offset=look.log_start, log_end_offset=after.log_end_offset or 0,
        high_watermark=stored, mark=mark,
        verdicts=verdicts, records=record_times(loaded, verdicts, situation.budget),
    )  # fmt: skip
