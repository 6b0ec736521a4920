"""The replicas of a fleet added up: by disk, with the days until it is full, and by topic.

Two figures a disk. `days_until_full` counts what is known to stay: logs that retention or a cleaner keeps at
their size do not grow, others up to what known settings let them keep. `days_at_least` is the floor: as
if nothing were removed from now on. What neither counts (others' files, replicas of whose rate nothing is
known, a disk whose size was not seen) is named.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from segmend.fleet import capacity
from segmend.fleet.capacity import BrokerMeasured, Measured
from segmend.fleet.encoding import CodecAdvice, Sample, added, advice
from segmend.fleet.listing import Place, absolute
from segmend.frozen import dataclass, field, frozen, replace
from segmend.logdir.file_system import Unreadable


@frozen
class DiskOfBrokers:
    """A file system with log dirs on it; `brokers` are several where they share it. None: not seen.

    `clusters` are those of the brokers, None for one that nothing tells.
    """

    brokers: tuple[int, ...]
    dirs: tuple[str, ...]
    total: int | None
    used: int | None
    available: int | None
    clusters: tuple[str | None, ...] = ()


@frozen
class DiskCapacity:
    """A disk and what comes to it a day; `at_ms` is its brokers' newest batch."""

    disk: DiskOfBrokers
    at_ms: int
    logs: int
    allocated: int
    written_per_day: float
    net_per_day: float
    days_until_full: float | None
    days_at_least: float | None
    unknown: tuple[str, ...]

    @property
    def other_bytes(self) -> int | None:
        """What is used by others than these logs."""
        return None if self.disk.used is None else max(self.disk.used - self.allocated, 0)


@frozen
class TopicCapacity:
    """All replicas of one topic of one cluster; `sample` None: none was taken."""

    cluster_id: str | None
    topic: str
    partitions: int
    replicas: int
    bytes: int
    written_per_day: float
    net_per_day: float
    unknown_rates: int
    sample: Sample | None

    @property
    def advice(self) -> CodecAdvice | None:
        """What other batches or another codec would save."""
        return None if self.sample is None else advice(self.sample)


def seen(places: Iterable[Place]) -> list[DiskOfBrokers]:
    """The disks under the log dirs, as this machine sees them: those of one device are one."""
    groups: dict[object, list[Place]] = {}
    by_device: dict[object, DiskOfBrokers] = {}
    for place in places:
        key, disk = _disk(place)
        groups.setdefault(key, []).append(place)
        by_device[key] = disk
    return [
        replace(
            by_device[key], dirs=tuple(absolute(place.path for place in group)),
            brokers=tuple(sorted({place.broker for place in group})),
            clusters=tuple(sorted({place.cluster_id for place in group}, key=str)),
        )
        for key, group in groups.items()
    ]  # fmt: skip


def _disk(place: Place) -> tuple[object, DiskOfBrokers]:
    """What tells its disk from others, and the disk; a place alone where nobody tells."""
    bare = DiskOfBrokers(brokers=(), dirs=(), total=None, used=None, available=None)
    try:
        device = place.files.file_stat(place.path).device
        space = place.files.space(place.path)
    except Unreadable:
        return place.path, bare
    used = space.total - space.free
    return device, replace(bare, total=space.total, used=used, available=space.available)


@dataclass(slots=True)
class _Sum:
    """Replicas added up; of those that grow up to a `room` the rate of each counts (see `days_until`)."""

    at_ms: int = -1
    bytes: int = 0
    allocated: int = 0
    written: float = 0.0
    endless: float = 0.0
    rates: array[float] = field(default_factory=partial(array, "d"))
    rooms: array[float] = field(default_factory=partial(array, "d"))
    reasons: dict[str, _Reason] = field(default_factory=dict)

    def add(self, each: Measured, at_ms: int) -> None:
        growth = each.growth
        self.at_ms = max(self.at_ms, at_ms)
        self.bytes += each.bytes
        self.allocated += each.allocated
        self.written += growth.per_day or 0.0
        if growth.room is None:
            self.endless += growth.net_per_day or 0.0
        elif growth.net_per_day:
            self.rates.append(growth.net_per_day)
            self.rooms.append(growth.room)
        reason = self.reasons.setdefault(growth.why, _Reason())
        reason.count += 1
        reason.bytes += each.bytes
        reason.gain += growth.per_day or 0.0

    @property
    def growing(self) -> list[tuple[float, float | None]]:
        """What is known to stay, as (bytes a day, room)."""
        return [*zip(self.rates, self.rooms, strict=True), *([(self.endless, None)] if self.endless else [])]


@dataclass(slots=True)
class _Reason:
    """Replicas of one `Growth.why`."""

    count: int = 0
    bytes: int = 0
    gain: float = 0.0


