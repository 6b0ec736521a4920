"""What a KRaft node goes by that has lost its metadata log, or a part of it."""

import os
import shutil
from pathlib import Path
from typing import TypeGuard

import pytest
from tests.brokers import broker_of
from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.faults.on_disk import flip
from tests.faults.written import SECOND_ID, formatted, known_dirs, two_dirs, with_metadata

from segmend.checks import CheckRun, Level
from segmend.findings import Severity
from segmend.loading import (
    BrokerOutcome,
    DirectoryOutcome,
    ForecastOptions,
    Later,
    PartitionOutcome,
    forecast,
)
from segmend.loading.run import Line
from segmend.logdir.config import ServerConfig
from segmend.node.older import newest_of_topic

LOG = "__cluster_metadata-0"
FIRST = f"{LOG}/{0:020d}.log"


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    """A formatted node's; the first has the metadata."""
    return known_dirs(tmp_path, base=formatted)


def node(dirs: list[Path], voters: str = "", **more: str) -> ServerConfig:
    """A server.properties of the node."""
    given = {
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "log.dirs": ",".join(map(str, dirs)),
        "node.id": str(metadata.NODE),
        **more,
    }
    return ServerConfig(given=given | ({"controller.quorum.voters": voters} if voters else {}))


def started(dirs: list[Path], config: ServerConfig | None = None) -> list[Line]:
    return list(forecast(broker_of(dirs, "4.3", config), ForecastOptions()))


def last(lines: list[Line]) -> BrokerOutcome:
    return next(line for line in lines if isinstance(line, BrokerOutcome))


def outcomes(lines: list[Line]) -> dict[str, str]:
    return {line.topic: line.outcome for line in lines if isinstance(line, PartitionOutcome)}


def effects(lines: list[Line]) -> list[str]:
    """Those on the metadata log."""
    return [effect.effect for line in lines if is_of_metadata(line) for effect in line.effects]


def is_of_metadata(line: Line) -> TypeGuard[DirectoryOutcome]:
    return isinstance(line, DirectoryOutcome) and line.name == LOG


def gone(dirs: list[Path]) -> None:
    shutil.rmtree(dirs[0] / LOG)


def emptied(dirs: list[Path]) -> None:
    (dirs[0] / FIRST).write_bytes(b"")


def without_log(dirs: list[Path]) -> None:
    (dirs[0] / FIRST).unlink()


@pytest.mark.parametrize("lose", [gone, emptied, without_log])
def test_the_only_voter_takes_all_for_strays(lose: object, dirs: list[Path]) -> None:
    assert callable(lose)
    lose(dirs)
    lines = started(dirs, node(dirs, f"{metadata.NODE}@localhost:9093"))
    assert set(outcomes(lines).values()) == {"stray"}
    assert effects(lines).count("metadata-lost") == 1
    assert last(lines).starts
    assert (last(lines).lost.partitions, last(lines).unserved, last(lines).unknown) == (3, 3, ())


@pytest.mark.parametrize("lose", [gone, emptied])
def test_other_voters_bring_it_back_if_they_are_alive(lose: object, dirs: list[Path]) -> None:
    assert callable(lose)
    lose(dirs)
    lines = started(dirs, node(dirs, "1@a:9093,2@b:9093, 3@c:9093"))
    assert set(outcomes(lines).values()) == {"served"}
    assert "metadata-lost" in effects(lines)
    assert not last(lines).nothing_lost
    assert any("voters 2, 3" in words and "stray" in words for words in last(lines).unknown)
    assert any("voters 2, 3" in words for words in last(lines).assumed)


def test_without_server_properties_the_worst_is_told_as_such(dirs: list[Path]) -> None:
    gone(dirs)
    lines = started(dirs)
    assert set(outcomes(lines).values()) == {"stray"}
    assert any("other voters" in words for words in last(lines).unknown)


def test_voters_that_were_in_the_log_alone_are_waited_for(dirs: list[Path]) -> None:
    gone(dirs)
    config = node(dirs, **{"controller.quorum.bootstrap.servers": "localhost:9093"})
    lines = started(dirs, config)
    assert not last(lines).starts
    assert "waits" in (last(lines).reason or "")
    assert not any(line.effects for line in lines if isinstance(line, PartitionOutcome))


def test_the_dir_with_the_metadata_is_not_given(dirs: list[Path]) -> None:
    assert outcomes(started(dirs[1:])) == {"v": "stray"}
    assert outcomes(started(dirs[1:], node(dirs[1:], "1@localhost:9093"))) == {"v": "stray"}
    elsewhere = started(dirs[1:], node(dirs, "1@localhost:9093"))
    assert outcomes(elsewhere) == {"v": "served"}
    assert last(elsewhere).unknown, "server.properties says that the metadata lies in the other one"


