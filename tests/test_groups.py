"""What `conftest.py` does to a run: a group runs in one worker; CI skips nothing, and draws what it says."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.costs import is_there
from tests.draws import CI, COSTS, FAST, WHOLE, Budget, left

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

@pytest.mark.parametrize("case", range(9))
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
        ((), "41 passed, 8 left to CI"),
        (("-n", "2", "--dist", "loadfile"), "41 passed, 8 left to CI"),
        (("-m", ""), "49 passed"),
        (("-n", "2", "-m", ""), "49 passed"),
        (("test_tables.py",), "49 passed"),
        (("-n", "2", "test_tables.py"), "49 passed"),
        (("-k", "costly"), "9 passed"),
    ],
)
def test_only_the_fast_tests_as_a_whole_leave_cases_to_ci(
    words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    assert told in run_of_tables(tmp_path, {"test_costly": 0.6 * FAST.share}, *words, CI="")


def test_of_each_costly_test_a_case_comes_before_the_second_of_any() -> None:
    budget = replace(FAST, cheap=0.0)
    costs = {"table": FAST.share / 4, "other": FAST.share / 4, "story": 3 * FAST.share}
    other, story, cheap = "f.py::other@a group", "f.py::story", "f.py::cheap"
    table = [f"f.py::table[{number}]" for number in range(9)]
    seen = set()
    for seed in range(60):
        gone = {*left([story, other, cheap, *table], costs, Random(str(seed)), budget)}
        begun = {story, other, cheap, *table} - gone
        assert cheap in begun
        assert len(begun) == (2 if story in begun else 5)
        assert other in begun or len(begun & {*table}) < 2
        seen |= begun
    assert seen == {story, other, cheap, *table}


def test_what_is_recorded_as_costly_is_there() -> None:
    for file, tests in json.loads((ROOT / COSTS).read_text()).items():
        assert [test for test in tests if not is_there(ROOT / file, test)] == [], file
        assert min(tests.values()) >= FAST.cheap


@pytest.mark.parametrize("budget", [FAST, CI])
def test_a_large_table_has_a_part_of_all_that_it_takes(budget: Budget) -> None:
    table = [f"f.py::table[{number}]" for number in range(400)]
    gone = {*left(table, {"table": 1.1 * budget.cheap}, Random(1), budget)}
    assert 0.9 * budget.part < (len(table) - len(gone)) / len(table) <= budget.part


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "environment", "told"),
    [
        ((), {}, "43 passed, 6 left to another day"),
        (("-n", "2"), {}, "43 passed, 6 left to another day"),
        ((), {WHOLE: "."}, "49 passed"),
        (("test_tables.py",), {}, "49 passed"),
    ],
)
def test_ci_draws_of_what_takes_more_than_a_second(
    words: tuple[str, ...], environment: dict[str, str], told: str, tmp_path: Path
) -> None:
    costs = {"test_costly": CI.share, "test_cheap": CI.cheap / 2}
    assert told in run_of_tables(tmp_path, costs, "-m", "", *words, CI="true", **environment)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_of_a_long_test_it_is_told_that_nobody_recorded_what_it_costs(workers: str, tmp_path: Path) -> None:
    make_tables(tmp_path, {"test_costly": 0.0})
    (tmp_path / "conftest.py").write_text("import tests.draws\n\ntests.draws.LONG = -1.0\n")
    told = pytest_told("-n", workers, "-m", "", cwd=tmp_path, CI="true")
    assert re.findall(r"^(test_tables.py::\w+) \d+ s$", told, re.MULTILINE) == ["test_tables.py::test_cheap"]
    assert '-m "" test_tables.py' in told
