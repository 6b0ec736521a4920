"""What is decoded on request: text beside the raw bytes, or the reason why there is none, whatever comes."""

import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.cli.run import run
from tests.rescue.test_export import table

from segmend.formats.build import NewRecord, build_batch
from segmend.rescue.decoders import Decoder, asked, decoder

fastavro = pytest.importorskip("fastavro", reason="the extra `decode` is not installed")
descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2", reason="as above")

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "raw", "type": ["null", "bytes"]},
        {"name": "rate", "type": "double"},
    ],
}
CHAIN = {"type": "record", "name": "C", "fields": [{"name": "next", "type": ["null", "C"]}]}
NOTHINGS = {"type": "array", "items": "null"}


def written(schema: object, value: object) -> bytes:
    """As fastavro writes it."""
    stream = BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


AN_ORDER = written(
    ORDER,
    {
        "id": 7, "tags": ["a"], "at": datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        "price": Decimal("12.34"), "raw": b"\xff", "rate": float("nan"),
    },
)  # fmt: skip


def descriptors() -> bytes:
    """Message 0 is `A`, message 1 is `shop.Order` with an id, and `Order.Line` within."""
    made = descriptor_pb2.FileDescriptorSet()
    file = made.file.add(name="shop.proto", package="shop", syntax="proto3")
    file.message_type.add(name="A")
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=3, label=1)
    order.field.add(name="next", number=2, type=11, label=1, type_name=".shop.Order")
    line = order.nested_type.add(name="Line")
    line.field.add(name="item_name", number=1, type=9, label=1)
    return bytes(made.SerializeToString())


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """A directory of schemas."""
    home = tmp_path / "registry"
    home.mkdir()
    (home / "7.avsc").write_text(json.dumps(ORDER))
    (home / "8.json").write_text(json.dumps({"schema": json.dumps(CHAIN)}))
    (home / "9.avsc").write_text(json.dumps(NOTHINGS))
    (home / "10.avsc").write_text("{")
    (home / "11.desc").write_bytes(descriptors())
    (home / "12.desc").write_bytes(b"\xff")
    return home


def framed(number: int, data: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + data


def log_of(root: Path, values: Sequence[bytes | None]) -> Path:
    """A partition with these values, keys being numbers."""
    home = root / "source" / "orders-0"
    home.mkdir(parents=True)
    records = [NewRecord(value=value, key=b"%d" % at) for at, value in enumerate(values)]
    (home / f"{0:020}.log").write_bytes(build_batch(records))
    return home


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "delta"])
def test_the_columns_and_counts_are_there_in_every_table(form: str, tmp_path: Path, registry: Path) -> None:
    values = [framed(7, AN_ORDER), None, framed(7, AN_ORDER + b"!"), framed(77, b""), b"plain"]
    home, out = log_of(tmp_path, values), tmp_path / "out"
    decode = ("--decode", f"avro:{registry}", "--decode", "key=utf8")
    argv = ["rescue", home, "--out", out, "--as", form, *decode, "--json"]
    ran = run(*argv, code=0)
    found = ran.of("partition")[0]["decoded"]
    assert (found["key"]["decoded"], found["key"]["raw"]) == (5, 0)
    assert [found["value"][each] for each in ("decoded", "raw", "null")] == [1, 3, 1]
    assert "value: 1 decoded as avro, 3 left raw, 1 null" in (out / "_rescue.txt").read_text()
    if form == "csv":
        head, first, *_ = (out / "orders-0.csv").read_text().splitlines()
        assert head.endswith(
            ",key_decoded,key_schema_id,key_undecoded,value_decoded,value_schema_id,value_undecoded"
        )
        assert first.endswith(",7,")
        return
    if form == "jsonl":
        rows = [json.loads(line) for line in (out / "orders-0.jsonl").read_text().splitlines()]
    else:
        rows = pq.ParquetFile(out / "orders-0.parquet").read().to_pylist()
        assert [row["value"] for row in rows] == values
    assert [row["key_decoded"] for row in rows] == [*"01234"]
    assert [row["value_schema_id"] for row in rows] == [7, None, 7, 77, None]
    assert json.loads(rows[0]["value_decoded"]) == {
        "id": 7, "tags": ["a"], "price": "12.34", "raw": "/w==", "rate": "NaN",
        "at": "2023-11-14T22:13:20+00:00",
    }  # fmt: skip
    assert [row["value_decoded"] for row in rows[1:]] == [None] * 4
    reasons = [row["value_undecoded"] for row in rows]
    assert reasons[:3] == [None, None, "1 bytes are left over"]
    assert "schema 77 is not in" in reasons[3]
    assert reasons[4] == "no header of a schema registry"
    assert run(*argv).of("partition") == ran.of("partition")
    assert "holds another rescue" in run(*argv[:6]).err


