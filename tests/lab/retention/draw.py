"""What a trial's log dir is like, drawn from its seed: topics with settings, segments with times and marks.

Everything is told in milliseconds before the trial's `now`, so that it can be written again.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.lab.releases import Release

SECOND, HOUR, DAY = 1000, 3_600_000, 86_400_000
FOREVER = 2**63 - 1
SOON = (14_000, 88_000)
"""Dated expiries are drawn for these milliseconds after `now`, while the broker runs."""
POLICIES = (None,) * 12 + ("", "", "compact", "compact", "delete", "compact,delete")
INDEXES = ("true",) * 12 + ("missing", "empty", "zeros", "negative", "lies", "lies", "ragged", "zero-tail")


@dataclass(frozen=True)
class TrialSegment:
    """`stamps` are the times of its batches (None: no timestamp), `said` what its time index says.

    `kind` is how its batches are: their timestamps those of the append, a transaction that is open.
    """

    offsets: int
    stamps: Sequence[int | None]
    value: int
    magic: int
    index: str
    said: int
    mtime: int
    kind: str = ""


@dataclass(frozen=True)
class TrialTopic:
    """`high`, `start` and `recovery` are offsets of checkpoints; None: not in there. `replicas` 2: the other
    one is not in sync. Old releases end over a log that starts above its recovery point."""

    name: str
    settings: Mapping[str, str]
    segments: Sequence[TrialSegment]
    replicas: int = 1
    high: int | None = None
    start: int | None = None
    recovery: int | None = None

    @property
    def bases(self) -> list[int]:
        """Base offsets, and the log end offset."""
        found = [0]
        for each in self.segments:
            found.append(found[-1] + each.offsets)
        return found


@dataclass(frozen=True)
class Trial:
    """One start over one log dir."""

    seed: int
    clean: bool
    config: Mapping[str, str] = field(default_factory=dict)
    topics: Sequence[TrialTopic] = ()


def settings_of(release: Release, number: int) -> tuple[dict[str, str], int]:
    """The settings of topic `number` and its replicas, the same in all trials of a release."""
    chance = random.Random(f"topic {release.version} {number}")
    found: dict[str, str] = {}
    limits = [60_000, 3 * HOUR, DAY, DAY, 5 * DAY, 30 * DAY, 0, -1, FOREVER, FOREVER - 10**12]
    if chance.random() < 0.6:
        found["retention.ms"] = str(chance.choice(limits))
    if chance.random() < 0.45:
        found["retention.bytes"] = str(chance.choice([0, 1, 300, 700, 1500, 1500, 3000, 10**9, -1]))
    policy = chance.choice(POLICIES)
    if policy is not None:
        found["cleanup.policy"] = policy
    found["min.cleanable.dirty.ratio"] = "1.0"
    found["min.insync.replicas"] = str(chance.choice([1, 2]))
    return found, 2 if release.mode == "kraft" and chance.random() < 0.3 else 1


def draw(release: Release, seed: int, topics: int) -> Trial:
    """The trial of that seed."""
    chance = random.Random(f"trial {release.version} {seed}")
    config = _config(chance, release)
    limit = _broker_limit(config)
    clean = seed % 2 == 1
    found = []
    for number in range(topics):
        settings, replicas = settings_of(release, number)
        own = int(settings.get("retention.ms", limit))
        found.append(_topic(chance, release, f"r{number:03d}", settings, replicas, own))
    return Trial(seed=seed, clean=clean, config=config, topics=found)


def _config(chance: random.Random, release: Release) -> dict[str, str]:
    config: dict[str, str] = {}
    for key, values in (
        ("log.retention.ms", [2 * DAY, 4 * HOUR, -1]),
        ("log.retention.minutes", [90, 2880]),
        ("log.retention.hours", [5, 72, 168]),
        ("log.retention.bytes", [-1, 2000, 100_000]),
    ):
        if chance.random() < 0.4:
            config[key] = str(chance.choice(values))
    if chance.random() < 0.25:
        policies = ["compact,delete", "delete", *([""] if release.number < (4, 2) else [])]
        config["log.cleanup.policy"] = chance.choice(policies)
    if chance.random() < 0.2:
        config["log.cleaner.enable"] = "false"
    return config


def _broker_limit(config: Mapping[str, str]) -> int:
    units = (("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", HOUR))
    return next((int(config[key]) * unit for key, unit in units if key in config), 7 * DAY)


def _topic(
    chance: random.Random, release: Release, name: str, settings: Mapping[str, str], replicas: int, limit: int
) -> TrialTopic:
    mood = chance.choice(["old", "old", "young", "mixed", "mixed", "soon", "soon", "any"])
    count = chance.choice([1, 3, 5, 8, 12, 16, 20, 26])
    segments = [_segment(chance, release, limit, mood, active=number == count - 1) for number in range(count)]
    topic = TrialTopic(name=name, settings=settings, segments=segments, replicas=replicas)
    bases = topic.bases
    end = bases[-1]
    start = chance.choice([None] * 5 + [*bases, chance.randint(0, end)])
    high = chance.choice([end, end, end, None, chance.randint(0, end), *bases])
    return TrialTopic(
        name=name, settings=settings, segments=segments, replicas=replicas, start=start or None, high=high,
        recovery=max(chance.choice([end, bases[-2], chance.choice(bases)]), start or 0),
    )  # fmt: skip


def _segment(chance: random.Random, release: Release, limit: int, mood: str, *, active: bool) -> TrialSegment:
    empty = chance.random() < (0.35 if active else 0.08)
    batches = 0 if empty else chance.choice([1, 1, 1, 2, 3])
    magic = 2
    if release.number < (3, 0) and chance.random() < 0.2:
        magic = chance.choice([0, 1])
    stamps = [_age(chance, limit, mood) if chance.random() > 0.06 else None for _ in range(batches)]
    return TrialSegment(
        offsets=max(batches * 2, 1) if not (active and empty) else 0, stamps=stamps,
        value=chance.choice([10, 10, 100, 300]), magic=magic,
        index=chance.choice(INDEXES), said=_age(chance, limit, mood), mtime=_age(chance, limit, mood),
        kind=chance.choice([""] * 8 + ["append-time", "transaction"]) if magic == 2 else "",
    )  # fmt: skip


def _age(chance: random.Random, limit: int, mood: str) -> int:
    """How long before `now`; below 0 it is in the future."""
    if limit < 0 or limit > 100 * DAY:
        limit = 7 * DAY
    kind = chance.choice(["old", "young", "soon", "future", "old"]) if mood in ("mixed", "any") else mood
    if chance.random() < 0.12:
        kind = chance.choice(["old", "young", "soon", "future"])
    if kind == "old":
        return limit + chance.randint(2 * 60_000, 60 * DAY)
    if kind == "young":
        return chance.randint(0, max(limit - 10 * 60_000, 0))
    if kind == "soon":
        return max(limit - chance.randint(*SOON), -SOON[1])
    return -chance.randint(10 * 60_000, 400 * DAY)
