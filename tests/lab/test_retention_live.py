"""What `explain retention` says about segments, against what a real broker deletes at its first look."""

import struct
import time
from pathlib import Path

import pytest
from bench.data import EMPTY_SNAPSHOT, Shape, templates, write_segment

from segmend.explain.retention import reasons
from segmend.loading import ForecastOptions
from segmend.logdir.config import ServerConfig
from tests.brokers import broker_of
from tests.faults.on_disk import put_lines
from tests.golden.topics import Topic, create
from tests.lab.base import QUIET
from tests.lab.broker import Broker
from tests.lab.cluster import Cluster
from tests.lab.retention.seen import deletions
from tests.waiting import until

HOUR, DAY = 3_600_000, 86_400_000
SHAPE = Shape(name="live", value_bytes=200, records_per_batch=4, codec=0)
SOON = {
    **QUIET,
    "log.initial.task.delay.ms": "2000",
    "log.retention.check.interval.ms": "300000",
    "log.segment.delete.delay.ms": "500",
    "log.cleaner.backoff.ms": "1000",
    "log.cleaner.min.cleanable.ratio": "1.0",
    "log.retention.ms": str(2 * DAY),
}
AGES = {
    "old": ((5, 4, 3), {}),
    "young": ((1, 1, 0), {}),
    "half": ((5, 4, 0), {}),
    "future": ((-9, 5, 5), {}),
    "shielded": ((1, 5, 5), {}),
    "own": ((5, 4, 3), {"retention.ms": str(30 * DAY)}),
    "sized": ((5, 5, 5, 5), {"retention.ms": "-1", "retention.bytes": "2500"}),
    "zeros": ((None, None, None), {}),
    "compacted": ((5, 5, 5), {"cleanup.policy": "compact"}),
    "both": ((5, 5, 5), {"cleanup.policy": "compact,delete"}),
    "trimmed": ((0, 0, 0), {"retention.ms": "-1"}),
    "below": ((5, 5, 5), {}),
    "limits": ((5, 4, 1, 5, 5, 1), {"retention.bytes": "3500"}),
    "kept": ((5, 4, 3), {"cleanup.policy": ""}),
}
"""Topics: the age of each segment in days (None: an index of zeros), and the topic's own settings.

`below` has a high watermark below its end, `trimmed` a log start offset above its beginning.
"""


def fill(log_dir: Path, name: str, ages: tuple[int | None, ...], now: int) -> int:
    """Write the segments; returns the log end offset."""
    partition, offset = log_dir / f"{name}-0", 0
    for path in partition.iterdir():
        if path.name != "partition.metadata":
            path.unlink()
    for age in ages:
        stem = partition / f"{offset:020d}"
        if offset:
            Path(f"{stem}.snapshot").write_bytes(EMPTY_SNAPSHOT)
        offset = write_segment(partition, offset, iter(templates(SHAPE)[:1]), SHAPE)
        stamp = 0 if age is None else now - age * DAY - HOUR
        Path(f"{stem}.timeindex").write_bytes(struct.pack(">qi", stamp, 0 if age is None else 3))
    (partition / f"{offset:020d}.snapshot").write_bytes(EMPTY_SNAPSHOT)
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    return offset


def checkpoints(log_dir: Path, ends: dict[str, int]) -> None:
    starts = {"trimmed": 8}
    highs = {**ends, "below": 5}
    for name, found in (("recovery-point", ends), ("replication", highs), ("log-start", starts)):
        path = log_dir / f"{name}-offset-checkpoint"
        put_lines(path, (f"{topic} 0 {offset}" for topic, offset in found.items()))


def logs(log_dir: Path) -> set[str]:
    return {str(path.relative_to(log_dir)) for path in log_dir.glob("*-0/*.log")}


def said(broker: Broker) -> dict[tuple[str, int], str]:
    """The logs that are said to go, and by which rule."""
    dirs = broker_of(broker.dirs[:1], "4.3.1", ServerConfig.load(str(broker.config)))
    options = ForecastOptions(now_ms=int(time.time() * 1000))
    return {
        (each.topic, verdict.segment.base_offset): str(verdict.goes)
        for each in reasons(dirs, options, lambda p: p.topic in AGES)
        for verdict in each.goes
    }


@pytest.mark.broker
def test_a_broker_deletes_what_was_said(tmp_path: Path) -> None:
    with Cluster("4.3.1", tmp_path, log_dirs=1, settings=SOON) as cluster:
        cluster.start()
        create(cluster.bootstrap, [Topic(name, settings) for name, (_, settings) in AGES.items()])
        broker = cluster.brokers[0]
        broker.stop()
        log_dir, now = broker.dirs[0], int(time.time() * 1000)
        checkpoints(log_dir, {name: fill(log_dir, name, ages, now) for name, (ages, _) in AGES.items()})
        before, forecast = logs(log_dir), said(broker)
        broker.start()
        broker.wait_for("Deleting segment", 60)
        time.sleep(8)  # more than is said may go, too
        expected = {f"{topic}-0/{base:020d}.log" for topic, base in forecast}
        until("what is said to go", lambda: before - logs(log_dir), good=lambda gone: gone >= expected)
        assert before - logs(log_dir) == expected
        assert {key: rule for key, (_, rule) in deletions(broker.lines()).items()} == forecast
