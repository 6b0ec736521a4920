"""The report of an audit by the size of its tables: the driver's memory, CPU, and the page.

The tables are made up: replicas of partitions, three a partition, ten segments each, and two findings of five
replicas. Each size is a process of its own; its tables lie in files, as tasks of an audit leave them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.alone import alone
from bench.scale import Scale
from segmend.fleet import delta, publish
from segmend.fleet.delta import AuditRun
from segmend.fleet.schemas import STORED
from segmend.report.html import build, render

A_FILE, A_DIR, COPIES, SEGMENTS = 20_000, 200, 3, 10
FOUND = (("error", "R02"), ("warning", "R01"), ("warning", "L16"), ("info", "N22"), ("error", "C10b"))
RUN = AuditRun(run_id="20260101T000000Z-000000", number=1)


def run(scale: Scale) -> None:
    """A row a size."""
    print("\n## report by size of the tables, simulated\n")
    print("| replicas | segments | findings | page MB | CPU s | MiB | MiB a million replicas |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    bare = alone(_nothing).peak_mib
    for replicas in scale.reported:
        with tempfile.TemporaryDirectory(dir=scale.folder if scale.folder.exists() else None) as out:
            alone(_write, Path(out), replicas)
            cost = alone(_page, Path(out))
        cells = [
            *(
                f"{replicas:,}",
                f"{SEGMENTS * replicas:,}",
                f"{replicas * 2 // 5:,}",
                f"{cost.result / 1e6:.1f}",
            ),
            *(f"{cost.cpu:.1f}", f"{cost.peak_mib:.0f}", f"{(cost.peak_mib - bare) / replicas * 1e6:.0f}"),
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def _nothing() -> None:
    """A process that has imported everything."""


def _page(out: Path) -> int:
    report = build(
        publish.tables_of(str(out), RUN.run_id), title="t", generated_at=datetime.fromtimestamp(1.8e9, UTC),
        tool_version="0", level="default", manual={},
    )  # fmt: skip
    return len(render(report))


def _write(out: Path, replicas: int) -> None:
    parts = []
    for first in range(0, replicas, A_FILE):
        rows = np.arange(first, min(first + A_FILE, replicas))
        for name, table in _tables(rows):
            part = delta.write_part(str(out), RUN, name, table)
            parts += [part] if part else []
    delta.commit(str(out), RUN, "scan", ("log_dirs", "partitions", "segments", "replicas", "findings"), parts)


def _tables(rows: np.ndarray) -> Iterator[tuple[str, pa.Table]]:
    yield "log_dirs", _log_dirs(np.unique(rows // A_DIR))
    yield "partitions", _filled("partitions", _replicas(rows), len(rows))
    yield "replicas", _filled("replicas", _replicas(rows) | _compared(rows), len(rows))
    every = np.repeat(rows, SEGMENTS)
    numbers = np.tile(np.arange(SEGMENTS), len(rows)) * 1000
    yield "segments", _filled("segments", _replicas(every) | _segments(every, numbers), len(every))
    found = rows[rows % 5 < 2]
    yield "findings", _filled("findings", _replicas(found) | _findings(found), len(found))


def _filled(name: str, columns: dict[str, object], count: int) -> pa.Table:
    """Of a stored table the columns that there are, the others null."""
    schema = pa.schema(list(STORED[name])[1:])
    return pa.table([_column(columns.get(field.name), field, count) for field in schema], schema=schema)


def _column(values: object, field: pa.Field, count: int) -> pa.Array:
    return pa.nulls(count, field.type) if values is None else pa.array(values, field.type)


def _names(rows: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Topics of 12 partitions."""
    partition = rows // COPIES
    return [f"topic-of-team-{number:06d}" for number in partition // 12], partition % 12


def _replicas(rows: np.ndarray) -> dict[str, object]:
    topics, partition = _names(rows)
    size = (rows * 7919) % (1 << 36)
    return {
        "cluster_id": ["c" * 22] * len(rows), "broker": (rows // A_DIR) % 10_000, "log_dir_id": rows // A_DIR,
        "topic": topics, "partition": partition, "kind": ["current"] * len(rows),
        "dir_name": [f"{topic}-{number}" for topic, number in zip(topics, partition, strict=True)],
        "log_bytes": size, "bytes": size, "records": size // 500, "segments": np.full(len(rows), SEGMENTS),
        "log_start_offset": rows * 0, "high_watermark": size // 500, "log_end_offset": size // 500,
        "last_epoch": rows % 50, "min_timestamp_ms": 1_790_000_000_000 + rows,
        "max_timestamp_ms": 1_790_900_000_000 + rows,
    }  # fmt: skip


def _compared(rows: np.ndarray) -> dict[str, object]:
    return {
        "replicas": np.full(len(rows), COPIES), "expected_replicas": np.full(len(rows), COPIES),
        "max_log_end_offset": rows, "behind": np.where(rows % 50 == 0, rows % 1000, 0),
        "status": np.where(rows % 50 == 0, "behind", "in-step").tolist(),
    }  # fmt: skip


def _segments(rows: np.ndarray, numbers: np.ndarray) -> dict[str, object]:
    topics, partition = _names(rows)
    files = zip(topics, partition, numbers, strict=True)
    return {
        "segment": numbers, "file": [f"{topic}-{n}/{base:020d}.log" for topic, n, base in files],
        "log_bytes": np.full(len(rows), 1 << 28), "codecs": [["lz4"]] * len(rows),
        "magics": [[2]] * len(rows), "problems": rows * 0,
    }  # fmt: skip


def _findings(rows: np.ndarray) -> dict[str, object]:
    kinds = [FOUND[row // 5 % len(FOUND)] for row in rows]
    topics, partition = _names(rows)
    names = [f"{topic}-{n}" for topic, n in zip(topics, partition, strict=True)]
    words = (f"{name} ends at offset {row}, behind" for name, row in zip(names, rows, strict=True))
    return {
        "severity": [severity for severity, _ in kinds], "code": [code for _, code in kinds],
        "dir": [f"/mnt/{row // A_DIR}/kafka" for row in rows], "file": names, "source": ["join"] * len(rows),
        "message": list(words), "detail": [[("held_by", "[1, 2, 3]")]] * len(rows),
        "remedy_command": [f"segmend show /mnt/kafka/{name}" for name in names],
        "remedy_safety": ["safe"] * len(rows),
    }  # fmt: skip


def _log_dirs(numbers: np.ndarray) -> pa.Table:
    columns = {
        "cluster_id": ["c" * 22] * len(numbers), "broker": numbers % 10_000, "log_dir_id": numbers,
        "path": [f"/mnt/{n}/kafka" for n in numbers], "clean_shutdown": [True] * len(numbers),
        "partitions": np.full(len(numbers), A_DIR), "disk_total_bytes": np.full(len(numbers), 1 << 42),
        "disk_free_bytes": np.full(len(numbers), 1 << 40),
    }  # fmt: skip
    return _filled("log_dirs", columns, len(numbers))
