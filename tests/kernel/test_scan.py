"""What a scan says of healthy and of hurt logs."""

import itertools
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from tests.checks.build_partition import ABORT, COMMIT, START_MS
from tests.faults.hands import positions
from tests.kernel.log_writer import (
    APPEND_TIME,
    CONTROL,
    DELETE_HORIZON,
    GZIP,
    LZ4,
    TRANSACTIONAL,
    Message,
    batch_bytes,
    legacy_message,
    legacy_wrapper,
    lz4_frame,
    marker,
    record_bytes,
    seal,
    varied_log,
)

from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.kernel.batches import iter_batches
from segmend.kernel.engine import engine_named
from segmend.kernel.scan import ScanTask, scan_log
from segmend.kernel.types import WINDOW, BytesReader, SegmentScan
from segmend.logdir.disk import FileReader

BASE = 100


def scan(data: bytes, engine: str, *, window: int = WINDOW, **options: Any) -> SegmentScan:
    options = {"base_offset": BASE, "records": True, **options}
    return scan_log(BytesReader(data), ScanTask(**options), engine=engine_named(engine), window=window)


def plain(base: int, count: int = 3, **options: Any) -> bytes:
    return batch_bytes(base, [Message(n, timestamp=n) for n in range(count)], **options)


def kinds(found: SegmentScan) -> list[str]:
    return [problem.kind for problem in found.problems]


def test_an_empty_file(engine: str) -> None:
    found = scan(b"", engine)
    assert (found.batches, found.first_offset, found.last_offset, found.next_offset) == (0, None, None, BASE)
    assert found.problems == ()
    assert found.valid_bytes == found.end == 0


def test_the_facts_of_a_healthy_log(engine: str) -> None:
    data = plain(100) + plain(103, epoch=2, codec=LZ4, time=START_MS + 50) + plain(110, epoch=2)
    found = scan(data, engine)
    assert found.problems == ()
    assert (found.batches, found.records, found.valid_bytes) == (3, 9, len(data))
    assert (found.first_offset, found.last_offset, found.next_offset) == (100, 112, 113)
    assert (found.min_timestamp, found.max_timestamp) == (START_MS, START_MS + 52)
    assert found.offset_of_max_timestamp == 105
    assert found.epochs == ((0, 100), (2, 103))
    assert found.magics == ((2, 3),)
    assert found.codecs == ((0, 2), (3, 1))


def test_keys_that_are_null_are_counted_but_not_those_of_markers(engine: str) -> None:
    data = batch_bytes(100, [Message(0, None), Message(1, b""), Message(2, None, None)])
    data += batch_bytes(103, [Message(0, None)], flags=CONTROL)
    assert scan(data, engine).null_keys == 2
    assert scan(data, engine, records=False).null_keys == 0


def test_magic_0_and_1(engine: str) -> None:
    data = legacy_message(100, 0, b"k", None) + legacy_message(101, 1, None, b"v")
    data += legacy_wrapper(102, 1, GZIP, [b"a", b"b", b"c"])
    found = scan(data, engine)
    assert found.problems == ()
    assert (found.records, found.records_exact, found.null_keys) == (5, True, 4)
    assert (found.last_offset, found.magics) == (104, ((0, 1), (1, 2)))
    shallow = scan(data, engine, records=False)
    assert (shallow.records, shallow.records_exact) == (2, False)


def test_what_looks_odd_but_is_healthy(engine: str) -> None:
    """The false-positive list of the storage notes, as far as it shows in a .log."""
    data = batch_bytes(150, [], last_delta=4, max_time=START_MS)  # emptied by compaction
    data += batch_bytes(155, [Message(1), Message(3)], last_delta=9)  # holes
    data += batch_bytes(165, [Message(0, timestamp=4)], flags=APPEND_TIME, max_time=START_MS + 99)
    data += batch_bytes(166, [Message(0, timestamp=-5)], flags=DELETE_HORIZON)
    data += batch_bytes(167, [Message(0)], epoch=-1, time=-1, max_time=-1)
    assert scan(data, engine).problems == ()


