"""The leader epoch cache while a log loads (LeaderEpochFileCache)."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.loading.epochs import EarlyEpochCache, EpochCache

ENTRIES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), max_size=8)


def test_conflicting_entries_before_it_are_dropped() -> None:
    assert EpochCache([(3, 0), (5, 105), (4, 150)]).entries == [(3, 0), (4, 150)]


def test_the_first_offset_of_an_epoch_stays() -> None:
    assert EpochCache([(3, 0), (3, 9)]).entries == [(3, 0)]


def test_recovery_assigns_higher_epochs_only() -> None:
    cache = EpochCache([(3, 0)])
    cache.recover([(2, 5), (4, 9), (-1, 12), (4, 20)])
    assert cache.entries == [(3, 0), (4, 9)]


def test_truncating_from_the_start_keeps_the_epoch_that_holds_there() -> None:
    cache = EpochCache([(1, 0), (2, 10), (3, 20)])
    cache.truncate_from_start(15)
    assert cache.entries == [(2, 15), (3, 20)]


def test_truncating_from_the_end_drops_what_begins_at_or_above() -> None:
    cache = EpochCache([(1, 0), (2, 10), (3, 20)])
    cache.truncate_from_end(20)
    assert cache.entries == [(1, 0), (2, 10)]


def test_before_2_0_1_what_contradicts_another_entry_stays() -> None:
    cache = EarlyEpochCache([(7, 0), (-1, 0)], assigned=False)
    cache.truncate_from_start(0)
    assert cache.entries == [(7, 0), (-1, 0)]
    cache.recover([(0, 5), (1, 3)])
    assert cache.entries == [(7, 0), (-1, 0), (0, 5)]
    cache.truncate_from_start(2)
    assert cache.entries == [(-1, 2), (0, 5)]


def test_before_2_0_1_an_epoch_begins_at_the_first_batch_behind_the_newest_entry() -> None:
    """The file of 1.1.0 said `-1 308`; the batches at 307 and 310 had epoch 0."""
    cache = EarlyEpochCache([(-1, 308)], assigned=False)
    assert cache.asks_each_batch(307)
    cache.recover([(0, 307), (0, 310)])
    assert cache.entries == [(-1, 308), (0, 310)]
    assert not cache.asks_each_batch(345)
    assert not EpochCache([(3, 308)]).asks_each_batch(307)


@examples(60)
@given(ENTRIES, st.integers(0, 40), st.integers(0, 40))
def test_whatever_entries_come_they_always_ascend(
    entries: list[tuple[int, int]], start: int, end: int
) -> None:
    cache = EpochCache(entries)
    cache.truncate_from_end(end)
    cache.truncate_from_start(start)
    found = cache.entries
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(found))


@examples(100)
@given(ENTRIES, st.lists(st.tuples(st.integers(-1, 9), st.integers(-1, 30)), max_size=8))
def test_an_entry_takes_the_place_of_all_that_contradict_it(
    lines: list[tuple[int, int]], assigned: list[tuple[int, int]]
) -> None:
    """Also of those in a file whose lines do not ascend, of which the last says nothing of the others."""
    cache, wanted = EpochCache(lines, assigned=False), lines
    for epoch, start in assigned:
        cache.assign(epoch, start)
        if not (wanted and wanted[-1][0] == epoch and wanted[-1][1] <= start):
            wanted = [*(each for each in wanted if each[0] < epoch and each[1] < start), (epoch, start)]
    assert cache.entries == wanted
