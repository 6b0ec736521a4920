"""Which Kafka a directory belongs to."""

from pathlib import Path

import pytest
from tests.brokers import broker_of

from segmend.errors import UsageError
from segmend.formats.build import NewRecord, build_batch
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import NEWEST, Release

ZERO = "00000000000000000000"


@pytest.mark.parametrize(
    "text", ["0.8", "0.8.2.2", "0.10.2.2", "1.1.0", "2.8", "3.9.2", "4.4", "4.4.0", " v4.3 "]
)
def test_known_releases(text: str) -> None:
    assert str(Release.parse(text)) == text.strip().lstrip("v")


@pytest.mark.parametrize("text", ["", "four", "4", "0.7", "4.5", "5.0", "4.3.x", "4.3.1.1.1", "-1.0", "٤.٣"])
def test_others_are_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        Release.parse(text)


def test_releases_compare_by_number_with_each_other_and_with_tuples() -> None:
    parse = Release.parse
    assert parse("0.10.2.2") < parse("0.11") < parse("1.0") < parse("2.10.0")
    assert parse("2.3") == parse("2.3.0") == (2, 3)
    assert hash(parse("2.3")) == hash(parse("2.3.0"))
    assert parse("3.7.1") >= (3, 7)
    assert parse("3.7") < (3, 7, 1)
    assert parse("2.2") <= (2, 2)
    assert parse("2.2") != "2.2"


@pytest.mark.parametrize(
    ("files", "release", "why"),
    [
        ({"x": ""}, str(NEWEST), "nothing on the disk"),
        ({f"t-0/{ZERO}.log": ""}, "0.8.2", "a .log file"),
        ({"meta.properties": "version=0\nbroker.id=1\n"}, "0.10.0", "meta.properties is written by 0.9"),
        ({f"t-0/{ZERO}.timeindex": ""}, "0.10.2", "a .timeindex file"),
        ({"t-0/leader-epoch-checkpoint": ""}, "2.2", "leader-epoch-checkpoint is written by 0.11"),
        ({"meta.properties": "version=0\nbroker.id=1\ncluster.id=c\n"}, "2.7", "cluster.id in"),
        ({"t-0/partition.metadata": ""}, "3.6", "partition.metadata is written by 2.8"),
        ({"meta.properties": "version=1\nnode.id=1\ncluster.id=c\n"}, "3.6", "version 1 of meta.properties"),
        ({".kafka_cleanshutdown": '{"version":0,"brokerEpoch":5}'}, "4.4", "a broker epoch in"),
        ({"meta.properties": "version=1\nnode.id=1\ncluster.id=c\ndirectory.id=d\n"}, "4.4", "directory.id"),
        ({"meta.properties": "version=0\nbroker.id=1\ncluster.id=c\ndirectory.id=d\n"}, "3.9", "ZooKeeper"),
        ({"meta.properties": "#directory.id=d\nversion=0\nbroker.id=1\n"}, "0.10.0", "is written by 0.9"),
        ({"meta.properties": "version : 1\nnode.id 1\ncluster.id = c\n"}, "3.6", "version 1 of meta"),
        ({"meta.properties": "version=10\nnode.id=1\ncluster.id=c\n"}, "2.7", "cluster.id in"),
        ({f"t-0.{'a' * 32}-stray/x": ""}, "4.4", "a -stray directory"),
    ],
)  # fmt: skip
def test_the_guess_and_its_reason(files: dict[str, str], release: str, why: str, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    broker = broker_of([tmp_path])
    assert str(broker.release) == release
    assert why in broker.release_reason


def registration(node: int, highest: int, kind: int = 0) -> bytes:
    feature = b"\x11metadata.version" + b"\0\1" + highest.to_bytes(2, "big") + b"\0"
    return b"\1" + bytes([kind, 3]) + node.to_bytes(4, "big") + bytes(30) + feature


def kraft(tmp_path: Path, *values: bytes, node: int = 2) -> LogDir:
    (tmp_path / "meta.properties").write_text(f"version=1\nnode.id={node}\ncluster.id=c\n")
    (tmp_path / "__cluster_metadata-0").mkdir()
    log = tmp_path / "__cluster_metadata-0" / f"{ZERO}.log"
    log.write_bytes(b"".join(build_batch([NewRecord(v)], base_offset=i) for i, v in enumerate(values)))
    return LogDir.open(str(tmp_path))


def test_the_nodes_own_newest_registration_tells_the_release(tmp_path: Path) -> None:
    level = b"\1\x0c\0\x11metadata.version\0\x0e\0"
    log_dir = kraft(tmp_path, registration(2, 21), registration(2, 25), registration(9, 30), level)
    broker = broker_of([log_dir])
    assert broker.release == Release.parse("4.0")
    assert broker.release_reason == "the node registered with metadata.version up to 25"


def test_a_registered_controller_counts_and_a_later_version_is_the_newest_release(tmp_path: Path) -> None:
    assert broker_of([kraft(tmp_path, registration(2, 40, kind=27))]).release == NEWEST


def test_a_registration_behind_damage_counts(tmp_path: Path) -> None:
    log_dir = kraft(tmp_path, b"\1\2\0", registration(2, 25))
    log = tmp_path / "__cluster_metadata-0" / f"{ZERO}.log"
    log.write_bytes(b"x" * 20 + log.read_bytes()[20:])
    assert broker_of([log_dir]).release == Release.parse("4.0")


def test_nothing_registered(tmp_path: Path) -> None:
    broker = broker_of([kraft(tmp_path, b"\1\2\0", registration(2, 9999))])
    assert "registered" not in broker.release_reason
    assert "registered" not in broker_of([tmp_path / "__cluster_metadata-0"]).release_reason
