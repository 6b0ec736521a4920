"""Values as columns: what goes in comes out, however large or odd its numbers are."""

import pickle
import sys

import pytest

from segmend.formats.java_number import LONG_MAX
from segmend.frozen import frozen
from segmend.merge.packed import Packed, joined
from segmend.merge.spans import Spans, common, has, united, without


@frozen
class Thing:
    at: int
    end: int | None
    name: str
    more: tuple[int, ...]
    by: object


def things(count: int, *, beyond: int = 0) -> list[Thing]:
    by = object()
    return [
        Thing(at=at + beyond, end=None if at % 2 else at, name=str(at % 3), more=(at % 2,), by=by)
        for at in range(count)
    ]


@pytest.mark.parametrize("beyond", [0, -(1 << 63), LONG_MAX - 3])
def test_what_goes_in_comes_out(beyond: int) -> None:
    given = things(10, beyond=beyond)
    packed = Packed(Thing, given)
    assert packed == given
    assert [packed[at] for at in range(-10, 10)] == given + given
    assert packed[2:-1] == tuple(given[2:-1])
    assert [*packed.column("at")] == [each.at for each in given]
    other = joined(Packed(Thing, given[:4]), Packed(Thing, given[4:]))
    assert other == packed
    assert joined(Packed(Thing), packed) == given
    other.drop(3)
    assert other == given[:-3]


@pytest.mark.parametrize("small", [[1], [1 << 10], [1 << 20], [1 << 40], [-(1 << 62)]])
@pytest.mark.parametrize("large", [[1], [1 << 10], [1 << 20], [1 << 40], [1 << 70]])
def test_columns_of_any_width_are_joined(small: list[int], large: list[int]) -> None:
    for numbers in (small + large, large + small):
        given = [Thing(at=at, end=at, name="", more=(), by="") for at in numbers]
        assert joined(Packed(Thing, given[:1]), Packed(Thing, given[1:])) == given == Packed(Thing, given)


@pytest.mark.slow
def test_small_numbers_take_little() -> None:
    assert len(pickle.dumps(Packed(Thing, things(30_000)))) < 15 * 30_000


def test_it_goes_on_after_a_journey() -> None:
    given = [Thing(at=0, end=1, name="a", more=(), by="b")]
    packed: Packed[Thing] = pickle.loads(pickle.dumps(Packed(Thing, given)))
    packed.extend(things(3))
    assert packed[:1] == tuple(given)
    assert [each.at for each in packed] == [0, 0, 1, 2]


def test_spans_are_sets_of_offsets() -> None:
    whole = united([(5, 6), (0, 1), (7, 7), (3, 2), (1, 2), (LONG_MAX, LONG_MAX + 1)])
    assert whole == [(0, 2), (5, 7), (LONG_MAX, LONG_MAX + 1)]
    assert without(whole, [(1, 5)]) == [(0, 0), (6, 7), (LONG_MAX, LONG_MAX + 1)]
    assert common(whole, Spans([(2, 6)])) == [(2, 2), (5, 6)]
    assert [has(whole, at) for at in (-1, 2, 3, 7, LONG_MAX + 1)] == [False, True, False, True, True]


def test_offsets_take_four_bytes_until_one_needs_more() -> None:
    for first, bytes_each in ((0, 5), (1 << 31, 10), (1 << 63, 10)):
        spans = Spans((at, at) for at in range(first, first + 2000, 2))
        assert [*spans] == [(at, at) for at in range(first, first + 2000, 2)]
        assert sys.getsizeof(spans.lasts) < 1000 * bytes_each + 200
    spans = Spans([(0, 0), (5, 1 << 40)])
    assert without(spans, [(7, 1 << 39)]) == [(0, 0), (5, 6), ((1 << 39) + 1, 1 << 40)]
