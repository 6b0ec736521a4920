"""`forecast --as-user`, and what segmend itself may not read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.cli.run import as_one_who_may_not, python, run
from tests.faults.written import SECOND_ID, two_dirs

OTHER = str(os.getuid() + 4711)


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    """A node's two log dirs, and the metadata that puts the partitions there."""
    found = two_dirs(tmp_path)
    topics = metadata.cluster(["t", "u", "v"], directory_ids=[build.DIRECTORY_ID, SECOND_ID])
    metadata.write_metadata(found[0], topics)
    return found


def test_the_owner_of_most_files_is_assumed(dirs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "forecast", *dirs, "--json", "--kafka", "4.3.1")
    assert ran.code == 0
    assert any(f"({os.getuid()}:" in each and "--as-user" in each for each in ran.json[-1]["assumed"])


def test_another_user_may_not_write_there(dirs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "forecast", *dirs, "--json", "--kafka", "4.3.1", "--as-user", OTHER)
    assert ran.code == 4
    assert (ran.json[-1]["type"], ran.json[-1]["outcome"]) == ("broker", "refuses")
    assert not any("--as-user" in each for each in ran.json[-1]["assumed"])


def test_the_log_dirs_of_the_configuration(
    dirs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / "server.properties"
    given.write_text(f"node.id=1\nlog.dirs={dirs[0]},{dirs[1]}\n")
    named = run(capsys, "forecast", *dirs, "--config", given, "--json", "--kafka", "4.3.1").json
    read = run(capsys, "forecast", "--config", given, "--json", "--kafka", "4.3.1").json
    assert named[:-1] == read[:-1]
    given.write_text(f"node.id=1\nlog.dirs={dirs[0]},,{dirs[1]}\n")
    refused = run(capsys, "forecast", "--config", given, "--json", "--kafka", "4.3.1").json[-1]
    assert "must not be empty" in refused["reason"]
    older = run(capsys, "forecast", "--config", given, "--json", "--kafka", "4.1").json[-1]
    assert "must not be empty" not in (older["reason"] or "")


def test_a_log_dir_of_the_configuration_that_was_not_given(
    dirs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / "server.properties"
    given.write_text(f"node.id=1\nlog.dirs={dirs[0]},{dirs[1]}\n")
    ran = run(capsys, "forecast", dirs[0], "--config", given, "--json", "--kafka", "4.3.1")
    assert ran.code == 4
    assert any(str(dirs[1]) in each for each in ran.json[-1]["unknown"])


def test_without_a_dir_and_a_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "forecast").code == 16


@pytest.mark.parametrize("which", ["dir", "partition", "file"])
def test_what_segmend_may_not_read_is_not_known(dirs: list[Path], which: str) -> None:
    closed = {"dir": dirs[1], "partition": dirs[1] / "u-0", "file": dirs[0] / "meta.properties"}[which]
    if which == "partition":
        closed = next(path for path in dirs[1].iterdir() if path.is_dir())
    closed.chmod(0)
    try:
        ran = python(
            "-m", "segmend", "forecast", *dirs, "--json", "--kafka", "4.3.1", "--as-user", "0",
            prefix=as_one_who_may_not(),
        )  # fmt: skip
    finally:
        closed.chmod(0o755)
    assert ran.returncode == 4, ran.stderr
    last = json.loads(ran.stdout.splitlines()[-1])
    assert last["type"] == "broker"
    assert any(str(closed) in each for each in last["unknown"])
    assert not any(line.get("outcome") == "offline" for line in map(json.loads, ran.stdout.splitlines()))
