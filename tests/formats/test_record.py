"""Records of version 2 batches: every codec, and every way to be wrong inside a valid checksum."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.batch import RecordBatch, read_header
from segmend.formats.build import BatchProducer, NewRecord, build_batch, render, seal
from segmend.formats.codec_write import compress
from segmend.formats.cursor import write_varint
from segmend.formats.record import Record, decode, iter_records

CODECS = pytest.mark.parametrize("codec", range(5), ids=["none", "gzip", "snappy", "lz4", "zstd"])

# A record as DefaultRecord writes it: length 16, no attributes, timestamp +5, offset +2,
# key "k", value null, one header "h" with the value "v1", and one without a value.
BODY = bytes.fromhex("1e000a04026b01040268047631026901")


def batch_of(payload: bytes, count: int, *, codec: int = 0, **changes: int) -> tuple[bytes, RecordBatch]:
    """A valid version 2 batch around any payload."""
    header = read_header(build_batch([], base_offset=100, codec=codec))
    header = header._replace(records_count=count, base_timestamp=1000, **changes)
    raw = seal(header, compress(codec, payload))
    return raw, read_header(raw)


def test_a_record_byte_by_byte() -> None:
    records, damages = decode(*batch_of(BODY, 1, base_sequence=7))
    assert damages == ()
    assert records == [Record(102, 1005, 0, b"k", None, (("h", b"v1"), ("i", None)), 9, 61, len(BODY))]


def test_null_is_not_empty() -> None:
    rows = [
        NewRecord(None, None),
        NewRecord(b"", b""),
        NewRecord(b"v", b"k", headers=(("", b""), ("n", None))),
    ]
    raw = build_batch(rows)
    records, _ = decode(raw, read_header(raw))
    assert [(record.key, record.value) for record in records] == [(None, None), (b"", b""), (b"k", b"v")]
    assert records[2].headers == (("", b""), ("n", None))


@CODECS
def test_every_codec_gives_the_same_records(codec: int) -> None:
    rows = [NewRecord(b"value %d" % i * 20, b"key", 50 + i, offset=i * 3) for i in range(200)]
    raw = build_batch(rows, codec=codec, producer=BatchProducer(1, base_sequence=2**31 - 2))
    records, damages = decode(raw, read_header(raw))
    assert damages == ()
    assert [record.offset for record in records] == [i * 3 for i in range(200)]
    assert [record.timestamp for record in records] == [50 + i for i in range(200)]
    assert [record.value for record in records] == [row.value for row in rows]
    assert [record.sequence for record in records[:2]] == [2**31 - 2, 1]


@CODECS
def test_append_time_overrides_every_timestamp(codec: int) -> None:
    raw = build_batch(
        [NewRecord(b"x", timestamp=5), NewRecord(b"y", timestamp=9)], codec=codec, append_time=77
    )
    records, _ = decode(raw, read_header(raw))
    assert [(record.timestamp, record.timestamp_type) for record in records] == [(77, 1), (77, 1)]


def test_an_empty_batch_is_left_behind_by_compaction() -> None:
    raw = build_batch([])
    assert len(raw) == 61
    assert decode(raw, read_header(raw)) == ([], ())
    compressed = raw[:22] + b"\x01" + raw[23:]
    assert decode(compressed, read_header(compressed)) == ([], ())


def test_a_header_key_that_is_no_utf8_gets_replacements() -> None:
    body = b"\x00\x00\x00\x01\x01\x02" + b"\x04\xff\xfe\x01"
    records, damages = decode(*batch_of(write_varint(len(body)) + body, 1))
    assert (records[0].headers, damages) == ((("\ufffd\ufffd", None),), ())


def test_numbers_wrap_as_in_java() -> None:
    raw, batch = batch_of(BODY, 1)
    batch = batch._replace(base_offset=2**63 - 1, base_timestamp=2**63 - 1)
    (record,), _ = decode(raw, batch)
    assert (record.offset, record.timestamp) == (-(2**63) + 1, -(2**63) + 4)


def body(*parts: bytes) -> bytes:
    joined = b"\x00" + b"".join(parts)
    return write_varint(len(joined)) + joined


GOOD = body(b"\x00\x00", b"\x01\x01\x00")


@CODECS
@pytest.mark.parametrize(
    ("payload", "count", "kinds", "found"),
    [
        (GOOD, 2, ["count-mismatch"], 1),
        (GOOD * 3, 2, ["count-mismatch"], 3),
        (b"", 1, ["count-mismatch"], 0),
        (GOOD, -1, ["count-mismatch"], 1),
        (GOOD + b"\x80", 1, ["record-structure"], 1),
        (GOOD + b"\x7f", 2, ["record-structure"], 1),
        (GOOD + b"\xfe\xff\xff\xff\x0f", 2, ["record-structure"], 1),
        (b"\xff" * 9, 1, ["record-structure"], 0),
        (b"\x00" + GOOD, 2, ["record-structure"], 1),
        (body(b"\x00\x00", b"\x7e\x01\x00") + GOOD, 2, ["record-structure"], 1),
        (body(b"\x00\x00", b"\x01\x7e\x00") + GOOD, 2, ["record-structure"], 1),
        (body(b"\x00\x00", b"\x01\x01\x01") + GOOD, 2, ["record-structure"], 1),
        (body(b"\x00\x00", b"\x01\x01\x7e") + GOOD, 2, ["record-structure"], 1),
        (body(b"\x00\x00", b"\x01\x01\x02\x01\x01") + GOOD, 2, ["record-structure"], 1),
        (body(b"\x00\x00", b"\x01\x01\x00", b"junk") + GOOD, 2, ["record-structure"], 1),
        (body(b"\xff" * 11, b"\x01\x01\x00") + GOOD, 2, ["record-structure"], 1),
    ],
)
def test_damage_inside_a_valid_checksum(
    codec: int, payload: bytes, count: int, kinds: list[str], found: int
) -> None:
    raw, batch = batch_of(payload, count, codec=codec)
    records, damages = decode(raw, batch)
    assert [damage.kind for damage in damages] == kinds
    assert len(records) == found
    assert all(0 <= damage.position <= len(raw) for damage in damages)


def test_a_batch_full_of_broken_records_is_given_up() -> None:
    raw, batch = batch_of(body(b"\xff" * 11) * 1000, 1000)
    records, damages = decode(raw, batch)
    assert records == []
    assert len(damages) == 16


def test_negative_lengths_other_than_minus_one_are_null_too() -> None:
    (record,), damages = decode(*batch_of(body(b"\x00\x00", b"\x05\x03\x00"), 1))
    assert (record.key, record.value, damages) == (None, None, ())


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_payload_cut_short_gives_what_is_left(codec: int) -> None:
    rows = [NewRecord(bytes(range(256)) * 40, b"%d" % i) for i in range(200)]
    raw = build_batch(rows, codec=codec)
    batch = read_header(raw)
    cut = raw[: len(raw) * 2 // 3]
    records, damages = decode(cut, batch)
    assert [damage.kind for damage in damages][:1] == ["undecodable"]
    assert 0 < len(records) < 200
    assert [record.offset for record in records] == list(range(len(records)))


def test_an_unknown_codec_is_damage() -> None:
    raw, batch = batch_of(GOOD, 1)
    for codec in (5, 6, 7):
        records, (damage,) = decode(raw, batch._replace(attributes=codec))
        assert (records, damage.kind, damage.reason) == (
            [], "unknown-codec", f"Unknown compression type id: {codec}",
        )  # fmt: skip


def test_the_limit_holds_for_the_payload() -> None:
    raw = build_batch([NewRecord(bytes(100_000))] * 20, codec=4)
    records, damages = decode(raw, read_header(raw), limit=500_000)
    assert damages[0].kind == "over-limit"
    assert len(records) < 5


@pytest.mark.slow
def test_records_come_one_by_one_so_that_memory_stays_bounded() -> None:
    raw, batch = batch_of(GOOD * 200_000, 200_000, codec=4)
    records = iter_records(raw, batch, [])
    assert next(records).offset == 100
    assert sum(1 for _ in records) == 199_999


def test_bytes_after_the_batch_are_not_read() -> None:
    raw, batch = batch_of(GOOD, 1)
    assert decode(raw + GOOD, batch) == decode(memoryview(raw), batch)


HEADERS = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple)
ROWS = st.lists(
    st.builds(
        NewRecord,
        value=st.none() | st.binary(max_size=40),
        key=st.none() | st.binary(max_size=10),
        timestamp=st.integers(-1, 2**62),
        headers=HEADERS,
        offset=st.none(),
    ),
    max_size=6,
)


@given(ROWS, st.sampled_from([0, 1, 2, 3, 4]), st.integers(0, 2**62))
@examples(60)
def test_whatever_is_written_is_read_back(rows: list[NewRecord], codec: int, base: int) -> None:
    raw = build_batch(rows, base_offset=base, codec=codec)
    batch = read_header(raw)
    records, damages = decode(raw, batch)
    assert damages == ()
    assert [(r.value, r.key, r.timestamp, r.headers) for r in records] == [row[:4] for row in rows]
    if codec == 0:
        assert render(batch, records) == raw


@given(st.binary(max_size=80), st.integers(-2, 5), st.integers(0, 7))
@examples(150)
def test_any_payload_is_answered(payload: bytes, count: int, codec: int) -> None:
    raw, batch = batch_of(payload, count)
    records, damages = decode(raw, batch._replace(attributes=codec), limit=1 << 16)
    assert len(records) == count or damages or count < 0