def test_an_export_keeps_to_its_columns(tmp_path: Path, registry: Path) -> None:
    home, out = log_of(tmp_path, [b'{"a":1}', b"\xff", b'{"a":1.5,"b":["x"]}']), tmp_path / "out"
    ran = run("export", home, "--out", out, "--decode", "json", "--json", code=0)
    assert [row["value_undecoded"] for row in table(out)] == [None, "not UTF-8 at byte 0", None]
    (line,) = ran.of("partition")
    named = {each["name"]: each["type"] for each in line["decoded"]["value"]["schema"]["fields"]}
    assert named == {"a": "double", "b": {"type": "array", "elementType": "string", "containsNull": True}}
    given = tmp_path / "schema.json"
    given.write_text(json.dumps(line["decoded"]["value"]["schema"]))
    log = next(home.iterdir())
    log.write_bytes(
        log.read_bytes() + build_batch([NewRecord(b'{"a":"x"}'), NewRecord(b"{}")], base_offset=3)
    )
    run(
        "fleet", "export", home.parent, "--out", out, "--decode", f"json:{given}", "--driver", "local", code=0
    )
    told = {row["offset"]: row["value_undecoded"] for row in table(out)}
    assert (told[3], told[4]) == ("value.a is no double", None)
    assert "with this --decode" in run("export", home, "--out", out).err


@pytest.mark.parametrize(
    ("decode", "words"),
    [
        (["xml"], "with a KIND of avro, json, protobuf, utf8"),
        (["utf8", "value=json"], "given twice"),
        (["utf8:x"], "takes no schema"),
        (["avro"], "needs a schema"),
        (["avro:REG/10.avsc"], "is no Avro schema"),
        (["avro:REG/9.avsc"], "next to no bytes"),
        (["avro:REG/none"], "no such file"),
        (["json:REG/7.avsc"], "is no schema as Spark's"),
        (["protobuf"], "needs a schema"),
        (["protobuf:REG/12.desc#A"], "is no descriptor set"),
        (["protobuf:REG/11.desc#Nothing"], "it has shop.A, shop.Order"),
    ],
)
def test_what_cannot_be_decoded_with_is_said_before_anything_is_written(
    decode: list[str], words: str, tmp_path: Path, registry: Path
) -> None:
    options = [part for each in decode for part in ("--decode", each.replace("REG", str(registry)))]
    ran = run("rescue", log_of(tmp_path, []), "--out", tmp_path / "o", "--as", "jsonl", *options)
    assert (ran.code in (8, 16), ran.err.count("\n")) == (True, 1), ran.err
    assert words in ran.err
    assert not (tmp_path / "o").exists()


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name="fastavro")

    monkeypatch.setattr("segmend.rescue.decoders.import_module", missing)
    with pytest.raises(Exception, match=r"pip install '\.\[decode\]'"):
        decoder(asked("avro:x"))


def test_protobuf(registry: Path) -> None:
    by_id, one = (
        decoder(asked(f"protobuf:{registry}")),
        decoder(asked(f"protobuf:{registry}/11.desc#shop.Order")),
    )
    line = b"\x0a\x01\xc3" + b"\x0a\x02\xc3\xa9"
    for told, data, wanted in (
        (one, b"\x08\x07", '{"id": "7"}'),
        (by_id, framed(11, b"\x02\x02\x08\x07"), '{"id": "7"}'),
        (by_id, framed(11, b"\x04\x02\x00" + line[3:]), '{"item_name": "é"}'),
        (by_id, framed(11, b"\x00"), "{}"),
        (one, b"\x18\x07", "has fields that the schema has not"),
        (one, b"\x08", "DecodeError"),
        (by_id, framed(11, b"\x04\x02\x00" + line[:3]), "DecodeError"),
        (by_id, framed(11, b"\x02\x0a"), "has no message [5]"),
        (by_id, framed(11, b"\xff" * 9), "no header"),
        (by_id, framed(12, b"\x00"), "is no descriptor set"),
        (by_id, framed(13, b"\x00"), "schema 13 is not in"),
        (one, b"\x12" * 300, "DecodeError"),
    ):
        found = told.decode(data)
        assert wanted in (found.text or found.reason or ""), found


