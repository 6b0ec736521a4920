"""Batch headers in sequence, and where a broker would place the log end offset."""

import struct

import pytest
from tests.kernel.log_writer import Message, batch_bytes, varied_log

from segmend.kernel.batch_rows import batch_rows, transactional
from segmend.kernel.batches import iter_batches, next_offset_from
from segmend.kernel.types import BatchRange, BytesReader

LOG = b"".join(batch_bytes(10 * n, [Message(0), Message(9)]) for n in range(5))


def positions(data: bytes, **options: bool) -> list[int]:
    return [batch.position for batch in iter_batches(BytesReader(data), **options)]


AT = positions(LOG)


def hurt(at: int, value: bytes) -> bytes:
    return LOG[:at] + value + LOG[at + len(value) :]


def test_all_batches_of_a_healthy_log() -> None:
    assert positions(LOG, crc=True) == AT
    data = varied_log(1)
    assert positions(data) == positions(data)


def test_a_range_by_position() -> None:
    batches = iter_batches(BytesReader(LOG), start=AT[1], stop=AT[3])
    assert [batch.base_offset for batch in batches] == [10, 20]


def test_it_ends_where_a_brokers_iteration_ends() -> None:
    assert positions(hurt(AT[2] + 8, struct.pack(">i", 5))) == AT[:2]
    assert positions(hurt(AT[2] + 8, struct.pack(">i", 1 << 30))) == AT[:2]
    assert positions(LOG[:-1]) == AT[:4]
    assert positions(hurt(AT[2] + 16, b"\x05")) == AT


def test_with_resync_it_goes_on_after_damage() -> None:
    assert positions(hurt(AT[2] + 8, struct.pack(">i", 5)), resync=True) == [*AT[:2], *AT[3:]]
    assert positions(hurt(AT[2] + 70, b"\xff"), crc=True, resync=True) == [*AT[:2], *AT[3:]]
    assert positions(hurt(AT[2] + 70, b"\xff"), crc=True) == AT[:2]


def test_the_end_offset_of_a_healthy_log() -> None:
    found = next_offset_from(BytesReader(LOG), AT[3], 0)
    assert (found.next_offset, found.position, found.batches, found.ignored) == (50, len(LOG), 2, 0)
    assert found.failure is None


def test_the_end_offset_is_the_base_where_nothing_is_readable() -> None:
    assert next_offset_from(BytesReader(b""), 0, 77).next_offset == 77
    assert next_offset_from(BytesReader(LOG), len(LOG) + 1000, 77).next_offset == 77


def test_a_torn_tail_is_silently_ignored() -> None:
    found = next_offset_from(BytesReader(LOG[:-3]), 0, 0)
    assert (found.next_offset, found.ignored, found.failure) == (40, len(LOG) - 3 - AT[4], None)


def test_zeros_at_the_end_kill_the_broker() -> None:
    found = next_offset_from(BytesReader(LOG + bytes(18)), 0, 0)
    assert (found.next_offset, found.failure, found.found_size) == (50, "size-too-small", 0)
    assert next_offset_from(BytesReader(LOG + bytes(17)), 0, 0).ignored == 17


@pytest.mark.parametrize("seed", range(3))
def test_transactions_among_rows_are_those_of_the_headers(engine: str, seed: int) -> None:
    data = varied_log(seed, 60)
    rows = batch_rows(BytesReader(data), BatchRange(base_offset=0, crc=False), lambda _: None, engine=engine)
    found = [batch for some in rows for batch in transactional(some)]
    assert found == [batch for batch in iter_batches(BytesReader(data)) if batch.is_transactional]
    assert {batch.is_control for batch in found} == {True, False}
