"""Measure how long real brokers take to load logs: the figures behind `segmend.loading.timing.estimate`.

    python -m tests.lab.startup_times measure 4.3.1 [NAME...]    start brokers, keep what they logged
    python -m tests.lab.startup_times table                      the model beside the measured times

A layout is a row of `LAYOUTS`. Its log dir is written by `bench.data`, topics are created by the
broker first (a KRaft broker sets aside what its metadata does not name), and before each start all
files but the logs are put back as they were. The time is the broker's own `Loaded N logs in X`
(`Logs loading complete in X` before 2.8). JVM options are those of kafka-server-start.sh. Everything
is in the page cache unless the layout is `cold`: then the files are dropped from it (`posix_fadvise`),
which leaves inodes cached. The least of several starts counts: other processes only add to it.
"""

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.data import EMPTY_SNAPSHOT, MARKER, Shape, cycle, templates, write_segment

from segmend.explain.disk_speed import measure as measured_speed
from segmend.loading import ForecastOptions, forecast
from segmend.loading.timing.estimate import Work
from segmend.logdir.config import ServerConfig
from segmend.logdir.files import FileEntry
from tests.brokers import broker_of
from tests.faults.on_disk import lines_of, put_lines
from tests.golden.topics import Topic, create
from tests.lab.base import QUIET
from tests.lab.broker import Broker
from tests.lab.cluster import Cluster
from tests.lab.errors import LabError
from tests.lab.jars import cache_dir
from tests.lab.startup_table import merged, print_table, read_table, write_table
from tests.lab.zookeeper import ZooKeeper

TOPIC = "load"
JVM = [
    *("-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *(
        "-XX:InitiatingHeapOccupancyPercent=35",
        "-XX:+ExplicitGCInvokesConcurrent",
        "-Djava.awt.headless=true",
    ),
]
"""KAFKA_HEAP_OPTS and KAFKA_JVM_PERFORMANCE_OPTS of kafka-server-start.sh and kafka-run-class.sh."""
RUNS = 3
AUTOGROUP, FIRST = Path("/proc/self/autogroup"), -15
"""The scheduler weighs sessions, not processes; `main` makes a session of its own."""
LOADED = re.compile(r"Loaded \d+ logs in (\d+) ?ms|Logs loading complete in (\d+) ms")
KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Layout:
    """One log dir: `segments` of `segment_bytes` in each of `partitions`.

    `snapshots` False leaves only the producer snapshot of the second segment, so that the state
    after it is read from the log.
    """

    name: str
    partitions: int
    segments: int
    segment_bytes: int
    value_bytes: int = 1000
    records: int = 1
    clean: bool = True
    cold: bool = False
    threads: int = 1
    snapshots: bool = True

    @property
    def shape(self) -> Shape:
        """Its batches."""
        return Shape(name=self.name, value_bytes=self.value_bytes, records_per_batch=self.records, codec=0)


LAYOUTS = (
    Layout("one", 1, 1, 16 * KIB),
    Layout("500 segments", 25, 20, 16 * KIB),
    Layout("3,000 segments", 60, 50, 16 * KIB),
    Layout("3,000 segments, cold", 60, 50, 16 * KIB, cold=True),
    Layout("15,000 segments", 100, 150, 16 * KIB),
    Layout("1,000 partitions", 1000, 1, 16 * KIB),
    Layout("0.2 GB", 4, 1, 50 * MIB, records=15, clean=False),
    Layout("1 GB", 8, 1, 128 * MIB, records=15, clean=False),
    Layout("1 GB, cold", 8, 1, 128 * MIB, records=15, clean=False, cold=True),
    Layout("1 GB, 2 threads", 8, 1, 128 * MIB, records=15, clean=False, threads=2),
    Layout("3 GB", 12, 1, 256 * MIB, records=15, clean=False),
    Layout("0.2 GB of small batches", 4, 1, 50 * MIB, value_bytes=100, clean=False),
    Layout("1,000 segments to recover", 100, 10, 16 * KIB, clean=False),
    Layout("1 GB of producer state", 4, 5, 50 * MIB, records=15, snapshots=False),
)
"""Name, partitions, segments, and the bytes of each."""


def partition_dirs(log_dir: Path) -> list[Path]:
    return sorted(log_dir.glob(f"{TOPIC}-[0-9]*"), key=lambda path: int(path.name.rpartition("-")[2]))


def fill(log_dir: Path, layout: Layout) -> None:
    """Put the layout's segments into the partitions of the stopped broker, and their offsets beside them."""
    built = templates(layout.shape)
    ends: dict[str, int] = {}
    for number in range(layout.partitions):
        partition = log_dir / f"{TOPIC}-{number}"
        partition.mkdir(exist_ok=True)
        for path in partition.iterdir():
            if path.name != "partition.metadata":
                path.unlink()
        ends[partition.name] = fill_partition(partition, layout, built)
    points = ends if layout.clean else dict.fromkeys(ends, 0)
    offsets(log_dir / "recovery-point-offset-checkpoint", points)
    offsets(log_dir / "replication-offset-checkpoint", ends)
    if not layout.clean:
        (log_dir / MARKER).unlink(missing_ok=True)


def fill_partition(partition: Path, layout: Layout, built: Sequence[bytes]) -> int:
    """Its segments with snapshots; the log end offset."""
    offset, bases = 0, []
    for _ in range(layout.segments):
        bases.append(offset)
        offset = write_segment(partition, offset, cycle(built, layout.segment_bytes), layout.shape)
    for base in [*bases[1:], offset] if layout.snapshots else bases[1:2]:
        (partition / f"{base:020d}.snapshot").write_bytes(EMPTY_SNAPSHOT)
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    return offset


