"""Of a healthy golden directory every form holds exactly what a consumer got."""

import base64
import csv
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from tests.cli.run import run
from tests.conftest import golden_names, golden_params
from tests.copies import copy_tree
from tests.faults.on_disk import lines_of, put_lines
from tests.golden.shared import golden
from tests.surgery.shows.server import written

TOLD = [name for name in golden_names() if not name.startswith(("0.8", "4.3.1-fleet"))]
KINDS = {None: -1, "CreateTime": 0, "LogAppendTime": 1}


def hexed(data: str | None) -> bytes | None:
    return None if data is None else bytes.fromhex(data)


def consumed(row: dict[str, Any]) -> tuple[object, ...]:
    """A record as a consumer got it; a client says 0 where magic 0 has no time."""
    headers = [(name, hexed(value)) for name, value in row["headers"]]
    kind = KINDS[row["timestampType"]]
    time = row["timestamp"] if kind >= 0 else -1
    return row["offset"], time, kind, hexed(row["key"]), hexed(row["value"]), headers


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def from_json(row: dict[str, Any]) -> tuple[object, ...]:
    """The same of a JSON line."""
    headers = [(each["key"], decoded(each["value"])) for each in row["headers"]]
    time = row["timestamp"]
    if isinstance(time, str):
        moment = datetime.fromisoformat(time)
        time = round(moment.timestamp() * 1000)
    return row["offset"], time, row["timestamp_type"], decoded(row["key"]), decoded(row["value"]), headers


def from_table(path: Path) -> list[tuple[object, ...]]:
    """The same of a Parquet file."""
    table = pq.read_table(path)
    times = table["timestamp"].cast("int64").to_pylist()
    return [
        (row["offset"], time, row["timestamp_type"], row["key"], row["value"],
         [(each["key"], each["value"]) for each in row["headers"]])
        for row, time in zip(table.to_pylist(), times, strict=True)
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", golden_params(TOLD))
def test_the_tables_are_what_a_consumer_got(name: str, tmp_path: Path) -> None:
    dirs = sorted(golden(name).glob("b*/d*"))
    for form in ("jsonl", "parquet"):
        ran = run("rescue", *dirs, "--out", tmp_path / form, "--as", form, "--json")
        assert (ran.code, ran.of("summary")[0]["missing"]) == (0, 0)
    for partition, rows in written(name).items():
        told = [consumed(row) for row in rows]
        lines = (tmp_path / "jsonl" / f"{partition}.jsonl").read_text().splitlines()
        found = [from_json(json.loads(line)) for line in lines]
        assert from_table(tmp_path / "parquet" / f"{partition}.parquet") == found
        # A killed one got more between that look and its death.
        assert found[: len(told)] == told
        assert len(found) == len(told) or name.endswith("-killed")


def test_all_tables_say_the_same(tmp_path: Path) -> None:
    """Delta and CSV as JSON lines, of topics with headers, nulls and transactions."""
    dirs = sorted(golden("4.3.1-killed").glob("b1/d*"))
    for form in ("jsonl", "csv", "delta"):
        run("rescue", *dirs, "--out", tmp_path / form, "--as", form, "--topic", "[hnt]*", code=0)
    lines, rows = [], []
    for path in sorted((tmp_path / "jsonl").glob("*-*.jsonl")):
        lines += map(json.loads, path.read_text().splitlines())
    for path in sorted((tmp_path / "csv").glob("*.csv")):
        with open(path, newline="") as file:
            rows += list(csv.DictReader(file))
    assert [(row["topic"], int(row["offset"]), row["value"]) for row in rows] == [
        (row["topic"], row["offset"], row["value"] or "") for row in lines
    ]
    assert [json.loads(row["headers"]) for row in rows] == [row["headers"] for row in lines]
    table = pq.ParquetDataset(DeltaTable(str(tmp_path / "delta")).file_uris()).read().to_pylist()
    same = ("topic", "offset", "sequence", "transactional", "aborted", "leader_epoch", "file", "position")
    assert sorted(([row[each] for each in same] for row in table), key=str) == sorted(
        ([row[each] for each in same] for row in lines), key=str
    )


@pytest.mark.parametrize("name", ["4.3.1-killed", pytest.param("1.1.0-killed", marks=pytest.mark.slow)])
def test_a_log_dir_counts_what_rows_count(name: str, tmp_path: Path) -> None:
    """Markers are no records; one that is open and above the high watermark, too, is marked once."""
    copy_tree(golden(name) / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").glob("d*"))
    for path in dirs:
        checkpoint = path / "replication-offset-checkpoint"
        rows = [row.split() for row in lines_of(checkpoint)]
        put_lines(checkpoint, (f"{topic} {number} {int(offset) // 2}" for topic, number, offset in rows))
    told = {}
    for form in ("jsonl", "log-dir"):
        ran = run("rescue", *dirs, "--out", tmp_path / form, "--as", form, "--json", "--topic", "*txn*")
        told[form] = {
            (line["topic"], line["partition"]): [
                line[each] for each in ("records", "aborted", "open", "unacknowledged", "marked")
            ]
            for line in ran.of("partition")
        }
        assert any(of[2] for of in told[form].values()), "some are open"
        assert any(of[3] for of in told[form].values()), "some are above the high watermark"
    assert told["log-dir"] == told["jsonl"]
