"""The four offset checkpoints, and the reader they share with the leader epochs."""

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.checkpoint_file import lines
from segmend.formats.offset_checkpoint import FILE_NAMES, CheckpointEntry, OffsetCheckpoint, parse, render

HEALTHY = b"0\n2\norders 0 63\n__consumer_offsets 49 188\n"
ORDERS = CheckpointEntry("orders", 0, 63)


def test_a_healthy_file() -> None:
    checkpoint, damages = parse(HEALTHY)
    assert damages == ()
    assert checkpoint.entries == (ORDERS, CheckpointEntry("__consumer_offsets", 49, 188))
    assert checkpoint.offsets() == {("orders", 0): 63, ("__consumer_offsets", 49): 188}
    assert render(checkpoint) == HEALTHY
    assert len(FILE_NAMES) == 4


@pytest.mark.parametrize(
    "data",
    [
        b"0\r\n1\r\norders 0 63\r\n",
        b"0\r1\rorders 0 63\r",
        b"0\n1\norders 0 63",
        b"0\n1\norders\t0  63 \n",
        b"+0\n01\norders +0 0063\n",
        b"0\n2\norders 0 1\norders 0 63\n",
    ],
)
def test_what_the_broker_accepts_though_it_never_writes_it(data: bytes) -> None:
    checkpoint, damages = parse(data)
    assert damages == ()
    assert checkpoint.offsets() == {("orders", 0): 63}


def test_negative_offsets_and_odd_topics_are_values() -> None:
    assert parse("0\n1\nпривет -1 -5\n".encode())[0].entries == (CheckpointEntry("привет", -1, -5),)


@pytest.mark.parametrize(
    ("data", "kind", "position", "words"),
    [
        (b"1\n0\n", "malformed", 0, "Unrecognised version:1, expected version: 0"),
        (b"x\n0\n", "malformed", 0, "Malformed line"),
        (b" 0\n0\n", "malformed", 0, "Malformed line"),
        (b"\n0\n", "malformed", 0, "Malformed line"),
        (b"0\nx\n", "malformed", 2, "Malformed line"),
        (
            b"0\n2\norders 0 63\n",
            "malformed",
            16,
            "Expected [2] entries in checkpoint file, but found only [1]",
        ),
        (b"0\n0\norders 0 63\n", "malformed", 16, "Expected [0] entries"),
        (b"0\n1\norders 0 63\n\n", "malformed", 16, "Malformed line"),
        (b"0\n1\norders 0\n", "malformed", 4, "Malformed line"),
        (b"0\n1\n orders 0 63\n", "malformed", 4, "Malformed line"),
        (b"0\n1\nmy orders 0 63\n", "malformed", 4, "Malformed line"),
        (b"0\n1\n\xff\xfe 0 63\n", "malformed", 4, "Malformed line"),
        (b"0\n1\norders x 63\n", "not-a-number", 4, "orders x 63"),
        (b"0\n1\norders 0 6_3\n", "not-a-number", 4, "orders 0 6_3"),
        (b"0\n1\norders 2147483648 63\n", "not-a-number", 4, "2147483648"),
        (b"0\n-1\n", "negative-count", 2, "Illegal Capacity: -1"),
        (b"0\n2147483647\n", "huge-count", 2, "Requested array size exceeds VM limit"),
        (b"0\n500000000\norders 0 63\n", "huge-count", 2, "Java heap space"),
    ],
)
def test_the_first_damage_is_what_the_broker_meets(data: bytes, kind: str, position: int, words: str) -> None:
    _, damages = parse(data)
    assert (damages[0].kind, damages[0].position) == (kind, position)
    assert words in damages[0].reason


def test_reading_goes_on_after_a_bad_line() -> None:
    checkpoint, damages = parse(b"0\n3\nbad\norders 0 63\nt x 1\n")
    assert checkpoint.entries == (ORDERS,)
    assert [(damage.kind, damage.position) for damage in damages] == [("malformed", 4), ("not-a-number", 20)]


def test_the_count_takes_no_memory_and_garbage_few_damages() -> None:
    tracemalloc.start()
    parse(b"0\n2147483646\n")
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    started = time.process_time()
    _, damages = parse(b"0\n5\n" + b"x\n" * 100_000 + b" " * 100_000)
    assert len(damages) <= 20
    assert time.process_time() - started < 2


@pytest.mark.parametrize("size", range(len(HEALTHY)))
def test_every_truncation_is_answered(size: int) -> None:
    checkpoint, damages = parse(HEALTHY[:size])
    assert damages or size in (0, 1, 2) or checkpoint.entries[0] == ORDERS


TOPICS = st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True)
ENTRIES = st.lists(
    st.builds(CheckpointEntry, TOPICS, st.integers(0, 2**31 - 1), st.integers(-1, 2**63 - 1)), max_size=6
)


@given(ENTRIES)
@examples(60)
def test_what_is_written_is_read_back(entries: list[CheckpointEntry]) -> None:
    checkpoint = OffsetCheckpoint(entries=tuple(entries))
    assert parse(render(checkpoint)) == (checkpoint, ())


@given(st.binary(max_size=60) | st.text("0123456789 \n\r\tx-+", max_size=40).map(str.encode))
@examples(150)
def test_any_bytes_are_answered_and_lines_lose_nothing(data: bytes) -> None:
    parse(data)
    found = list(lines(data))
    assert b"".join(line for _, line in found) == data.replace(b"\r", b"").replace(b"\n", b"")
    assert all(data[at : at + len(line)] == line for at, line in found)
