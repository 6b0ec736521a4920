"""What ends a start because of the release, its mode and its settings alone, in the words of real brokers."""

from pathlib import Path

import pytest
from tests.golden.unpack import unpack
from tests.lab.upgrade import ARCHIVES

from segmend.loading import BrokerOutcome, ForecastOptions, PartitionOutcome, Service, forecast
from segmend.loading.run import Line
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs

ZOOKEEPER = {"zookeeper.connect": "h:1", "broker.id": "1"}


def start(tmp_path: Path, written: str, by: str, given: dict[str, str] | None = None) -> list[Line]:
    """The start of another release over a base of the lab."""
    root = Path(unpack(ARCHIVES / f"{written}.tar.xz", tmp_path / "x")) / "b1"
    dirs = [LogDir.open(str(root / name)) for name in ("d0", "d1")]
    config = None if given is None else ServerConfig(given={**given, "log.dirs": f"{root}/d0,{root}/d1"})
    return list(forecast(BrokerDirs(dirs, release=Release.parse(by), given=config), ForecastOptions()))


def end(lines: list[Line]) -> BrokerOutcome:
    """The last line."""
    assert isinstance(lines[-1], BrokerOutcome)
    return lines[-1]


def test_zookeepers_dirs_under_a_release_without_it_are_told_at_their_worst(tmp_path: Path) -> None:
    lines = start(tmp_path, "3.9.2-zk", "4.1")
    partitions = [line for line in lines if isinstance(line, PartitionOutcome)]
    assert {line.outcome for line in partitions} == {Service.STRAY}
    assert any('configuration "process.roles"' in said for said in end(lines).unknown)
    assert not end(lines).nothing_lost


def test_zookeepers_settings_under_a_release_without_it_are_refused(tmp_path: Path) -> None:
    reason = end(start(tmp_path, "3.9.2-zk", "4.1", ZOOKEEPER)).reason
    assert reason is not None
    assert reason.startswith("Missing required configuration")


def test_zookeepers_settings_over_a_kraft_nodes_dirs_are_refused(tmp_path: Path) -> None:
    reason = end(start(tmp_path, "3.9.2", "3.9", ZOOKEEPER)).reason
    assert reason is not None
    assert "ZK-based brokers that are not migrating only support version 0" in reason


def test_a_part_of_server_properties_is_not_refused_for_what_it_lacks(tmp_path: Path) -> None:
    assert end(start(tmp_path, "3.9.2", "4.1", {"node.id": "1"})).nothing_lost


@pytest.mark.parametrize(
    ("name", "value", "by", "words"),
    [
        ("log.segment.bytes", "65536", "4.0", "Value must be at least 1048576"),
        ("log.cleanup.policy", "delete,", "4.2", "values must not be empty."),
        ("inter.broker.protocol.version", "4.0", "3.9", "Version 4.0 is not a valid version"),
        ("num.io.threads", "many", "3.9", "Not a number of type INT"),
    ],
)
def test_a_value_in_server_properties_ends_the_start(
    name: str, value: str, by: str, words: str, tmp_path: Path
) -> None:
    lines = start(tmp_path, "3.9.2", by, {name: value})
    assert words in str(end(lines).reason)
    assert all(line.after.log_end_offset is None for line in lines if isinstance(line, PartitionOutcome))


def test_settings_of_topics_that_zookeeper_has_are_named_as_assumed(tmp_path: Path) -> None:
    assert any("ZooKeeper" in said for said in end(start(tmp_path, "2.8.2", "3.9")).assumed)


def test_a_value_that_a_provider_gives_is_not_judged(tmp_path: Path) -> None:
    given = {"num.io.threads": "${file:/etc/kafka:threads}"}
    assert not end(start(tmp_path, "3.9.2", "3.9", given)).starts
    assert end(start(tmp_path, "3.9.2", "3.9", {**given, "config.providers": "file"})).starts


@pytest.mark.parametrize(("by", "given", "starts"), [
    ("3.7.2", {}, False), ("3.7.2", {"unstable.metadata.versions.enable": "true"}, True), ("3.8", {}, True),
    ("4.4", {}, True),
])  # fmt: skip
def test_levels_in_development_are_for_brokers_that_say_so(
    by: str, given: dict[str, str], starts: bool, tmp_path: Path
) -> None:
    assert end(start(tmp_path, "3.9.2+level-3.8", by, {"node.id": "1", **given})).starts == starts
