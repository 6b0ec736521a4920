"""Records of magic 0 and 1: plain entries, wrappers, and the oddities that old brokers left."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.batch import RecordBatch, parse, read_header
from segmend.formats.build import NewRecord, build_batch
from segmend.formats.codec_write import compress
from segmend.formats.damage import Damage
from segmend.formats.legacy import base_offset
from segmend.formats.record import Record, decode

CODECS = pytest.mark.parametrize("codec", [1, 2, 3], ids=["gzip", "snappy", "lz4"])
MAGICS = pytest.mark.parametrize("magic", [0, 1])


def message(
    offset: int, value: bytes | None, *, magic: int, attributes: int = 0, timestamp: int = 7
) -> bytes:
    """One entry, written out by hand."""
    time = struct.pack(">q", timestamp) if magic == 1 else b""
    body = struct.pack(">bb", magic, attributes) + time + struct.pack(">i", -1)
    body += struct.pack(">i", -1 if value is None else len(value)) + (value or b"")
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def read(raw: bytes) -> tuple[list[Record], tuple[Damage, ...]]:
    batch, damages = parse(raw)
    assert batch is not None
    assert damages == ()
    return decode(raw, batch)


def wrap(inner: bytes, offset: int, *, magic: int, codec: int = 1) -> bytes:
    value = compress(codec, inner, magic=magic)
    return message(offset, value, magic=magic, attributes=codec, timestamp=99)


@MAGICS
def test_a_plain_entry(magic: int) -> None:
    raw = build_batch([NewRecord(b"value", b"key", 1234)], base_offset=5, magic=magic)
    (record,), damages = read(raw)
    assert damages == ()
    assert record[:6] == (5, -1 if magic == 0 else 1234, -1 if magic == 0 else 0, b"key", b"value", ())
    assert (record.sequence, record.position, record.size) == (-1, 0, len(raw))


@MAGICS
def test_null_and_empty(magic: int) -> None:
    for key, value in ((None, None), (b"", b""), (None, b""), (b"", None)):
        (record,), _ = read(build_batch([NewRecord(value, key)], magic=magic))
        assert (record.key, record.value) == (key, value)


@CODECS
@MAGICS
def test_a_wrapper_holds_many(magic: int, codec: int) -> None:
    rows = [NewRecord(b"value %d" % i * 20, b"k", 100 + i) for i in range(100)]
    raw = build_batch(rows, base_offset=1000, magic=magic, codec=codec)
    records, damages = read(raw)
    assert damages == ()
    assert [record.offset for record in records] == list(range(1000, 1100))
    assert [record.value for record in records] == [row.value for row in rows]
    assert {record.timestamp_type for record in records} == {-1 if magic == 0 else 0}
    assert [r.timestamp for r in records] == [-1 if magic == 0 else 100 + i for i in range(100)]
    assert base_offset(raw, read_header(raw), limit=1 << 20) == 1000


def test_append_time_of_the_wrapper_overrides() -> None:
    records, _ = read(build_batch([NewRecord(b"a", timestamp=1)] * 3, magic=1, codec=1, append_time=55))
    assert [(record.timestamp, record.timestamp_type) for record in records] == [(55, 1)] * 3


def test_gaps_left_by_compaction_are_kept() -> None:
    inner = b"".join(message(offset, b"x", magic=1) for offset in (0, 3, 9))
    records, damages = read(wrap(inner, 509, magic=1))
    assert ([record.offset for record in records], damages) == ([500, 503, 509], ())


def test_a_wrapper_offset_of_zero_means_base_zero() -> None:
    inner = b"".join(message(offset, b"x", magic=1) for offset in (0, 1, 2))
    records, _ = read(wrap(inner, 0, magic=1))
    assert [record.offset for record in records] == [0, 1, 2]


@pytest.mark.parametrize(("outer", "inner", "kind"), [(0, 1, -1), (1, 0, -1)])
def test_an_inner_message_of_the_other_magic_is_read(outer: int, inner: int, kind: int) -> None:
    records, damages = read(
        wrap(message(0, b"x", magic=inner) + message(1, b"y", magic=inner), 41, magic=outer)
    )
    assert [record.value for record in records] == [b"x", b"y"]
    assert {record.timestamp_type for record in records} == {kind}
    assert {damage.kind for damage in damages} == {"inner-magic"}


def test_the_lz4_header_checksum_of_magic_0_is_ignored_only_there() -> None:
    rows = [NewRecord(b"value" * 30)] * 3
    old = build_batch(rows, magic=0, codec=3)
    assert len(read(old)[0]) == 3
    bad = wrap(message(0, b"x", magic=1), 0, magic=1, codec=3)
    at = bad.index(b"\x04\x22\x4d\x18") + 6
    broken = bytearray(bad)
    broken[at] ^= 0xFF
    _, damages = decode(bytes(broken), read_header(bad))
    assert [damage.kind for damage in damages] == ["undecodable", "record-structure"]


GOOD = message(0, b"x", magic=1)


@pytest.mark.parametrize(
    ("inner", "offset", "kinds", "found"),
    [
        (b"", 5, ["record-structure"], 0),
        (GOOD[:20], 5, ["record-structure", "record-structure"], 0),
        (GOOD + b"tail", 5, ["record-structure"], 1),
        (GOOD + GOOD[:8] + b"\x00\x00\x00\x0d" + bytes(20), 5, ["record-structure"], 1),
        (GOOD + message(0, b"y", magic=1), 5, ["inner-offsets"], 2),
        (message(9, b"x", magic=1), 5, ["record-structure"], 0),
        (GOOD[:12] + b"\x00\x00\x00\x00" + GOOD[16:], 5, ["inner-crc"], 1),
        (message(0, b"x", magic=1, attributes=1), 5, ["nested-compression"], 0),
        (GOOD[:16] + b"\x05" + GOOD[17:], 5, ["record-structure"], 0),
        (GOOD[:26] + b"\x7f" + GOOD[27:], 5, ["inner-crc", "record-structure"], 0),
        (
            message(0, b"", magic=0)[:11] + b"\x0e" + message(0, b"", magic=1)[12:26],
            5,
            ["record-structure"],
            0,
        ),
    ],
)
def test_damage_inside_a_wrapper(inner: bytes, offset: int, kinds: list[str], found: int) -> None:
    records, damages = read(wrap(inner, offset, magic=1))
    assert [damage.kind for damage in damages] == kinds
    assert len(records) == found


def test_a_wrapper_full_of_broken_messages_is_given_up() -> None:
    records, damages = read(wrap(GOOD * 500, 5, magic=1))
    assert len(damages) == 16
    assert len(records) == 17


def test_a_wrapper_without_a_value() -> None:
    records, (damage,) = read(message(5, None, magic=1, attributes=1))
    assert (records, damage.kind) == ([], "record-structure")
    assert "null value" in damage.reason


@MAGICS
def test_zstd_is_not_legal_in_old_formats(magic: int) -> None:
    records, damages = read(message(5, b"whatever", magic=magic, attributes=4))
    assert records == []
    assert [damage.kind for damage in damages] == ["unknown-codec", "record-structure"]


def test_lengths_that_leave_the_entry() -> None:
    raw = message(5, b"x", magic=1)
    long_key = raw[:26] + b"\x00\x00\x00\x70" + raw[30:]
    batch = read_header(long_key)
    assert [damage.kind for damage in decode(long_key, batch)[1]] == ["record-structure"]
    assert base_offset(long_key, batch, limit=100) is None


def test_a_negative_magic_is_no_format() -> None:
    raw = GOOD[:16] + b"\x80" + GOOD[17:]
    assert [damage.kind for damage in decode(raw, read_header(raw))[1]] == ["bad-magic"]


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=8), st.integers(0, 1), st.integers(0, 3))
@examples(60)
def test_whatever_is_written_is_read_back(values: list[bytes], magic: int, codec: int) -> None:
    raw = build_batch([NewRecord(value) for value in values], base_offset=50, magic=magic, codec=codec)
    found: list[bytes | None] = []
    while raw:
        batch = read_header(raw)
        records, damages = decode(raw, batch)
        assert damages == ()
        found += [record.value for record in records]
        raw = raw[batch.size :]
    assert found == values


@given(st.binary(max_size=100), st.integers(0, 1), st.integers(0, 7))
@examples(150)
def test_any_payload_is_answered(inner: bytes, magic: int, codec: int) -> None:
    raw = message(5, inner, magic=magic, attributes=codec)
    records, damages = decode(raw, read_header(raw), limit=1 << 16)
    assert records or damages
    plain = wrap(inner, 5, magic=magic)
    records, damages = decode(plain, read_header(plain), limit=1 << 16)
    assert records or damages


def test_a_header_is_not_needed_to_be_true() -> None:
    """The decode trusts no length of the header beyond the bytes that are there."""
    raw = build_batch([NewRecord(b"x" * 50)], magic=1, codec=1)
    batch = read_header(raw)
    for size in range(26, len(raw)):
        records, damages = decode(raw[:size], batch)
        assert damages or records
    assert isinstance(batch, RecordBatch)
