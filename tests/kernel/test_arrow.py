"""Records and headers as Arrow: the same from both engines, and as the formats read them."""

import random
import re
import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.checks.build_partition import START_MS
from tests.conftest import examples, golden_params
from tests.faults.hands import positions
from tests.golden.shared import golden
from tests.kernel.log_writer import (
    GZIP,
    LZ4,
    ZSTD,
    Message,
    batch_bytes,
    legacy_message,
    legacy_wrapper,
    marker,
    varied_log,
)
from tests.kernel.test_engines_agree import damaged, needs_native

from segmend.formats.record import decode
from segmend.kernel.arrow import BATCH_SCHEMA, RECORD_FIELDS, batch_headers, record_batches
from segmend.kernel.batches import iter_batches
from segmend.kernel.columns import SIZES, WantedRecords
from segmend.kernel.decode import record_columns
from segmend.kernel.types import BatchRange, BytesReader, Problem

BASE = 100


def records(data: bytes, engine: str, **options: Any) -> tuple[pa.Table, list[Problem]]:
    options = {"base_offset": BASE, "columns": RECORD_FIELDS, **options}
    problems: list[Problem] = []
    which, among = (
        {name: options.pop(name) for name in each.__dataclass_fields__ if name in options}
        for each in (WantedRecords, BatchRange)
    )
    wanted = WantedRecords(**{**which, "columns": frozenset(which["columns"])})
    batches = list(
        record_batches(
            BytesReader(data), wanted, BatchRange(**among), engine=engine, problems=problems.append, **options
        )
    )
    for batch in batches:
        batch.validate(full=True)
    names = [name for name in RECORD_FIELDS if name in wanted.columns]
    schema = pa.schema([(name, RECORD_FIELDS[name]) for name in names])
    table = pa.Table.from_batches(batches, schema=schema).combine_chunks()
    return table, sorted(problems, key=lambda problem: (problem.position, problem.kind))


def headers(data: bytes, engine: str, *, crc: bool = False) -> pa.Table:
    rows = batch_headers(BytesReader(data), BatchRange(base_offset=BASE, crc=crc), engine=engine)
    return pa.Table.from_batches(rows, schema=BATCH_SCHEMA).combine_chunks()


def test_every_column_of_a_record(engine: str) -> None:
    message = Message(2, b"key", None, 5, ((b"h", b"1"), (b"\xff", None)))
    data = batch_bytes(100, [message], flags=0x18, producer=(7, 3, 2**31 - 1), epoch=4, max_time=START_MS + 9)
    table, problems = records(data, engine)
    assert problems == []
    assert table.to_pylist() == [
        {
            "offset": 102, "timestamp": START_MS + 9, "timestamp_type": 1, "key": b"key", "value": None,
            "headers": [{"key": "h", "value": b"1"}, {"key": "\ufffd", "value": None}], "leader_epoch": 4,
            "producer_id": 7, "producer_epoch": 3, "sequence": 1, "is_transactional": True,
            "is_control": False, "batch_position": 0, "key_size": 3, "value_size": -1,
        }
    ]  # fmt: skip


def test_only_the_columns_asked_for_and_even_none(engine: str) -> None:
    data = varied_log(2)
    table, _ = records(data, engine, columns=("value", "offset"))
    assert table.column_names == ["offset", "value"]
    rows = record_batches(
        BytesReader(data), WantedRecords(columns=frozenset(())), BatchRange(base_offset=BASE), engine=engine
    )
    assert sum(batch.num_rows for batch in rows) == table.num_rows


def test_sizes_take_none_of_the_bytes(engine: str) -> None:
    data = b"".join(batch_bytes(n, [Message(0, b"k", bytes(3000))], codec=n % 2 * LZ4) for n in range(100))
    asked: list[int] = []

    def allocate(size: int) -> bytearray:
        asked.append(size)
        return bytearray(size)

    pieces = record_columns(
        BytesReader(data), WantedRecords(columns=frozenset(SIZES)), BatchRange(base_offset=0), lambda _: None,
        engine=engine, allocate=allocate, target=1 << 20,
    )  # fmt: skip
    for piece in pieces:
        assert piece.key is piece.value is piece.offsets is None
    assert all(size < 1 << 20 for size in asked)
    assert records(data, engine, columns=SIZES)[0].to_pylist() == [{"key_size": 1, "value_size": 3000}] * 100


