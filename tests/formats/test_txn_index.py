"""`.txnindex`: aborted transactions."""

from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.txn_index import AbortedTxn, TransactionIndex, parse, render

FIRST = AbortedTxn(0, 2, 4, 22, 23)
SECOND = AbortedTxn(0, 9, 10, 40, 41)


def data(*entries: AbortedTxn) -> bytes:
    return render(TransactionIndex(entries=entries))


def test_the_bytes_of_an_entry() -> None:
    raw = bytes.fromhex("00000000000000000002000000000000000400000000000000160000000000000017")
    assert parse(raw) == (TransactionIndex(entries=(FIRST,)), ())
    assert data(FIRST) == raw


DAMAGED = [
    (data(FIRST, SECOND), []),
    (data(FIRST) + b"\x00" * 33, [("trailing-bytes", 34)]),
    (data(SECOND, FIRST), [("offsets-not-increasing", 52)]),
    (data(FIRST, FIRST), [("offsets-not-increasing", 52)]),
    (data(FIRST, SECOND._replace(version=1)), [("bad-version", 34)]),
    (data(FIRST._replace(version=-1), SECOND._replace(version=1)), [("bad-version", 0)]),
    (data(FIRST) + bytes(68), [("offsets-not-increasing", 52)]),
]
"""Files, and what is wrong with them where: `test_every_format` looks."""


def test_the_brokers_words_for_a_wrong_version() -> None:
    _, (damage,) = parse(data(FIRST._replace(version=1)))
    assert "Unexpected aborted transaction version 1" in damage.reason


LONG = st.integers(-(2**63), 2**63 - 1)


@given(
    st.lists(st.builds(AbortedTxn, st.integers(-9, 9), LONG, LONG, LONG, LONG), max_size=5),
    st.binary(max_size=33) | st.integers(0, 200).map(bytes),
)
@examples(50)
def test_render_is_the_reverse_of_parse(entries: list[AbortedTxn], trailing: bytes) -> None:
    raw = data(*entries) + trailing
    index, _ = parse(raw)
    assert (list(index.entries[: len(entries)]), render(index)) == (entries, raw)
    assert (len(index.entries), index.trailing) == (len(raw) // 34, raw[len(raw) // 34 * 34 :])


def test_what_was_never_written_to_is_one_row_many_times() -> None:
    """A file of gigabytes with nothing in it took seconds each time it was read, and gigabytes of rows."""
    index, _ = parse(data(FIRST, SECOND) + bytes(34 * 1000 + 5))
    first, second, zeros, *others = index.entries
    assert (first, second, zeros) == (FIRST, SECOND, AbortedTxn(0, 0, 0, 0, 0))
    assert len(others) == 999
    assert all(each is zeros for each in others)
