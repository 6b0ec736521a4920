"""Replicas that the metadata puts into a log dir that is offline, and that nobody can see."""

import shutil
from pathlib import Path

import pytest
from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.cli.run import run
from tests.faults.written import SECOND_ID, known_dirs, two_dirs, with_metadata


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    return known_dirs(tmp_path)


def test_partitions_of_a_log_dir_that_is_a_file_are_not_served(dirs: list[Path]) -> None:
    """As 4.3.1 does: "nothing lost" was said, for no directory of theirs could be seen."""
    shutil.rmtree(dirs[1])
    dirs[1].write_text("")
    ran = run("forecast", *dirs, "--kafka", "4.3.1", "--json")
    (line,) = [each for each in ran.of("partition") if each["topic"] == "v"]
    assert (line["dir"], line["outcome"], line["after"]["log_end_offset"]) == (str(dirs[1]), "offline", None)
    assert "potentially offline log directories" in line["effects"][0]["broker_says"]
    assert (ran.code, ran.json[-1]["outcome"], ran.json[-1]["unserved"]) == (4, "starts", 1)


def test_one_that_is_gone_is_made_again_in_its_dir_whatever_other_dirs_are(tmp_path: Path) -> None:
    """As 3.8.1 does: the forecast waited for the dir that is offline, and counted nothing as lost."""
    homes = {"u": build.DIRECTORY_ID, "v": SECOND_ID}
    made = [
        metadata.partition(build.topic_id(name), 0, (metadata.NODE,), (home,)) for name, home in homes.items()
    ]
    topics = [metadata.topic(name, build.topic_id(name)) for name in homes]
    records = metadata.cluster(["t"], directory_ids=[build.DIRECTORY_ID, SECOND_ID])
    dirs = with_metadata([*records, *topics, *made], two_dirs)(tmp_path)
    shutil.rmtree(dirs[0] / "u-0")
    shutil.rmtree(dirs[1])
    dirs[1].write_text("")
    ran = run("forecast", *dirs, "--kafka", "4.3.1", "--json")
    found = {each["topic"]: (each["dir"], each["outcome"]) for each in ran.of("partition")}
    assert (found["u"], found["v"]) == ((str(dirs[0]), "empty"), (str(dirs[1]), "offline"))
    assert ran.json[-1]["lost"]["records"] > 0
