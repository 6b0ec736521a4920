"""However sizes are spread: nothing is lost, nothing is doubled, no task is much heavier than it must be."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.fleet.pack import LARGEST_TARGET, MOST_TASKS, SMALLEST_TARGET, pack, target_bytes


@dataclass(frozen=True)
class Stone:
    number: int
    weight: int


WEIGHTS = st.lists(st.integers(1, 1 << 40), max_size=60)


@examples(60)
@given(WEIGHTS, st.integers(1, 16))
def test_packing_keeps_everything_and_balances(weights: list[int], cores: int) -> None:
    stones = [Stone(number, weight) for number, weight in enumerate(weights)]
    tasks = pack(stones, cores=cores)
    assert sorted(s.number for task in tasks for s in task) == list(range(len(stones)))
    assert all(tasks)
    loads = [sum(s.weight for s in task) for task in tasks]
    assert loads == sorted(loads, reverse=True)
    # Longest first is never worse than the average and one more piece.
    assert not loads or loads[0] <= sum(weights) / len(tasks) + max(weights)


def test_tiny_segments_share_tasks() -> None:
    stones = [Stone(n, 80 << 10) for n in range(4500)]
    assert len(pack(stones, cores=2)) <= 6


def test_the_target_stays_within_its_bounds() -> None:
    assert target_bytes(1, 2) == SMALLEST_TARGET
    assert target_bytes(1 << 40, 2) == LARGEST_TARGET
    assert target_bytes(600 << 20, 2) == 100 << 20


def test_a_huge_fleet_has_no_more_tasks_than_a_driver_can_keep() -> None:
    assert target_bytes(LARGEST_TARGET * MOST_TASKS, 64) == LARGEST_TARGET
    assert target_bytes(40 * LARGEST_TARGET * MOST_TASKS, 64) == 40 * LARGEST_TARGET
    # But there is work for every core.
    assert target_bytes(40 * LARGEST_TARGET * MOST_TASKS, MOST_TASKS) < 40 * LARGEST_TARGET


def test_there_is_work_for_every_core() -> None:
    assert len(pack([Stone(n, 8 << 20) for n in range(9)], cores=4)) == 4
    assert len(pack([Stone(n, 10) for n in range(9)], cores=4)) == 1
