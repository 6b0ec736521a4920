"""Indexes made anew by the scan: the rule of `LogSegment.recover`, in both engines."""

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples
from tests.faults.hands import positions
from tests.kernel.log_writer import GZIP, Message, batch_bytes, legacy_message, legacy_wrapper, varied_log
from tests.kernel.test_engines_agree import BASE, both, damaged, needs_native

from segmend.kernel import types
from segmend.kernel.engine import engine_named
from segmend.kernel.scan import ScanTask, scan_log
from segmend.kernel.types import BuiltIndexes, BytesReader, IndexRule


def build(data: bytes, rule: IndexRule, engine: str, base: int = BASE) -> BuiltIndexes:
    found = scan_log(BytesReader(data), ScanTask(base_offset=base, build=rule), engine=engine_named(engine))
    assert found.built is not None
    return found.built


def offsets(built: BuiltIndexes) -> list[tuple[int, ...]]:
    return list(struct.iter_unpack(">ii", built.offset_index))


def times(built: BuiltIndexes) -> list[tuple[int, ...]]:
    return list(struct.iter_unpack(">qi", built.time_index))


def plain_log(batches: int) -> bytes:
    return b"".join(
        batch_bytes(BASE + n * 3, [Message(d) for d in range(3)], time=1000 + n * 5) for n in range(batches)
    )


def test_an_entry_when_more_than_the_interval_lies_behind_the_last_one(engine: str) -> None:
    data = plain_log(7)
    size = positions(data)[1]
    built = build(data, IndexRule(interval=2 * size), engine)
    # The batch two sizes on is not more than the interval away; the next one is.
    assert offsets(built) == [(3 * 3 + 2, 3 * size), (6 * 3 + 2, 6 * size)]
    assert times(built) == [(1015, 11), (1030, 20)]


def test_before_2_0_an_entry_names_the_first_offset_of_its_batch(engine: str) -> None:
    data = plain_log(4)
    size = positions(data)[1]
    built = build(data, IndexRule(interval=0, first_offsets=True), engine)
    assert offsets(built) == [(3, size), (6, 2 * size), (9, 3 * size)]
    assert times(built)[-1] == (1015, 11)


def test_the_largest_timestamp_ends_the_time_index_once(engine: str) -> None:
    falling = [batch_bytes(BASE + n, [Message(0)], time=1000 - n) for n in range(4)]
    assert times(build(b"".join(falling), IndexRule(interval=0), engine)) == [(1000, 0)]
    late = [*falling, batch_bytes(BASE + 4, [Message(0)], time=2000)]
    assert times(build(b"".join(late), IndexRule(interval=1 << 20), engine)) == [(2000, 4)]


def test_magic_0_has_no_timestamps_and_wrappers_hide_their_first_offset(engine: str) -> None:
    data = b"".join(legacy_message(BASE + n, 0, None, b"v" * 40) for n in range(3))
    data += legacy_wrapper(BASE + 3, 0, GZIP, [b"a", b"b", b"c"])
    built = build(data, IndexRule(interval=0, first_offsets=True), engine)
    assert [offset for offset, _ in offsets(built)] == [1, 2, 5]
    assert built.time_index == b""


def test_an_empty_segment_has_empty_indexes(engine: str) -> None:
    assert build(b"", IndexRule(), engine) == BuiltIndexes(offset_index=b"", time_index=b"")
    assert scan_log(BytesReader(b""), ScanTask(base_offset=0), engine=engine_named(engine)).built is None


def test_what_is_built_agrees_with_the_batches(engine: str) -> None:
    for seed in range(10):
        data = varied_log(seed)
        built = build(data, IndexRule(interval=300), engine)
        again = scan_log(
            BytesReader(data),
            ScanTask(base_offset=BASE, offset_index=built.offset_index, time_index=built.time_index),
            engine=engine_named(engine),
        )
        assert again.offset_index is not None
        assert again.time_index is not None
        assert again.offset_index.entries > 2
        assert (again.offset_index.mismatched, again.time_index.mismatched) == (0, 0)


def test_batches_that_go_backwards_get_no_entry(engine: str) -> None:
    data = plain_log(4)
    data += data[positions(data)[1] :]
    assert len(offsets(build(data, IndexRule(interval=0), engine))) == 3


def test_a_bound_on_what_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the reference engine: the bound is a constant of the C."""
    monkeypatch.setattr("segmend.kernel.index_build.MAX_INDEX_ENTRIES", 2)
    found = scan_log(
        BytesReader(plain_log(5)),
        ScanTask(base_offset=BASE, build=IndexRule(interval=0)),
        engine=engine_named("reference"),
    )
    assert found.bounded == ("index",)
    assert found.built is not None
    assert len(found.built.offset_index) == 16
    assert types.MAX_INDEX_ENTRIES == 1 << 22


@needs_native
@examples(60)
@given(st.integers(0, 1 << 32), st.integers(0, 2000), st.booleans())
def test_both_engines_build_the_same_of_damaged_logs(seed: int, interval: int, first: bool) -> None:
    data = damaged(seed) if seed % 3 else random.Random(seed).randbytes(300)
    rule = IndexRule(interval=interval, first_offsets=first)
    found = both(data, build=rule)
    assert both(data, build=rule, window=100) == found
