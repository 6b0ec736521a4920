"""What all tests share: golden log directories, unpacked once a run whatever the number of workers."""

import functools
import gc
import json
import lzma
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from segmend.cli import stopped_surgery
from tests.costs import RECORDING, Costs
from tests.draws import CI, FAST, Draws
from tests.golden.shared import GOLDEN, Shared, written
from tests.memory import MEMORY, another_disk, has_room, prefix, remove_leftovers, swift
from tests.removal import remove
from tests.surgery.trials import nobody_else

SHARED = ("spark", "browser")
"""What is started once for all its tests, which therefore run in one worker."""
LIVE = ("spark", "broker", "browser")
"""They wait for processes of others, one of which is late once in a while. See `pytest_terminal_summary`."""
LONG = ("spark", "broker", "xdist_group", "browser", "slow")
QUICK = frozenset({"0.8.2.2-killed", "4.3.1-killed"})

# No test is late: hypothesis gives each example 200 ms by default, and a busy machine takes longer.
settings.register_profile("all", deadline=None)
settings.register_profile("few", deadline=None, max_examples=20)

# Without compiled files each worker, and each command that a test starts, compiles the whole source anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# OpenBLAS has its threads wait busily at the start of each process that imports numpy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Spark's workers unpickle functions of test modules, so they too must find `tests`.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(GOLDEN.parents[1]), os.environ.get("PYTHONPATH")])
)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """With workers, tests of one group run in one of them: `-n 2` alone would deal them out to all.

    No file of fast tests takes long: all of one run in one, which makes once what they share.
    """
    if config.option.numprocesses and config.option.dist == "no":
        config.option.dist = "loadfile" if without_slow(config) else "loadgroup"


def without_slow(config: pytest.Config) -> bool:
    """Whether only the fast tests run; `-m "slow or not slow"` are all of them."""
    return re.search("(?<!slow or )not slow", config.option.markexpr) is not None


