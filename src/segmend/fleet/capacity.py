"""How fast the log dirs of a fleet fill, by the times in their batches: what one task says of one broker.

Of a partition the ends of its segments are read, of few partitions of each topic a sample of batches. A rate
is what the newest segments gained in a time that ends with the broker's newest batch: a broker that was
stopped a week ago is told as of its last day. Times of files say nothing; those of batches are the
producers', unless the topic has `message.timestamp.type=LogAppendTime`.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

from segmend.balancing.movable import DAY_MS, HOUR_MS, can_move, twice
from segmend.fleet.encoding import Sample, sample
from segmend.fleet.listing import Place, absolute
from segmend.fleet.options import INTERNAL_TOPICS
from segmend.formats.names import RENAMED_KINDS, DirKind
from segmend.frozen import frozen
from segmend.loading.limits import Retention
from segmend.loading.reads import Budget
from segmend.loading.replicas import Situation
from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_dir import LogDir
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.overview import PartitionOverview, partition_overview, segment_overview
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release
from segmend.logdir.seek import position_by_time
from segmend.node.broker_dirs import BrokerDirs

A_TOPIC: Final = 2
"""So many partitions of each topic give a sample on each broker."""
ALL_SAMPLES: Final = 256 << 20
"""No more bytes than this are read for the samples of one broker."""


@frozen
class CapacityTask:
    """One broker. `days` is the time over which a rate is taken, `sampled` bytes of each sample (0: none).

    `weight` is about what looking at it costs, in bytes.
    """

    places: tuple[Place, ...]
    days: float
    sampled: int
    now_ms: int
    weight: int
    release: Release | None = None


@frozen
class Growth:
    """What came to one replica: `per_day` bytes, None where its batches do not tell.

    `net_per_day` is what of that stays, up to `room` more bytes (None: no end is known); `why` says how.
    """

    per_day: float | None
    net_per_day: float | None
    room: int | None
    why: str


GROWS: Final = "grows"
KEPT: Final = "held at their size by retention"
LIMITED: Final = "grows up to what retention keeps"
COMPACTED: Final = "compacted"
LEFT_OVER: Final = "left over"
UNKNOWN: Final = "less than an hour of batches, or none with a time"


@frozen
class Measured:
    """One replica directory."""

    cluster_id: str | None
    broker: int
    dir: str
    topic: str
    partition: int
    kind: DirKind
    bytes: int
    allocated: int
    oldest_ms: int
    newest_ms: int
    growth: Growth
    movable: bool
    sample: Sample | None = None


@frozen
class BrokerMeasured:
    """One broker: `at_ms` is its newest batch's time, `unread` what could not be looked at.

    Its `count` replicas stay packed, some 50 bytes each: those of all brokers are never unpacked at once.
    """

    cluster_id: str | None
    broker: int
    at_ms: int
    packed: bytes
    count: int
    unread: tuple[str, ...]
    unsampled: int

    @property
    def replicas(self) -> list[Measured]:
        """Unpacked each time they are asked for."""
        unpacked: list[Measured] = pickle.loads(zlib.decompress(self.packed))
        return unpacked


def packed(replicas: Sequence[Measured]) -> bytes:
    """As `BrokerMeasured` has them."""
    return zlib.compress(pickle.dumps(replicas), 1)


@frozen
class AllReplicas:
    """Those of several brokers, one broker after the other, as often as they are asked for."""

    brokers: tuple[BrokerMeasured, ...]

    def __iter__(self) -> Iterator[Measured]:
        return (each for broker in self.brokers for each in broker.replicas)


def measure_brokers(tasks: Sequence[CapacityTask]) -> list[BrokerMeasured]:
    return [measure(task) for task in tasks]


def measure(task: CapacityTask) -> BrokerMeasured:
    """Look at every replica of one broker; damage and vanished files are told, never raised."""
    dirs = [(place, log_dir) for place in task.places if (log_dir := place.opened()) is not None]
    unread = [
        f"{p.path}: {p.unreadable or 'it vanished'}" for p in task.places if p not in [d[0] for d in dirs]
    ]
    broker = BrokerDirs((opened for _, opened in dirs), release=task.release)
    looks = list(_looks(dirs, unread))
    times = [look.newest_timestamp for _, _, look in looks]
    at = max((time for time in times if 0 <= time <= task.now_ms), default=-1)
    situation = Situation(broker=broker, now_ms=task.now_ms, budget=Budget(), image=broker.image)
    sampler, busy = _Sampler(task.sampled), twice(partition for _, partition, _ in looks)
    replicas = []
    for place, partition, look in looks:
        growth = growth_of(partition, look, situation.retention(partition.topic), at, task.days)
        replicas.append(
            Measured(
                cluster_id=place.cluster_id, broker=place.broker, dir=absolute([place.path])[0],
                topic=partition.topic,
                partition=partition.partition, kind=partition.kind, bytes=look.size,
                allocated=look.allocated, oldest_ms=look.oldest_timestamp, newest_ms=look.newest_timestamp,
                growth=growth, movable=can_move(partition) and partition.key not in busy,
                sample=sampler.take(partition),
            )
        )  # fmt: skip
    return BrokerMeasured(
        cluster_id=task.places[0].cluster_id, broker=task.places[0].broker, at_ms=at,
        packed=packed(replicas), count=len(replicas), unread=tuple(unread),
        unsampled=len(sampler.left_out),
    )  # fmt: skip


def _looks(
    dirs: Sequence[tuple[Place, LogDir]], unread: list[str]
) -> Iterator[tuple[Place, PartitionDir, PartitionOverview]]:
    for place, log_dir in dirs:
        for partition in log_dir.partitions:
            overview = partition_overview(partition)
            if "unreadable" in overview.flags:
                unread.append(f"{partition.path}: unreadable, in whole or in part")
            yield place, partition, overview


def growth_of(
    partition: PartitionDir, overview: PartitionOverview, retention: Retention, at: int, days: float
) -> Growth:
    """By the times of its batches up to `at` (ms), and by what is known of its retention."""
    if partition.kind in RENAMED_KINDS:
        return Growth(per_day=0.0, net_per_day=0.0, room=None, why=LEFT_OVER)
    begin = max(at - int(days * DAY_MS), overview.oldest_timestamp)
    if at < 0 or overview.oldest_timestamp < 0 or at - begin < HOUR_MS:
        return Growth(per_day=None, net_per_day=None, room=None, why=UNKNOWN)
    rate = _written(partition.segments, begin) / ((at - begin) / DAY_MS)
    if retention.limits.compact or overview.first_dirty_offset is not None:
        return Growth(per_day=rate, net_per_day=None, room=None, why=COMPACTED)
    return _retained(overview, retention, rate)


def _retained(overview: PartitionOverview, retention: Retention, rate: float) -> Growth:
    """With known limits a log grows up to what they let it keep, else only if it has lost nothing yet."""
    limits = retention.limits
    known = {each.name for each in retention.settings if each.known and limits.delete}
    caps = [limits.retention_bytes] if "retention.bytes" in known and limits.retention_bytes >= 0 else []
    if "retention.ms" in known and limits.retention_ms >= 0:
        caps.append(int(rate * limits.retention_ms / DAY_MS))
    if caps:
        room = max(min(caps) - overview.size, 0)
        return Growth(
            per_day=rate, net_per_day=rate if room else 0.0, room=room, why=LIMITED if room else KEPT
        )
    kept = not retention.known and (overview.log_start_offset or 0) > 0
    return Growth(per_day=rate, net_per_day=0.0 if kept else rate, room=None, why=KEPT if kept else GROWS)


def _written(segments: Sequence[LogSegment], since: int) -> int:
    """Bytes from the first batch on that the indexes place at that time (ms) or later.

    A segment whose newest batch is older ends the look back: what lies before it is older as a whole.
    """
    total = 0
    for segment in reversed(segments):
        overview = segment_overview(segment)
        if overview.newest_timestamp >= since:
            total += (overview.size or 0) - (
                0 if overview.oldest_timestamp >= since else _position(segment, since)
            )
        elif overview.size:
            break
    return total


def _position(segment: LogSegment, since: int) -> int:
    if segment.log is None:
        return 0
    try:
        with segment.log.reader() as reader:
            return position_by_time(segment.log, reader, since)
    except Unreadable:
        return 0


class _Sampler:
    """Takes samples of few partitions of each topic, as long as there are bytes to spend."""

    def __init__(self, size: int) -> None:
        self._size, self._spent = size, 0
        self._taken: dict[str, int] = {}
        self.left_out: set[str] = set()

    def take(self, partition: PartitionDir) -> Sample | None:
        """The sample, None where there is none or no need of one."""
        topic = partition.topic
        # Of internal topics brokers write the batches, and nobody chooses how.
        if not self._size or partition.kind != "current" or topic in INTERNAL_TOPICS:
            return None
        if self._taken.get(topic, 0) >= A_TOPIC:
            return None
        if self._spent >= ALL_SAMPLES:
            if topic not in self._taken:
                self.left_out.add(topic)
            return None
        taken = sample(partition, self._size)
        if taken is not None:
            self._taken[topic] = self._taken.get(topic, 0) + 1
            self._spent += taken.bytes
        return taken
