"""Index entries against batches: what each kind of mismatch looks like."""

import struct
import tracemalloc

import pytest
from tests.checks.build_partition import START_MS
from tests.kernel.log_writer import Message, batch_bytes

from segmend.kernel.engine import engine_named
from segmend.kernel.scan import ScanTask, scan_log
from segmend.kernel.types import BytesReader, IndexMatch

BASE = 1000
TIMES = (5, 9, 7, 20, 30)
LOG = b"".join(
    batch_bytes(BASE + 10 * n, [Message(d, timestamp=0) for d in range(10)], time=START_MS + t)
    for n, t in enumerate(TIMES)
)
STEP = len(LOG) // 5


def offsets(*entries: tuple[int, int], tail: bytes = b"") -> bytes:
    return b"".join(struct.pack(">ii", *entry) for entry in entries) + tail


def times(*entries: tuple[int, int], tail: bytes = b"") -> bytes:
    return b"".join(struct.pack(">qi", START_MS + stamp, rel) for stamp, rel in entries) + tail


def match_offsets(index: bytes, engine: str, data: bytes = LOG) -> IndexMatch:
    found = scan_log(
        BytesReader(data),
        ScanTask(base_offset=BASE, crc=True, offset_index=index),
        engine=engine_named(engine),
    ).offset_index
    assert found is not None
    return found


def match_times(index: bytes, engine: str, data: bytes = LOG) -> IndexMatch:
    found = scan_log(
        BytesReader(data), ScanTask(base_offset=BASE, time_index=index), engine=engine_named(engine)
    ).time_index
    assert found is not None
    return found


def test_what_brokers_write_agrees(engine: str) -> None:
    found = match_offsets(offsets((19, STEP), (39, 3 * STEP), tail=bytes(80)), engine)
    assert (found.entries, found.padding, found.surplus_bytes, found.mismatched) == (2, 10, 0, 0)
    found = match_times(times((5, 9), (9, 19), (20, 35), (30, 49), tail=bytes(24 + 5)), engine)
    assert (found.entries, found.padding, found.surplus_bytes, found.mismatched) == (4, 2, 5, 0)


def test_of_very_many_wrong_entries_the_first_are_named(engine: str) -> None:
    """As in 10 MiB that a broker had allocated, of which the end is not zero any more."""
    sound = [(19, STEP), (39, 3 * STEP)]
    few = match_offsets(offsets(*sound, tail=bytes(1600) + b"\7" * 8), engine)
    assert (few.mismatched, len(few.mismatches), few.mismatches[-1].entry) == (201, 100, 101)
    if engine == "native":
        tracemalloc.start()
        found = match_offsets(offsets(*sound, tail=bytes(8_000_000) + b"\7" * 8), engine)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (found.mismatched, found.mismatches) == (1_000_001, few.mismatches)
        assert peak < 32 << 20, "some bytes an entry, not a tuple each"


def test_a_follower_writes_the_last_offset_of_a_whole_fetch(engine: str) -> None:
    assert match_offsets(offsets((39, STEP), (49, 4 * STEP)), engine).mismatched == 0


OFFSET_FAULTS = {
    "position-negative": (offsets((19, STEP), (29, -5)), 1, None),
    "position-order": (offsets((29, 2 * STEP), (39, 2 * STEP)), 1, 2 * STEP),
    "offset-before-base": (offsets((-1, STEP)), 0, BASE),
    "offset-order": (offsets((29, STEP), (29, 2 * STEP)), 1, BASE + 29),
    "position-past-end": (offsets((19, STEP), (49, 9 * STEP)), 1, 5 * STEP),
    "not-a-boundary": (offsets((19, STEP + 1)), 0, None),
    "offset-behind": (offsets((19, 2 * STEP)), 0, BASE + 19),
    "offset-past-end": (offsets((19, STEP), (60, 4 * STEP)), 1, BASE + 49),
}

TIME_FAULTS = {
    "timestamp-order": (times((9, 19), (9, 29)), 1, START_MS + 9),
    "offset-before-base": (times((9, -1)), 0, BASE),
    "offset-order": (times((9, 19), (20, 9)), 1, BASE + 19),
    "timestamp-differs": (times((8, 19)), 0, START_MS + 9),
    "timestamp-exceeded": (times((7, 29)), 0, START_MS + 9),
    "offset-past-end": (times((30, 50)), 0, BASE + 49),
}


@pytest.mark.parametrize("kind", OFFSET_FAULTS)
def test_a_wrong_entry_of_an_offset_index(kind: str, engine: str) -> None:
    index, entry, expected = OFFSET_FAULTS[kind]
    found = match_offsets(index, engine)
    assert [(each.kind, each.entry, each.expected) for each in found.mismatches] == [(kind, entry, expected)]
    assert found.mismatches[0].position == struct.unpack_from(">i", index, 8 * entry + 4)[0]


@pytest.mark.parametrize("kind", TIME_FAULTS)
def test_a_wrong_entry_of_a_time_index(kind: str, engine: str) -> None:
    index, entry, expected = TIME_FAULTS[kind]
    found = match_times(index, engine)
    assert [(each.kind, each.entry, each.expected) for each in found.mismatches] == [(kind, entry, expected)]


def test_an_offset_in_a_gap_is_in_no_batch(engine: str) -> None:
    data = LOG[:STEP] + LOG[2 * STEP :]
    found = match_times(times((9, 15)), engine, data)
    assert [each.kind for each in found.mismatches] == ["no-batch"]


def test_entries_into_damage_cannot_be_judged(engine: str) -> None:
    data = bytearray(LOG)
    data[STEP + 8 : 2 * STEP + 20] = b"\xff" * (STEP + 12)
    found = match_offsets(offsets((19, STEP), (29, 2 * STEP), (39, 3 * STEP)), engine, bytes(data))
    assert (found.mismatched, found.unverifiable) == (0, 2)
    found = match_times(times((9, 19), (20, 39)), engine, bytes(data))
    assert (found.mismatched, found.unverifiable) == (0, 1)


def test_many_mismatches_are_counted_and_some_are_kept(engine: str) -> None:
    found = match_offsets(offsets(*((n + 1, n + 1) for n in range(400))), engine)
    assert (found.mismatched, len(found.mismatches)) == (400, 100)
    assert [each.entry for each in found.mismatches] == list(range(100))
