"""What the log cleaner would do with each compacted partition: clean it next, or why not.

Follows `LogCleanerManager.grabFilthiestCompactedLog`, `cleanableOffsets` and `LogToClean`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import accumulate
from typing import Final, Literal

from segmend.broker.cleaner import (
    FAST_FORWARD,
    LAST_STABLE,
    Cleanable,
    CleanerLimits,
    CleanerVerdict,
    CleanerView,
    Turn,
    again_ratio,
    judge,
    map_slots,
    offset_maps,
)
from segmend.broker.retention import Retained, looks
from segmend.explain.cleaned_size import CleanedSize, CleaningWork, cleaned_size
from segmend.explain.cleaner_blockers import Blocker, Held, blockers, first_timestamp
from segmend.explain.standing import standing
from segmend.formats.config_values import long_integer
from segmend.formats.java_number import LONG_MAX, parse_long
from segmend.formats.offset_checkpoint import CLEANER_OFFSET, HIGH_WATERMARK
from segmend.frozen import frozen, replace
from segmend.loading.cleaner_reads import READ_AT_MOST, Spoiled, stats_fault
from segmend.loading.dirs import DirState
from segmend.loading.high_watermark import Watermark, high_watermark
from segmend.loading.later import look_of, retained
from segmend.loading.limits import Setting
from segmend.loading.load import LoadedLog
from segmend.loading.prelude import ForecastOptions, Prelude
from segmend.loading.reads import Budget
from segmend.loading.replicas import Situation
from segmend.loading.values import Extent
from segmend.logdir.config import ServerConfig
from segmend.logdir.file_system import Unreadable
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import NEWEST, Release
from segmend.node.broker_dirs import BrokerDirs

HOLDS = {
    "next": "dirty enough: the cleaner takes the dirtiest log first, one a thread",
    "max-lag": "less is dirty than min.cleanable.dirty.ratio asks for, but max.compaction.lag.ms has passed",
    "clean-enough": "less is dirty than min.cleanable.dirty.ratio asks for",
    "nothing-dirty": "nothing lies between the first dirty offset and what may be cleaned",
    "uncleanable": "due, but the cleaner throws over a batch that it cannot read, and leaves the log alone",
    "endless": "cleaned again and again: offsets in front of the next segment are missing (KAFKA-8764)",
    "starved": "due, but others are cleaned again and again, and are dirtier: its turn never comes",
    "cleaner-off": "log.cleaner.enable is false",
}
"""What becomes of a log, by key."""
BOUNDS = {
    "active": "the active segment, which is never cleaned",
    "transaction": "an open transaction",
    "high-watermark": "the high watermark",
    "lag": "a segment younger than min.compaction.lag.ms",
}
"""Where the cleanable part ends."""

CleaningOutcome = Literal[
    "next", "max-lag", "clean-enough", "nothing-dirty", "starved", "endless", "uncleanable", "cleaner-off"
]
OUTCOMES: Final[Mapping[Turn | None, CleaningOutcome]] = {
    Turn.RATIO: "next",
    Turn.MAX_LAG: "max-lag",
    None: "clean-enough",
}
_NEVER = LONG_MAX
_SETTINGS = (
    ("min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio", "0.5"),
    ("min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms", "0"),
    ("max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms", str(_NEVER)),
    ("delete.retention.ms", "log.cleaner.delete.retention.ms", "86400000"),
)


@frozen
class Compaction:
    """One compacted partition, of `size` bytes.

    `deleted` segments go by retention before it is its turn, which is the `turn`-th, counted from 1;
    `verdict` is of what is left then. It may be the other way round: `instead` is what becomes of it if the
    cleaner is first, or comes between two looks of retention. `cleaned` is what a cleaning leaves, None where
    there is nothing to clean; `again` is how dirty it is after each cleaning, where one is not enough.
    `spoiled` is what makes the cleaner throw before it asks whose turn it is.
    """

    dir: str
    name: str
    topic: str
    partition: int
    settings: tuple[Setting, ...]
    release: Release = NEWEST
    log_end_offset: int = 0
    verdict: CleanerVerdict | None = None
    checkpoint: int | None = None
    outcome: CleaningOutcome = "nothing-dirty"
    size: int = 0
    mark: Watermark = Watermark()
    deleted: int = 0
    turn: int | None = None
    instead: tuple[Compaction, ...] = ()
    cleaned: CleanedSize | None = None
    again: float = 0.0
    spoiled: Spoiled | None = None
    blockers: tuple[Blocker, ...] = ()
    failure: str | None = None

    @property
    def settings_known(self) -> bool:
        return all(each.known for each in self.settings)

    @property
    def ratio(self) -> float:
        return 0.0 if self.verdict is None else self.verdict.ratio

    @property
    def taken(self) -> bool:
        """Whether a cleaning of it begins."""
        return self.due and self.spoiled is None

    @property
    def due(self) -> bool:
        """Whether it is taken by one of the next looks."""
        return self.outcome in ("next", "max-lag", "endless", "uncleanable")


def compactions(
    broker: BrokerDirs, options: ForecastOptions, wanted: Callable[[PartitionDir], bool]
) -> list[Compaction]:
    """The wanted partitions whose cleanup.policy has compact, in the order of their dirs.

    The cleaner's thread deletes by retention after each log that it cleaned: the dirtiest logs, one a thread,
    are cleaned before, and all others after. Up to 3.0 it cleans before the broker leads partitions, and
    deletes once it does: which of both comes first is a matter of moments.
    """
    prelude = Prelude(broker, options, Budget())
    situation = prelude.situation()
    looks = []
    for state in prelude.states:
        running = not state.clean and bool(state.log_dir.broker_running())
        for partition in state.log_dir.partitions:
            if partition.kind == "current" and wanted(partition) and _asks(state, partition, situation):
                looks.append(_look_or_closed(state, partition, situation, running=running))
    return _in_turn(looks, situation, Budget())


def _asks(state: DirState, partition: PartitionDir, situation: Situation) -> bool:
    """Whether it is compacted, or was and its topic's settings are not on this disk."""
    topic = partition.topic
    if situation.retention(topic).limits.compact:
        return True
    return not situation.known(topic).topic and (topic, partition.partition) in _cleaned(state)


