"""`leader-epoch-checkpoint`."""

from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.epoch_checkpoint import EpochCheckpoint, EpochEntry, parse, render

HEALTHY = b"0\n3\n0 0\n3 105\n5 110\n"


def test_a_healthy_file() -> None:
    checkpoint, damages = parse(HEALTHY)
    assert damages == ()
    assert checkpoint.entries == (EpochEntry(0, 0), EpochEntry(3, 105), EpochEntry(5, 110))
    assert render(checkpoint) == HEALTHY


DAMAGED = [
    (b"1\n0\n", [("malformed", 0)]),
    (b"0\n5\n0 0\n3 105\n", [("malformed", 14)]),
    (b"0\n1\n0 0 0\n", [("malformed", 4)]),
    (b"0\n1\n0\n", [("malformed", 4)]),
    (b"0\n1\nx 0\n", [("not-a-number", 4)]),
    (b"0\n1\n0 99999999999999999999\n", [("not-a-number", 4)]),
    (b"0\n1\n-1 0\n", [("negative-entry", 4)]),
    (b"0\n1\n0 -1\n", [("negative-entry", 4)]),
    (b"0\n2\n5 105\n4 150\n", [("not-increasing", 10)]),
    (b"0\n2\n5 105\n5 150\n", [("not-increasing", 10)]),
    (b"0\n2\n5 105\n6 105\n", [("not-increasing", 10)]),
    (b"0\n2\n5 105\n6 100\n", [("not-increasing", 10)]),
    (b"0\n2147483647\n", [("huge-count", 2), ("malformed", 13)]),
]
"""Files, and what is wrong with them where: `test_every_format` looks."""


def test_the_brokers_words() -> None:
    _, (damage,) = parse(b"0\n1\n-3 7\n")
    assert (
        damage.reason == "Received invalid partition leader epoch entry EpochEntry(epoch=-3, startOffset=7)"
    )


@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)), max_size=6))
@examples(60)
def test_what_is_written_is_read_back(pairs: list[tuple[int, int]]) -> None:
    checkpoint = EpochCheckpoint(entries=tuple(EpochEntry(*pair) for pair in pairs))
    found, damages = parse(render(checkpoint))
    assert found == checkpoint
    assert {damage.kind for damage in damages} <= {"not-increasing"}
