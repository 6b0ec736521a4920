"""The line that says how far a long command is."""

import time
from io import StringIO

import pytest

from segmend.report.progress import Progress


class Clock:
    """Time as the test says."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(time, "monotonic", found)
    return found


def drawn(stream: StringIO) -> list[str]:
    return stream.getvalue().split("\r\x1b[K")[1:]


def test_nobody_watches(clock: Clock) -> None:
    stream = StringIO()
    progress = Progress(stream)
    progress.update(1, 2, "x")
    progress.say("y")
    progress.done()
    assert stream.getvalue() == ""


def test_a_phase_without_a_total_is_told_in_words(clock: Clock) -> None:
    """It said "0 B of 0 B  listing log dirs" once."""
    stream = StringIO()
    progress = Progress(stream, shown=True)
    progress.update(0, 0, "listing log dirs")
    progress.update(0, 1 << 20, "0 of 4 tasks")  # at once: a new phase waits for no tenth of a second
    progress.update(0, 0, "comparing replicas")
    assert drawn(stream) == ["listing log dirs", "  0 %  0 B of 1.0 MiB  0 of 4 tasks", "comparing replicas"]


def test_what_is_left_is_told_when_there_is_something_to_tell_it_by(clock: Clock) -> None:
    """The time before the first byte counts for none, and the end is no estimate."""
    stream = StringIO()
    progress = Progress(stream, shown=True)
    progress.say("starting Spark")
    for seconds, done in ((50, 0), (1, 1), (1, 2), (2, 9), (1, 12), (4, 30), (3, 40), (4, 100)):
        clock.now += seconds
        progress.update(done, 100, "")
    left = [line.rpartition("100 B")[2].strip() for line in drawn(stream)[1:]]
    assert left == ["", "", "", "", "", "21.0 s left", "18.0 s left", ""]


def test_what_is_left_of_a_second_pass_over_as_much_counts_from_its_own_begin(clock: Clock) -> None:
    stream = StringIO()
    progress = Progress(stream, shown=True)
    for _ in range(2):
        for seconds, done in ((1, 0), (1, 10), (1, 20), (1, 30), (1, 40), (1, 50), (1, 100)):
            clock.now += seconds
            progress.update(done, 100, "")
    left = [line.rpartition("100 B")[2].strip() for line in drawn(stream)]
    assert left == ["", "", "", "", "", "5.0 s left", ""] * 2


def test_what_is_no_bytes_is_not_shown_as_bytes(clock: Clock) -> None:
    """Partitions of a forecast were "14 B of 37 B"."""
    stream = StringIO()
    Progress(stream, shown=True, sizes=False).update(14, 37, "")
    assert drawn(stream) == [" 38 %"]


def test_the_line_is_wiped_and_steers_no_terminal(clock: Clock) -> None:
    stream = StringIO()
    progress = Progress(stream, shown=True)
    progress.update(512, 1024, "orders\x1b-0")
    progress.done()
    assert stream.getvalue() == "\r\x1b[K 50 %  512 B of 1.0 KiB  orders\\x1b-0\r\x1b[K"


def test_it_is_drawn_ten_times_a_second_at_most(clock: Clock) -> None:
    stream = StringIO()
    progress = Progress(stream, shown=True)
    for done in range(100):
        clock.now += 0.01
        progress.update(done, 100, "")
    assert 9 <= len(drawn(stream)) <= 11
