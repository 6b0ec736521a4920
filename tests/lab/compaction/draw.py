"""Logs of compacted topics, drawn from a seed: settings, batches, transactions, times, checkpoints, damage.

A log is drawn from its seed and number alone, so that it can be made again, byte by byte, from a line of a
record. Times are ages: they count back from when the log is written.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

HOUR, DAY = 3_600_000, 86_400_000
CODECS = (0, 0, 0, 1, 2, 3, 4)
PLAIN, IDEMPOTENT, TRANSACTION = "plain", "idempotent", "transaction"
DAMAGES = ("codec-7", "cut-tail", "wrong-payload", "flip", "size-huge", "size-small", "magic-9")


@dataclass(frozen=True)
class DrawnRecord:
    """`value` is its size, None for a tombstone; `key` None for a record without one."""

    key: int | None
    value: int | None


@dataclass(frozen=True)
class DrawnBatch:
    """`producer` -1 is none; `end` is a marker that follows it: commit, abort, or None."""

    records: tuple[DrawnRecord, ...]
    age: int
    codec: int = 0
    magic: int = 2
    producer: int = -1
    transactional: bool = False
    end: str | None = None


@dataclass(frozen=True)
class DrawnSegment:
    """`zeros`: its time index has zeros for an entry; `modified` is the age of its file, `gap` offsets
    at its end have no record."""

    batches: tuple[DrawnBatch, ...]
    modified: int
    zeros: bool = False
    gap: int = 0


@dataclass(frozen=True)
class DrawnLog:
    """`checkpoint` is (kind, n): what cleaner-offset-checkpoint says of it; `start` where its log starts."""

    name: str
    settings: Mapping[str, str]
    segments: tuple[DrawnSegment, ...]
    checkpoint: tuple[str, int]
    start: tuple[str, int] = ("none", 0)
    damage: tuple[str, int] | None = None


@dataclass(frozen=True)
class Kind:
    """What all logs of one start have in common; `settings` are the broker's own.

    `odd`: log starts and checkpoints that lie anywhere; `opened`: many transactions that are left open.
    """

    settings: Mapping[str, str]
    killed: bool = False
    damage: bool = False
    large: bool = False
    odd: bool = False
    opened: bool = False


KINDS = {
    "clean": Kind({}),
    "killed": Kind({}, killed=True),
    "full-map": Kind(
        {"log.cleaner.io.buffer.load.factor": "0.0004", "log.cleaner.dedupe.buffer.size": "1048577"}
    ),
    "threads": Kind({"log.cleaner.threads": "3", "log.cleaner.min.cleanable.ratio": "0.2"}),
    "damaged": Kind({}, damage=True),
    "off": Kind({"log.cleaner.enable": "false"}),
    "lags": Kind({"log.cleaner.min.compaction.lag.ms": str(2 * HOUR), "log.cleanup.policy": "compact"}),
    "large": Kind({}, large=True),
    "odd": Kind({}, odd=True),
    "opened": Kind({}, opened=True),
}
"""The starts, by name. 17 keys make a map full where the load factor is 0.0004 of 43,690 slots."""


def drawn(seed: int, number: int, release: tuple[int, ...], kind: Kind) -> DrawnLog:
    """Log `number` of a start with `seed`."""
    chance = random.Random(f"{seed}/{number}/{'.'.join(map(str, release))}")
    segments = tuple(_segments(chance, release, kind))
    settings = _settings(chance, release)
    checkpoint = _checkpoint(chance, len(segments))
    shape = chance.choice(SHAPES)
    if shape == "half" and not kind.damage:
        segments, settings = _half(segments, chance), {**settings, "min.cleanable.dirty.ratio": "0.5"}
        checkpoint = ("base", 1)
    elif shape == "young-front" and len(segments) > 2:
        segments = (_aged(segments[0], 60_000), *(_aged(each, 9 * DAY) for each in segments[1:]))
        settings, checkpoint = {**settings, "min.compaction.lag.ms": str(HOUR)}, ("base", 1)
        settings.pop("max.compaction.lag.ms", None)
    start = _start(chance, len(segments))
    if kind.odd:
        checkpoint = (
            chance.choice(["beyond", "below", "inside", "none", "end"]),
            chance.randrange(len(segments)),
        )
        start = chance.choice(["inside", "base", "none"]), chance.randrange(len(segments))
    damage = (
        (chance.choice(DAMAGES), chance.randrange(100)) if kind.damage and chance.random() < 0.7 else None
    )
    return DrawnLog(
        name=f"c{number:03d}",
        settings=settings,
        segments=segments,
        checkpoint=checkpoint,
        start=start,
        damage=damage,
    )


SHAPES = ("any",) * 10 + ("half", "young-front", "young-front")
"""`half`: as many bytes are clean as dirty; `young-front`: what is clean is younger than the rest."""


def _half(segments: tuple[DrawnSegment, ...], chance: random.Random) -> tuple[DrawnSegment, ...]:
    whole = next((each for each in segments if each.batches), segments[0])
    alike = replace(whole, batches=tuple(map(_plain, whole.batches)), gap=0)
    return (alike, alike, *([alike] if chance.random() < 0.3 else []), segments[-1])


def _aged(segment: DrawnSegment, age: int) -> DrawnSegment:
    batches = tuple(replace(each, age=age) for each in segment.batches)
    return replace(segment, batches=batches, modified=age, zeros=False)


def _settings(chance: random.Random, release: tuple[int, ...]) -> dict[str, str]:
    policies = ["compact"] * 14 + ["compact,delete"] * 3 + ["delete", None]
    policies += [""] if release >= (3, 9) else []
    policy = chance.choice(policies)
    found = {} if policy is None else {"cleanup.policy": policy}
    ratio = chance.choice([None, None, "0.0", "0.01", "0.25", "0.5", "0.75", "1.0"])
    if ratio is not None:
        found["min.cleanable.dirty.ratio"] = ratio
    lag = chance.choice([None, None, None, None, "1", str(HOUR), str(30 * HOUR)])
    if lag is not None:
        found["min.compaction.lag.ms"] = lag
    most = chance.choice([None, None, None, HOUR, 31 * HOUR, 100 * DAY])
    if release >= (2, 3) and most is not None:
        found["max.compaction.lag.ms"] = str(max(most, int(lag or 2 * HOUR)))
    kept = chance.choice([None, None, "0", str(HOUR)])
    if kept is not None:
        found["delete.retention.ms"] = kept
    if policy == "compact,delete":
        found["retention.ms"] = chance.choice(["-1", str(3 * DAY), str(12 * DAY)])
    return found


def _segments(chance: random.Random, release: tuple[int, ...], kind: Kind) -> list[DrawnSegment]:
    count = chance.choice([1, 2, 2, 3, 3, 4, 5, 7])
    keys = chance.choice([1, 3, 8, 20, 60])
    age = chance.choice([HOUR // 2, 5 * HOUR, 2 * DAY, 9 * DAY])
    alike = chance.random() < 0.15
    writer = _Writer(chance, release, keys, large=kind.large, opened=kind.opened)
    found: list[DrawnSegment] = []
    for number in range(count):
        empty = chance.random() < (0.15 if number == count - 1 else 0.04)
        batches = () if empty else tuple(writer.batches(age, last=number == count - 1))
        if alike and found and not empty and number < count - 1:
            batches = tuple(_plain(each) for each in found[0].batches)
        modified = age if chance.random() < 0.7 else chance.choice([0, HOUR, 20 * DAY])
        zeros, gap = chance.random() < 0.05, chance.choice([0] * 9 + [5])
        gap = gap if batches and batches[-1].magic == 2 and number < count - 1 else 0
        found.append(DrawnSegment(batches, max(modified, 1000), zeros, gap))
        if chance.random() < 0.8:
            age = max(age - chance.choice([0, HOUR, 20 * HOUR, 3 * DAY]), 5000)
        else:
            age = chance.choice([HOUR // 2, 5 * HOUR, 40 * DAY])
    return found


def _plain(batch: DrawnBatch) -> DrawnBatch:
    return DrawnBatch(records=batch.records, age=batch.age, codec=batch.codec, magic=batch.magic)


class _Writer:
    """Draws batches one after the other; remembers whose transactions are open."""

    def __init__(
        self, chance: random.Random, release: tuple[int, ...], keys: int, *, large: bool, opened: bool
    ) -> None:
        self.chance = chance
        self.keys = keys
        self.large = large
        self.codecs = [codec for codec in CODECS if codec < 4 or release >= (2, 1)]
        self.style = chance.choice([PLAIN, PLAIN, IDEMPOTENT, TRANSACTION])
        self.legacy = self.style == PLAIN and release < (3, 0) and chance.random() < 0.2
        self.leaves_open = self.style == TRANSACTION and chance.random() < 0.6
        self.hung: set[int] = set()
        self.opened = opened
        if opened:
            self.style, self.legacy, self.leaves_open = TRANSACTION, False, chance.random() < 0.9

    def batches(self, age: int, *, last: bool) -> list[DrawnBatch]:
        """Those of one segment."""
        most = 40 if self.large else 6
        return [self._batch(age) for _ in range(self.chance.randint(1, most))]

    def _batch(self, age: int) -> DrawnBatch:
        chance = self.chance
        age = age + chance.choice([0, 0, 1000, HOUR])
        magic = chance.choice([0, 1]) if self.legacy else 2
        records = tuple(self._record(magic) for _ in range(chance.randint(1, 60 if self.large else 6)))
        codec = min(chance.choice(self.codecs), 3) if magic < 2 else chance.choice(self.codecs)
        style = self.style if chance.random() < 0.8 else PLAIN
        if style == PLAIN:
            return DrawnBatch(records, age, codec, magic)
        producer = 1000 + chance.randrange(3)
        if producer + 10 in self.hung:
            return DrawnBatch(records, age, codec, magic)
        if style == IDEMPOTENT:
            return DrawnBatch(records, age, codec, magic, producer)
        ends = ["commit", "commit", "abort", None] if self.leaves_open else ["commit", "commit", "abort"]
        end = chance.choice(["commit"] * 9 + ["abort"] * 3 + [None]) if self.opened else chance.choice(ends)
        if end is None:
            self.hung.add(producer + 10)
        return DrawnBatch(records, age, codec, magic, producer + 10, True, end)

    def _record(self, magic: int) -> DrawnRecord:
        chance = self.chance
        key = None if chance.random() < 0.01 else chance.randrange(self.keys)
        value = None if chance.random() < 0.15 else chance.choice([0, 10, 80, 300])
        return DrawnRecord(key, value)


def _checkpoint(chance: random.Random, segments: int) -> tuple[str, int]:
    kinds = (
        ["none"] * 7 + ["base"] * 6 + ["inside"] * 2 + ["zero", "zero", "end", "active", "beyond", "below"]
    )
    return chance.choice(kinds), chance.randrange(segments)


def _start(chance: random.Random, segments: int) -> tuple[str, int]:
    return chance.choice(["none"] * 9 + ["base", "inside"]), chance.randrange(segments)