def test_few_batches_of_a_large_log_take_memory_and_reads_for_few(engine: str) -> None:
    data = b"".join(batch_bytes(n, [Message(0, b"k", bytes(3000))]) for n in range(400))
    asked: list[int] = []

    class Counted(BytesReader):
        def read_into(self, buffer: memoryview, position: int) -> int:
            asked.append(len(buffer))
            return super().read_into(buffer, position)

    def allocate(size: int) -> bytearray:
        asked.append(size)
        return bytearray(size)

    at = positions(data)
    few = BatchRange(base_offset=0, start=at[7], stop=at[9])
    pieces = record_columns(
        Counted(data), WantedRecords(), few, lambda _: None, engine=engine, allocate=allocate
    )  # fmt: skip
    assert [piece.rows for piece in pieces] == [2]
    assert sum(asked) < 100 * (at[9] - at[7]) < len(data)


def test_bounds_by_offset_time_and_position(engine: str) -> None:
    data = b"".join(batch_bytes(100 + 3 * n, [Message(d, timestamp=n) for d in range(3)]) for n in range(5))
    found = records(data, engine, first_offset=104, last_offset=107)[0]
    assert found["offset"].to_pylist() == [104, 105, 106, 107]
    found = records(data, engine, since=START_MS + 1, until=START_MS + 2)[0]
    assert found["offset"].to_pylist() == list(range(103, 109))
    at = positions(data)
    assert records(data, engine, start=at[1], stop=at[2])[0]["offset"].to_pylist() == [103, 104, 105]


def test_control_records_are_left_out_unless_asked_for(engine: str) -> None:
    data = batch_bytes(100, [Message(0)]) + marker(101, (7, 0), 0)
    assert records(data, engine)[0]["offset"].to_pylist() == [100]
    assert records(data, engine, control=True)[0]["is_control"].to_pylist() == [False, True]


def test_old_magics_in_their_place(engine: str) -> None:
    data = legacy_wrapper(100, 0, GZIP, [b"a", b"b"]) + legacy_message(102, 1, b"k", None)
    data += batch_bytes(103, [Message(0, value=b"c")]) + legacy_wrapper(104, 1, LZ4, [b"d"])
    table, problems = records(data, engine)
    assert problems == []
    assert table["offset"].to_pylist() == [100, 101, 102, 103, 104]
    assert table["value"].to_pylist() == [b"a", b"b", None, b"c", b"d"]
    assert table["timestamp_type"].to_pylist() == [-1, -1, 0, 0, 0]


