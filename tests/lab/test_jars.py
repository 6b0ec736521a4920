"""The jars of a release go together, whatever the order in which a machine lists them."""

import zipfile
from pathlib import Path

import pytest

from tests.cli.run import run
from tests.lab.cluster import Cluster
from tests.lab.jars import COMPLETE, is_complete, jars
from tests.lab.releases import RELEASES, release


@pytest.mark.parametrize("version", RELEASES)
def test_one_logging_is_asked_for(version: str) -> None:
    names = {name for _, name, _ in RELEASES[version].coordinates}
    assert len(names & {"log4j", "reload4j", "log4j-core"}) == 1


def test_jars_with_two_loggings_are_fetched_anew(tmp_path: Path) -> None:
    """Of reload4j's classes and log4j's the first on the way counted: with ZooKeeper 3.9.2 ended in
    "NoSuchFieldError: tlm" on some machines."""
    for name in (COMPLETE, "reload4j-1.2.25.jar", "slf4j-reload4j-1.7.36.jar"):
        (tmp_path / name).touch()
    assert is_complete(tmp_path)
    (tmp_path / "log4j-1.2.17.jar").touch()
    assert not is_complete(tmp_path)


@pytest.mark.broker
@pytest.mark.timeout(300)
def test_a_late_release_starts_with_zookeeper(tmp_path: Path) -> None:
    with Cluster("3.9.2", tmp_path, zookeeper=True) as cluster:
        cluster.start()
        cluster.stop()


@pytest.mark.broker
@pytest.mark.parametrize(("version", "java"), [("3.9.2", 8), ("4.0.1", 17), ("4.3.1", 17)])
def test_brokers_want_the_java_that_explain_upgrade_names(version: str, java: int) -> None:
    """By the class that is started: 44 less than what its file says."""
    (jar,) = jars(release(version)).glob(f"kafka_2.*-{version}.jar")
    with zipfile.ZipFile(jar) as opened:
        head = opened.read("kafka/Kafka.class")[:8]
    assert int.from_bytes(head[6:]) - 44 == java
    told = " ".join(run("explain", "upgrade", "--from", "2.8", "--to", version).out.split())
    assert ("Java below 17" in told) == (java == 17)