def test_what_lies_in_a_registered_dir_that_is_not_given_is_not_known(tmp_path: Path) -> None:
    """Of several replicas, too. A configuration says that there is no other dir."""
    dirs = two_dirs(tmp_path)
    own, topic_id = [build.DIRECTORY_ID, SECOND_ID], build.topic_id("v")
    records = [*metadata.cluster(["t", "u"], directory_ids=own), metadata.topic("v", topic_id)]
    records.append(metadata.partition(topic_id, 0, [metadata.NODE, 2], [SECOND_ID, build.DIRECTORY_ID]))
    metadata.write_metadata(dirs[0], records)
    alone = started([dirs[0]])
    assert outcomes(alone) == {"t": "served", "u": "served", "v": "empty"}
    assert any("v-0" in words for words in last(alone).unknown)
    assert not last(started([dirs[0]], node([dirs[0]]))).unknown
    assert not last(started([*dirs])).unknown


def test_what_is_behind_damage_is_not_gone_by(dirs: list[Path]) -> None:
    """The last two records are those of topic `v`."""
    path = dirs[0] / FIRST
    flip(path, path.read_bytes().rindex(b"\x02v") - 20, 4)
    lines = started(dirs, node(dirs, "1@localhost:9093"))
    assert outcomes(lines) == {"t": "served", "u": "served", "v": "stray"}


@pytest.mark.parametrize("how", ["cut off in its header", "of records alone", "another control record"])
def test_a_newest_snapshot_without_its_header_ends_the_start(dirs: list[Path], how: str) -> None:
    """Seen on 3.9.2 and 4.3.1: First control record is not a snapshot header."""
    header, *rest = metadata.snapshot(metadata.cluster(["t"]))
    begin = {"cut off in its header": header[:40], "another control record": rest[-1]}.get(how, b"")
    path = (
        dirs[0] / LOG / f"{len(metadata.cluster(['t', 'v'])):020d}-{1:010d}.checkpoint"
    )  # of all of the log
    path.write_bytes(begin + (b"" if how.startswith("cut") else b"".join(rest)))
    assert [line.outcome for line in started(dirs) if is_of_metadata(line)] == ["fatal"]
    path.write_bytes(header + b"".join(rest))
    assert [line.outcome for line in started(dirs) if is_of_metadata(line)] == ["loaded"]


def test_a_snapshot_ahead_of_the_log_takes_its_place(dirs: list[Path]) -> None:
    """Of the epoch 7, which the log has not."""
    (dirs[0] / LOG / f"{4:020d}-{7:010d}.checkpoint").write_bytes(
        b"".join(metadata.snapshot(metadata.cluster(["t"])))
    )
    lines = started(dirs, node(dirs, "1@localhost:9093"))
    assert outcomes(lines)["t"] == "served"
    assert outcomes(lines)["v"] == "stray"
    assert "metadata-lost" in effects(lines)
    assert last(lines).unknown == ()


def test_a_copy_that_is_behind_may_call_too_much_a_stray(dirs: list[Path]) -> None:
    path = dirs[0] / FIRST
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"\x02v") - 75])
    lines = started(dirs, node(dirs, "1@a:9093,2@b:9093"))
    assert outcomes(lines)["v"] == "stray"
    assert any("behind" in words for words in last(lines).unknown)


@pytest.mark.parametrize(
    ("epoch", "following", "words"),
    [
        (metadata.EPOCH, 1000, []),
        (metadata.EPOCH + 1, 1000, ["t-0 had leaders that it does not know"]),
        (metadata.EPOCH, 9, ["t-0 had producers whose ids its metadata has yet to give out"]),
    ],
    ids=["not older", "an election older", "a producer older"],
)
def test_metadata_older_than_the_logs_of_the_same_node_is_no_all_clear(
    epoch: int, following: int, words: list[str], tmp_path: Path
) -> None:
    """As of a lone node whose metadata was restored from a backup."""
    dirs = with_metadata(metadata.cluster(["t", "u"], following=following))(tmp_path, True)
    (dirs[0] / "t-0" / "leader-epoch-checkpoint").write_text(f"0\n2\n0 0\n{epoch} 219\n")
    found = [each for each in last(started(dirs, node(dirs))).unknown if " had " in each]
    assert all(word in each for word, each in zip(words, found, strict=True)), found
    worst = Severity.ERROR if following == 9 else Severity.WARNING
    checked = CheckRun(broker_of(dirs, "4.3", node(dirs)), level=Level.STARTUP)
    assert [each.severity for each in checked if each.code == "K25"] == [worst for _ in words]


@pytest.mark.parametrize("older", ["leader-epoch-checkpoint", "*.log"])
def test_leaders_of_a_topic_of_this_name_before_are_not_missing_in_the_metadata(
    older: str, tmp_path: Path
) -> None:
    """As after a restore and `plan restamp`: 3.9.2 served it all, and forgot the higher epochs.

    A follower writes them anew as it starts, and takes nothing from the new leader (4.3.1).
    """
    dirs = with_metadata(metadata.cluster(["t", "u"], following=1000))(tmp_path, True)
    file = dirs[0] / "t-0" / "leader-epoch-checkpoint"
    file.write_text(f"0\n2\n0 0\n{metadata.EPOCH + 1} 219\n")
    for path in file.parent.glob(older):
        os.utime(path, (1, 1))
    assert not [each for each in last(started(dirs, node(dirs))).unknown if " had " in each]
    checked = CheckRun(broker_of(dirs, "4.3", node(dirs)), level=Level.STARTUP)
    assert "K25" not in {each.code for each in checked}


