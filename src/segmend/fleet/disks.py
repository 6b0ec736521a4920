"""The replicas of a fleet added up: by disk, with the days until it is full, and by topic.

Two figures a disk. `days_until_full` counts what is known to stay: logs that retention or a cleaner keeps at
their size do not grow, others up to what known settings let them keep. `days_at_least` is the floor: as
if nothing were removed from now on. What neither counts (others' files, replicas of whose rate nothing is
known, a disk whose size was not seen) is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from segmend.fleet import capacity
from segmend.fleet.capacity import BrokerMeasured, Measured
from segmend.fleet.encoding import Advice, Sample, added, advice
from segmend.fleet.listing import Place, absolute
from segmend.frozen import frozen, replace
from segmend.logdir.file_system import Unreadable


@frozen
class Disk:
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

    disk: Disk
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
    def advice(self) -> Advice | None:
        """What other batches or another codec would save."""
        return None if self.sample is None else advice(self.sample)


def seen(places: Iterable[Place]) -> list[Disk]:
    """The disks under the log dirs, as this machine sees them: those of one device are one."""
    groups: dict[object, list[Place]] = {}
    by_device: dict[object, Disk] = {}
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


def _disk(place: Place) -> tuple[object, Disk]:
    """What tells its disk from others, and the disk; a place alone where nobody tells."""
    bare = Disk(brokers=(), dirs=(), total=None, used=None, available=None)
    try:
        device = place.files.file_stat(place.path).device
        space = place.files.space(place.path)
    except Unreadable:
        return place.path, bare
    used = space.total - space.free
    return device, replace(bare, total=space.total, used=used, available=space.available)


def disks(under: Sequence[Disk], measured: Iterable[BrokerMeasured]) -> list[DiskCapacity]:
    """Each disk with its replicas, that which is full soonest in front."""
    replicas: dict[str, list[Measured]] = {}
    times: dict[str, int] = {}
    for broker in measured:
        for each in broker.replicas:
            times[each.dir] = broker.at_ms
            replicas.setdefault(each.dir, []).append(each)
    every = [
        _capacity(disk, [r for path in disk.dirs for r in replicas.get(path, ())], times) for disk in under
    ]
    return sorted(every, key=_soonest)


def _soonest(each: DiskCapacity) -> tuple[float, float, tuple[int, ...]]:
    never, ends = float("inf"), (each.days_until_full, each.days_at_least)
    first, last = (never if days is None else days for days in ends)
    return first, last, each.disk.brokers


def _capacity(disk: Disk, replicas: Sequence[Measured], times: Mapping[str, int]) -> DiskCapacity:
    growths = [each.growth for each in replicas]
    growing = [(g.net_per_day, g.room) for g in growths if g.net_per_day]
    written = [(g.per_day, None) for g in growths if g.per_day]
    return DiskCapacity(
        disk=disk,
        at_ms=max((times.get(path, -1) for path in disk.dirs), default=-1),
        logs=sum(each.bytes for each in replicas),
        allocated=sum(each.allocated for each in replicas),
        written_per_day=sum(rate for rate, _ in written),
        net_per_day=sum(rate for rate, _ in growing),
        days_until_full=None if disk.available is None else days_until(disk.available, growing),
        days_at_least=None if disk.available is None else days_until(disk.available, written),
        unknown=tuple(_unknown(disk, replicas)),
    )


def days_until(available: int, growing: Iterable[tuple[float, int | None]]) -> float | None:
    """When so many bytes are taken by logs of (bytes a day, room or None); None where they never are."""
    ends = sorted((float("inf") if room is None else room / rate, rate) for rate, room in growing)
    pace, now, left = sum(rate for _, rate in ends), 0.0, float(available)
    for end, rate in ends:
        taken = pace * (end - now) if end != float("inf") else float("inf")
        if taken >= left:
            return now + left / pace
        left, now, pace = left - taken, end, pace - rate
    return None


def _unknown(disk: Disk, replicas: Sequence[Measured]) -> Iterator[str]:
    if disk.total is None:
        yield "the size of the disk was not seen"
    if len(disk.clusters) > 1:
        yield f"brokers of {len(disk.clusters)} clusters are on one disk here"
    elif len(disk.brokers) > 1:
        yield f"brokers {', '.join(map(str, disk.brokers))} are on one disk here"
    reasons: dict[str, list[Measured]] = {}
    for each in replicas:
        reasons.setdefault(each.growth.why, []).append(each)
    for why, words in _WORDS.items():
        if group := reasons.get(why):
            gain = sum(each.growth.per_day or 0 for each in group)
            yield words.format(count=len(group), bytes=sum(each.bytes for each in group), gain=int(gain))


_WORDS = {
    capacity.UNKNOWN: "no rate of {count} replicas ({bytes} bytes): " + capacity.UNKNOWN,
    capacity.GROWS: "{count} replicas ({gain} bytes a day) grow without a known end",
    capacity.LIMITED: "{count} replicas ({gain} bytes a day) grow up to what their topics' retention keeps",
    capacity.KEPT: "{count} replicas ({gain} bytes a day) are " + capacity.KEPT + ", and not counted",
    capacity.COMPACTED: "{count} replicas ({gain} bytes a day) are compacted: what stays of that is not "
    "known, and not counted",
    capacity.LEFT_OVER: "{count} directories ({bytes} bytes) are left over (-delete, -stray, -future)",
}


def topics(measured: Iterable[BrokerMeasured]) -> list[TopicCapacity]:
    """Each topic, that which gains most in front."""
    groups: dict[tuple[str, str], list[Measured]] = {}
    for broker in measured:
        for each in broker.replicas:
            groups.setdefault((each.cluster_id or "", each.topic), []).append(each)
    return sorted(
        map(_topic, groups.values()), key=lambda each: (-each.written_per_day, -each.bytes, each.topic)
    )


def _topic(replicas: Sequence[Measured]) -> TopicCapacity:
    samples = {each.partition: each.sample for each in replicas if each.sample is not None}
    return TopicCapacity(
        cluster_id=replicas[0].cluster_id,
        topic=replicas[0].topic,
        partitions=len({each.partition for each in replicas}),
        replicas=len(replicas),
        bytes=sum(each.bytes for each in replicas),
        written_per_day=sum(each.growth.per_day or 0.0 for each in replicas),
        net_per_day=sum(each.growth.net_per_day or 0.0 for each in replicas),
        unknown_rates=sum(each.growth.per_day is None for each in replicas),
        sample=added(samples.values()),
    )
