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
from segmend.fleet.bundle import bundle_name, keep_newest, kept_bundle


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


def test_of_the_archives_in_the_cache_those_that_are_in_use_stay(tmp_path: Path) -> None:
    """Another Python's session dropped the one that executors of ours had yet to come for."""
    for age, name in enumerate("abcd"):
        (tmp_path / f"segmend-workers-{name}.tar.gz").touch()
        os.utime(tmp_path / f"segmend-workers-{name}.tar.gz", (1e9 - age, 1e9 - age))
    (tmp_path / "java17.jsa").touch()
    keep_newest(tmp_path)
    left = [f"segmend-workers-{name}.tar.gz" for name in "abc"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["java17.jsa", *left]


def test_an_archive_that_is_used_is_the_newest(tmp_path: Path) -> None:
    ours = tmp_path / bundle_name()
    for age, name in enumerate(("x", "y", "z")):
        (tmp_path / f"segmend-workers-{name}.tar.gz").touch()
        os.utime(tmp_path / f"segmend-workers-{name}.tar.gz", (1e9 - age, 1e9 - age))
    ours.write_bytes(b"made before")
    os.utime(ours, (1e8, 1e8))
    assert kept_bundle(tmp_path) == ours
    keep_newest(tmp_path)
    assert ours.read_bytes() == b"made before"


def test_what_was_half_packed_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once with Ctrl-C; with the next one where its writer was killed."""
    killed, written = (tmp_path / f"segmend-workers-a.tar.gz.{each}.new" for each in (4711, 4712))
    for half in (killed, written):
        half.touch()
    os.utime(killed, (1e9, 1e9))

    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tarfile.TarFile, "add", pressed)
        with pytest.raises(KeyboardInterrupt):
            kept_bundle(tmp_path)
    assert {*tmp_path.iterdir()} == {killed, written}
    keep_newest(tmp_path)
    assert [*tmp_path.iterdir()] == [written]


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
