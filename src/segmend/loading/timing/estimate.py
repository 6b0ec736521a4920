"""How long a start takes: from what has to be opened and read to seconds, part by part.

Per log dir, `num.recovery.threads.per.data.dir` threads load partitions, one partition a
thread; log dirs load beside each other (`LogManager.loadLogs`). What a segment, a batch, a
byte costs is in `costs`, fitted to real starts; `docs/startup-time.md` has the table and the error.
Another processor is faster or slower by its own factor; a disk is asked for its own speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from segmend.frozen import frozen, replace
from segmend.loading.timing.costs import COSTS, PARTS, READS_A_CHECK, WARM_BATCHES, WARM_SEGMENTS, Costs
from segmend.logdir.release import Release


@frozen
class Work:
    """What loading asks for: counts of things, and bytes of `.log` files."""

    partitions: int = 0
    segments: int = 0
    checked: int = 0
    """Segments whose index files are opened and sanity-checked (all of them up to 2.2)."""
    recovered: int = 0
    """Segments that are recovered: their indexes are built anew, a producer snapshot is written."""
    scanned_bytes: int = 0
    """Read in full by recovery, with a CRC a batch."""
    scanned_batches: int = 0
    replayed_bytes: int = 0
    """Between the newest usable producer snapshot and the log end: only batch headers are read."""
    replayed_batches: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            partitions=self.partitions + other.partitions,
            segments=self.segments + other.segments,
            checked=self.checked + other.checked,
            recovered=self.recovered + other.recovered,
            scanned_bytes=self.scanned_bytes + other.scanned_bytes,
            scanned_batches=self.scanned_batches + other.scanned_batches,
            replayed_bytes=self.replayed_bytes + other.replayed_bytes,
            replayed_batches=self.replayed_batches + other.replayed_batches,
        )


@frozen
class LoadJob:
    """The load of one partition, which one thread does from beginning to end."""

    name: str
    work: Work


@frozen
class DirWork:
    """One log dir: its jobs, the metadata log if it has it, and the device that it is on."""

    jobs: Sequence[LoadJob] = ()
    metadata: Work = Work()
    device: int = 0

    @property
    def total(self) -> Work:
        return sum((job.work for job in self.jobs), Work())


@frozen
class Machine:
    """What the broker has: cores (None: enough), and its disks (None: all is in the page cache).

    `read_speed` in bytes a second, `random_read` the seconds of one read of a block.
    """

    cores: int | None = None
    read_speed: float | None = None
    random_read: float | None = None


@frozen
class Estimate:
    """Seconds by part (keys of `PARTS`), those of the dir that takes longest."""

    parts: Mapping[str, float]
    dirs: Sequence[DirWork] = ()
    longest: str | None = None
    """The partition that keeps one thread busy after all others are done, if there is one."""

    @property
    def seconds(self) -> float:
        """From the start of the process until clients are served."""
        return sum(self.parts.values())

    @property
    def scanned_bytes(self) -> int:
        """Read in full by recovery, over all dirs."""
        return sum(each.total.scanned_bytes for each in self.dirs)

    @property
    def loading(self) -> float:
        """Without the JVM: what the broker logs as the time of loading."""
        return sum(value for name, value in self.parts.items() if name not in ("jvm", "metadata"))

    def to_json(self) -> dict[str, float]:
        return {part: round(seconds, 3) for part, seconds in self.parts.items()}


def estimate(
    dirs: Sequence[DirWork], release: Release, threads: int, machine: Machine | None = None
) -> Estimate:
    """How long a start over these dirs takes, with so many recovery threads a dir."""
    machine = machine or Machine()
    costs = COSTS.of(release)
    if machine.random_read:
        costs = replace(costs, checked=costs.checked + READS_A_CHECK * machine.random_read)
    totals = [_of_work(each.total, costs) for each in dirs]
    works = [
        _of_dir(each, total, costs, threads, _disk_seconds(each, dirs, machine))
        for each, total in zip(dirs, totals, strict=True)
    ]
    parts, longest = max(works, key=lambda pair: sum(pair[0].values()), default=({}, None))
    # However many threads there are, the cores must do all of it, but for the one that the compiler and
    # the garbage collector take: of two cores a second thread gained 6 to 10 %, measured.
    usable = max(machine.cores - 1, 1) if machine.cores else max(threads, 1) * max(len(dirs), 1)
    together = sum(sum(each.values()) for each in totals) / usable
    slower = max(together / sum(parts.values()), 1.0) if parts and sum(parts.values()) else 1.0
    parts = {**dict.fromkeys(PARTS, 0.0), **{name: value * slower for name, value in parts.items()}}
    parts["jvm"] = costs.start
    metadata = sum((each.metadata for each in dirs), Work())
    parts["metadata"] = sum(_of_work(metadata, costs).values())
    everything = sum((each.total for each in dirs), Work())
    parts["warm_up"] = costs.warm_up * _warmth(everything) + (costs.first_log if everything.partitions else 0)
    return Estimate(parts=parts, dirs=tuple(dirs), longest=longest)


def _warmth(work: Work) -> float:
    """How much of the code's warming up falls into the load, 0 to 1."""
    batches = work.scanned_batches + work.replayed_batches
    return min(work.segments / WARM_SEGMENTS + batches / WARM_BATCHES, 1.0)


def _disk_seconds(each: DirWork, dirs: Sequence[DirWork], machine: Machine) -> float:
    """How long the disk under a dir reads for all dirs on it."""
    if not machine.read_speed:
        return 0.0
    together = (other.total.scanned_bytes for other in dirs if other.device == each.device)
    return sum(together) / machine.read_speed


def _of_dir(
    work: DirWork, total: Mapping[str, float], costs: Costs, threads: int, disk: float
) -> tuple[dict[str, float], str | None]:
    """(seconds by part, the job that outlasts the others); `disk` is how long its disk reads."""
    alone = sum(total.values())
    shared = alone / max(min(threads, len(work.jobs)), 1)
    name, longest = max(_durations(work, costs), key=lambda pair: pair[1], default=("", 0.0))
    factor = max(shared, longest) / alone if alone else 0.0
    parts = {part: seconds * factor for part, seconds in total.items()}
    # A thread reads a batch, then computes its CRC; what the kernel reads ahead meanwhile is little.
    parts["recovery_scan"] += disk
    return parts, name if threads > 1 and longest > shared else None


def _durations(work: DirWork, costs: Costs) -> Iterator[tuple[str, float]]:
    return ((job.name, sum(_of_work(job.work, costs).values())) for job in work.jobs)


def _of_work(work: Work, costs: Costs) -> dict[str, float]:
    """Seconds on one thread, by part."""
    return {
        "open": work.partitions * costs.partition + work.segments * costs.segment,
        "sanity_checks": work.checked * costs.checked,
        "recovery_scan": work.recovered * costs.recovered
        + work.scanned_batches * costs.scanned_batch
        + work.scanned_bytes * costs.scanned_byte,
        "producer_state": work.replayed_batches * costs.replayed_batch,
    }