def pytest_configure(config: pytest.Config) -> None:
    """The fast tests take few examples; all have their files in memory if it has room.

    On ext4 each new file has to look past those that went a moment ago, and each sync waits for the disk.
    """
    if not hasattr(config, "workerinput"):
        for place in (MEMORY, Path("/var/tmp")):
            remove_leftovers(place)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A job that a shell began with `&` ignores Ctrl-C, and so would every command that a test starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile("few" if without_slow(config) else "all")
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.keyword
    budget = FAST if without_slow(config) else CI if os.environ.get("CI") == "true" else None
    if drawn := budget and (getattr(config, "workerinput", {}).get("draws", "") or whole):
        config.pluginmanager.register(Draws(budget, "" if drawn is True else drawn))
    if os.environ.get(RECORDING):
        config.pluginmanager.register(Costs())
        if hasattr(config, "workerinput") or not config.option.numprocesses:
            del os.environ[RECORDING]  # tests start runs of their own
    chosen = config.option.basetemp or os.environ.get("TMPDIR") or os.environ.get("PYTEST_DEBUG_TEMPROOT")
    if not chosen and not hasattr(config, "workerinput") and has_room():
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Where no files can be made, it is said once, and not by each worker and test."""
    try:
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    except OSError as error:
        raise pytest.UsageError(f"no place for the files of tests: {error}") from error


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """What lies in memory goes at once, unless someone will want to look at it."""
    folder = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    if exitstatus == 0 and not hasattr(session.config, "workerinput") and MEMORY in folder.parents:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> list[pytest.Item] | None:
    """No cases are made of what would be deselected with all of them: a third of all cases."""
    expression = collector.config.option.markexpr
    if not name.startswith("test_") or not re.fullmatch(r"not \w+( and not \w+)*", expression):
        return None
    marks = {mark.name for mark in [*getattr(obj, "pytestmark", ()), *collector.iter_markers()]}
    return [] if marks & {*re.findall(r"not (\w+)", expression)} else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes longest comes first, so that no worker ends long before the other; Spark starts in one.

    Samples go where that of which they are one runs.
    """
    marks = {item: {mark.name for mark in item.iter_markers()} for item in items}
    if not config.option.markexpr:
        samples = {item for item in items if "sample" in marks[item]}
        config.hook.pytest_deselected(items=samples)
        items[:] = [item for item in items if item not in samples]

    def place(item: pytest.Item) -> int:
        return next((n for n, mark in enumerate(LONG) if mark in marks[item]), len(LONG))

    for item in items:
        if not marks[item].isdisjoint(LIVE):
            item.add_marker(pytest.mark.flaky(reruns=1))
        shared = next((mark for mark in SHARED if mark in marks[item]), None)
        # Of two groups xdist makes a third: a test that has its own stays there.
        if shared is not None and "xdist_group" not in marks[item]:
            item.add_marker(pytest.mark.xdist_group(shared))
            marks[item].add("xdist_group")
        # xdist 3.8 adds the group to a field that pytest 9.2 no longer reads (pytest-xdist issue 1386).
        if "xdist_group" in marks[item] and hasattr(config, "workerinput"):
            group = item.get_closest_marker("xdist_group")
            assert group is not None
            item._id = type(item.id).parse(f"{item.nodeid}@{group.args[0]}")
    items.sort(key=place)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    return _nothing_lacks((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    return _nothing_lacks((yield))


def _nothing_lacks(report: Any) -> Any:
    """A machine may lack something, and what needs it is skipped; CI may lack nothing but root."""
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1]
        if CI.left not in reason and (os.geteuid() == 0 or "only root" not in reason):
            report.outcome, report.longrepr = "failed", f"CI must not skip this: {reason}"
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """A live test gets a second go, but never in silence: why it failed at first is shown."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.write_sep("=", f"failed at first: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext[-4000:])


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay until the end: the collector need not look at them each time.

    Nor after each 700 new objects: one test parses the whole source.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


def golden_names() -> list[str]:
    """Every golden directory, by the name of its archive."""
    return sorted(path.name.removesuffix(".tar.xz") for path in GOLDEN.glob("*.tar.xz"))


def golden_params(names: Iterable[str] = ()) -> list[Any]:
    """These golden directories (all, by default) for a test that reads every byte of them.

    The fast tests take the killed ones, which hold more, of the oldest and the newest formats; CI takes all.
    """
    return [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in names or golden_names()
    ]


def examples(most: int, few: int = 0, **options: Any) -> settings:
    """So many examples of hypothesis; in the fast tests `few`, or a fifth."""
    fast = settings.default.max_examples < 100
    return settings(max_examples=(few or max(most // 5, 10)) if fast else most, **options)


def one_in(count: int, values: Iterable[Any]) -> list[Any]:
    """These values for a test of which the fast tests run every `count`-th case, and CI runs all."""
    return [
        value if number % count == 0 else pytest.param(value, marks=pytest.mark.slow)
        for number, value in enumerate(values)
    ]


@pytest.fixture(scope="session")
def all_cases(pytestconfig: pytest.Config) -> bool:
    """Whether a test with many cases takes all of them: it does where slow tests run, too."""
    return not without_slow(pytestconfig)


@pytest.fixture
def no_other_processes() -> Iterator[None]:
    with nobody_else():
        yield


@pytest.fixture(scope="session", autouse=True)
def goldens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A place for the golden directories, and whether somebody wrote into them."""
    base = tmp_path_factory.getbasetemp()
    Shared.root = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "golden"
    Shared.root.mkdir(exist_ok=True)
    yield
    assert written() == [], "a test wrote into the golden directories that all share"


@pytest.fixture(scope="session", autouse=True)
def nobody_elses_journals() -> Iterator[None]:
    """What others of this machine were stopped in, or whether their journals may be read, is no test's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stopped_surgery, "usual_state_dir", lambda _uid: None)
        yield


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """Without the link to it that pytest leaves for ever: each command looks at all there is above it."""
    tmp_path.with_name(f"{tmp_path.name[:-1]}current").unlink(missing_ok=True)
    return tmp_path


@pytest.fixture
def swift_path(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory, if that can be."""
    with swift(tmp_path) as folder:
        yield folder


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A directory on another file system."""
    other = another_disk(tmp_path)
    if other is None:
        pytest.skip("no second file system to write to")
    place = Path(tempfile.mkdtemp(prefix=prefix("elsewhere"), dir=other))
    yield place
    remove(place)


@functools.cache
def expected(name: str) -> dict[str, Any]:
    """What the broker itself said of a golden directory."""
    with lzma.open(GOLDEN / f"{name}.expected.json.xz") as file:
        content: dict[str, Any] = json.load(file)
    return content