def nested(depth: int) -> bytes:
    """Messages in messages."""
    data = b""
    for _ in range(depth):
        size, more = len(data), b""
        while size > 127:
            more, size = more + bytes([size & 127 | 128]), size >> 7
        data = b"\x12" + more + bytes([size]) + data
    return data


def test_hostile_bytes_have_an_answer(registry: Path) -> None:
    avro, json_, protobuf = (
        decoder(asked(f"{each}")) for each in (f"avro:{registry}", "json", f"protobuf:{registry}")
    )
    for told, data, words in (
        (avro, framed(8, b"\x02" * 900_000 + b"\0"), "nested too deep"),
        (avro, framed(9, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\0"), "next to no bytes"),
        (
            avro,
            framed(7, b"\x0e\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"),
            "EOF",
        ),
        (avro, framed(7, b"\x80" * 900_000), "Error"),
        (avro, framed(10, b""), "is no Avro schema"),
        (avro, b"\0" * (2 << 20), "are not taken apart"),
        (json_, b"[" * 100_000, "nested too deep"),
        (json_, b'{"a":' * 100_000, "nested too deep"),
        (json_, b"NaN", "not JSON"),
        (json_, b"[1,]", "not JSON at character"),
        (json_, b'"\xed\xa0\x80"', "not UTF-8 at byte 1"),
        (protobuf, framed(11, b"\x02\x02" + nested(5000)), "DecodeError"),
    ):
        found = told.decode(data)
        assert found.text is None
        assert words in (found.reason or ""), (words, found)
    assert json_.decode(b"9" * 10_000).text == "9" * 10_000
    assert json_.schema() == "double"
    wide = decoder(asked("json"))
    wide.decode(json.dumps({f"f{each}": {"x": each} for each in range(3000)}).encode())
    assert len(wide.schema()["fields"]) <= 1000


def fuzzed(told: Decoder, seeds: Sequence[bytes], draw: random.Random, rounds: int) -> None:
    """Whatever the bytes are, there is text or a reason."""
    for _ in range(rounds):
        data = bytearray(draw.choice(seeds))
        for _ in range(draw.randrange(1, 6)):
            at = draw.randrange(len(data) + 1)
            choice: Any = draw.randrange(3)
            if choice == 0:
                data[at : at + 1] = bytes([draw.randrange(256)])
            elif choice == 1:
                del data[at : at + draw.randrange(1, 9)]
            else:
                data[at:at] = draw.choice([b"\xff" * 9 + b"\x01", b"\x80" * 4, b"\0", b"\x02" * 30, b'["'])
        found = told.decode(bytes(data))
        assert (found.text is None) != (found.reason is None), bytes(data)
        assert found.text is None or found.text.encode() is not None


@pytest.mark.parametrize("rounds", [300, pytest.param(60_000, marks=pytest.mark.slow)])
def test_fuzzed(rounds: int, registry: Path) -> None:
    draw = random.Random(rounds)
    order = framed(11, b"\x02\x02\x08\x07" + nested(3))
    fuzzed(decoder(asked(f"avro:{registry}")), [framed(7, AN_ORDER), framed(8, b"\x02\x02\0")], draw, rounds)
    fuzzed(decoder(asked(f"avro:{registry}/7.avsc")), [AN_ORDER], draw, rounds)
    fuzzed(decoder(asked(f"protobuf:{registry}")), [order], draw, rounds)
    fuzzed(decoder(asked("json")), [b'{"a":[1,2.5,null,{"b":"x"}]}', framed(1, b"[]")], draw, rounds)
    fuzzed(decoder(asked("utf8")), ["naïve".encode()], draw, rounds)
