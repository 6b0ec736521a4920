"""The archive for workers has all that a task imports."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

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