def disks(under: Sequence[DiskOfBrokers], measured: Iterable[BrokerMeasured]) -> list[DiskCapacity]:
    """Each disk with its replicas, that which is full soonest in front."""
    sums = [_Sum() for _ in under]
    by_dir = {path: total for disk, total in zip(under, sums, strict=True) for path in disk.dirs}
    for broker in measured:
        for each in broker.replicas:
            if each.dir in by_dir:
                by_dir[each.dir].add(each, broker.at_ms)
    return sorted(map(_capacity, under, sums), key=_soonest)


def _soonest(each: DiskCapacity) -> tuple[float, float, tuple[int, ...]]:
    never, ends = float("inf"), (each.days_until_full, each.days_at_least)
    first, last = (never if days is None else days for days in ends)
    return first, last, each.disk.brokers


def _capacity(disk: DiskOfBrokers, total: _Sum) -> DiskCapacity:
    growing, written = total.growing, [(total.written, None)] if total.written else []
    return DiskCapacity(
        disk=disk,
        at_ms=total.at_ms,
        logs=total.bytes,
        allocated=total.allocated,
        written_per_day=total.written,
        net_per_day=sum(rate for rate, _ in growing),
        days_until_full=None if disk.available is None else days_until(disk.available, growing),
        days_at_least=None if disk.available is None else days_until(disk.available, written),
        unknown=tuple(_unknown(disk, total.reasons)),
    )


def days_until(available: int, growing: Iterable[tuple[float, float | None]]) -> float | None:
    """When so many bytes are taken by logs of (bytes a day, room or None); None where they never are."""
    ends = sorted((float("inf") if room is None else room / rate, rate) for rate, room in growing)
    pace, now, left = sum(rate for _, rate in ends), 0.0, float(available)
    for end, rate in ends:
        taken = pace * (end - now) if end != float("inf") else float("inf")
        if taken >= left:
            return now + left / pace
        left, now, pace = left - taken, end, pace - rate
    return None


def _unknown(disk: DiskOfBrokers, reasons: Mapping[str, _Reason]) -> Iterator[str]:
    if disk.total is None:
        yield "the size of the disk was not seen"
    if len(disk.clusters) > 1:
        yield f"brokers of {len(disk.clusters)} clusters are on one disk here"
    elif len(disk.brokers) > 1:
        yield f"brokers {', '.join(map(str, disk.brokers))} are on one disk here"
    for why, words in _WORDS.items():
        if each := reasons.get(why):
            yield words.format(count=each.count, bytes=each.bytes, gain=int(each.gain))


_WORDS = {
    capacity.UNKNOWN: "no rate of {count} replicas ({bytes} bytes): " + capacity.UNKNOWN,
    capacity.GROWS: "{count} replicas ({gain} bytes a day) grow without a known end",
    capacity.LIMITED: "{count} replicas ({gain} bytes a day) grow up to what their topics' retention keeps",
    capacity.KEPT: "{count} replicas ({gain} bytes a day) are " + capacity.KEPT + ", and not counted",
    capacity.COMPACTED: "{count} replicas ({gain} bytes a day) are compacted: what stays of that is not "
    "known, and not counted",
    capacity.LEFT_OVER: "{count} directories ({bytes} bytes) are left over (-delete, -stray, -future)",
}


@dataclass(slots=True)
class _Topic:
    """The replicas of one topic, added up; of each partition one sample counts."""

    partitions: set[int] = field(default_factory=set)
    replicas: int = 0
    bytes: int = 0
    written: float = 0.0
    net: float = 0.0
    unknown_rates: int = 0
    samples: dict[int, Sample] = field(default_factory=dict)

    def add(self, each: Measured) -> None:
        self.partitions.add(each.partition)
        self.replicas += 1
        self.bytes += each.bytes
        self.written += each.growth.per_day or 0.0
        self.net += each.growth.net_per_day or 0.0
        self.unknown_rates += each.growth.per_day is None
        if each.sample is not None:
            self.samples[each.partition] = each.sample


def topics(measured: Iterable[BrokerMeasured]) -> list[TopicCapacity]:
    """Each topic, that which gains most in front."""
    sums: dict[tuple[str | None, str], _Topic] = {}
    for broker in measured:
        for each in broker.replicas:
            sums.setdefault((each.cluster_id, each.topic), _Topic()).add(each)
    return sorted(
        (_topic(*name, total) for name, total in sums.items()),
        key=lambda each: (-each.written_per_day, -each.bytes, each.topic),
    )


def _topic(cluster_id: str | None, topic: str, total: _Topic) -> TopicCapacity:
    return TopicCapacity(
        cluster_id=cluster_id,
        topic=topic,
        partitions=len(total.partitions),
        replicas=total.replicas,
        bytes=total.bytes,
        written_per_day=total.written,
        net_per_day=total.net,
        unknown_rates=total.unknown_rates,
        sample=added(total.samples.values()),
    )