CHAIN_DAMAGE = {
    "header-fragment": lambda log, at: log + b"\1" * 17,
    "torn-tail": lambda log, at: log[:-5],
    "zero-tail": lambda log, at: log + bytes(500),
    "crc-mismatch": lambda log, at: log[: at + 70] + bytes([log[at + 70] ^ 1]) + log[at + 71 :],
    "bad-magic": lambda log, at: log[: at + 16] + b"\3" + log[at + 17 :],
    "size-too-small": lambda log, at: log[: at + 8] + struct.pack(">i", 5) + log[at + 12 :],
    "size-past-end": lambda log, at: log[: at + 8] + struct.pack(">i", 2**31 - 1) + log[at + 12 :],
}


@pytest.mark.parametrize("kind", CHAIN_DAMAGE)
def test_damage_of_the_chain_is_one_problem_and_the_scan_goes_on(kind: str, engine: str) -> None:
    log = b"".join(plain(BASE + 10 * n) for n in range(5))
    at = positions(log)[2]
    found = scan(CHAIN_DAMAGE[kind](log, at), engine)
    assert kinds(found) == [kind]
    problem = found.problems[0]
    if kind in ("header-fragment", "zero-tail"):
        assert (found.batches, problem.position, found.tail) == (5, len(log), problem)
    elif kind == "torn-tail":
        assert (found.batches, problem.position, problem.end) == (4, positions(log)[4], len(log) - 5)
    else:
        assert (found.batches, problem.position, problem.end) == (4, at, positions(log)[3])
        assert found.holes == ((at, positions(log)[3]),)
        assert found.next_offset == 143
    assert found.valid_bytes == problem.position


def test_a_preallocated_file_of_nothing_but_zeros(engine: str) -> None:
    found = scan(bytes(100_000), engine)
    assert kinds(found) == ["zero-tail"]
    assert (found.valid_bytes, found.next_offset) == (0, BASE)


def test_a_magic_that_would_be_right_as_2_says_so(engine: str) -> None:
    log = plain(100) + plain(103)
    found = scan(log[:16] + b"\x82" + log[17:], engine)
    assert found.problems[0].facts == {
        "magic": -126, "sound_as_magic_2": 1, "size": positions(log)[1] - 12, "next": "boundary",
    }  # fmt: skip


def test_a_damaged_last_batch_still_counts_for_the_brokers_end_offset(engine: str) -> None:
    log = bytearray(plain(100) + plain(103))
    log[-1] ^= 1
    found = scan(bytes(log), engine)
    assert (kinds(found), found.last_offset, found.next_offset) == (["crc-mismatch"], 102, 106)


def test_garbage_between_batches_is_passed(engine: str) -> None:
    first, second = plain(100), plain(103)
    found = scan(first + b"\xff\x00garbage" * 50 + second, engine)
    assert found.batches == 2
    assert found.holes == ((len(first), len(first) + 450),)


def test_a_batch_after_the_hole_must_have_a_right_checksum(engine: str) -> None:
    broken = bytearray(plain(103))
    broken[-1] ^= 1
    found = scan(plain(100) + b"\xff" * 50 + bytes(broken) + plain(106), engine)
    assert found.batches == 2
    assert found.problems[0].end == len(plain(100)) + 50 + len(broken)


HEADER_FAULTS = {
    "bad-codec": batch_bytes(103, [Message(0)], flags=7),
    "header-field": batch_bytes(103, [Message(0)], count=-1),
    "offset-before-base": plain(50),
    "offset-backwards": plain(101),
    "offset-overflow": plain(BASE + 2**31),
    "epoch-backwards": plain(103, epoch=-1) + plain(106, epoch=0),
    "control-record": batch_bytes(103, [Message(0)], flags=CONTROL | TRANSACTIONAL, producer=(1, 0, -1)),
    "record-structure": batch_bytes(103, [Message(0), Message(0)], last_delta=1),
    "count-mismatch": batch_bytes(103, [Message(0), Message(1)], count=3),
    "timestamp-mismatch": batch_bytes(103, [Message(0, timestamp=7)], max_time=START_MS),
    "undecodable": batch_bytes(103, [Message(0)], codec=LZ4, payload=b"\x04\x22\x4d\x18nothing"),
    "legacy-inner": legacy_wrapper(103, 1, GZIP, [b"a"], inner_magic=0),
}


