"""What `conftest.py` does to a run: a group runs in one worker; CI skips nothing, and leaves what it says."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.costs import is_there
from tests.draws import CI, COSTS, FAST, WHOLE, Budget, turns_of

ROOT = Path(__file__).parents[1]
SKIPPING = """
import pytest

@pytest.fixture
def tool():
    pytest.skip("no tool here")

def test_by_a_fixture(tool): pass
@pytest.mark.skipif(True, reason="no kernel")
def test_by_a_mark(): pass
def test_by_an_import(): pytest.importorskip("nobody_has_this")
@pytest.mark.skipif(True, reason="only root can")
def test_of_root(): pass
"""

TABLES = """
import pytest

@pytest.mark.parametrize("case", range(24))
def test_costly(case): pass

@pytest.mark.parametrize("case", range(40))
def test_cheap(case): pass
"""


def pytest_told(*arguments: str, cwd: Path = ROOT, **environment: str) -> str:
    """What a run of its own prints."""
    inherited = {name: it for name, it in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=cwd, env=inherited | environment, capture_output=True, text=True, check=False
    ).stdout


def run_of_tables(folder: Path, costs: dict[str, float], *words: str, **environment: str) -> str:
    """The last line of a run of a file of tests that cost so much."""
    make_tables(folder, costs)
    return pytest_told(*words, cwd=folder, **environment).splitlines()[-1]


def make_tables(folder: Path, costs: dict[str, float]) -> None:
    """A file of tests that cost so much, and how to run it."""
    (folder / "test_tables.py").write_text(TABLES)
    (folder / "tests").mkdir()
    (folder / COSTS).write_text(json.dumps({"test_tables.py": costs}))
    (folder / "pytest.ini").write_text(
        "[pytest]\ntestpaths = .\nmarkers = slow\naddopts = -p tests.conftest -m 'not slow'\n"
    )


@pytest.mark.slow
def test_a_group_runs_in_one_worker() -> None:
    told = pytest_told("-n", "2", "-m", "", "tests/test_tidy.py", "-k", "the_net_for_changes")
    ran = re.findall(r"\[(gw\d)\].* PASSED ", told)
    assert len(ran) > 3, told
    assert len(set(ran)) == 1, told


@pytest.mark.slow
@pytest.mark.parametrize("ci", ["true", ""])
def test_what_is_skipped_elsewhere_fails_in_ci(ci: str, tmp_path: Path) -> None:
    (tmp_path / "test_fixture.py").write_text(SKIPPING)
    (tmp_path / "test_module.py").write_text("import pytest\npytest.importorskip('nobody_has_this')\n")
    here = "-p", "tests.conftest", "--rootdir", str(tmp_path), str(tmp_path)
    told = pytest_told("--continue-on-collection-errors", *here, CI=ci)
    of_ci = "1 failed, 4 errors" if os.geteuid() == 0 else "1 failed, 1 skipped, 3 errors"
    assert (of_ci if ci else "5 skipped") in told, told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "42 passed, 22 left to CI"),
        (("-n", "2", "--dist", "loadfile"), "42 passed, 22 left to CI"),
        (("-m", ""), "64 passed"),
        (("-n", "2", "-m", ""), "64 passed"),
        (("test_tables.py",), "64 passed"),
        (("-n", "2", "test_tables.py"), "64 passed"),
        (("-k", "costly"), "24 passed"),
    ],
)
def test_only_the_fast_tests_as_a_whole_leave_cases_to_ci(
    words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    assert told in run_of_tables(tmp_path, {"test_costly": 2 * FAST.cheap}, *words, CI="")


@pytest.mark.parametrize("budget", [FAST, CI])
def test_each_costly_test_has_its_turn_once_and_each_day_as_much(budget: Budget) -> None:
    story, cheap = "f.py::story", "f.py::cheap"
    table = [f"f.py::table[{number}]" for number in range(3 * budget.days)]
    others = [f"f.py::other[{number}]@a group" for number in range(budget.days - 1)]
    costs = {
        "table": 2 * budget.cheap,
        "other": 3 * budget.cheap,
        "story": 3 * budget.cheap,
        "cheap": budget.cheap,
    }
    turns = turns_of("f.py", [story, cheap, *table, *others], costs, budget)
    assert turns == turns_of("f.py", [*reversed(others), *table, cheap, story], costs, budget)
    assert turns.keys() == {story, *table, *others}
    assert Counter(turns[node] for node in table) == dict.fromkeys(range(budget.days), 3)
    assert Counter(turns[node] for node in (story, *others)) == dict.fromkeys(range(budget.days), 1)


def test_files_begin_on_different_days() -> None:
    days = (turns_of(f"{file}.py", [f"{file}.py::story"], {"story": 9}, CI) for file in range(40))
    assert {day for turns in days for day in turns.values()} == {*range(CI.days)}


def test_what_is_recorded_as_costly_is_there() -> None:
    for file, tests in json.loads((ROOT / COSTS).read_text()).items():
        assert [test for test in tests if not is_there(ROOT / file, test)] == [], file
        assert min(tests.values()) >= FAST.cheap


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "environment", "told"),
    [
        ((), {}, "46 passed, 18 left to another day"),
        (("-n", "2"), {}, "46 passed, 18 left to another day"),
        ((), {WHOLE: "."}, "64 passed"),
        (("test_tables.py",), {}, "64 passed"),
    ],
)
def test_in_ci_costly_tests_take_turns(
    words: tuple[str, ...], environment: dict[str, str], told: str, tmp_path: Path
) -> None:
    costs = {"test_costly": 2 * CI.cheap, "test_cheap": CI.cheap / 2}
    assert told in run_of_tables(tmp_path, costs, "-m", "", *words, CI="true", **environment)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_of_a_long_test_it_is_told_that_nobody_recorded_what_it_costs(workers: str, tmp_path: Path) -> None:
    make_tables(tmp_path, {"test_costly": 0.0})
    (tmp_path / "conftest.py").write_text("import tests.draws\n\ntests.draws.LONG = -1.0\n")
    told = pytest_told("-n", workers, "-m", "", cwd=tmp_path, CI="true")
    assert re.findall(r"^(test_tables.py::\w+) \d+ s$", told, re.MULTILINE) == ["test_tables.py::test_cheap"]
    assert '-m "" test_tables.py' in told
