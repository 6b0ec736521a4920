"""The processes of a local driver, where somebody stops them."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.cli.run import python
from tests.waiting import until

from segmend.errors import MissingExtra, SegmendError
from segmend.fleet.driver import LocalDriver
from segmend.fleet.workers import fresh_workers
from segmend.logdir.file_system import Unreadable

EITHER = pytest.mark.parametrize("forked", ["nullcontext()", "forks_of_this(2)"])
"""Whether workers are forks of the driver, as of a command, or of a Python that imports all again."""

PRESSED = """
import os, signal, sys, threading
from segmend.fleet.compare import compare_group
from segmend.fleet.driver import LocalDriver
from segmend.fleet.workers import forks_of_this
from contextlib import nullcontext
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with {forked} as pool:
        threading.Timer(float(sys.argv[1]), os.killpg, (0, signal.SIGINT)).start()
        list(LocalDriver(2, pool).run(compare_group, [[]] * 40_000))
except KeyboardInterrupt:
    print("pressed")
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.05, 0.3])
@EITHER
def test_a_ctrl_c_at_a_terminal_ends_the_workers_without_a_word(forked: str, after: float) -> None:
    """It is sent to each process: to the one that workers are forked of while that still imports, too."""
    ran = python("-c", PRESSED.format(forked=forked), str(after), prefix=["setsid", "--wait"])
    assert (ran.stdout, ran.stderr) == ("pressed\n", "")


KILLED = """
import multiprocessing, os, signal, threading
from segmend.fleet.driver import LocalDriver
from segmend.fleet.workers import forks_of_this
from contextlib import nullcontext
from tests.fleet.test_driver import parents
with {forked} as pool:
    some = LocalDriver(2, pool).run(parents, [1] * 200)
    print(next(some)[0], *(each.pid for each in multiprocessing.active_children()), flush=True)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()
    list(some)
"""


def parents(number: int) -> tuple[int, bytes]:
    """With more than a pipe holds, so that somebody must read it."""
    time.sleep(number / 10)
    return os.getppid(), bytes(1 << 20)


@pytest.mark.slow
@EITHER
def test_a_driver_that_is_killed_leaves_no_process_behind(forked: str) -> None:
    left = [int(each) for each in python("-c", KILLED.format(forked=forked)).stdout.split()]
    assert len(left) == 3
    until("workers, and what they were forked of, to end", lambda: not any(map(alive, left)), 20)


def alive(process: int) -> bool:
    """One that has ended may wait for somebody to ask for its end."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


class Slow(list[int]):
    """Tasks of which the second is a while in coming."""

    def __iter__(self) -> Iterator[int]:
        for number in super().__iter__():
            time.sleep(number)
            yield number


def begun(number: int) -> float:
    return time.monotonic()


@pytest.mark.slow
def test_no_task_begins_before_all_are_handed_in() -> None:
    """Python 3.11's own pool fails where a worker dies and a task is handed in at that moment."""
    with fresh_workers(2, __name__) as workers:
        for _ in range(2):
            before = time.monotonic()
            assert min(LocalDriver(2, workers).run(begun, Slow([0, 1, 0]))) - before > 1


def endpoint(_: int) -> str | None:
    return os.environ.get("AWS_ENDPOINT_URL")


@pytest.mark.slow
def test_workers_have_the_environment_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook keys of a store are set, or others, after something was read; all fork of one server."""
    for said in ("http://127.0.0.1:1", "http://127.0.0.1:2", None):
        if said is None:
            monkeypatch.delenv("AWS_ENDPOINT_URL")
        else:
            monkeypatch.setenv("AWS_ENDPOINT_URL", said)
        assert {*LocalDriver(2).run(endpoint, [1, 2])} == {said}


def pandas_is_loaded(number: int) -> bool:
    pa.array([number])
    return "pandas" in sys.modules


@pytest.mark.slow
def test_a_worker_does_not_load_what_it_has_no_use_for() -> None:
    assert [*LocalDriver(2).run(pandas_is_loaded, [1, 2])] == [False, False]


def test_what_workers_are_forked_of_has_not_loaded_it_either() -> None:
    """It imports what the tasks need, before anything keeps pandas out."""
    ran = python("-c", "import sys, segmend.fleet.task; print('pandas' in sys.modules)")
    assert ran.stdout == "False\n"


AUDITED = """
import multiprocessing, os, sys
from segmend.cli.main import main
fork = os.fork
def told():
    print("forked", flush=True)
    return fork()
os.fork = told
print(main(["fleet", "audit", sys.argv[1], "--out", sys.argv[2], "--driver", "local", "--no-report"]))
print(multiprocessing.active_children())
"""


@pytest.mark.slow
def test_workers_of_a_command_are_forks_of_it_which_end_with_it(tmp_path: Path) -> None:
    topic = tmp_path / "b0" / "t-0"
    topic.mkdir(parents=True)
    (topic / f"{0:020d}.log").write_bytes(b"")
    lines = python("-c", AUDITED, tmp_path, tmp_path / "out").stdout.splitlines()
    assert (lines[0], lines[-1]) == ("forked", "[]")


HAS_THE_MARK = """
import sys
from segmend.fleet.driver import LocalDriver
from segmend.fleet.workers import forks_of_this
from tests.fleet.test_driver import has_the_mark
sys.modules["the mark"] = sys
with forks_of_this(2) as pool:
    driver = LocalDriver(2, pool)
    print([*driver.run(has_the_mark, [1, 2])], [*driver.run(has_the_mark, [1, 2])])
print([*LocalDriver(2).run(has_the_mark, [1, 2])])
"""


def has_the_mark(number: int) -> bool:
    return "the mark" in sys.modules


@pytest.mark.slow
def test_forks_have_what_was_loaded_before_them() -> None:
    ran = python("-c", HAS_THE_MARK)
    assert ran.stdout == "[True, True] [True, True]\n[False, False]\n"


def refuse(number: int) -> int:
    raise [Unreadable("s3://b/o", "permission denied", 13), MissingExtra("that", "fleet")][number]


@pytest.mark.parametrize(("number", "told"), [(0, "s3://b/o: permission denied"), (1, "that: run `pip")])
def test_what_a_worker_says_of_a_refusal_is_not_that_it_was_killed(number: int, told: str) -> None:
    """Its own words did not come out of the process, for what it raised is made of other things."""
    with pytest.raises(SegmendError, match=f"^{told}"):
        list(LocalDriver(2).run(refuse, [number] * 2))
