"""A Parquet file has the rows it was given, whatever they hold, and spends time only on bytes that shrink."""

import io
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segmend.formats.build import NewRecord, build_batch
from segmend.rescue.arrow_rows import schema
from segmend.rescue.outlet import Stream
from segmend.rescue.parquet_file import ParquetFile, stored

WANTED = schema(pa.timestamp("us", tz="UTC"))
CHANCE = random.Random(7)
Make = Callable[[int], bytes | None]

_SIDE: dict[str, Make] = {
    "random": lambda _: CHANCE.randbytes(200),
    "few": lambda n: (b"paid", b"open")[n % 2] * 50,
    "text": lambda n: b'{"order":%d,"user":"u-%06d","currency":"EUR","status":"paid"}' % (n, n % 977),
    "null": lambda _: None,
    "empty": lambda _: b"",
}


def batch(first: int, rows: int, file: str, key: Make, value: Make) -> list[dict[str, Any]]:
    """Records of one log."""
    constants = {"topic": "t", "partition": 0, "dir": "/d", "file": file, "broker": None}
    return [
        {
            **constants, "offset": n, "key": key(n), "value": value(n), "leader_epoch": 0,
            "headers": [{"key": "h", "value": None}] * (n % 2), "aborted": [None, True, False][n % 3],
        }
        for n in range(first, first + rows)
    ]  # fmt: skip


@pytest.mark.parametrize("value", _SIDE)
def test_what_is_written_comes_back_and_only_what_shrinks_is_compressed(value: str) -> None:
    stream = io.BytesIO()
    file = ParquetFile(cast(Stream, stream), stored(WANTED))
    rows = []
    for number in range(3):
        more = batch(400 * number, 400, f"t-0/{number // 2}.log", _SIDE["few"], _SIDE[value])
        made = pa.RecordBatch.from_pylist([dict.fromkeys(WANTED.names) | row for row in more], stored(WANTED))
        half = len(more) // 2
        for part in (made.slice(0, half), made.slice(half)):
            file.add(part)
        rows += more
    file.close()
    found = pq.read_table(stream)
    assert found.schema.types == WANTED.types
    assert found.to_pylist() == [dict.fromkeys(WANTED.names) | row for row in rows]
    columns = {
        column["path_in_schema"]: column
        for column in pq.ParquetFile(stream).metadata.row_group(0).to_dict()["columns"]
    }
    assert columns["value"]["compression"] == ("UNCOMPRESSED" if value == "random" else "ZSTD")
    assert columns["value"]["has_dictionary_page"] == (value not in ("random", "text"))
    assert columns["key"]["has_dictionary_page"]
    assert columns["headers.list.element.key"]["compression"] == "ZSTD"


@pytest.mark.parametrize(("different", "kept_once"), [(10_000, True), (1 << 20, False)])
def test_keys_that_come_round_again_are_there_once_however_long_the_round(
    different: int, kept_once: bool
) -> None:
    stream, rows = io.BytesIO(), 40_000
    keys = pa.array([b"%d" % (n % different) for n in range(rows)])
    made = pa.RecordBatch.from_pydict({"key": keys, "value": keys})
    file = ParquetFile(cast(Stream, stream), made.schema)
    file.add(made)
    file.close()
    assert pq.read_table(stream)["key"].combine_chunks() == keys
    column = pq.ParquetFile(stream).metadata.row_group(0).column(0)
    assert column.has_dictionary_page == kept_once


def test_a_file_without_rows_is_one() -> None:
    stream = io.BytesIO()
    ParquetFile(cast(Stream, stream), stored(WANTED)).close()
    assert pq.read_table(stream).schema.types == WANTED.types


_PEAK = """
import sys, pyarrow
from segmend.cli.main import main
code = main(sys.argv[1:])
print(code, pyarrow.default_memory_pool().max_memory())
"""


@pytest.mark.parametrize("form", ["parquet", "delta"])
def test_records_of_many_headers_hold_no_more_memory_than_others(form: str, tmp_path: Path) -> None:
    """Headers of one batch fill their room, and that of keys and values was held nearly empty: 0.7 GB."""
    home = tmp_path / "b1" / "t-0"
    home.mkdir(parents=True)
    headers = [(f"h{number}", b"x" * 20) for number in range(10)]
    with (home / f"{0:020}.log").open("wb") as log:
        for first in range(0, 40_000, 500):
            records = [NewRecord(key=b"%d" % at, value=b"v", headers=headers) for at in range(500)]
            log.write(build_batch(records, base_offset=first, codec=4))
    words = ["rescue", str(home.parent), "--out", str(tmp_path / "out"), "--as", form]
    ran = subprocess.run([sys.executable, "-c", _PEAK, *words], capture_output=True, text=True, check=True)
    code, peak = map(int, ran.stdout.split()[-2:])
    assert code == 0
    assert peak < 250 << 20
