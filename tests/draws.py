"""The fast tests draw a few of the costly ones of each file by the day; the rest is counted, and left to CI.

Which ones are costly is recorded (`python -m tests.costs`): whatever the load, a day runs the same of them.
"""

import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Protocol

import pytest

from tests.seeds import NUMBER

COSTS = Path("tests/costs.json")
"""Mean seconds of CPU of a case, by file and test, of all that take more than `CHEAP`; below the root."""
CHEAP = 0.02
"""Seconds of CPU: who takes less always runs. They are most, and most of the branches are theirs."""
SHARE = 0.05
"""Seconds of CPU of a file for its costly tests; one that takes more has its turn on fewer days."""
PART = 0.05
"""What a file has at least of all that its costly tests take: of a large table one case in twenty."""
WHOLE = "SEGMEND_WHOLE"
"""Environment: files in whose text this regular expression is found run whole."""
LEFT = "left to CI"
DAY = 86_400


class Worker(Protocol):
    """What xdist, which has no types, tells of one."""

    workerinput: dict[str, str]


class Draws:
    """A plug-in of pytest: of the costly tests of each file those that the day draws, and all others."""

    def __init__(self, seed: str = "") -> None:
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
        recorded = config.rootpath / COSTS
        costs = json.loads(recorded.read_text()) if recorded.exists() else {}
        whole = re.compile(os.environ.get(WHOLE) or "(?!)")
        of_file = defaultdict(list)
        for item in items:
            of_file[parts(item.nodeid)[0]].append(item.nodeid)
        for file, found in of_file.items():
            if file in costs and whole.search((config.rootpath / file).read_text()):
                continue
            self._left |= {*left(found, costs.get(file, {}), Random(f"{self.seed} {file}"))}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin none of the others."""
        if item.nodeid in self._left:
            pytest.skip(LEFT)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """They are counted by themselves: nothing lacks here."""
        return (LEFT, "", LEFT) if report.skipped and LEFT in str(report.longrepr) else None


def left(nodes: Sequence[str], costs: Mapping[str, float], draw: Random) -> Iterator[str]:
    """What of a file's tests is not begun: a case of each test comes before the second one of any."""
    tables = defaultdict(list)
    for node in nodes:
        if (test := parts(node)[1]) in costs:
            tables[test].append((costs[test], node))
    drawn = [draw.sample(cases, len(cases)) for cases in tables.values()]
    draw.shuffle(drawn)
    share = max(SHARE, PART * sum(cost for cases in drawn for cost, _ in cases))
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