def test_metadata_of_which_a_record_cannot_be_read_is_not_called_older(tmp_path: Path) -> None:
    """That of the ids that were given out has a byte too many; K29 tells of it."""
    *records, given_out = [*metadata.cluster(["t", "u"], following=9), metadata.producer_ids(1000)]
    dirs = with_metadata([*records, given_out + b"\0"])(tmp_path, True)
    checked = CheckRun(broker_of(dirs, "4.3", node(dirs)), level=Level.STARTUP)
    assert {each.code for each in checked} & {"K25", "K29"} == {"K29"}


def test_a_log_of_which_a_part_came_since_the_topic_was_made_counts(tmp_path: Path) -> None:
    dirs = with_metadata(metadata.cluster(["t", "u"], following=1000))(tmp_path, True)
    file = dirs[0] / "t-0" / "leader-epoch-checkpoint"
    file.write_text(f"0\n2\n0 0\n{metadata.EPOCH + 1} 219\n")
    first, *later = sorted(file.parent.glob("*.log"))
    assert later
    os.utime(first, (1, 1))
    checked = CheckRun(broker_of(dirs, "4.3", node(dirs)), level=Level.STARTUP)
    assert "K25" in {each.code for each in checked}


def test_a_log_that_a_running_broker_removes_meanwhile_tells_nothing(tmp_path: Path) -> None:
    dirs = with_metadata(metadata.cluster(["t", "u"], following=1000))(tmp_path, True)
    broker = broker_of(dirs, "4.3", node(dirs))
    (partition,) = (each for each in broker.dirs[0].current if each.name == "t-0")
    epoch = newest_of_topic(partition, broker.metadata)
    assert partition.segments[0].log is not None
    (dirs[0] / "t-0" / partition.segments[0].log.name).unlink()
    assert newest_of_topic(partition, broker.metadata) == epoch >= 0


@pytest.mark.parametrize(
    ("more", "lost", "seconds"), [({}, 0, None), ({"remote.log.copy.disable": "true"}, 220, 30)]
)
def test_what_is_copied_to_remote_storage_no_more_is_lost_when_it_goes(
    more: dict[str, str], lost: int, seconds: int | None, tmp_path: Path
) -> None:
    own = {"remote.storage.enable": "true", "retention.ms": "1000", **more}
    settings = [metadata.topic_setting("t", name, value) for name, value in own.items()]
    dirs = with_metadata([*metadata.cluster(["t", "u"]), *settings])(tmp_path, True)
    given = ServerConfig(given={"remote.log.storage.system.enable": "true"})
    lines = forecast(broker_of(dirs, "4.3", given), ForecastOptions(now_ms=2 * build.START_MS))
    found = [
        (line.records_lost, line.seconds) for line in lines if isinstance(line, Later) and line.topic == "t"
    ]
    assert found == [(lost, seconds)]


@pytest.mark.parametrize(
    ("line", "more", "told"),
    [
        (True, {"retention.ms": "-1"}, "whether remote storage has the offsets 0 to 53"),
        (True, {"retention.ms": "-1", "local.retention.ms": "1000"}, None),
        (True, {}, None),
        (False, {}, "where between 0 and 54 it begins once it is led"),
    ],
)
def test_what_hangs_on_remote_storage_is_not_known(
    line: bool, more: dict[str, str], told: str | None, tmp_path: Path
) -> None:
    """A first segment that no local limit can have deleted; and a log start offset that only it knows."""
    own = {"remote.storage.enable": "true", **more}
    settings = [metadata.topic_setting("t", name, value) for name, value in own.items()]
    dirs = with_metadata([*metadata.cluster(["t", "u"]), *settings])(tmp_path, True)
    first = min((dirs[0] / "t-0").glob("*.log"))
    for each in (dirs[0] / "t-0").glob(f"{first.stem}.*"):
        each.unlink()
    (dirs[0] / "log-start-offset-checkpoint").write_text("0\n1\nt 0 0\n" if line else "0\n0\n")
    given = ServerConfig(given={"remote.log.storage.system.enable": "true"})
    outcome = last(list(forecast(broker_of(dirs, "4.3", given), ForecastOptions(now_ms=2 * build.START_MS))))
    assert [each for each in outcome.unknown if told and told in each] == list(outcome.unknown)
    assert outcome.nothing_lost == (told is None)


def test_where_the_metadata_is_to_be_is_not_known(dirs: list[Path]) -> None:
    """The node ends where server.properties says another dir; played on 3.7.2, 3.9.2 and 4.3.1."""
    doubtful = last(started(dirs[::-1]))
    assert any(f"metadata.log.dir is {dirs[0]}" in each for each in doubtful.unknown)
    assert not doubtful.nothing_lost
    usual = last(started(dirs))
    assert any(f"metadata.log.dir is {dirs[0]}" in each for each in usual.assumed)
    for outcome in (usual, last(started(dirs[::-1], node(dirs)))):
        assert not any("metadata.log.dir is" in each for each in outcome.unknown)
