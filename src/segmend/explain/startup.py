"""What a start of a broker costs, from names and sizes: after a clean stop, after a kill, at worst.

Nothing of a log is read but for a sample (mean size of a batch, speed of the disk), so it answers for a
running broker too. `forecast` counts exactly what this start will read; this says what any start would.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from segmend.broker.recovery import PRODUCER_STATE, first_recovered
from segmend.broker.sanity import INDEX_SANITY, IndexSanity
from segmend.explain.disk_speed import Speed, batch_bytes, measure
from segmend.frozen import frozen, replace
from segmend.loading.timing.costs import COSTS
from segmend.loading.timing.estimate import DirWork, Estimate, LoadJob, Machine, Work, estimate
from segmend.logdir.files import FileEntry
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs

CASES: Final = {
    "clean": "after a clean stop",
    "killed": "if it is killed as it stands",
    "worst": "if it is killed at the worst moment",
    "everything": "if the recovery points are lost",
}
"""What happened before the start. `worst`: the last two segments of every partition are not flushed,
the newest as large as the one before; `everything`: recovery-point-offset-checkpoint cannot be read."""

THREADS: Final = (1, 2, 4, 8, 16)


@frozen
class PartitionSegments:
    """One partition: base offsets and sizes of its logs, and what the checkpoints say of it."""

    name: str
    bases: Sequence[int]
    logs: Sequence[FileEntry]
    sizes: Sequence[int]
    recovery_point: int
    newest_snapshot: int | None

    @property
    def unflushed(self) -> int:
        """Index of the first segment that an unclean start recovers."""
        return first_recovered(self.bases, self.recovery_point)


@frozen
class Study:
    """All log dirs of a broker, ready to be asked what a start costs."""

    release: Release
    threads: int
    machine: Machine
    speed: Speed
    batch_bytes: float
    dirs: Sequence[tuple[LogDir, Sequence[PartitionSegments]]]

    def estimate(self, case: str, *, threads: int | None = None, eager: bool | None = None) -> Estimate:
        """The start in one of `CASES`; `eager` overrides whether the release checks all indexes."""
        check = INDEX_SANITY.of(self.release) != IndexSanity.NONE if eager is None else eager
        work = [self._work(log_dir, partitions, case, check) for log_dir, partitions in self.dirs]
        return estimate(work, self.release, threads or self.threads, self.machine)

    def by_case(self) -> dict[str, Estimate]:
        return {case: self.estimate(case) for case in CASES}

    @property
    def partitions(self) -> int:
        return sum(len(partitions) for _, partitions in self.dirs)

    @property
    def segments(self) -> int:
        return sum(len(each.bases) for _, partitions in self.dirs for each in partitions)

    @property
    def bytes(self) -> int:
        return sum(sum(each.sizes) for _, partitions in self.dirs for each in partitions)

    @property
    def stop(self) -> float:
        """Seconds that a clean stop takes, without the move of the leaders."""
        costs = COSTS.of(self.release)
        return costs.stop + self.partitions * costs.closed + self.segments * costs.closed_segment

    def _work(
        self, log_dir: LogDir, partitions: Sequence[PartitionSegments], case: str, check: bool
    ) -> DirWork:
        jobs = [LoadJob(name=each.name, work=self._of_partition(each, case, check)) for each in partitions]
        return DirWork(jobs=jobs, metadata=self._metadata(log_dir), device=log_dir.device)

    def _of_partition(self, each: PartitionSegments, case: str, check: bool) -> Work:
        scanned = _scanned(each, case)
        count = len(each.bases)
        replayed = _replayed(each) if case == "clean" and PRODUCER_STATE.of(self.release) else 0
        return Work(
            partitions=1,
            segments=count,
            checked=count if check else 0,
            recovered=len(scanned),
            scanned_bytes=sum(scanned),
            scanned_batches=round(sum(scanned) / self.batch_bytes),
            replayed_bytes=replayed,
            replayed_batches=round(replayed / self.batch_bytes),
        )

    def _metadata(self, log_dir: LogDir) -> Work:
        """`__cluster_metadata-0` is scanned at every start (`KafkaRaftLog`)."""
        metadata = log_dir.cluster_metadata
        if metadata is None:
            return Work()
        each = _segments(metadata, 0)
        batches = sum(each.sizes) / batch_bytes(each.logs)
        count = len(each.bases)
        return Work(
            partitions=1, segments=count, recovered=count, scanned_bytes=sum(each.sizes),
            scanned_batches=round(batches),
        )  # fmt: skip


def study(broker: BrokerDirs, threads: int, *, cores: int | None = None, speed: Speed | None = None) -> Study:
    """Look at the names and sizes of all dirs, and measure the disk unless its `speed` is given."""
    partitions = [(log_dir, list(_partitions(log_dir))) for log_dir in broker.dirs]
    everything = [each for _, segments in partitions for each in segments]
    logs = [entry for each in everything for entry in each.logs[each.unflushed :]]
    if speed is None:
        speed = measure(logs, list(index_files(broker)))
    return Study(
        release=broker.release,
        threads=threads,
        machine=Machine(cores=cores, read_speed=speed.bytes_per_second, random_read=speed.seconds_a_read),
        speed=speed,
        batch_bytes=batch_bytes(logs),
        dirs=partitions,
    )


def measured(machine: Machine, broker: BrokerDirs, *, clean: bool | None) -> Machine:
    """The machine with the speed of the disks under the dirs, as far as this start needs to know it."""
    if machine.read_speed is not None:
        return machine
    unclean = [d for d in broker.dirs if not (d.is_clean if clean is None else clean)]
    eager = INDEX_SANITY.of(broker.release) != IndexSanity.NONE
    logs = [entry for d in unclean for each in _partitions(d) for entry in each.logs[each.unflushed :]]
    speed = measure(logs, list(index_files(broker)) if eager else ())
    return replace(machine, read_speed=speed.bytes_per_second, random_read=speed.seconds_a_read)


def index_files(broker: BrokerDirs) -> Iterator[FileEntry]:
    """The offset indexes of some partitions, for the time of a single read."""
    for log_dir in broker.dirs:
        for partition in log_dir.partitions[:200]:
            for base in sorted(partition.layout.index)[:8]:
                entry = partition.file(partition.layout.index[base])
                if entry is not None:
                    yield entry


def _partitions(log_dir: LogDir) -> Iterator[PartitionSegments]:
    points = log_dir.recovery_points
    for partition in log_dir.partitions:
        if partition.kind != "cluster-metadata":
            yield _segments(partition, points.get(partition.key, 0))


def _segments(partition: PartitionDir, recovery_point: int) -> PartitionSegments:
    logs = partition.layout.logs
    bases = sorted(logs)
    files = [entry for base in bases if (entry := partition.file(logs[base])) is not None]
    return PartitionSegments(
        name=partition.name,
        bases=bases,
        logs=files,
        sizes=[entry.known_size for entry in files],
        recovery_point=recovery_point,
        newest_snapshot=max(partition.layout.snapshots, default=None),
    )


def _scanned(each: PartitionSegments, case: str) -> Sequence[int]:
    if case == "clean" or not each.sizes:
        return ()
    if case == "everything":
        return each.sizes
    if case == "killed":
        return each.sizes[each.unflushed :]
    last = list(each.sizes[-2:])
    last[-1] = max(last)
    return max(last, list(each.sizes[each.unflushed :]), key=sum)


def _replayed(each: PartitionSegments) -> int:
    """Bytes behind the newest producer snapshot, if that is not the one of the last clean stop."""
    newest = each.newest_snapshot
    if newest is None or not each.bases or newest >= each.bases[-1]:
        return 0
    return sum(each.sizes[max(bisect_right(each.bases, newest) - 1, 0) :])
