"""Planning and commit of fleets that nobody has at hand: what a task carries, the driver's memory, requests.

Log dirs are made up (two hundred partitions of fifty segments a broker); what is measured is the
planner's, the pickles', and Delta's own.
"""

from __future__ import annotations

import pickle
import tempfile
import time
import zlib
from collections.abc import Iterator

from bench.alone import alone
from bench.scale import Scale
from segmend.checks import Level
from segmend.fleet import delta
from segmend.fleet.delta import AuditRun, DeltaFile
from segmend.fleet.listing import Place
from segmend.fleet.plan import pack_shares
from segmend.fleet.task import AuditJob, Share, Task, TaskPiece, run_task
from segmend.logdir.release import Guess, Release

PARTITIONS, SEGMENTS, FILES = 200, 50, 3
SEGMENT_BYTES = 256 << 20
TASK_BYTES = 2048
"""Goal: a task carries no more, however large the fleet."""
CORES = 64
STATS = '{"numRecords":4000,"minValues":{"run_id":"r","broker":0,"topic":"t"},"maxValues":{},"nullCount":{}}'


def run(scale: Scale) -> None:
    """A row a size, each in a process of its own."""
    print("\n## planning and one commit, simulated\n")
    print(
        "| brokers | segments | tasks | bytes a task, most | driver MiB | MiB a million | commit s |", end=""
    )
    print(" lists | puts | CPU s |")
    print("|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|")
    for brokers in scale.planned:
        cost = alone(_plan, brokers)
        tasks, largest, seconds = cost.result
        segments = brokers * PARTITIONS * SEGMENTS
        reached = "reached" if largest <= TASK_BYTES else "MISSED"
        cells = [
            *(f"{brokers:,}", f"{segments:,}", f"{tasks:,}", f"{largest:,} (<= {TASK_BYTES:,} {reached})"),
            *(f"{cost.peak_mib:.0f}", f"{cost.peak_mib / segments * 1e6:.1f}", f"{seconds:.1f}"),
            # A list a directory, once more by the task that reads it; a file a table and task, a log entry.
            *(f"{2 * brokers * (PARTITIONS + 1):,}", f"{7 * tasks + 7:,}", f"{cost.cpu:.1f}"),
        ]
        print(f"| {' | '.join(cells)} |")


def _plan(brokers: int) -> tuple[int, int, float]:
    """(tasks, bytes of the largest as it travels, CPU seconds of one table's commit)."""
    job = AuditJob(out="/out", run=AuditRun(run_id="20260101T000000Z-000000", number=1), level=Level.DEFAULT)
    largest = count = 0
    for shares in pack_shares(map(_share, range(brokers)), cores=CORES):
        count += 1
        task = Task(job=job, shares=tuple(shares))
        largest = max(largest, len(zlib.compress(pickle.dumps((run_task, task)), 1)))
    started = time.process_time()
    with tempfile.TemporaryDirectory() as out:
        delta.commit(out, job.run, "scan", ("partitions",), list(_parts(count)))
    return count, largest, time.process_time() - started


def _share(broker: int) -> Share:
    place = Place(
        log_dir_id=broker, path=f"/brokers/broker-{broker}/data", broker=broker, cluster_id="c" * 22
    )
    size, files = SEGMENTS * SEGMENT_BYTES, SEGMENTS * FILES + 3
    pieces = [
        TaskPiece(log_dir_id=broker, name=f"topic-{(7 * broker + n) % 5000:04d}-{n}", bytes=size, files=files)
        for n in range(PARTITIONS)
    ]  # fmt: skip
    release = Guess.named(Release((4, 3)), "the node registered with metadata.version up to 30")
    return Share(
        release=release, places=(place,), pieces=tuple(pieces), dir_bytes={broker: PARTITIONS * size}
    )


def _parts(count: int) -> Iterator[DeltaFile]:
    for number in range(count):
        yield DeltaFile(table="partitions", path=f"part-{number}.parquet", run_id="r", bytes=1, stats=STATS)