def offsets(path: Path, found: dict[str, int]) -> None:
    """Write an offset checkpoint of the topic's partitions; others are kept."""
    rows = [row for row in lines_of(path) if row.split()[0] != TOPIC]
    put_lines(path, rows + [f"{TOPIC} {name.rpartition('-')[2]} {offset}" for name, offset in found.items()])


class Keeper:
    """All files of the log dir but the `.log` ones, to be put back before each start."""

    def __init__(self, log_dir: Path) -> None:
        self.log_dir = log_dir
        self.kept = {path: path.read_bytes() for path in self.files() if path.suffix != ".log"}

    def files(self) -> Iterator[Path]:
        for partition in partition_dirs(self.log_dir):
            yield from partition.iterdir()
        for path in self.log_dir.iterdir():
            if path.is_file() and path.name != ".lock":
                yield path

    def put_back(self) -> None:
        """As it was."""
        for path in list(self.files()):
            if path.suffix != ".log" and path not in self.kept:
                path.unlink()
        for path, data in self.kept.items():
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)

    def evict(self) -> None:
        """Drop the files from the page cache."""
        os.sync()
        for path in self.files():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def measure(version: str, layout: Layout, root: Path) -> dict[str, Any]:
    """Start the broker over the layout several times."""
    settings = {
        **QUIET,
        "log.index.size.max.bytes": str(10 * MIB),
        "num.recovery.threads.per.data.dir": str(layout.threads),
    }
    with Cluster(version, root, log_dirs=1, settings=settings) as cluster:
        broker = cluster.brokers[0]
        cluster.start()
        create(cluster.bootstrap, [Topic(TOPIC, {"retention.ms": "-1"}, layout.partitions)])
        broker.stop()
        log_dir = broker.dirs[0]
        fill(log_dir, layout)
        keeper = Keeper(log_dir)
        job = work_of(log_dir, version, layout)
        disk = speed_of(keeper) if layout.cold else {}
        broker.jvm = JVM
        found = []
        for _ in range(RUNS):
            keeper.put_back()
            if layout.cold:
                keeper.evict()
            found.append(one_start(broker, layout, zookeeper=cluster.zookeeper))
    return {
        "kafka": version,
        "layout": layout.name,
        "clean": layout.clean,
        "cold": layout.cold,
        "threads": layout.threads,
        "jobs": job,
        **disk,
        **{key: [run[key] for run in found] for key in found[0]},
    }


def speed_of(keeper: Keeper) -> dict[str, float]:
    """What `explain startup` would measure: bytes a second, and seconds of a single read."""
    keeper.evict()
    files = [FileEntry.at(str(path)) for path in keeper.files()]
    logs = [file for file in files if file.name.endswith(".log")]
    with first_in_line():
        speed = measured_speed(logs, [file for file in files if file.name.endswith(".index")])
    found = {"read_speed": speed.bytes_per_second, "random_read": speed.seconds_a_read}
    return {name: value for name, value in found.items() if value is not None}


@contextmanager
def first_in_line() -> Iterator[None]:
    """What runs in here goes before other sessions (if we may): the machine is shared with other work."""
    with suppress(OSError):
        AUTOGROUP.write_text(str(FIRST))
    try:
        yield
    finally:
        with suppress(OSError):
            AUTOGROUP.write_text("0")


def one_start(broker: Broker, layout: Layout, zookeeper: ZooKeeper | None) -> dict[str, float]:
    """Seconds until up, of these for logs, and for the stop."""
    began = time.monotonic()
    broker.configure()
    with first_in_line():
        broker.launch()
        broker.wait_ready(600)
    up = time.monotonic() - began
    line = broker.wait_for(LOADED.pattern, 1)
    found = LOADED.search(line)
    assert found
    loading = int(found[1] or found[2]) / 1000
    began = time.monotonic()
    with first_in_line():
        broker.stop() if layout.clean else broker.kill()
    stopped = time.monotonic() - began
    if zookeeper and not layout.clean:
        zookeeper.until_forgotten()
    return {"loading": loading, "up": round(up, 2), "stop": round(stopped, 2)}


def work_of(log_dir: Path, version: str, layout: Layout) -> list[dict[str, int]]:
    """What `segmend forecast` counts for these files, in kinds of partitions that are alike."""
    run = forecast(broker_of([log_dir], version, ServerConfig()), ForecastOptions(clean=layout.clean))
    list(run)
    assert run.broker is not None
    assert run.broker.time is not None
    assert run.broker.starts, run.broker.reason
    counts: dict[Work, int] = {}
    for job in run.broker.time.dirs[0].jobs:
        counts[job.work] = counts.get(job.work, 0) + 1
    return [{"partitions_alike": count, **fields(work)} for work, count in counts.items()]


def fields(work: Work) -> dict[str, int]:
    return {name: getattr(work, name) for name in Work.__slots__ if getattr(work, name)}


def main(arguments: Sequence[str]) -> None:
    """Run as a program."""
    if arguments[:1] == ["table"]:
        print_table()
        return
    with suppress(OSError):
        os.setsid()
    version, names = arguments[1], arguments[2:]
    home = cache_dir() / "lab"
    home.mkdir(parents=True, exist_ok=True)
    for layout in LAYOUTS:
        if names and layout.name not in names:
            continue
        root = Path(tempfile.mkdtemp(prefix="startup-", dir=home))
        try:
            row = measure(version, layout, root)
        except LabError as error:
            print(f"{layout.name}: {error}", file=sys.stderr)
            continue
        finally:
            shutil.rmtree(root, ignore_errors=True)
        write_table(merged(read_table(), row), [layout.name for layout in LAYOUTS])
        print(f"{version} {layout.name}: {row['loading']} up {row['up']} stop {row['stop']}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
