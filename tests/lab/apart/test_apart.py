"""A healthy node whose metadata dir is apart: no false alarm, and no word on what was not looked at."""

import shutil
from pathlib import Path

import pytest

from segmend.checks import CheckRun
from segmend.cluster import Nodes
from segmend.findings import Finding, Severity
from segmend.loading import BrokerOutcome, ForecastOptions, PartitionOutcome, forecast
from segmend.logdir.config import ServerConfig
from tests.brokers import broker_of
from tests.cli.run import run
from tests.faults.on_disk import put_folder
from tests.golden.unpack import unpack
from tests.lab.apart.record import DIRS, HERE

ARCHIVES = sorted(HERE.glob("*.tar.xz"))
assert ARCHIVES, "the recordings are part of the repository"
NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://h:9092,CONTROLLER://h:9093",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "controller.quorum.voters": "1@h:9093",
}


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def dirs(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    """Its two log dirs, and the third with the metadata."""
    root = unpack(request.param, tmp_path)
    return [root / name for name in DIRS]


def config(dirs: list[Path], metadata: Path | None) -> ServerConfig:
    apart = {} if metadata is None else {"metadata.log.dir": str(metadata)}
    log_dirs = ",".join(map(str, dirs[:2]))
    return ServerConfig(given=NODE | {"log.dirs": log_dirs, **apart})


def found(dirs: list[Path], given: ServerConfig | None = None) -> tuple[list[Finding], bool]:
    """The findings, and whether it is said that the metadata was not looked at."""
    run = CheckRun(broker_of(dirs, config=given))
    findings = list(run)
    return findings, run.summary.metadata_unseen


def played(dirs: list[Path], given: ServerConfig | None = None) -> tuple[BrokerOutcome, set[str]]:
    lines = list(forecast(broker_of(dirs, config=given), ForecastOptions()))
    assert isinstance(lines[-1], BrokerOutcome)
    return lines[-1], {line.outcome for line in lines if isinstance(line, PartitionOutcome)}


def test_with_all_dirs_nothing_is_wrong(dirs: list[Path]) -> None:
    assert found(dirs) == ([], False)
    assert played(dirs)[0].nothing_lost
    assert found(dirs[2:])[0] == [], "a dir with the metadata alone is registered with nobody"


@pytest.mark.parametrize("some", [slice(0, 2), slice(1, 2)])
def test_without_its_dir_it_was_not_looked_at(some: slice, dirs: list[Path]) -> None:
    findings, unseen = found(dirs[some])
    assert [(each.code, each.severity) for each in findings] == [("K23", Severity.INFO)]
    assert unseen
    outcome, partitions = played(dirs[some])
    assert partitions == {"stray"}, "the worst, as such"
    assert not outcome.nothing_lost
    assert "not in a dir that was not given" in (outcome.supposed or "")
    assert any("metadata.log.dir apart" in words for words in outcome.unknown)


def test_with_server_properties_it_is_known(dirs: list[Path]) -> None:
    given = config(dirs, dirs[2])
    assert found(dirs, given) == ([], False)
    assert found(dirs[:2], given) == ([], True)
    outcome, partitions = played(dirs[:2], given)
    assert partitions == {"served"}
    assert not outcome.nothing_lost
    shutil.rmtree(dirs[2] / "__cluster_metadata-0")
    for there in (given, config(dirs, None)):
        findings, unseen = found(dirs[:2], there)
        assert [(each.code, each.severity) for each in findings] == [("K23", Severity.ERROR)]
        assert not unseen
        outcome, partitions = played(dirs[:2], there)
        assert partitions == {"stray"}
        assert outcome.supposed is None


def test_server_properties_of_another_machine_tells_nothing(dirs: list[Path]) -> None:
    strange = config([Path("/data/a"), Path("/data/b")], Path("/data/meta"))
    findings, unseen = found(dirs[:2], strange)
    assert [each.severity for each in findings if each.code == "K23"] == [Severity.INFO]
    assert unseen
    assert not played(dirs[:2], strange)[0].nothing_lost


def test_such_a_dir_tells_nothing_of_how_the_node_stopped(dirs: list[Path]) -> None:
    (start,) = Nodes({1: broker_of(dirs)}, ForecastOptions()).starts([1], None)
    assert start.outcome.clean_shutdown
    for command in ("check", "forecast"):
        said = run(command, *dirs, code=0).out
        assert "the cluster's metadata alone" in said
        assert "not stopped cleanly" not in said


def test_what_is_no_partition_is_in_nobodys_way_there(dirs: list[Path]) -> None:
    """3.9.2 and 4.3.1 started over `meta.properties.tmp/`; over `.lock/` they did not."""
    (dirs[2] / "lost+found").mkdir()
    given = config(dirs, dirs[2])
    assert found(dirs, given) == ([], False)
    assert played(dirs, given)[0].nothing_lost
    unsure, _ = played(dirs)
    assert unsure.starts
    assert any("lost+found" in words for words in unsure.unknown)
    also = ServerConfig(given=given.given | {"log.dirs": ",".join(map(str, dirs))})
    assert not played(dirs, also)[0].starts
    put_folder(dirs[2] / ".lock")
    assert not played(dirs, given)[0].starts
    assert {each.code for each in found(dirs, given)[0]} == {"N01"}
