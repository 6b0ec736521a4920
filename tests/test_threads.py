"""What threads do together comes out as one would have done it."""

import time
from threading import get_ident

import pytest

from segmend.threads import Threads, done_by


def test_results_are_in_the_order_of_the_things() -> None:
    def work(number: int) -> int:
        time.sleep(0.01 * (5 - number))
        return number * number

    assert done_by(3, work, range(5)) == [0, 1, 4, 9, 16]
    assert done_by(3, work, []) == []


def test_there_are_no_more_threads_than_were_asked_for() -> None:
    def work(_number: int) -> int:
        time.sleep(0.01)
        return get_ident()

    assert len({*done_by(2, work, range(6))}) == 2


def test_a_result_may_be_asked_for_twice() -> None:
    threads = Threads(1)
    ask = threads.submit(lambda: 7)
    refuse = threads.submit(int, "x")
    assert (ask(), ask()) == (7, 7)
    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            refuse()
    threads.stop()


@pytest.mark.parametrize("threads", [1, 2])
def test_nothing_is_begun_once_something_failed(threads: int) -> None:
    begun = []

    def work(number: int) -> None:
        begun.append(number)
        if number == 2:
            raise KeyError(number)
        time.sleep(0.01)

    with pytest.raises(KeyError):
        done_by(threads, work, range(100))
    assert len(begun) < 9


def test_who_waits_for_what_is_not_begun_any_more_is_told_so() -> None:
    threads = Threads(1)

    def stop() -> None:
        threads._stopped = True

    first, second = threads.submit(stop), threads.submit(int)
    first()
    with pytest.raises(RuntimeError, match="stopped"):
        second()
    threads.stop()
