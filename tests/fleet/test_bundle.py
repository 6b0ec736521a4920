"""The archive for workers has all that a task imports."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from tests.cli.run import run

from segmend.cli.main import main
from segmend.errors import ExitCode
from segmend.fleet.bundle import keep_newest


@pytest.mark.slow
def test_a_python_with_nothing_but_the_archive_runs_a_task(tmp_path: Path) -> None:
    archive = tmp_path / "workers.tar.gz"
    assert main(["fleet", "pack", "-o", str(archive)]) == ExitCode.NOTHING_WRONG
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "there", filter="data")
    modules = "segmend.fleet.tables, segmend.fleet.object_store, segmend.kernel.engine as kernel"
    program = f"import {modules}; print(kernel.ENGINE.name)"
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(tmp_path / "there")}, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "native", done.stderr


def test_of_the_archives_in_the_cache_the_newest_stays(tmp_path: Path) -> None:
    for age, name in enumerate(("segmend-workers-b.tar.gz", "segmend-workers-a.tar.gz", "java17.jsa")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    keep_newest(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["java17.jsa", "segmend-workers-b.tar.gz"]


@pytest.mark.parametrize("there", ["pipe", "text", ""])
def test_nothing_but_an_archive_gives_way_to_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    """It is renamed into its place: /dev/null became a file that filled up."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("text").write_text("mine")
    ran = run("fleet", "pack", "-o", there, code=16)
    assert ran.err.startswith("segmend: -o"), ran.err
    assert Path("pipe").is_fifo()
    assert Path("text").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_name_that_is_too_long_is_a_line(tmp_path: Path) -> None:
    assert run("fleet", "pack", "-o", tmp_path / ("x" * 300), code=8).err.count("\n") == 1
