"""The benchmark's own clock."""

import subprocess
import sys

import pytest
from bench.measure import BOUND, Contender, FamilyCpu, race

_DAEMON = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if not os.fork():
    while time.process_time() < 0.4:
        pass
    print("worked", flush=True)
    os.read(0, 1)
    os._exit(0)
try:
    os.wait()
except ChildProcessError:
    print("ended", flush=True)
os.read(0, 1)
"""


def test_what_a_worker_used_that_nobody_waited_for_stays_in_the_sum() -> None:
    """Else the next contender's CPU is less than nothing: Spark ends workers that are idle."""
    cpu = FamilyCpu()
    begin = cpu()
    command = [sys.executable, "-c", _DAEMON]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as daemon:
        assert daemon.stdin is not None
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == b"worked\n"
        worked = cpu()
        daemon.stdin.write(b"x")
        assert daemon.stdout.readline() == b"ended\n"
        ended = cpu()
        daemon.stdin.write(b"x")
    assert worked - begin >= 0.3
    assert ended >= worked
    assert cpu() >= ended


@pytest.mark.parametrize(("after", "counted"), [(0, 1), (3, 1), (5, 2), (99, 4)])
def test_a_race_out_of_time_has_what_it_ran(
    monkeypatch: pytest.MonkeyPatch, after: int, counted: int
) -> None:
    """The turn that was to warm up counts if time is over by then."""
    ran = list[int]()

    def work() -> float:
        ran.append(1)
        BOUND.end = float("-inf") if len(ran) > after else float("inf")
        return 1.0

    monkeypatch.setattr(BOUND, "end", float("inf"))
    both = [Contender("one", function=work), Contender("other", function=work)]
    race(both, runs=4)
    assert [len(each.seconds) for each in both] == [counted, counted]
