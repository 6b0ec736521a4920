"""What is known of a broker by its log dirs."""

import shutil
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.copies import copy_tree
from tests.golden.shared import golden

from segmend.checks import CheckRun, Level
from segmend.loading import ForecastOptions, forecast
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.node.metadata_image import MetadataImage

META, LOG = "meta.properties", "__cluster_metadata-0"
SECOND = "5Ck7mLhOSHGMUSQB0K3Dfg"


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    """Two log dirs of a node; the second has the metadata log."""
    found = [
        build.write_log_dir(tmp_path / "a", [build.story("t")]),
        build.write_log_dir(tmp_path / "b", [build.story("u")], directory_id=SECOND),
    ]
    metadata.write_metadata(
        found[1], metadata.cluster(["t", "u"], directory_ids=[build.DIRECTORY_ID, SECOND])
    )
    return found


def test_whose_they_are(dirs: list[Path]) -> None:
    broker = broker_of(dirs, "4.3")
    assert broker.kraft
    assert broker.node_id == metadata.NODE
    assert broker.metadata_dir is broker.dirs[1]
    assert broker.metadata is not None
    assert set(broker.metadata.ids) == {"t", "u"}
    assert broker.metadata.log_dirs == {metadata.NODE: (build.DIRECTORY_ID, SECOND)}
    assert broker.metadata.features == {"metadata.version": metadata.LEVEL_4_3}


def test_server_properties_win(dirs: list[Path]) -> None:
    given = ServerConfig(given={"node.id": "7", "metadata.log.dir": str(dirs[0])})
    broker = broker_of(dirs, "4.3", given)
    assert broker.node_id == 7
    assert broker.metadata_dir is broker.dirs[0]
    assert broker.metadata is None, "a broker looks into metadata.log.dir only"
    elsewhere = broker_of(dirs, "4.3", ServerConfig(given={"metadata.log.dir": "/nowhere"}))
    assert elsewhere.metadata_dir is elsewhere.dirs[1], "dirs that were copied to another machine"


@pytest.mark.parametrize(
    ("release", "version", "has_metadata", "roles", "kraft"),
    [
        ("4.0", 0, False, False, True),
        ("3.9", 1, False, False, True),
        ("3.9", 0, False, False, False),
        ("3.9", 0, False, True, True),
        ("3.9", 0, True, False, False),  # a broker with ZooKeeper that migrates
        ("3.9", None, True, False, True),
        ("3.9", None, False, False, False),
        ("2.7", 1, True, True, False),
    ],
)
def test_the_mode(
    release: str, version: int | None, *, has_metadata: bool, roles: bool, kraft: bool, dirs: list[Path]
) -> None:
    for path in dirs:
        (path / META).unlink()
        if version is not None:
            (path / META).write_text(f"version={version}\n{'node' if version else 'broker'}.id=1\n")
    if not has_metadata:
        shutil.rmtree(dirs[1] / LOG)
    given = ServerConfig(given={"process.roles": "broker"} if roles else {})
    assert broker_of(dirs, release, given).kraft is kraft


def test_a_kraft_node_without_any_meta_properties_does_not_start(dirs: list[Path]) -> None:
    """As 3.9.2 refuses (tests/lab/goldens, 0.8.2.2), whose rules alone do not tell the mode."""
    for path in dirs:
        (path / META).unlink()
    broker = broker_of(dirs, "3.9")
    assert [finding.code for finding in CheckRun(broker, level=Level.STARTUP)].count("K01") == 2
    run = forecast(broker, ForecastOptions())
    list(run)
    assert run.broker is not None
    assert run.broker.reason == "No readable meta.properties files found."


def test_metadata_that_lost_its_beginning_is_none(dirs: list[Path]) -> None:
    """It would call every topic unknown: a forecast then says that it does not know, and no stray."""
    log = dirs[1] / LOG
    (log / f"{0:020d}.log").rename(log / f"{5:020d}.log")
    broker = broker_of(dirs, "4.3")
    assert broker.metadata is None
    run = forecast(broker, ForecastOptions())
    assert not [
        line for line in run if any(e.effect == "stray-renamed" for e in getattr(line, "effects", ()))
    ]
    assert run.broker is not None
    assert any("__cluster_metadata" in words for words in run.broker.unknown)


def test_zookeeper_goes_by_no_metadata(dirs: list[Path]) -> None:
    broker = broker_of(dirs, "2.7")
    assert broker.metadata is not None
    assert broker.image is None


def test_a_plan_that_leaves_the_metadata_alone_shares_it(dirs: list[Path]) -> None:
    broker = broker_of(dirs, "4.3")
    again = [LogDir.open(str(path)) for path in dirs]
    same = broker.later(again, [f"{dirs[1]}/{LOG}x", f"{dirs[0]}/t-0/x"])
    assert same.metadata is broker.metadata
    assert same.present is broker
    for touched in (f"{dirs[1]}/{LOG}/{0:020d}.log", f"{dirs[1]}/{LOG}"):
        other = broker.later(again, [touched])
        assert other.metadata is not broker.metadata
        assert other.metadata == broker.metadata


@pytest.mark.parametrize(
    ("own", "dynamic", "compacts"),
    [
        ({}, {}, False),
        ({}, {"": "compact"}, True),
        ({}, {"": "compact", "2": "delete"}, True),
        ({}, {"": "delete", "2": "compact"}, True),
        ({"cleanup.policy": "delete"}, {"": "compact"}, False),
        ({"cleanup.policy": "compact"}, {"": "delete"}, True),
    ],
)
def test_a_topic_is_compacted_if_any_node_does(
    own: dict[str, str], dynamic: dict[str, str], compacts: bool
) -> None:
    image = MetadataImage(ids={"t": "id"}, configs={"t": own})
    image.brokers = {name: {"log.cleanup.policy": value} for name, value in dynamic.items()}
    assert image.compacts("t") is compacts
    assert image.compacts("gone") is None
    told = bool(own) or "" in dynamic
    assert image.has_policy("t") is told
    assert image.compacts("t", [{"log.cleanup.policy": "compact"}]) is (compacts or not told)


def test_disks_that_changed_places_are_no_proof_of_the_metadata_dir(tmp_path: Path) -> None:
    """The voters name the disk, not its place; 4.3.1 refuses: "Found unexpected metadata location"."""
    copy_tree(golden("4.3.1-clean") / "b1", tmp_path / "b1")
    logs = [LogDir.attempt(str(path)) for path in sorted((tmp_path / "b1").glob("d*"))]
    assert not broker_of(logs, "4.3.1").home_is_doubtful
    assert broker_of(logs[::-1], "4.3.1").home_is_doubtful
