"""Very many holes, epochs or conflicts: the work grows as they do, not with their square."""

import random
import shutil
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.run import run
from tests.merge.test_diff import broker
from tests.merge.test_put_back import hurt
from tests.seeds import SEED

from segmend.formats.build import NewRecord, build_batch
from segmend.logdir.log_dir import LogDir
from segmend.merge import look
from segmend.merge.replicas import read_replica
from segmend.merge.rows import HeaderRow
from segmend.rescue.parquet_file import ParquetFile

Log = list[bytes]


def batches(count: int, word: bytes = b"v", *, epochs: bool = False) -> Log:
    """One record each, perhaps of an epoch of their own."""
    return [
        build_batch([NewRecord(value=word)], base_offset=at, leader_epoch=at if epochs else 0)
        for at in range(count)
    ]


def every_other(log: Log, other: Log, first: int) -> Log:
    return [other[at] if at % 2 == first else each for at, each in enumerate(log)]


def holes(count: int) -> list[Log]:
    log = batches(count)
    return [every_other(log, [*map(hurt, log)], 0)]


def holes_of_both(count: int) -> list[Log]:
    log = batches(count)
    return [every_other(log, [*map(hurt, log)], first) for first in (0, 1)]


def conflicts(count: int) -> list[Log]:
    log = batches(count)
    return [log, every_other(log, batches(count, b"w"), 0)]


def newer_epochs(count: int) -> list[Log]:
    return [batches(count, epochs=True)] * 2


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are called, also those of C: as many each time, however busy the machine is."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("kind", [holes, holes_of_both, conflicts, newer_epochs])
def test_eight_times_as_many_take_little_more_than_eight_times_the_work(
    kind: Callable[[int], list[Log]], tmp_path: Path
) -> None:
    work = []
    for count in (200, 1600):
        root, out = tmp_path / str(count), tmp_path / "out"
        lines = ", ".join(f"{at} {at}" for at in range(count)) if kind is newer_epochs else "0 0"
        dirs = [broker(root, number, log, epochs=lines, mark=count) for number, log in enumerate(kind(count))]
        work.append(calls_of(lambda: run("diff", *dirs, "--json")))  # noqa: B023
        if kind is not newer_epochs:
            ran = calls_of(lambda: run("rescue", *dirs, "--out", out, "--as", "jsonl"))  # noqa: B023
            work[-1] += ran
            shutil.rmtree(out)
    assert work[1] < 12 * work[0]


def test_what_tells_conflicts_apart_reads_on_where_the_last_one_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headers are counted, however busy the machine is: three for each batch of each replica at most."""
    read, really = [0], look.iter_rows

    def counted(*log: Any, **places: Any) -> Iterator[HeaderRow]:
        for row in really(*log, **places):
            read[0] += 1
            yield row

    monkeypatch.setattr(look, "iter_rows", counted)
    for count in (50, 400):
        read[0] = 0
        dirs = [broker(tmp_path / f"{count}", *each, mark=count) for each in enumerate(conflicts(count))]
        assert run("diff", *dirs).code == 4
        assert count <= read[0] <= 6 * count


@pytest.mark.slow
def test_a_hole_costs_little_memory(tmp_path: Path) -> None:
    peaks = []
    for count in (50, 500, 2500):  # the first imports what it needs
        root = tmp_path / str(count)
        dirs = [broker(root, number, log, mark=count) for number, log in enumerate(holes_of_both(count))]
        tracemalloc.start()
        try:
            run("diff", *dirs)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[2] - peaks[1] < 2000 * 550


def test_what_is_decoded_of_each_hole_is_not_held_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dirs = [broker(tmp_path, number, log, mark=200) for number, log in enumerate(holes_of_both(200))]
    added, add = [], ParquetFile.add

    def counted(file: ParquetFile, batch: pa.RecordBatch) -> None:
        added.append(batch.num_rows)
        add(file, batch)

    monkeypatch.setattr(ParquetFile, "add", counted)
    assert run("rescue", *dirs, "--out", tmp_path / "out", "--as", "parquet").code == 0
    assert (sum(added), len(added)) == (200, 4)
    rows = pq.read_table(next((tmp_path / "out").rglob("*.parquet")))
    assert rows["offset"].to_pylist() == [*range(200)]
    assert rows["broker"].to_pylist() == [1, 0] * 100


@pytest.mark.parametrize("codec", [0, 1])
@pytest.mark.parametrize("magic", [1, 2])
def test_records_are_counted_by_runs_as_by_headers(
    magic: int, codec: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn ranges; where no run is cut no file is looked into: a hole a range took half of the time."""
    draw, at, log = random.Random(SEED), 0, Log()
    for _ in range(60):
        records = [NewRecord(value=b"v")] * draw.randrange(1, 6)
        batch = build_batch(records, base_offset=at, magic=magic, codec=codec)
        log.append(hurt(batch) if draw.random() < 0.2 else batch)
        at += len(records)
    place = LogDir.open(str(broker(tmp_path, 1, log))).partitions[0]
    replica = read_replica(place, compacted=False)
    second = look.Second([place], [replica])
    spans = [sorted(draw.choices(range(at + 9), k=2)) for _ in range(200)]
    spans += [[run.first_offset, run.last_offset] for run in replica.runs]
    assert [second.count(0, *span) for span in spans] == [second.tally(0, *span)[0] for span in spans]
    monkeypatch.setattr(second, "headers", None)
    assert sum(second.count(0, run.first_offset, run.last_offset) for run in replica.runs) == sum(
        replica.runs.column("records")
    )
