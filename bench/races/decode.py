"""Records into Arrow, one core, against aiokafka's compiled decoder filling the same columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
from aiokafka.record.default_records import DefaultRecordBatch

from bench.data import JSON, JSON_LZ4, log_dir
from bench.measure import Contender, race
from bench.scale import Scale
from bench.table import Target, show
from segmend.kernel.arrow import record_batches
from segmend.kernel.columns import WantedRecords
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import BatchRange
from segmend.logdir.disk import FileReader

COLUMNS = ("offset", "timestamp", "key", "value")


def ours(files: Sequence[Path]) -> int:
    """Rows in segmend's Arrow batches."""
    rows = 0
    for file in files:
        with FileReader(str(file)) as reader:
            rows += sum(
                batch.num_rows
                for batch in record_batches(
                    reader,
                    WantedRecords(columns=frozenset(COLUMNS)),
                    BatchRange(base_offset=int(file.stem)),
                )
            )
    return rows


def aiokafka_to_arrow(files: Sequence[Path]) -> int:
    """Rows decoded by aiokafka, CRC checked, and gathered into the same four columns."""
    rows = 0
    for file in files:
        for batch in aiokafka_batches(file):
            found = [(record.offset, record.timestamp, record.key, record.value) for record in batch]
            offsets, timestamps, keys, values = zip(*found, strict=True)
            columns = [pa.array(offsets), pa.array(timestamps), pa.array(keys), pa.array(values)]
            rows += pa.RecordBatch.from_arrays(columns, COLUMNS).num_rows
    return rows


def aiokafka_loop(files: Sequence[Path]) -> int:
    """Rows that aiokafka iterates over, kept nowhere."""
    return sum(1 for file in files for batch in aiokafka_batches(file) for _ in batch)


def aiokafka_batches(file: Path) -> Sequence[DefaultRecordBatch]:
    """The file's batches, read whole; the cut into batches is ours and cheap."""
    data = file.read_bytes()
    with FileReader(str(file)) as reader:
        spans = [(header.position, header.size) for header in iter_batches(reader)]
    batches = [DefaultRecordBatch(data[position : position + size]) for position, size in spans]
    assert all(batch.validate_crc() for batch in batches)
    return batches


def timed(
    work: Callable[[Sequence[Path]], int], files: Sequence[Path], rows: set[int]
) -> Callable[[], float]:
    """Seconds of one call; all must agree on the number of rows."""

    def once() -> float:
        started = time.perf_counter()
        rows.add(work(files))
        seconds = time.perf_counter() - started
        assert len(rows) == 1, rows
        return seconds

    return once


def run(scale: Scale) -> None:
    """100-byte JSON records, plain and lz4."""
    for shape in (JSON, JSON_LZ4):
        folder = scale.folder / shape.folder
        files = log_dir(folder, shape, total_bytes=scale.small_bytes)[:1]
        rows: set[int] = set()
        contenders = [
            Contender("segmend to Arrow", function=timed(ours, files, rows)),
            Contender("aiokafka to Arrow", function=timed(aiokafka_to_arrow, files, rows)),
            Contender("aiokafka, loop only", function=timed(aiokafka_loop, files, rows)),
        ]
        race(contenders, runs=scale.runs)
        target = Target(against="aiokafka to Arrow", at_most=1 / 6)
        millions = next(iter(rows)) / 1e6
        show(f"decode: {shape.name}", contenders, size=millions, unit="M records", targets=[target])
