"""The fast tests draw cases of a costly table: what is left of it is counted, and CI runs all of it."""

import os
import resource
import time
from collections import defaultdict
from collections.abc import Generator
from random import Random
from statistics import median
from typing import Protocol

import pytest

from tests.seeds import NUMBER

ENOUGH = 0.1
"""Seconds of CPU for the cases of a costly table; then no more are begun."""
CHEAP = 0.025
"""A table half of whose cases take less is run whole: most of them have one for each branch."""
SOME = 30
"""One in so many cases is run before a table is said to be costly: the first one makes what they share."""
LEFT = "left to CI"
DAY = 86_400


def used() -> float:
    """Seconds of CPU of this process, and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Worker(Protocol):
    """What xdist, which has no types, tells of one."""

    workerinput: dict[str, str]


class Draws:
    """A plug-in of pytest: cases in an order drawn by the day, and no more once a table took enough."""

    def __init__(self, seed: str = "") -> None:
        self.seed = seed or os.environ.get(NUMBER) or str(int(time.time()) // DAY)
        self._took: dict[str, list[float]] = defaultdict(list)
        self._cases: dict[str, int] = {}
        self._full: set[str] = set()

    def pytest_report_header(self) -> str:
        """With it the same cases come first, on another day, too."""
        return f"of costly tables cases are drawn ({NUMBER}={self.seed}); a file that is named runs whole"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Worker) -> None:
        """All workers draw the same, also at midnight."""
        node.workerinput["draws"] = self.seed

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Deal the cases of each table anew to the places that they have."""
        tables = defaultdict(list)
        for place, item in enumerate(items):
            tables[table(item)].append(place)
        self._cases = {name: len(places) for name, places in tables.items()}
        for name, places in tables.items():
            drawn = Random(f"{self.seed} {name}").sample([items[place] for place in places], len(places))
            for place, item in zip(places, drawn, strict=True):
                items[place] = item

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Add up what its cases take."""
        name, began = table(item), used()
        done = yield
        if name not in self._full:
            took = self._took[name]
            took.append(used() - began)
            if len(took) * SOME >= self._cases[name] and sum(took) > ENOUGH and median(took) > CHEAP:
                self._full.add(name)
        return done

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin no more of them."""
        if table(item) in self._full:
            pytest.skip(LEFT)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """They are counted by themselves: nothing lacks here."""
        return (LEFT, "", LEFT) if report.skipped and LEFT in str(report.longrepr) else None


def table(item: pytest.Item) -> str:
    """The test of which this is a case."""
    return item.nodeid.partition("[")[0]