BAD = {
    "crc-mismatch": batch_bytes(103, [Message(0)])[:-1] + b"\xff",
    "count-mismatch": batch_bytes(103, [Message(0)], count=2),
    "record-structure": batch_bytes(103, [Message(1), Message(0)], last_delta=1),
    "undecodable": batch_bytes(103, [Message(0)], codec=ZSTD, payload=b"nonsense"),
    "bad-codec": batch_bytes(103, [Message(0)], flags=6),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_cannot_be_decoded_is_skipped_and_reported(kind: str, engine: str) -> None:
    data = batch_bytes(100, [Message(0)]) + BAD[kind] + batch_bytes(110, [Message(0)])
    table, problems = records(data, engine)
    assert table["offset"].to_pylist() == [100, 110]
    assert [problem.kind for problem in problems] == [kind]


@pytest.mark.parametrize("target", [1, 300, 1 << 20])
def test_small_targets_give_small_batches_and_the_same_records(target: int, engine: str) -> None:
    data = varied_log(4)
    assert records(data, engine, target=target)[0].equals(records(data, engine)[0])


@pytest.mark.slow
def test_a_batch_with_more_records_than_fit_at_first(engine: str) -> None:
    many = [Message(n, None, None) for n in range(70_000)]
    for codec in (0, GZIP):
        table, problems = records(batch_bytes(100, many, codec=codec), engine, columns=("offset", "headers"))
        assert (table.num_rows, problems) == (70_000, [])


def test_a_batch_larger_than_any_window_is_reported(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segmend.kernel.decode.WINDOW_LIMIT", 1000)
    data = batch_bytes(100, [Message(0, value=bytes(2000))]) + batch_bytes(101, [Message(0)])
    table, problems = records(data, engine, window=256)
    assert table["offset"].to_pylist() == [101]
    assert [(each.kind, each.position) for each in problems] == [("too-large", 0)]


def test_batch_headers(engine: str) -> None:
    data = batch_bytes(100, [Message(0), Message(4)], codec=LZ4, epoch=3, producer=(9, 1, 5))
    data += legacy_wrapper(105, 0, GZIP, [b"a"]) + BAD["crc-mismatch"] + batch_bytes(110, [Message(0)])
    rows = headers(data, engine, crc=True).to_pylist()
    assert [row["crc_ok"] for row in rows] == [True, True, False, True]
    first = rows[0]
    assert (first["position"], first["base_offset"], first["last_offset"]) == (0, 100, 104)
    assert first["records"] == 2
    assert (first["codec"], first["leader_epoch"], first["producer_id"]) == ("lz4", 3, 9)
    assert (rows[1]["magic"], rows[1]["records"], rows[1]["timestamp_type"]) == (0, -1, -1)
    unchecked = headers(data, engine)
    assert unchecked["crc_ok"].to_pylist() == [None] * 4


@needs_native
@pytest.mark.parametrize("name", golden_params())
def test_golden_records_are_those_that_the_formats_read(name: str) -> None:
    for path in sorted(golden(name).rglob("*.log")):
        if not re.fullmatch(r"\d{20}\.log", path.name) or not path.stat().st_size:
            continue
        data = path.read_bytes()
        table, problems = records(data, "native", base_offset=int(path.stem), control=True)
        plain = [
            record
            for batch in iter_batches(BytesReader(data))
            for record in decode(data[batch.position : batch.end], batch)[0]
        ]
        assert problems == []
        for column in ("key", "value"):
            sizes = [-1 if value is None else len(value) for value in table[column].to_pylist()]
            assert table[f"{column}_size"].to_pylist() == sizes
        for column in ("offset", "timestamp", "timestamp_type", "key", "value", "sequence"):
            assert table[column].to_pylist() == [getattr(record, column) for record in plain]
        pairs = [[{"key": key, "value": value} for key, value in record.headers] for record in plain]
        assert table["headers"].to_pylist() == pairs


@needs_native
@examples(40)
@given(st.integers(0, 1 << 32))
def test_both_engines_give_the_same_of_damaged_logs(seed: int) -> None:
    chance = random.Random(seed)
    data = damaged(seed)
    options: dict[str, Any] = {
        "crc": chance.random() < 0.5,
        "control": chance.random() < 0.5,
        "first_offset": chance.choice([0, 150]),
        "since": chance.choice([-(1 << 63), START_MS + 500]),
        "target": chance.choice([100, 4 << 20]),
        "window": chance.choice([100, 1 << 20]),
    }
    one, other = records(data, "native", **options), records(data, "reference", **options)
    assert one[1] == other[1]
    assert one[0].equals(other[0])
    for crc in (False, True):
        assert headers(data, "native", crc=crc).equals(headers(data, "reference", crc=crc))


def test_a_batch_position_points_at_its_batch(engine: str) -> None:
    data = varied_log(6)
    table, _ = records(data, engine, control=True)
    assert set(table["batch_position"].to_pylist()) <= set(positions(data))
    for row in table.to_pylist()[:50]:
        size = struct.unpack_from(">i", data, row["batch_position"] + 8)[0]
        assert size > 0