def _cleaned(state: DirState) -> Container[tuple[str, int]]:
    return state.offsets.get(CLEANER_OFFSET, {})


def _in_turn(looks: Sequence[CleaningLook], situation: Situation, budget: Budget) -> list[Compaction]:
    """What becomes of logs that one cleaner looks after."""
    _, threads, _ = offset_maps(situation.broker.config.given)
    ratios = sorted((each.first.ratio for each in looks if each.first.taken), reverse=True)
    waits_too = LAST_STABLE.of(situation.broker.release)
    told = []
    for each in looks:
        rank = sum(ratio > each.first.ratio for ratio in ratios)
        alike = ratios.count(each.first.ratio)
        chosen, instead = each.then, list[Compaction]()
        if each.then is not each.first:
            if waits_too and each.first.taken and rank + alike <= threads:
                chosen = each.first
            elif not waits_too or (each.first.taken and rank < threads):
                others = (each.first, *each.between)
                instead = [replace(other, turn=rank + 1 if other.taken else None) for other in others]
        turn = rank + 1 if chosen.taken else None
        told.append(each.told(replace(chosen, turn=turn, instead=tuple(instead)), situation, budget))
    return _starved(told, threads)


def _starved(studied: Sequence[Compaction], threads: int) -> list[Compaction]:
    """Up to 2.4.0, logs that are cleaned again and again keep the threads from those that are less dirty.

    As many of them as there are threads leave a gap now and then, where there are several.
    """
    needed = threads if threads == 1 else threads + 1
    told = []
    for each in studied:
        others = sorted((other.again for other in studied if other.again and other is not each), reverse=True)
        if each.taken and len(others) >= needed and each.ratio < others[needed - 1]:
            told.append(replace(each, outcome="starved", turn=None))
        else:
            told.append(replace(each, outcome="endless") if each.again else each)
    return told


