"""Batches that are written: byte by byte, and by the judgment of other Kafka clients."""

import pytest
from aiokafka.record.memory_records import MemoryRecords
from tests.markers import build_marker

from segmend.formats.batch import parse, read_header
from segmend.formats.build import BatchProducer, NewRecord, build_batch, render, seal
from segmend.formats.record import decode

ROWS = [
    NewRecord(b"first value", b"key", 1_700_000_000_000, (("h", b"1"), ("h", b"2"))),
    NewRecord(None, b"tombstone", 1_700_000_000_005),
    NewRecord(b"", None, 1_700_000_000_003),
] + [NewRecord(b"more and more of the same " * 8, b"k%d" % i, 1_700_000_000_010 + i) for i in range(30)]

READABLE = [
    (magic, codec)
    for magic, codecs in ((0, (0, 1, 2)), (1, (0, 1, 2, 3)), (2, (0, 1, 2, 3, 4)))
    for codec in codecs
]
"""zstd is not legal before version 2, and this client refuses lz4 in version 0."""


@pytest.mark.parametrize(("magic", "codec"), READABLE)
def test_another_client_reads_what_is_built(magic: int, codec: int) -> None:
    rows = ROWS if magic == 2 else [row._replace(headers=()) for row in ROWS]
    found = []
    reader = MemoryRecords(build_batch(rows, base_offset=50, magic=magic, codec=codec))
    while (batch := reader.next_batch()) is not None:
        assert batch.validate_crc()
        found += [(each.offset, each.timestamp, each.key, each.value, tuple(each.headers)) for each in batch]
    assert found == [
        (50 + at, None if magic == 0 else row.timestamp, row.key, row.value, row.headers)
        for at, row in enumerate(rows)
    ]


def test_a_batch_byte_by_byte() -> None:
    raw = build_batch([NewRecord(b"v", b"k", 5)], base_offset=9, producer=BatchProducer(3, 1, 2))
    assert raw.hex(" ").replace(" ", "") == (
        "0000000000000009" "0000003a" "00000000" "02" + raw[17:21].hex() + "0000" "00000000"
        "0000000000000005" "0000000000000005" "0000000000000003" "0001" "00000002" "00000001"
        "10" "00" "00" "00" "026b" "0276" "00"
    )  # fmt: skip
    assert parse(raw)[1] == ()


def test_a_message_byte_by_byte() -> None:
    raw = build_batch([NewRecord(b"v", None, 5)], base_offset=9, magic=1)
    assert raw.hex() == (
        "0000000000000009" "00000017" + raw[12:16].hex() + "01" "00" "0000000000000005" "ffffffff"
        "00000001" "76"
    )  # fmt: skip


def test_a_marker_is_78_bytes() -> None:
    for commit in (False, True):
        raw = build_marker(offset=7, commit=commit, producer_id=3, producer_epoch=1, coordinator_epoch=4)
        batch, damages = parse(raw)
        assert batch is not None
        assert (len(raw), damages) == (78, ())
        assert (batch.is_control, batch.is_transactional, batch.base_sequence) == (True, True, -1)
        (record,), _ = decode(raw, batch)
        assert record.key == b"\x00\x00\x00" + bytes((commit,))
        assert record.value == b"\x00\x00\x00\x00\x00\x04"


def test_offsets_may_have_gaps_and_times_go_back() -> None:
    raw = build_batch(
        [NewRecord(b"a", timestamp=9, offset=5), NewRecord(b"b", timestamp=2, offset=8)], base_offset=5
    )
    batch = read_header(raw)
    assert (batch.base_offset, batch.last_offset, batch.base_timestamp, batch.max_timestamp) == (5, 8, 9, 9)
    assert [record.timestamp for record in decode(raw, batch)[0]] == [9, 2]


def test_render_with_fewer_records_keeps_the_header() -> None:
    raw = build_batch(ROWS, base_offset=50, codec=3)
    batch = read_header(raw)
    records, _ = decode(raw, batch)
    fewer = render(batch._replace(records_count=2), [records[1], records[-1]])
    again = read_header(fewer)
    assert (again.base_offset, again.last_offset, again.codec) == (50, batch.last_offset, 3)
    assert parse(fewer)[1] == ()
    assert [record.value for record in decode(fewer, again)[0]] == [records[1].value, records[-1].value]


def test_render_of_append_time_keeps_the_time() -> None:
    raw = build_batch(ROWS, append_time=77)
    batch = read_header(raw)
    again = render(batch, decode(raw, batch)[0])
    assert {record.timestamp for record in decode(again, read_header(again))[0]} == {77}


def test_seal_makes_size_and_checksum_right() -> None:
    batch = read_header(build_batch(ROWS))
    assert parse(seal(batch._replace(size=0, crc=0, records_count=0), b""))[1] == ()
