"""Run all fast tests, and record which of them are costly, for `tests.draws`: `python -m tests.costs`.

Words are given to pytest: `-m "" tests/spark` runs those of Spark, `-n 4 -m ""` all tests side by side;
rows of tests that did not run stay, as with `SEGMEND_COSTS=true .ci/run`. A loaded
machine takes more CPU for the same, so it had better be quiet.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from statistics import mean

import pytest

from tests.draws import COSTS, FAST, Worker, parts, recorded

TICKS = os.sysconf("SC_CLK_TCK")
RECORDING = "SEGMEND_COSTS"
"""Environment: `conftest.py` gives each process of the run its `Costs`."""


def used() -> float:
    """Seconds of CPU of this process and all that come of it, whether they still run (Spark) or not."""
    took, parent = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        process = int(path.parent.name)
        parent[process] = int(fields[1])
        took[process] = sum(map(int, fields[11:15])) / TICKS  # with what it waited for itself
    return sum(seconds for process, seconds in took.items() if os.getpid() in _above(process, parent))


def _above(process: int, parent: dict[int, int]) -> Iterator[int]:
    while process:
        yield process
        process = parent.get(process, 0)


class Costs:
    """A plug-in of pytest: adds up what the cases of each test take, and writes down who is costly.

    Not what a test leaves behind in the background, as Spark's own scripts do.
    """

    def __init__(self) -> None:
        self._took: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._begun = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """One more case, if it is begun: the day may leave it out."""
        began, self._begun = used(), False
        done = yield
        if self._begun:
            self._took[parts(item.nodeid)].append(used() - began)
        return done

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        """It was not left out."""
        self._begun = True

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Worker) -> None:
        """What a worker saw."""
        for file, test, took in getattr(node, "workeroutput", {}).get(RECORDING, ()):
            self._took[file, test] += took

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """All of them, in the order in which one looks for them, without those that are no longer there."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[RECORDING] = [[*test, took] for test, took in self._took.items()]
            return
        rows = {
            (file, test): cost
            for file, tests in recorded(session.config).items()
            for test, cost in tests.items()
        }
        rows |= {test: round(mean(took), 3) for test, took in self._took.items()}
        files: dict[str, dict[str, float]] = defaultdict(dict)
        for (file, test), cost in sorted(rows.items()):
            if cost > FAST.cheap and is_there(session.config.rootpath / file, test):
                files[file][test] = cost
        (session.config.rootpath / COSTS).write_text(json.dumps(files, indent=1) + "\n")


def is_there(file: Path, test: str) -> bool:
    """Whether the file has a test of that name."""
    return file.exists() and f"def {test.rpartition('::')[2]}(" in file.read_text()


if __name__ == "__main__":
    os.environ[RECORDING] = "true"
    sys.exit(pytest.main(["-q", *(sys.argv[1:] or ["tests"])]))