def _again(
    compaction: Compaction, size: CleanedSize | None, view: CleanerView, situation: Situation
) -> float:
    """How dirty a log is after each of its cleanings, 0 if one is enough."""
    verdict = compaction.verdict
    if FAST_FORWARD.of(situation.broker.release) or not compaction.due or verdict is None or size is None:
        return 0.0
    if size.end is None or size.end >= verdict.stop or size.full or size.spoiled:
        return 0.0
    limits, rewritten = _limits(compaction), view.between(0, verdict.stop)
    newest = max((each.largest_timestamp for each in rewritten), default=0)
    if limits.min_lag_ms > 0 and newest > situation.now_ms - limits.min_lag_ms:
        return 0.0  # in one segment with what is younger, it is young
    topic = long_integer(situation.topic(compaction.topic).get("segment.bytes"))
    ratio = again_ratio(size.rewritten, topic or situation.broker.config.number("segment.bytes"))
    return ratio if ratio > limits.dirty_ratio else 0.0


@frozen
class CleaningLook:
    """What becomes of a log if it is cleaned `first`, and if it is its turn after a deletion (`then`).

    `between` is after some of the looks that delete, where it takes them several.
    """

    first: Compaction
    then: Compaction
    between: tuple[Compaction, ...] = ()
    loaded: LoadedLog | None = None
    view: CleanerView | None = None

    def told(self, compaction: Compaction, situation: Situation, budget: Budget) -> Compaction:
        """With what is left and what holds it, as far as the `budget` of bytes to read goes."""
        verdict, view, loaded = compaction.verdict, self.view, self.loaded
        if verdict is None or view is None or loaded is None:
            return compaction
        release, limits = situation.broker.release, _limits(compaction)
        size = None
        if (
            verdict.dirty_bytes
            and compaction.spoiled is None
            and budget.takes(min(compaction.size, READ_AT_MOST))
        ):
            work = CleaningWork(
                verdict=verdict, release=release, now_ms=situation.now_ms,
                slots=_slots(situation.broker.config),
                delete_retention_ms=parse_long(compaction.settings[4].value) or 0,
            )  # fmt: skip
            size = cleaned_size(loaded, work)
            if size.to == 0 and verdict.first_dirty:  # nothing was there to map: the next round begins at 0
                anew = judge(replace(view, checkpoint=0), limits, release, situation.now_ms)
                whole = cleaned_size(loaded, replace(work, verdict=anew))
                size = replace(size, rewritten=whole.rewritten, end=whole.end)
        held = Held(
            loaded=loaded, view=view, verdict=verdict, limits=limits, release=release,
            spoiled=compaction.spoiled if size is None else size.spoiled,
        )  # fmt: skip
        if compaction.due and size is not None and size.spoiled is not None:
            compaction = replace(compaction, outcome="uncleanable")
        again = _again(compaction, size, view, situation)
        return replace(compaction, cleaned=size, again=again, blockers=tuple(blockers(held)))


def _look_or_closed(
    state: DirState, partition: PartitionDir, situation: Situation, *, running: bool
) -> CleaningLook:
    """What this process may not read is told of its partition, and keeps none of the others back."""
    policy = situation.retention(partition.topic).settings[0]
    others = (situation.sources(partition.topic).of(*each) for each in _SETTINGS)
    compaction = Compaction(
        dir=state.path, name=partition.name, topic=partition.topic, partition=partition.partition,
        settings=(policy, *others), release=situation.broker.release,
    )  # fmt: skip
    try:
        return _look(state, partition, situation, compaction, running=running)
    except Unreadable as error:
        failed = replace(compaction, failure=str(error))
        return CleaningLook(first=failed, then=failed)


