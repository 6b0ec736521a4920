"""A wrong topic id: whose directory is to blame, and what proves that its file alone is wrong."""

import shutil
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.faults.written import SECOND_ID, two_dirs

import segmend
from segmend.checks import CheckRun, Level
from segmend.checks.weighing.words import _PHRASES
from segmend.findings import Finding
from segmend.loading import EFFECTS

FILE = "partition.metadata"


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    """A node with `t-0`, `u-0` and `v-0`, and the metadata that knows them."""
    found = two_dirs(tmp_path)
    topics = metadata.cluster(["t", "u", "v"], directory_ids=[build.DIRECTORY_ID, SECOND_ID])
    metadata.write_metadata(found[0], topics)
    return found


def findings(dirs: list[Path]) -> dict[str, Finding]:
    """M05 and M06 by the partition they blame."""
    found = CheckRun(broker_of(dirs, "4.3"), level=Level.STARTUP)
    return {str(each.topic): each for each in found if each.code in ("M05", "M06")}


def test_the_metadata_tells_which_of_two_is_wrong_and_repair_mends_it(dirs: list[Path]) -> None:
    shutil.copyfile(dirs[0] / "t-0" / FILE, dirs[0] / "u-0" / FILE)
    found = findings(dirs)
    assert [(each.code, topic) for topic, each in found.items()] == [("M05", "u")]
    assert "it is that of t" in found["u"].message
    assert "InconsistentTopicIdException" in (found["u"].broker_says or "")
    assert found["u"].remedy is not None
    assert "plan repair" in found["u"].remedy.command
    plan = segmend.plan("repair", *[segmend.open(str(path)) for path in dirs], kafka="4.3")
    assert any(f"u-0/{FILE}" in str(step) for step in plan.steps)
    assert not any(f"t-0/{FILE}" in str(step) for step in plan.steps)


def test_directories_under_each_others_names_are_no_matter_of_the_file(dirs: list[Path]) -> None:
    aside = dirs[0] / "aside"
    (dirs[0] / "t-0").rename(aside)
    (dirs[0] / "u-0").rename(dirs[0] / "t-0")
    aside.rename(dirs[0] / "u-0")
    found = findings(dirs)
    assert {(each.code, topic) for topic, each in found.items()} == {("M05", "t"), ("M05", "u")}
    assert not any("repair" in each.remedy.command for each in found.values() if each.remedy)
    plan = segmend.plan("repair", *[segmend.open(str(path)) for path in dirs], kafka="4.3")
    assert not any(FILE in str(step) for step in plan.steps)


def test_a_copy_of_another_directory_keeps_its_id(dirs: list[Path]) -> None:
    shutil.rmtree(dirs[0] / "u-0")
    shutil.copytree(dirs[0] / "t-0", dirs[0] / "u-0")
    plan = segmend.plan("repair", *[segmend.open(str(path)) for path in dirs], kafka="4.3")
    assert not any(FILE in str(step) for step in plan.steps)


def test_each_effect_can_be_told() -> None:
    assert EFFECTS.keys() == _PHRASES.keys()


def test_a_name_that_the_metadata_does_not_know_is_the_one_that_was_copied(dirs: list[Path]) -> None:
    shutil.copytree(dirs[0] / "t-0", dirs[0] / "a-0")
    assert [(each.code, topic) for topic, each in findings(dirs).items()] == [("M06", "a")]
