"""Of costly tests each file runs a few, drawn by the day; the others are counted, and left for later.

The fast tests have a minute, and leave theirs to CI. CI has a quarter of an hour: it runs whatever takes less
than a second, and of the rest a third; `.ci/run whole` draws nothing. Which tests are costly is recorded
(`python -m tests.costs`): whatever the load, a day runs the same of them.
"""

import json
import os
import re
import shlex
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Protocol

import pytest

from tests.seeds import NUMBER

COSTS = Path("tests/costs.json")
"""Mean seconds of CPU of a case, by file and test, of all that costs the fast tests much; below the root."""


@dataclass(frozen=True)
class Budget:
    """What a run has for costly tests, in seconds of CPU.

    `cheap`: who takes less always runs; they are most, and most of the branches are theirs. `share`: what a
    file has; one of its tests that takes more has its turn on fewer days. `part`: what a file has at least of
    all that its costly tests take. `left`: what is said of the others.
    """

    cheap: float
    share: float
    part: float
    left: str


FAST = Budget(cheap=0.02, share=0.05, part=0.05, left="left to CI")
CI = Budget(cheap=1.0, share=2.0, part=1 / 3, left="left to another day")
WHOLE = "SEGMEND_WHOLE"
"""Environment: files in whose text this regular expression is found run whole."""
DAY = 86_400
LONG = 10.0
"""Seconds (of the clock, which a run of tests tells anyway) of a test that had better be recorded."""


class Worker(Protocol):
    """What xdist, which has no types, tells of one."""

    workerinput: dict[str, str]


class Draws:
    """A plug-in of pytest: of the costly tests of each file those that the day draws, and all others."""

    def __init__(self, budget: Budget, seed: str = "") -> None:
        self.budget = budget
        self.seed = seed or os.environ.get(NUMBER) or str(int(time.time()) // DAY)
        self._left: set[str] = set()

    def pytest_report_header(self) -> str:
        """With it the same are drawn on another day, too."""
        return f"of costly tests some are drawn ({NUMBER}={self.seed}); a file that is named runs whole"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Worker) -> None:
        """All workers draw the same, also at midnight."""
        node.workerinput["draws"] = self.seed

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Draw."""
        costs = recorded(config)
        whole = re.compile(os.environ.get(WHOLE) or "(?!)")
        of_file = defaultdict(list)
        for item in items:
            of_file[parts(item.nodeid)[0]].append(item.nodeid)
        for file, found in of_file.items():
            if file in costs and whole.search((config.rootpath / file).read_text()):
                continue
            self._left |= {*left(found, costs.get(file, {}), Random(f"{self.seed} {file}"), self.budget)}

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


def left(nodes: Sequence[str], costs: Mapping[str, float], draw: Random, budget: Budget) -> Iterator[str]:
    """What of a file's tests is not begun: a case of each test comes before the second one of any."""
    tables = defaultdict(list)
    for node in nodes:
        if costs.get(test := parts(node)[1], 0) > budget.cheap:
            tables[test].append((costs[test], node))
    drawn = [draw.sample(cases, len(cases)) for cases in tables.values()]
    draw.shuffle(drawn)
    share = max(budget.share, budget.part * sum(cost for cases in drawn for cost, _ in cases))
    took = 0.0
    for cost, node in (case for row in zip_longest(*drawn) for case in row if case is not None):
        if took + cost <= share or (not took and draw.random() < share / cost):
            took += cost
        else:
            yield node


def parts(node: str) -> tuple[str, str]:
    """The file of a test, and its name there, without its case and its group."""
    file, _, name = node.partition("::")
    return file, name.partition("[")[0].partition("@")[0]
