"""A stray beside the replica whose name it has, in another log dir.

On real brokers: 3.7.2, 3.9.2 and 4.3.1 set the stray aside and served the other one as it was; 3.3.2 and
3.6.2, which look for strays once all is loaded, refused to start.
"""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.cli.run import run
from tests.faults.on_disk import put_folder
from tests.faults.written import SECOND_ID, formatted, two_dirs, with_metadata

from segmend.checks import CheckRun
from segmend.loading import BrokerOutcome, ForecastOptions, PartitionOutcome, forecast

OF_3_3 = 7  # the level of its metadata


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    """`t-0` lies in both, in the second under the id of a topic that nobody knows."""
    registered = metadata.register((build.DIRECTORY_ID,))  # as 3.7 does, what no older one reads
    records = [each for each in metadata.cluster(["t", "u", "v"], level=OF_3_3) if each != registered]
    found = with_metadata(records, two_dirs)(tmp_path, True)
    shutil.copytree(found[0] / "t-0", found[1] / "t-0")
    (found[1] / "t-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n")
    return found


def started(dirs: list[Path], release: str) -> tuple[BrokerOutcome, dict[str, PartitionOutcome]]:
    """The broker, and `t-0` by its log dir."""
    *lines, broker = forecast(broker_of(dirs, release), ForecastOptions())
    assert isinstance(broker, BrokerOutcome)
    found = (line for line in lines if isinstance(line, PartitionOutcome) and line.topic == "t")
    return broker, {line.dir: line for line in found}


@pytest.mark.parametrize("release", ["3.7.2", "4.3"])
def test_it_is_set_aside_and_the_other_one_served(release: str, dirs: list[Path]) -> None:
    broker, found = started(dirs, release)
    assert broker.unserved == 0
    mine, stray = (found[str(path)] for path in dirs)
    assert (mine.outcome, stray.outcome) == ("served", "stray")
    assert mine.after == mine.before
    assert "log-recreated-empty" not in [each.effect for each in stray.effects]


@pytest.mark.parametrize("stamped", [True, False])
def test_no_id_is_given_to_it_beside_the_other_one(stamped: bool, dirs: list[Path], tmp_path: Path) -> None:
    """Two with the topic's id would keep the broker from starting."""
    if not stamped:
        (dirs[1] / "t-0" / "partition.metadata").unlink()
    ran = run("check", *dirs, "--kafka", "4.3", "--json")
    remedies = [each["remedy"]["command"] for each in ran.of("finding") if each["code"] in ("M01", "M05")]
    aside = shlex.quote(f"{dirs[1]}.aside")
    assert remedies == [f"mkdir -p {aside} && mv -n {shlex.quote(str(dirs[1] / 't-0'))} {aside}/"]
    planned = run("plan", "repair", *dirs, "--kafka", "4.3", "-o", tmp_path / "plan.json")
    assert "has the topic's id already" in planned.out
    assert "Duplicate" not in planned.out
    stamped_plan = run("plan", "restamp", *dirs, "--topic", "t", "-o", tmp_path / "plan.json")
    assert stamped_plan.code != 0
    assert "is the same partition" in stamped_plan.err
    subprocess.run(remedies[0], shell=True, check=True)
    broker, found = started(dirs, "4.3")
    assert broker.nothing_lost
    assert [line.outcome for line in found.values()] == ["served"]


def test_without_the_other_one_an_empty_log_takes_its_place(dirs: list[Path]) -> None:
    shutil.rmtree(dirs[0] / "t-0")
    assert [line.outcome for line in started(dirs, "4.3")[1].values()] == ["empty"]


@pytest.mark.parametrize(("release", "starts"), [("3.6", False), ("3.7.2", True)])
def test_up_to_3_6_it_is_no_stray_while_it_is_loaded(release: str, starts: bool, dirs: list[Path]) -> None:
    broker, _ = started(dirs, release)
    assert broker.starts == starts, broker.reason
    assert ("Duplicate log directories" in str(broker.reason)) is not starts
    (twin,) = [found for found in CheckRun(broker_of(dirs, release)) if found.code == "N17"]
    assert twin.broker_effect is not None
    assert twin.broker_effect.effect == ("stray-renamed" if starts else "broker-refuses")


def test_no_log_is_made_for_a_stray_that_an_offline_dir_is_to_have(tmp_path: Path) -> None:
    """3.9.2 and 4.0.1 had no leader for it: the metadata has it in the dir that failed."""
    given = metadata.cluster(["t", "u", "v"], directory_ids=[build.DIRECTORY_ID, SECOND_ID])
    topic_id = build.topic_id("t")
    plain = metadata.partition(topic_id, 0, (metadata.NODE,))
    placed = metadata.partition(topic_id, 0, (metadata.NODE,), (SECOND_ID,))
    records = [placed if each == plain else each for each in given]
    found = with_metadata(records, formatted)(tmp_path, True)
    (found[0] / "t-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n")
    put_folder(found[1] / "meta.properties")
    broker, (mine,) = started(found, "4.3")[0], started(found, "4.3")[1].values()
    assert broker.starts
    assert (mine.outcome, mine.after.log_end_offset) == ("unserved", None)
    assert [each.effect for each in mine.effects][-2:] == ["stray-renamed", "partition-unserved"]
