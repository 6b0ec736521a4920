"""Why each segment is deleted or stays: the retention of `later`, asked about every segment.

Nothing is recovered: a log that was not closed is taken as it stands, as the broker that runs over it has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from segmend.broker.retention import SegmentFate, judge
from segmend.formats.offset_checkpoint import HIGH_WATERMARK
from segmend.frozen import frozen
from segmend.loading.dirs import DirState
from segmend.loading.later import retained
from segmend.loading.limits import Retention, retention_of
from segmend.loading.load import load
from segmend.loading.prelude import Options, Prelude
from segmend.loading.reads import Budget
from segmend.loading.replicas import Situation, load_settings
from segmend.logdir.tree import PartitionDir
from segmend.node.broker_dirs import BrokerDirs


@frozen
class Reasons:
    """One partition. `high_watermark` is the checkpoint's, None if it has none (the end counts then).

    `alone`: this is the only replica, so that the high watermark is at the end once it leads.
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
    alone: bool = False
    verdicts: Sequence[SegmentFate] = ()
    failure: str | None = None

    @property
    def goes(self) -> list[SegmentFate]:
        """The segments that the next look deletes."""
        return [each for each in self.verdicts if each.goes]

    @property
    def held(self) -> list[SegmentFate]:
        """Those whose time has come, and that stay all the same."""
        return [each for each in self.verdicts if each.holds in ("behind", "high-watermark")]

    @property
    def blocker(self) -> SegmentFate | None:
        """The first segment that stays, if it keeps others that are due."""
        first = next((each for each in self.verdicts if each.goes is None), None)
        return first if self.held or (first is not None and first.holds == "future") else None

    @property
    def doubtful(self) -> list[SegmentFate]:
        """Segments whose time is none of their records': 0 from an index of zeros, or the file's mtime."""
        timed = [each for each in self.verdicts if each.due_ms is not None and each.segment.size]
        return [each for each in timed if each.segment.by_mtime or each.segment.largest_timestamp == 0]

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
        """Bytes of its logs."""
        return sum(each.segment.size for each in self.verdicts)


def reasons(
    broker: BrokerDirs, options: Options, wanted: Callable[[PartitionDir], bool]
) -> Iterator[Reasons]:
    """The wanted partitions of a broker, in the order of its dirs."""
    prelude = Prelude(broker, replace(options, clean=True), Budget())
    situation = prelude.situation()
    for state in prelude.states:
        for partition in state.log_dir.partitions:
            if partition.kind == "current" and wanted(partition):
                yield _reasons(state, partition, situation)


def _reasons(state: DirState, partition: PartitionDir, situation: Situation) -> Reasons:
    own = situation.topic(partition.topic)
    retention = retention_of(situation.broker.config, own, partition.topic, situation.dynamic)
    loaded = load(partition.afresh(), load_settings(state, partition, situation))
    found = Reasons(
        dir=state.path, name=partition.name, topic=partition.topic, partition=partition.partition,
        retention=retention, kraft=situation.broker.kraft,
    )  # fmt: skip
    after = loaded.after
    if after is None:
        return replace(found, failure=str(loaded.failure))
    running = not state.log_dir.is_clean
    segments = retained(loaded, after, retention.limits, situation.now_ms, every=True, running=running)
    start, end = after.log_start_offset or 0, after.log_end_offset or 0
    stored = state.of(HIGH_WATERMARK, (partition.topic, partition.partition))
    image = situation.image
    alone = image is not None and image.alone(partition.topic, partition.partition)
    high_watermark = end if stored is None or alone else max(min(stored, end), start)
    return replace(
        found, log_start_offset=start, log_end_offset=end,
        high_watermark=stored, alone=alone,
        verdicts=judge(
            segments, retention.limits, log_start=start, high_watermark=high_watermark,
            now_ms=situation.now_ms,
        ),
    )  # fmt: skip
