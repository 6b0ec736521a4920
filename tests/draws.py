"""Costly tests take turns, day by day; the others are counted, and left for later.

The fast tests have a minute, and leave theirs to CI. CI has a quarter of an hour: it runs whatever takes less
than half a second, and each of the rest on one day of four; `.ci/run whole` leaves none. Which tests are
costly is recorded (`python -m tests.costs`): whatever the load, a day runs the same of them.
"""

import json
import os
import re
import shlex
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Protocol

import pytest

from tests.seeds import NUMBER

COSTS = Path("tests/costs.json")
"""Mean seconds of CPU of a case, by file and test, of all that costs the fast tests much; below the root."""


@dataclass(frozen=True)
class Budget:
    """What a run has for costly tests.

    `cheap`: who takes less (seconds of CPU) always runs; they are most, and most of the branches are theirs.
    `days`: so many days have one turn of each of the others. `left`: what is said of these on the other days.
    """

    cheap: float
    days: int
    left: str


FAST = Budget(cheap=0.02, days=12, left="left to CI")
CI = Budget(cheap=0.5, days=4, left="left to another day")
WHOLE = "SEGMEND_WHOLE"
"""Environment: files in whose text this regular expression is found run whole."""
DAY = 86_400
LONG = 10.0
"""Seconds (of the clock, which a run of tests tells anyway) of a test that had better be recorded."""


class Worker(Protocol):
    """What xdist, which has no types, tells of one."""

    workerinput: dict[str, str]


class Draws:
    """A plug-in of pytest: of the costly tests those whose turn it is this day, and all others."""

    def __init__(self, budget: Budget, seed: str = "") -> None:
        self.budget = budget
        self.seed = seed or os.environ.get(NUMBER) or str(int(time.time()) // DAY)
        self._day = int(self.seed) % budget.days
        self._left: set[str] = set()

    def pytest_report_header(self) -> str:
        """With it the same are drawn on another day, too."""
        turn = f"day {self._day + 1} of {self.budget.days}"
        return f"costly tests take turns: {turn} ({NUMBER}={self.seed}); a file that is named runs whole"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Worker) -> None:
        """All workers draw the same, also at midnight."""
        node.workerinput["draws"] = self.seed

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """See whose turn it is."""
        costs = recorded(config)
        whole = re.compile(os.environ.get(WHOLE) or "(?!)")
        of_file = defaultdict(list)
        for item in items:
            of_file[parts(item.nodeid)[0]].append(item.nodeid)
        for file, found in of_file.items():
            if file in costs and whole.search((config.rootpath / file).read_text()):
                continue
            turns = turns_of(file, found, costs.get(file, {}), self.budget)
            self._left |= {node for node, day in turns.items() if day != self._day}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin none of the others."""
        if item.nodeid in self._left:
            pytest.skip(self.budget.left)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the long ones of which nobody recorded what they cost: they run every day."""
        costs = recorded(terminalreporter.config)
        took: dict[tuple[str, str], float] = defaultdict(float)
        for report in terminalreporter.getreports("passed"):
            file, test = parts(report.nodeid)
            if report.duration > LONG and test not in costs.get(file, {}):
                took[file, test] += report.duration
        if took:
            told = (f"{file}::{test} {seconds:.0f} s" for (file, test), seconds in sorted(took.items()))
            terminalreporter.section("not recorded in tests/costs.json")
            terminalreporter.line("\n".join(told))
            files = shlex.join(sorted({file for file, _ in took}))
            terminalreporter.line(f'python3 bootstrap.py tool python -m tests.costs -m "" {files}')

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """They are counted by themselves: nothing lacks here."""
        left = self.budget.left
        return (left, "", left) if report.skipped and left in str(report.longrepr) else None


def recorded(config: pytest.Config) -> Mapping[str, Mapping[str, float]]:
    """What tests cost, by file and name; of nobody where that was never recorded."""
    rows = config.rootpath / COSTS
    return json.loads(rows.read_text()) if rows.exists() else {}


def turns_of(file: str, nodes: Iterable[str], costs: Mapping[str, float], budget: Budget) -> dict[str, int]:
    """On which day the turn of each costly test of a file is.

    The cases of a test are spread over all days, and the dearest go where least is yet. Nothing but the file
    decides: a test keeps its day, whatever becomes of other files.
    """
    tables = defaultdict(list)
    for node in sorted(nodes):
        if costs.get(test := parts(node)[1], 0) > budget.cheap:
            tables[test].append(node)
    draw = Random(file)
    loads = [draw.random() / 1e6 for _ in range(budget.days)]  # on an empty day, the first is any
    turns = {}
    for test, cases in sorted(tables.items(), key=lambda table: -costs[table[0]]):
        drawn = draw.sample(cases, len(cases))
        for start in range(0, len(drawn), budget.days):
            days = sorted(range(budget.days), key=loads.__getitem__)
            for node, day in zip(drawn[start : start + budget.days], days, strict=False):
                turns[node] = day
                loads[day] += costs[test]
    return turns


def parts(node: str) -> tuple[str, str]:
    """The file of a test, and its name there, without its case and its group."""
    file, _, name = node.partition("::")
    return file, name.partition("[")[0].partition("@")[0]
