"""The processes of a local driver, where somebody stops them."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest
from tests.cli.run import python

from segmend.fleet.driver import LocalDriver

PRESSED = """
import os, signal, sys, threading
from segmend.fleet.compare import compare_group
from segmend.fleet.driver import LocalDriver
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(float(sys.argv[1]), os.killpg, (0, signal.SIGINT)).start()
try:
    list(LocalDriver(2).run(compare_group, [[]] * 40_000))
except KeyboardInterrupt:
    print("pressed")
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.05, 0.3])
def test_a_ctrl_c_at_a_terminal_ends_the_workers_without_a_word(after: float) -> None:
    """It is sent to each process: to the one that workers are forked of while that still imports, too."""
    ran = python("-c", PRESSED, str(after), prefix=["setsid", "--wait"])
    assert (ran.stdout, ran.stderr) == ("pressed\n", "")


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