@pytest.mark.parametrize("kind", HEADER_FAULTS)
def test_a_sound_batch_with_a_fault(kind: str, engine: str) -> None:
    last = plain(BASE + 200, epoch=1)
    found = scan(plain(100, epoch=1) + HEADER_FAULTS[kind] + last, engine)
    expected = {"header-field": ["count-mismatch", "header-field"]}.get(kind, [kind])
    if kind == "offset-overflow":
        assert found.next_offset == BASE + 203
    if HEADER_FAULTS[kind][16] == 2 and kind != "epoch-backwards":
        expected = sorted([*expected, "epoch-backwards"])  # epoch 0 after 1
    assert [each for each in kinds(found) if each in expected] == expected
    assert (found.damaged_batches, found.valid_bytes) == (0, found.size)


@pytest.mark.parametrize(
    ("codec", "delta", "held"),
    [(0, 2, 3), (0, 2**31 - 1, 5), (LZ4, 2, 3), (LZ4, 2**31 - 1, 35 * 2**15 // 7), (0, -5, 0)],
)
def test_a_hurt_header_is_believed_only_as_many_records_as_it_has_room_for(
    engine: str, codec: int, delta: int, held: int
) -> None:
    batch = bytearray(plain(100)[:61] + bytes(35))
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">hi", batch, 21, codec, delta)
    struct.pack_into(">i", batch, 57, 2**31 - 1)
    assert scan(bytes(batch), engine, crc=False, records=False).records == held


def test_records_are_looked_at_only_when_asked(engine: str) -> None:
    data = HEADER_FAULTS["count-mismatch"]
    assert kinds(scan(data, engine)) == ["count-mismatch"]
    assert kinds(scan(data, engine, records=False)) == []


def test_without_crc_only_the_chain_is_followed(engine: str) -> None:
    log = bytearray(plain(100) + plain(103))
    log[-1] ^= 1
    found = scan(bytes(log), engine, crc=False, records=False)
    assert (found.problems, found.batches, found.crc_checked) == ((), 2, False)


def test_a_backwards_batch_at_the_tail_rewinds_the_end_offset(engine: str) -> None:
    found = scan(plain(100) + plain(110) + plain(100), engine)
    assert (kinds(found), found.next_offset, found.last_offset) == (["offset-backwards"], 103, 112)


def test_only_so_many_problems_are_kept_and_all_are_counted(engine: str) -> None:
    data = plain(100) * 1500
    found = scan(data, engine)
    assert len(found.problems) == 1000
    assert found.problem_counts == (("offset-backwards", 1499),)
    assert found.bounded == ("problems",)


def transaction(base: int, producer: int, sequence: int = 0, count: int = 2) -> bytes:
    return plain(base, count, flags=TRANSACTIONAL, producer=(producer, 0, sequence))


def test_transactions_as_the_broker_folds_them(engine: str) -> None:
    data = transaction(100, 7) + transaction(102, 9) + marker(104, (7, 0), ABORT, coordinator=3)
    data += transaction(105, 7, 2) + marker(107, (9, 0), COMMIT) + marker(108, (7, 0), ABORT)
    data += transaction(109, 9, 2) + marker(111, (5, 0), ABORT)
    found = scan(data, engine)
    assert found.problems == ()
    rows = [(a.producer_id, a.first_offset, a.last_offset, a.last_stable_offset) for a in found.aborted]
    assert rows == [(7, 100, 104, 102), (7, 105, 108, 109)]
    assert [state.producer_id for state in found.open_transactions] == [9]
    assert found.open_transactions[0].current_txn_first_offset == 109
    facts = found.control
    assert (facts.control_batches, facts.commits, facts.aborts) == (4, 1, 3)
    assert (facts.unmatched_markers, facts.unmatched_aborts, facts.transactional_batches) == (1, 1, 8)


def test_producer_state_at_the_beginning_is_used_and_carried_on(engine: str) -> None:
    before = ProducerStateEntry(
        producer_id=7, producer_epoch=0, last_sequence=4, last_offset=90, current_txn_first_offset=88
    )
    found = scan(marker(100, (7, 0), ABORT, coordinator=1), engine, producers=(before,))
    assert [(a.first_offset, a.last_offset) for a in found.aborted] == [(88, 100)]
    state = found.producers[0]
    assert (state.last_sequence, state.last_offset, state.current_txn_first_offset) == (4, 90, -1)
    assert (state.coordinator_epoch, state.timestamp) == (1, START_MS)


def test_idempotent_state_is_that_of_the_last_batch(engine: str) -> None:
    data = plain(100, 5, producer=(3, 1, 2**31 - 3))
    state = scan(data, engine).producers[0]
    assert (state.last_sequence, state.last_offset, state.offset_delta) == (1, 104, 4)


def test_what_the_broker_would_die_of_or_warn_about_in_producer_state(engine: str) -> None:
    data = transaction(100, 7) + plain(102, 2, producer=(7, 0, 2)) + plain(104, 1, producer=(8, 5, 0))
    data += plain(105, 1, producer=(8, 4, 0))
    found = scan(data, engine)
    assert kinds(found) == ["transaction-state", "producer-epoch-backwards"]


def test_a_range_sees_the_batches_that_begin_in_it(engine: str) -> None:
    data = varied_log(3)
    cuts = [0, *positions(data)[7::7], len(data)]
    parts = [scan(data, engine, start=a, stop=b) for a, b in itertools.pairwise(cuts)]
    whole = scan(data, engine)
    assert sum(part.batches for part in parts) == whole.batches
    assert sum(part.records for part in parts) == whole.records
    assert [part.problems for part in parts] == [()] * len(parts)


class Shrinking(BytesReader):
    """Says more bytes than there are: the file was cut after it was opened."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self.size = size


@pytest.mark.parametrize("cut", [0, 5, 17, 60, 150])
def test_a_file_that_is_cut_meanwhile_has_a_torn_tail(cut: int, engine: str) -> None:
    data = plain(100, 50)
    reader = Shrinking(data[:cut], len(data) + 1000)
    found = scan_log(reader, ScanTask(base_offset=BASE), engine=engine_named(engine))
    assert found.size == cut
    assert kinds(found) == ([] if cut == 0 else ["header-fragment"] if cut <= 17 else ["torn-tail"])


class Watched(Shrinking):
    """Notes the bytes that were read."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data, size)
        self.seen: set[int] = set()

    def read_into(self, buffer: memoryview, position: int) -> int:
        got = super().read_into(buffer, position)
        self.seen.update(range(position, position + got))
        return got


@pytest.mark.parametrize("kept", [0, 10, 4096])
def test_a_hole_is_not_read(kept: int, engine: str, tmp_path: Path) -> None:
    """A log is as long as somebody says, however little is in it; a preallocated one is always so."""
    data, path = plain(100, 50), tmp_path / "x.log"
    path.write_bytes(data + bytes(kept))
    os.truncate(path, 1 << 30)
    seen = []

    class Noting(FileReader):
        def read_into(self, buffer: memoryview, position: int) -> int:
            seen.append(len(buffer))
            return super().read_into(buffer, position)

    with Noting(str(path)) as reader:
        found = scan_log(reader, ScanTask(base_offset=BASE), engine=engine_named(engine))
    assert kinds(found) == ["zero-tail"]
    assert (found.problems[0].position, found.size) == (len(data), 1 << 30)
    assert sum(seen) < 3 * WINDOW
    with Noting(str(path)) as reader:
        assert len([*iter_batches(reader, crc=True, resync=True, base_offset=BASE)]) == 1
    assert sum(seen) < 6 * WINDOW
    os.truncate(path, 1 << 16)
    with path.open("ab") as file:
        file.write(b"x")
    with FileReader(str(path)) as reader:
        found = scan_log(reader, ScanTask(base_offset=BASE), engine=engine_named(engine))
    assert kinds(found) != ["zero-tail"]


@pytest.mark.parametrize("window", [100, 1000, 5000])
def test_bodies_are_read_that_nobody_looks_at(window: int, engine: str) -> None:
    """A bad sector in one ends a broker's start, and is told of only if somebody reads it (K14b)."""
    batches = [plain(103, 50), plain(153, 900), plain(1053), plain(1056, 300)]
    for number in range(len(batches)):
        data = b"".join([plain(BASE), *batches[: number + 1]])
        reader = Watched(data, len(data))
        found = scan_log(
            reader, ScanTask(base_offset=BASE, crc=False), engine=engine_named(engine), window=window
        )
        assert (found.batches, found.problems) == (number + 2, ())
        assert reader.seen == {*range(len(data))}


def test_of_a_range_no_more_is_read_than_its_batches(engine: str) -> None:
    first, second = plain(100, 20), plain(120, 20)
    for begins, seen in (
        (len(first), {*range(len(first), len(first + second))}),
        (len(first + second), set()),
    ):
        reader = Watched(first + second, len(first + second))
        task = ScanTask(base_offset=BASE, start=begins, crc=False)
        scan_log(reader, task, engine=engine_named(engine), window=64)
        assert reader.seen == seen


@pytest.mark.parametrize("window", [100, 1000, 5000])
def test_a_file_that_is_cut_within_a_body_ends_with_its_batch(window: int, engine: str) -> None:
    data, big = plain(100), plain(103, 900)
    for cut in (len(data) + window, len(data + big) - 1, len(data + big), len(data + big) + 10):
        reader = Watched((data + big + plain(1003))[:cut], 20_000)
        found = scan_log(
            reader, ScanTask(base_offset=BASE, crc=False), engine=engine_named(engine), window=window
        )
        assert (found.batches, found.size) == (2, max(cut, len(data + big)))
        assert kinds(found) == (["header-fragment"] if cut > len(data + big) else [])


def test_a_size_field_of_two_gigabytes_takes_no_memory(engine: str) -> None:
    data = bytearray(plain(100))
    data[8:12] = struct.pack(">i", 2**31 - 1)
    assert kinds(scan(bytes(data), engine)) == ["torn-tail"]


def test_a_batch_larger_than_any_window_has_its_checksum_computed_in_pieces(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segmend.kernel.scan.WINDOW_LIMIT", 1000)
    big = batch_bytes(103, [Message(0, value=b"x" * 5000)])
    found = scan(plain(100) + big + plain(104), engine, window=256)
    assert (kinds(found), found.batches, found.records) == (["too-large"], 3, 7)
    broken = bytearray(big)
    broken[-1] ^= 1
    found = scan(plain(100) + bytes(broken) + plain(104), engine, window=256)
    assert (kinds(found), found.batches) == (["crc-mismatch"], 2)


@pytest.mark.slow
def test_a_bomb_is_not_decompressed(engine: str) -> None:
    many = record_bytes(Message(0, value=bytes(70 << 20)))
    bomb = batch_bytes(100, [Message(0)], codec=LZ4, payload=lz4_frame(many))
    assert kinds(scan(bomb, engine)) == ["too-large"]


def test_hostile_headers_everywhere_end_in_bounded_time(engine: str) -> None:
    """Promising headers with wrong checksums, each saying it is as long as the file."""
    size = 30_000
    head = bytearray(plain(100)[:61])
    data = bytearray()
    while len(data) < size:
        head[8:12] = struct.pack(">i", size - len(data) - 13 - len(data) % 7)
        data += head
    found = scan(bytes(data), engine)
    assert found.batches == 0
    assert len(found.problems) <= 3


def test_sealing_makes_any_batch_sound(engine: str) -> None:
    data = bytearray(plain(100))
    data[30] ^= 1
    assert kinds(scan(seal(bytes(data)), engine)) in ([], ["timestamp-mismatch"])
