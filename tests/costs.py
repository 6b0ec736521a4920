"""`python -m tests.costs`: run all fast tests, and record which of them are costly, for `tests.draws`.

In one process; a loaded machine takes more CPU for the same, so it had better be quiet.
"""

import json
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from statistics import mean

import pytest

from tests.draws import CHEAP, COSTS, parts


def used() -> float:
    """Seconds of CPU of this process, and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


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
        """All of them, in the order in which one looks for them."""
        files: dict[str, dict[str, float]] = defaultdict(dict)
        for (file, test), took in sorted(self._took.items()):
            if mean(took) > CHEAP:
                files[file][test] = round(mean(took), 3)
        (session.config.rootpath / COSTS).write_text(json.dumps(files, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", "tests"], plugins=[Costs()]))
