"""Two at a time: results in order, the first error and no other, nothing begun after it; a stop is heard."""

import threading

import pytest

from segmend.errors import Cancelled
from segmend.surgery.writing.effects import Effects
from segmend.surgery.writing.pairwise import AT_ONCE, each
from segmend.surgery.writing.work import Workplace

WAIT = 30


def test_results_come_in_the_order_of_the_items_and_two_are_under_way_at_once() -> None:
    together = threading.Barrier(AT_ONCE)

    def act(_: Workplace, item: int) -> int:
        together.wait(WAIT)
        return item * item

    assert each(Workplace(fx=Effects(), vault=""), act, range(8)) == [n * n for n in range(8)]


@pytest.mark.parametrize("count", [0, 1])
def test_no_thread_is_made_for_one(count: int) -> None:
    def act(_: Workplace, __: int) -> str:
        return threading.current_thread().name

    assert (
        each(Workplace(fx=Effects(), vault=""), act, range(count))
        == [threading.current_thread().name] * count
    )


def test_the_first_error_stops_the_others_and_is_the_one_that_is_raised() -> None:
    begun: list[int] = []
    under_way = threading.Event()

    def act(work: Workplace, item: int) -> None:
        begun.append(item)
        if item == 1:
            assert under_way.wait(WAIT)
            raise OSError(28, "No space left on device")
        under_way.set()
        while True:
            work.check()

    with pytest.raises(OSError, match="No space left"):
        each(Workplace(fx=Effects(), vault=""), act, range(9))
    assert sorted(begun) == [0, 1]


def test_who_asks_to_stop_is_heard_in_each_of_them() -> None:
    asked = threading.Event()

    def check() -> None:
        if asked.is_set():
            raise Cancelled("stopped")

    def act(work: Workplace, item: int) -> None:
        if item == 1:
            asked.set()
        while True:
            work.check()

    with pytest.raises(Cancelled, match="stopped"):
        each(Workplace(fx=Effects(), vault="", check=check), act, range(5))


def test_one_after_the_other_tells_of_its_bytes() -> None:
    told: list[int] = []
    inside = threading.Lock()

    def tell(count: int) -> None:
        assert inside.acquire(blocking=False)
        told.append(count)
        inside.release()

    def act(work: Workplace, item: int) -> None:
        for _ in range(2000):
            work.tell(item)

    each(Workplace(fx=Effects(), vault="", tell=tell), act, range(4))
    assert sum(told) == 2000 * (0 + 1 + 2 + 3)
