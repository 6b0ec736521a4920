"""Replicas that the metadata puts into a log dir that is offline, and that nobody can see."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.faults.written import known_dirs


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    return known_dirs(tmp_path)


def test_partitions_of_a_log_dir_that_is_a_file_are_not_served(
    dirs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """As 4.3.1 does: "nothing lost" was said, for no directory of theirs could be seen."""
    shutil.rmtree(dirs[1])
    dirs[1].write_text("")
    ran = run(capsys, "forecast", *dirs, "--kafka", "4.3.1", "--json")
    (line,) = [each for each in ran.of("partition") if each["topic"] == "v"]
    assert (line["dir"], line["outcome"], line["after"]["log_end_offset"]) == (str(dirs[1]), "offline", None)
    assert "potentially offline log directories" in line["effects"][0]["broker_says"]
    assert (ran.code, ran.json[-1]["outcome"], ran.json[-1]["unserved"]) == (4, "starts", 1)
