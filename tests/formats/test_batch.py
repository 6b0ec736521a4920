"""Batch headers of every magic."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples
from tests.markers import build_marker

from segmend.crc32c import crc32c
from segmend.formats.batch import (
    RecordBatch,
    compute_crc,
    header_size,
    increment_sequence,
    parse,
    read_header,
    render_header,
)
from segmend.formats.build import BatchProducer, NewRecord, build_batch

# A transaction marker, written out field by field.
V2 = bytes.fromhex(
    "0000000000000016"  # base offset 22
    "00000042"  # size 66 (total 78)
    "00000002"  # leader epoch
    "02"  # magic
    "00000000"  # crc
    "0030"  # transactional, control
    "00000000"  # last offset delta
    "0000019a3b2c1d00"  # base timestamp
    "0000019a3b2c1d00"  # max timestamp
    "0000000000000002"  # producer id
    "0001"  # producer epoch
    "ffffffff"  # base sequence
    "00000001"  # count
    "20000000"
    "08"
    "00000000"
    "0c"
    "000000000000"
    "00"  # one record
)


def test_the_fields_of_a_version_2_header() -> None:
    batch = read_header(V2, 0, 4096)
    assert batch == RecordBatch(
        4096, 78, 22, 22, 2, 2, 0, 0x30, 0, 0x19A3B2C1D00, 0x19A3B2C1D00, 2, 1, -1, 1
    )  # fmt: skip
    assert (batch.is_transactional, batch.is_control, batch.has_delete_horizon) == (True, True, False)
    assert (batch.codec, batch.timestamp_type, batch.last_sequence, batch.header_size) == (0, 0, -1, 61)
    assert batch.end == 4096 + len(V2) == 4096 + 78
    assert render_header(batch) == V2[:61]


@pytest.mark.parametrize(("magic", "overhead"), [(0, 14), (1, 22)])
def test_the_fields_of_a_legacy_entry(magic: int, overhead: int) -> None:
    raw = build_batch([NewRecord(b"value", b"k", 1234)], base_offset=7, magic=magic)
    batch, damages = parse(raw, 100)
    assert damages == ()
    assert batch is not None
    assert (batch.position, batch.size, batch.magic) == (100, 12 + overhead + 6, magic)
    assert (batch.base_offset, batch.last_offset, batch.last_offset_delta) == (7, 7, 0)
    assert batch.max_timestamp == (-1 if magic == 0 else 1234)
    assert batch.timestamp_type == (-1 if magic == 0 else 0)
    assert batch[11:15] == (-1, -1, -1, 1)
    assert (batch.is_transactional, batch.is_control, batch.has_delete_horizon) == (False, False, False)
    assert batch.partition_leader_epoch == -1
    assert batch.crc == zlib.crc32(raw[16:])
    assert render_header(batch) == raw[: batch.header_size]


def test_a_compressed_legacy_entry_does_not_tell_its_count_or_base() -> None:
    rows = [NewRecord(b"a"), NewRecord(b"b")]
    batch, _ = parse(build_batch(rows, base_offset=10, magic=1, codec=1))
    assert batch is not None
    assert (batch.codec, batch.records_count, batch.base_offset, batch.last_offset) == (1, -1, 11, 11)


def test_append_time_and_the_delete_horizon() -> None:
    batch = read_header(build_batch([NewRecord(b"x")], append_time=99))
    assert (batch.timestamp_type, batch.max_timestamp) == (1, 99)
    assert batch._replace(attributes=0x40).has_delete_horizon


def test_the_checksums() -> None:
    raw = build_batch([NewRecord(b"x")])
    assert compute_crc(raw, 2) == crc32c(raw[21:]) == read_header(raw).crc
    old = build_batch([NewRecord(b"x")], magic=1)
    assert compute_crc(old, 1) == zlib.crc32(old[16:]) == read_header(old).crc


def test_a_sequence_wraps_after_the_largest_int() -> None:
    assert increment_sequence(2**31 - 1, 0) == 2**31 - 1
    assert increment_sequence(2**31 - 1, 1) == 0
    assert increment_sequence(2**31 - 3, 5) == 2
    assert increment_sequence(-1, 5) == -1


def test_magic_is_taken_as_the_broker_takes_it() -> None:
    assert [header_size(magic) for magic in (0, 1, 2, 3, 127, -1, -128)] == [26, 34, 61, 61, 61, 34, 34]
    odd = bytearray(build_batch([NewRecord(b"x" * 40)]))
    odd[16] = 3
    assert read_header(bytes(odd)).records_count == 1
    odd[16] = 0x80
    assert read_header(bytes(odd)).magic == -128


def damaged(at: int, new: bytes, raw: bytes | None = None) -> tuple[str, ...]:
    """The damage kinds after `new` was written over `raw` at `at`."""
    out = bytearray(raw or build_batch([NewRecord(b"v" * 60, b"k")] * 3, producer=BatchProducer(1)))
    out[at : at + len(new)] = new
    return tuple(damage.kind for damage in parse(bytes(out))[1])


@pytest.mark.parametrize(
    ("at", "new", "kinds"),
    [
        (0, b"\xff", ()),  # the base offset is not under the checksum
        (12, b"\x10", ()),  # nor is the leader epoch
        (8, b"\x00\x00\x00\x00", ("size-too-small",)),
        (8, b"\xff\xff\xff\xff", ("size-too-small",)),
        (8, b"\x00\x00\x00\x30", ("size-too-small",)),
        (8, b"\x7f\xff\xff\xff", ("truncated",)),
        (8, b"\x00\x00\x00\x31", ("bad-crc",)),
        (16, b"\x03", ("bad-magic",)),
        (16, b"\x80", ("bad-magic", "bad-crc")),
        (16, b"\x00", ("bad-crc",)),
        (17, b"\x00\x00\x00\x00", ("bad-crc",)),
        (22, b"\x07", ("bad-codec", "bad-crc")),
        (100, b"\xee", ("bad-crc",)),
    ],
)
def test_damage_to_a_version_2_batch(at: int, new: bytes, kinds: tuple[str, ...]) -> None:
    assert damaged(at, new) == kinds


@pytest.mark.parametrize(
    ("at", "new", "kinds"),
    [
        (0, b"\x10", ()),
        (8, b"\x00\x00\x00\x0d", ("size-too-small",)),
        (12, b"\x00\x00\x00\x01", ("bad-crc",)),
        (17, b"\x05", ("bad-codec", "bad-crc")),
        (30, b"\xff", ("bad-crc",)),
    ],
)
def test_damage_to_a_legacy_entry(at: int, new: bytes, kinds: tuple[str, ...]) -> None:
    assert damaged(at, new, build_batch([NewRecord(b"value" * 3, b"key")], magic=1)) == kinds


def test_every_truncation_is_told_and_located() -> None:
    raw = build_marker(offset=1, commit=False, producer_id=5, producer_epoch=0)
    for size in range(len(raw)):
        batch, damages = parse(raw[:size])
        assert (batch is None) == (size < 61)
        assert [damage.kind for damage in damages] == ["truncated"]


def test_damage_reads_as_in_the_brokers_log() -> None:
    raw = bytearray(build_batch([NewRecord(b"x")]))
    raw[-1] ^= 1
    _, (damage,) = parse(bytes(raw))
    assert damage.reason.startswith("Record is corrupt (stored crc = ")


I64 = st.integers(-(2**63), 2**63 - 1)
I32 = st.integers(-(2**31), 2**31 - 1)


@given(I64, I32, st.integers(0, 2**16 - 1), I32, I64, I64, I64, st.integers(-(2**15), 2**15 - 1), I32, I32)
@examples(60)
def test_any_header_renders_the_same(
    base: int,
    epoch: int,
    attributes: int,
    delta: int,
    low: int,
    high: int,
    pid: int,
    pepoch: int,
    seq: int,
    n: int,
) -> None:
    batch = RecordBatch(
        0, 61, base, base + delta, epoch, 2, 5, attributes, delta, low, high, pid, pepoch, seq, n
    )  # fmt: skip
    assert read_header(render_header(batch)) == batch


@given(st.binary(max_size=120))
@examples(200)
def test_any_bytes_are_answered(data: bytes) -> None:
    batch, damages = parse(data)
    assert batch is not None or damages
