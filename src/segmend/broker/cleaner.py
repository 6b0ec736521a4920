"""What the log cleaner does with one compacted log: from where, up to where, and whether it is its turn.

Follows `LogCleanerManager.cleanableOffsets`, `calculateCleanableBytes`, `maxCompactionDelay` and
`LogToClean`. Whole segments count: a range begins with the segment that *holds* its first offset
(`LogSegments.values`), so a checkpoint in the middle of a segment counts that segment as clean and as dirty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from segmend.broker.rule import Words, new_in
from segmend.formats.java_number import parse_double, parse_int, parse_long
from segmend.frozen import frozen
from segmend.logdir.release import Release

BACKOFF_MS = 15_000
"""`log.cleaner.backoff.ms`: a look at the start, then one so long after each that cleaned nothing.

Each look also deletes by retention in logs whose cleanup.policy has compact; nobody else does.
"""

MAP_ENTRY_BYTES = 24
"""`SkimpyOffsetMap`: an MD5 and an offset."""

RESETS = new_in(
    "LogCleanerManager.cleanableOffsets (KAFKA-8724): from the log start offset, if the checkpoint lies "
    "outside; before, from the first segment, if it is below that",
    (2, 3, 1),
)
LAST_STABLE = new_in(
    "LogCleanerManager.cleanableOffsets (KAFKA-13194): up to the last stable offset, so the high watermark",
    (3, 1),
)
CLAMPS = new_in("LogCleanerManager.cleanableOffsets (KAFKA-9133): never ends before it begins", (2, 4))
MAX_LAG = new_in("LogCleanerManager.maxCompactionDelay (KIP-354)", (2, 3))
EMPTY_RANGES = new_in(
    "Log.logSegments(from, to) (KAFKA-9826): none in an empty range; before, the one that holds it", (2, 5, 1)
)
FAST_FORWARD = new_in(
    "Cleaner.buildOffsetMapForSegment (KAFKA-8764): past offsets that are missing at its end", (2, 4, 1)
)
HORIZON_IN_BATCHES = new_in(
    "MemoryRecords.filterTo (KAFKA-8522): tombstones and markers have their own date, set when they are "
    "cleaned first; before, one for all, counted from the mtime of the last segment that is clean",
    (3, 1),
)
STATS_READ = new_in(
    "LogCleanerManager.maxCompactionDelay (KIP-354): each look reads the first batch of each dirty segment, "
    "whether it is the turn of the log or not",
    (2, 3),
)
SETS_ASIDE = new_in("LogCleaner.tryCleanFilthiestLog (KAFKA-7215): a log over which it throws", (2, 1))
"""Before, each thread dies over it, and nothing is compacted or deleted by the cleaner any more."""
UNCLEANABLE = Words(
    "LogCleaner.tryCleanFilthiestLog (KAFKA-7215)",
    (
        ((0, 8), "Error due to"),
        (
            (2, 1),
            "Unexpected exception thrown when cleaning log ... Marking its partition ({}) as uncleanable",
        ),
    ),
)
RESET_BELOW = Words.since(
    "LogCleanerManager.cleanableOffsets; not said with compact,delete",
    (
        (0, 9),
        "Resetting first dirty offset of {} to log start offset {} "
        "since the checkpointed offset {} is invalid.",
    ),
)
RESET_BEYOND = Words.since(
    "LogCleanerManager.cleanableOffsets",
    (
        (2, 3, 1),
        "The last checkpoint dirty offset for partition {} is {}, "
        "which is larger than the log end offset {}. Resetting to the log start offset {}.",
    ),
)


@frozen
class Cleanable:
    """One segment; `first_timestamp` is the largest of its first batch, None if it has none."""

    base_offset: int
    size: int
    largest_timestamp: int
    first_timestamp: int | None = None


@frozen
class CleanerView:
    """A log as the cleaner sees it; the last segment is the active one.

    `unstable` is the first offset of an open transaction, `checkpoint` what cleaner-offset-checkpoint says.
    """

    segments: Sequence[Cleanable]
    log_start: int
    log_end: int
    high_watermark: int
    unstable: int | None = None
    checkpoint: int | None = None

    def between(self, first: int, last: int) -> list[Cleanable]:
        """`LogSegments.values`: from the segment that holds `first`, those that begin before `last`."""
        floor = max((each.base_offset for each in self.segments if each.base_offset <= first), default=first)
        return [each for each in self.segments if floor <= each.base_offset < last]

    def sealed_from(self, first: int) -> list[Cleanable]:
        """`nonActiveLogSegmentsFrom`."""
        return self.between(first, self.segments[-1].base_offset)


@frozen
class CleanerLimits:
    dirty_ratio: float = 0.5
    min_lag_ms: int = 0
    max_lag_ms: int = 2**63 - 1


class Bound(StrEnum):
    """What ends the cleanable part."""

    ACTIVE = "active"
    TRANSACTION = "transaction"
    HIGH_WATERMARK = "high-watermark"
    LAG = "lag"


class Reset(StrEnum):
    """Why the checkpoint does not count."""

    BELOW = "below"
    BEYOND = "beyond"


class Turn(StrEnum):
    """Why a log is cleaned at the next look."""

    RATIO = "ratio"
    MAX_LAG = "max-lag"


@frozen
class CleanerVerdict:
    """`first_dirty` to `stop` is cleaned at the next look if there is a `turn`.

    `stop` is the base of a segment, `uncleanable` the offset that is in the way. `due_ms` is when
    max.compaction.lag.ms is reached, None if it is not set or nothing dirty is dated.
    """

    first_dirty: int
    reset: Reset | None
    uncleanable: int
    bound: Bound
    stop: int
    clean_bytes: int
    dirty_bytes: int
    turn: Turn | None
    due_ms: int | None

    @property
    def ratio(self) -> float:
        """`LogToClean.cleanableRatio`."""
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0


def judge(view: CleanerView, limits: CleanerLimits, release: Release, now_ms: int) -> CleanerVerdict:
    first, reset = first_dirty(view, release)
    uncleanable, bound = _uncleanable(view, limits, release, first, now_ms)
    if CLAMPS.of(release):
        uncleanable = max(first, uncleanable)
    sealed = view.sealed_from(uncleanable)
    stop = (sealed[0] if sealed else view.segments[-1]).base_offset
    dirty = dirty_part(view, release, first, stop)
    clean_bytes = sum(each.size for each in view.between(-1, first))
    dirty_bytes = sum(each.size for each in dirty)
    due = _due(view, limits, release, first)
    total = clean_bytes + dirty_bytes
    turn = None
    if dirty_bytes and due is not None and due < now_ms:
        turn = Turn.MAX_LAG
    if total and dirty_bytes / total > limits.dirty_ratio:
        turn = Turn.RATIO
    return CleanerVerdict(
        first_dirty=first, reset=reset, uncleanable=uncleanable, bound=bound, stop=stop, turn=turn,
        clean_bytes=clean_bytes, dirty_bytes=dirty_bytes, due_ms=due,
    )  # fmt: skip


def again_ratio(rewritten: int, segment_bytes: int) -> float:
    """How dirty a log is, once it is cleaned, whose last offsets in front of `stop` are missing.

    Without `FAST_FORWARD` its first dirty offset stays inside the last segment, which counts as both.
    """
    last = rewritten % segment_bytes if rewritten > segment_bytes else rewritten
    return last / (rewritten + last) if rewritten else 0.0


def first_dirty(view: CleanerView, release: Release) -> tuple[int, Reset | None]:
    """Where the dirty part begins, and why not where the checkpoint says."""
    start = view.segments[0].base_offset
    if view.log_start != start and RESETS.of(release):
        start = view.log_start
    if view.checkpoint is None:
        return start, None
    if view.checkpoint < start:
        return start, Reset.BELOW
    if view.checkpoint > view.log_end and RESETS.of(release):
        return start, Reset.BEYOND
    return view.checkpoint, None


def dirty_part(view: CleanerView, release: Release, first: int, stop: int) -> list[Cleanable]:
    if first < stop:
        return view.between(first, stop)
    return [] if EMPTY_RANGES.of(release) else view.between(first, first)


def _uncleanable(
    view: CleanerView, limits: CleanerLimits, release: Release, first: int, now_ms: int
) -> tuple[int, Bound]:
    """The first offset that may not be cleaned, and what is there."""
    bounds = [(view.segments[-1].base_offset, Bound.ACTIVE)]
    if view.unstable is not None and (view.unstable < view.high_watermark or not LAST_STABLE.of(release)):
        bounds.append((view.unstable, Bound.TRANSACTION))
    elif LAST_STABLE.of(release):
        bounds.append((view.high_watermark, Bound.HIGH_WATERMARK))
    if limits.min_lag_ms > 0:
        young = (s for s in view.sealed_from(first) if s.largest_timestamp > now_ms - limits.min_lag_ms)
        bounds += [(each.base_offset, Bound.LAG) for each in young][:1]
    return min(bounds, key=lambda pair: (pair[0], pair[1] != Bound.TRANSACTION))


def _due(view: CleanerView, limits: CleanerLimits, release: Release, first: int) -> int | None:
    """When max.compaction.lag.ms is reached (ms), by the first batch of each dirty segment."""
    if not MAX_LAG.of(release):
        return None
    stamps = [each.first_timestamp for each in view.sealed_from(first)]
    dated = [stamp for stamp in stamps if stamp is not None and stamp > 0]
    due = min(dated) + max(limits.max_lag_ms, 0) if dated else 2**63
    return due if due < 2**63 else None


def offset_maps(given: Mapping[str, str]) -> tuple[int, int, float | None]:
    """By server.properties: the bytes of all offset maps, the threads that share them, and the load factor.

    The load factor is None where it is no number.
    """
    size, threads, load = (
        given.get(f"log.cleaner.{name}", usual).strip()
        for name, usual in (("dedupe.buffer.size", ""), ("threads", ""), ("io.buffer.load.factor", "0.9"))
    )
    return parse_long(size) or 128 << 20, max(parse_int(threads) or 1, 1), parse_double(load)


def map_slots(buffer_bytes: int, threads: int, load: float) -> int:
    """How many keys the offset map of one thread takes."""
    return int(map_load(buffer_bytes, threads, load))


def map_load(buffer_bytes: int, threads: int, load: float) -> float:
    """`SkimpyOffsetMap.slots` by the load factor."""
    memory = min(buffer_bytes // max(threads, 1), 2**31 - 1)
    return memory // MAP_ENTRY_BYTES * load
