"""What a killed run left in memory goes with the next; what others use stays."""

import getpass
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import one_in
from tests.memory import MADE, prefix, remove_leftovers


@pytest.fixture
def dead() -> int:
    """The number of a process that is no more."""
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()
    return ended.pid


@pytest.fixture
def living() -> Iterator[int]:
    """That of another one which still runs."""
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def test_what_dead_processes_left_goes(tmp_path: Path, dead: int, living: int) -> None:
    ours = tmp_path / f"pytest-of-{getpass.getuser()}"
    for name in ("segmend-story-{}-ab_d1xyz", "segmend-learnt-{}", "notes-{}-ab_d1xyz", "segmend-{}"):
        for maker in (dead, living):
            (tmp_path / name.format(maker) / "b1").mkdir(parents=True)
    (tmp_path / f"segmend-story-{dead}-ab_d1xyz" / "b1").chmod(0)
    for maker in (dead, living):
        (ours / f"pytest-{maker}").mkdir(parents=True)
        (ours / f"pytest-{maker}" / ".lock").write_text(str(maker))
    (ours / "pytest-failed").mkdir()  # its run has ended: pytest removes it in its turn
    before = {path.name for path in (*tmp_path.iterdir(), *ours.iterdir())}
    remove_leftovers(tmp_path)
    gone = before - {path.name for path in (*tmp_path.iterdir(), *ours.iterdir())}
    assert gone == {f"segmend-story-{dead}-ab_d1xyz", f"segmend-learnt-{dead}", f"pytest-{dead}"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_those_of_other_users_stay(tmp_path: Path, dead: int) -> None:
    theirs = tmp_path / f"segmend-story-{dead}-ab_d1xyz"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    remove_leftovers(tmp_path)
    assert theirs.is_dir()


@pytest.mark.parametrize("workers", one_in(2, ["0", "2"]))
def test_no_place_for_files_is_told_in_a_line(workers: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", workers, "--basetemp", "/proc/x", __file__]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert ran.stderr.strip() == (
        "ERROR: no place for the files of tests: [Errno 2] No such file or directory: '/proc/x'"
    )
    assert "INTERNALERROR" not in ran.stdout


def test_a_name_tells_whose_it_is() -> None:
    match = MADE.fullmatch(prefix("story") + "ab_d1xyz")
    assert match is not None
    assert int(match[1]) == os.getpid()