def _look(
    state: DirState, partition: PartitionDir, situation: Situation, compaction: Compaction, *, running: bool
) -> CleaningLook:
    """One partition, cleaned before and after a deletion."""
    retention = situation.retention(partition.topic)
    stands = standing(state, partition, situation, running=running)
    loaded, after = stands.loaded, stands.loaded.after
    if after is None:
        failed = replace(compaction, failure=str(loaded.failure or loaded.unknown))
        return CleaningLook(first=failed, then=failed)
    unlimited = replace(retention.limits, retention_ms=-1)
    kept = retained(loaded, after, unlimited, situation.now_ms, every=True, running=stands.open_end)
    stored = state.of(HIGH_WATERMARK, partition.key)
    mark = high_watermark(after, stored, situation.replicas(partition), situation.broker.release)
    reached = mark.reach if stored is None else mark.offset  # where nothing tells of it, nothing holds
    look = look_of(loaded, after, retention.limits, mark, situation.now_ms)
    dated = _limits(compaction).max_lag_ms < _NEVER
    checkpoint = state.of(CLEANER_OFFSET, partition.key)
    view = replace(_view(loaded, after, kept, dated=dated), high_watermark=reached, checkpoint=checkpoint)
    compaction = replace(
        compaction,
        checkpoint=checkpoint,
        size=sum(each.size for each in kept),
        mark=mark,
        log_end_offset=view.log_end,
    )
    first = _judged(compaction, view, situation)
    spoiled = None
    if first.verdict is not None and first.outcome != "cleaner-off":
        spoiled = stats_fault(loaded, view.log_start, view.log_end, checkpoint, situation.broker.release)
    if spoiled is not None:  # set aside at the first look, and not looked at by retention any more
        first = replace(first, spoiled=spoiled, outcome="uncleanable")
        return CleaningLook(first=first, then=first, loaded=loaded, view=view)
    counts = [sum(each.count for each in deleted) for deleted in looks(kept, retention.limits, look)]
    left = [_deleted(compaction, view, gone, situation) for gone in accumulate(counts)]
    then = left[-1] if left else first
    return CleaningLook(first=first, then=then, between=tuple(left[:-1]), loaded=loaded, view=view)


def _deleted(compaction: Compaction, view: CleanerView, gone: int, situation: Situation) -> Compaction:
    return _judged(replace(compaction, deleted=gone), _without(view, gone), situation)


def _judged(compaction: Compaction, view: CleanerView, situation: Situation) -> Compaction:
    verdict = judge(view, _limits(compaction), situation.broker.release, situation.now_ms)
    outcome: CleaningOutcome = OUTCOMES[verdict.turn] if verdict.dirty_bytes else "nothing-dirty"
    if not situation.broker.config.cleaner_runs:
        outcome = "cleaner-off"
    return replace(compaction, verdict=verdict, outcome=outcome)


def _without(view: CleanerView, gone: int) -> CleanerView:
    """The log without its first segments; a new one begins where all are gone."""
    left = view.segments[gone:] or [Cleanable(base_offset=view.log_end, size=0, largest_timestamp=-1)]
    return replace(view, segments=left, log_start=max(view.log_start, left[0].base_offset))


def _slots(config: ServerConfig) -> int:
    size, threads, load = offset_maps(config.given)
    return map_slots(size, threads, load or 0.9)


def _limits(compaction: Compaction) -> CleanerLimits:
    _, ratio, least, most, _ = (setting.value for setting in compaction.settings)
    try:
        dirty_ratio = float(ratio)
    except ValueError:
        dirty_ratio = 0.5
    return CleanerLimits(
        dirty_ratio=dirty_ratio, min_lag_ms=parse_long(least) or 0, max_lag_ms=parse_long(most) or 0
    )


def _view(loaded: LoadedLog, after: Extent, kept: Sequence[Retained], *, dated: bool) -> CleanerView:
    """The log as the cleaner sees it; the segments' first timestamps are read if they count (`dated`)."""
    firsts = [first_timestamp(each) if dated else None for each in loaded.state.segments]
    start, end = after.log_start_offset or 0, after.log_end_offset or 0
    opened = [each.current_txn_first_offset for each in loaded.state.states.values()]
    return CleanerView(
        segments=[
            Cleanable(
                base_offset=each.base_offset, size=each.size, largest_timestamp=each.largest_timestamp,
                first_timestamp=first,
            )
            for each, first in zip(kept, firsts, strict=True)
        ],
        log_start=start, log_end=end, high_watermark=end,
        unstable=min((max(offset, start) for offset in opened if offset >= 0), default=None),
    )  # fmt: skip
