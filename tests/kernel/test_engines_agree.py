"""The C and the plain engine say the same of everything: healthy, golden, damaged, in any window."""

import dataclasses
import random
import re
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples, golden_params
from tests.faults.hands import positions
from tests.golden.shared import golden
from tests.kernel.log_writer import seal, varied_log

from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.kernel import native
from segmend.kernel.engine import engine_named
from segmend.kernel.scan import ScanTask, scan_log
from segmend.kernel.stretches import Stretches
from segmend.kernel.types import WINDOW, BytesReader, SegmentScan

BASE = 100

needs_native = pytest.mark.skipif(not native.available(), reason="the C kernel is not built")


def both(data: bytes, *, window: int = WINDOW, **options: Any) -> SegmentScan:
    """The scan of one engine, after it was found equal to that of the other."""
    options = {"base_offset": BASE, "records": True, **options}
    stretches = {name: Stretches(7) for name in ("native", "reference")}
    one, other = (
        scan_log(
            BytesReader(data), ScanTask(**options, stretches=wanted), engine=engine_named(name), window=window
        )
        for name, wanted in stretches.items()
    )
    by_c, plain = stretches.values()
    assert (by_c.rows, by_c.has_holes, by_c.bounded) == (plain.rows, plain.has_holes, False)
    differing = {
        field.name: (getattr(one, field.name), getattr(other, field.name))
        for field in dataclasses.fields(one)
        if getattr(one, field.name) != getattr(other, field.name)
    }
    assert not differing
    return one


def indexes_of(data: bytes) -> tuple[bytes, bytes]:
    """Indexes as a recovery would write them, one entry a batch."""
    offsets, times, largest = b"", b"", -1
    for at in positions(data):
        base, magic = struct.unpack_from(">q", data, at)[0], data[at + 16]
        last = base + (struct.unpack_from(">i", data, at + 23)[0] if magic == 2 else 0)
        newest = struct.unpack_from(">q", data, at + (35 if magic == 2 else 18))[0] if magic else -1
        if at:
            offsets += struct.pack(">ii", last - BASE, at)
        if newest > largest:
            largest = newest
            times += struct.pack(">qi", newest, last - BASE)
    return offsets, times


def damaged(seed: int) -> bytes:
    """A varied log with some faults; half of them under a right checksum."""
    chance = random.Random(seed)
    data = bytearray(varied_log(seed, 14))
    for at in chance.sample(positions(bytes(data)), 3):
        size = 12 + struct.unpack_from(">i", data, at + 8)[0]
        spot = at + chance.choice([0, 4, 8, 12, 16, 21, 23, 27, 43, 51, 57, *range(61, 69)])
        data[min(spot, at + size - 1)] ^= 1 << chance.randrange(8)
        if chance.random() < 0.6:
            data[at : at + size] = seal(bytes(data[at : at + size]))
    if chance.random() < 0.3:
        del data[-chance.randrange(1, 200) :]
    if chance.random() < 0.2:
        at = chance.randrange(len(data))
        data[at:at] = chance.randbytes(chance.randrange(100))
    return bytes(data) + bytes(chance.choice([0, 0, 0, 10, 200]))


@needs_native
@pytest.mark.parametrize("name", golden_params())
def test_golden_logs_have_no_problem_and_read_the_same(name: str) -> None:
    for path in sorted(golden(name).rglob("*.log")):
        if not re.fullmatch(r"\d{20}\.log", path.name):
            continue
        indexes = {
            option: path.with_suffix(suffix).read_bytes() if path.with_suffix(suffix).exists() else None
            for option, suffix in (("offset_index", ".index"), ("time_index", ".timeindex"))
        }
        found = both(path.read_bytes(), base_offset=int(path.stem), **indexes)
        assert found.problems == ()
        for match in (found.offset_index, found.time_index):
            assert match is None or match.mismatched == 0


@pytest.mark.parametrize("name", golden_params())
def test_aborted_transactions_are_those_of_the_brokers_txnindex(name: str, engine: str) -> None:
    """The state is carried from segment to segment, as the broker's recovery does."""
    compared = 0
    for folder in sorted({path.parent for path in golden(name).rglob("*.txnindex")}):
        state: tuple[ProducerStateEntry, ...] = ()
        for path in sorted(path for path in folder.glob("*.log") if path.stem.isdigit()):
            reader = BytesReader(path.read_bytes())
            found = scan_log(
                reader, ScanTask(base_offset=int(path.stem), producers=state), engine=engine_named(engine)
            )
            state = found.producers
            index = path.with_suffix(".txnindex")
            rows = [*struct.iter_unpack(">hqqqq", index.read_bytes())] if index.exists() else []
            mine = [*found.aborted]
            if found.control.unmatched_aborts:  # of a transaction whose records the log cleaner took
                assert folder.name.startswith("compacted-"), path
                assert set(mine) <= set(rows)
            else:
                assert mine == rows, path
                compared += len(rows)
    assert compared > 0 or name.startswith("0."), "transactions came with 0.11"


@needs_native
@pytest.mark.parametrize("seed", range(25))
def test_varied_logs_are_healthy_in_any_window(seed: int) -> None:
    data = varied_log(seed)
    offsets, times = indexes_of(data)
    found = both(data, offset_index=offsets, time_index=times)
    assert found.problems == ()
    assert found.offset_index is not None
    assert found.time_index is not None
    assert (found.offset_index.mismatched, found.time_index.mismatched) == (0, 0)
    assert both(data, offset_index=offsets, time_index=times, window=64) == found


@needs_native
@examples(60)
@given(st.integers(0, 1 << 32), st.booleans(), st.booleans())
def test_damaged_logs(seed: int, crc: bool, records: bool) -> None:
    data = damaged(seed)
    offsets, times = indexes_of(varied_log(seed, 14))
    options: dict[str, Any] = {"crc": crc, "records": records, "offset_index": offsets, "time_index": times}
    found = both(data, **options)
    assert both(data, window=100, **options) == found


@needs_native
@examples(60)
@given(st.binary(max_size=400), st.binary(max_size=64), st.binary(max_size=64), st.integers(0, 1 << 63))
def test_any_bytes(data: bytes, offsets: bytes, times: bytes, base: int) -> None:
    both(data, base_offset=min(base, (1 << 63) - 1), offset_index=offsets, time_index=times)


@needs_native
@examples(40)
@given(st.integers(0, 1 << 20), st.data())
def test_damaged_indexes(seed: int, data: st.DataObject) -> None:
    log = varied_log(seed, 12)
    mutated = []
    for index in indexes_of(log):
        changed = bytearray(index)
        for _ in range(data.draw(st.integers(0, 3))):
            changed[data.draw(st.integers(0, len(index) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        mutated.append(bytes(changed) + bytes(data.draw(st.integers(0, 40))))
    both(log, records=False, offset_index=mutated[0], time_index=mutated[1])


@pytest.mark.slow
@needs_native
def test_every_truncation_of_a_log() -> None:
    data = varied_log(5, 4)
    for cut in range(0, len(data), 3):
        found = both(data[:cut])
        assert found.valid_bytes in {*positions(data), len(data)}
