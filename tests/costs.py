"""Run all fast tests, and record which of them are costly, for `tests.draws`: `python -m tests.costs`.

Words are given to pytest: `-m "" tests/spark` runs those of Spark; rows of tests that did not run stay. In
one process; a loaded machine takes more CPU for the same, so it had better be quiet.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from statistics import mean

import pytest

from tests.draws import COSTS, FAST, parts

TICKS = os.sysconf("SC_CLK_TCK")


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
    """A plug-in of pytest: adds up what the cases of each test take, and writes down who is costly."""

    def __init__(self) -> None:
        self._took: dict[tuple[str, str], list[float]] = defaultdict(list)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """One more case."""
        began = used()
        done = yield
        self._took[parts(item.nodeid)].append(used() - began)
        return done

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """All of them, in the order in which one looks for them, without those that are no longer there."""
        recorded = session.config.rootpath / COSTS
        rows = {
            (file, test): cost
            for file, tests in json.loads(recorded.read_text()).items()
            for test, cost in tests.items()
        }
        rows |= {test: round(mean(took), 3) for test, took in self._took.items()}
        files: dict[str, dict[str, float]] = defaultdict(dict)
        for (file, test), cost in sorted(rows.items()):
            if cost > FAST.cheap and is_there(session.config.rootpath / file, test):
                files[file][test] = cost
        recorded.write_text(json.dumps(files, indent=1) + "\n")


def is_there(file: Path, test: str) -> bool:
    """Whether the file has a test of that name."""
    return file.exists() and f"def {test.rpartition('::')[2]}(" in file.read_text()


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", *(sys.argv[1:] or ["tests"])], plugins=[Costs()]))
