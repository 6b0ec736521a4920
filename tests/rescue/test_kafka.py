"""Records sent to a live cluster: each once, in order, with all that they had; killed and gone on, too."""

import json
import signal
from collections.abc import Iterator
from concurrent.futures import Future
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]
from tests.cli.run import python, run
from tests.fleet.build import plain, write_broker
from tests.golden.shared import golden
from tests.golden.topics import Topic, create
from tests.lab.admin import admin, delete_topics
from tests.lab.base import QUIET
from tests.lab.cluster import Cluster
from tests.real.conftest import need_kafka
from tests.rescue.served import consumed, text
from tests.rescue.test_export import Growing
from tests.waiting import until

from segmend.errors import SegmendError
from segmend.rescue import live as live_cluster
from segmend.rescue.forms.kafka import _Note
from segmend.rescue.live import LiveCluster, Sender
from segmend.rescue.outlet import Folder
from segmend.surgery.writing.effects import Effects

TOPICS = "[chino]*"
"""codec-*, compacted*, headers, idem, nulls, orders.* with three partitions: all that a record can have."""
KILLED = """\
import os, sys
from segmend.rescue import live as live_cluster
from segmend.rescue.live import Sender
before, left = Sender._delivered, [int(sys.argv.pop(1))]
def delivered(self, error, message):
    before(self, error, message)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), 9)
Sender._delivered = delivered
from segmend.__main__ import entry
entry()
"""


def wanted(out: Path) -> tuple[dict[str, list[tuple[Any, ...]]], dict[str, list[int]]]:
    """The same of a rescue as JSON lines, and apart from it the timestamps."""
    found, times = {}, {}
    for path in sorted(out.glob("*-*.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        found[path.stem] = [
            (row["key"], row["value"], [(each["key"], each["value"]) for each in row["headers"]])
            for row in rows
        ]
        times[path.stem] = [
            round(datetime.fromisoformat(row["timestamp"]).timestamp() * 1000) for row in rows
        ]
    return found, times


def make_orders(bootstrap: str, partitions: int) -> None:
    """A topic whose broker stamps the records."""
    create(bootstrap, [Topic("orders.eu-west_1", {"message.timestamp.type": "LogAppendTime"}, partitions)])
    until_seen(bootstrap, partitions)


def until_seen(bootstrap: str, partitions: int) -> None:
    """The broker tells of it a moment after the controller has made it."""
    until(
        f"{partitions} partitions of {(name := 'orders.eu-west_1')}",
        lambda: admin(bootstrap).list_topics(timeout=20).topics,
        good=lambda told: name in told and len(told[name].partitions) >= partitions,
    )


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    need_kafka("4.3.1")
    with Cluster("4.3.1", tmp_path_factory.mktemp("live"), settings=QUIET) as cluster:
        cluster.start()
        yield cluster


@pytest.mark.broker
@pytest.mark.timeout(300)
def test_each_record_is_sent_once_whatever_was_killed(
    live: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    dirs, out, boot = sorted(golden("4.3.1-killed").glob("b1/d*")), tmp_path / "out", live.bootstrap
    run("rescue", *dirs, "--out", tmp_path / "whole", "--as", "jsonl", "--topic", TOPICS,
        "--isolation", "read_committed")  # fmt: skip
    whole, times = wanted(tmp_path / "whole")
    asked = ["rescue", *dirs, "--out", out, "--as", "kafka", "--topic", TOPICS, "--bootstrap", boot]
    ran = run(*asked)
    assert (ran.code, "--create-topics" in ran.err) == (8, True), ran.err
    make_orders(boot, 2)
    ran = run(*asked, "--create-topics")
    assert (ran.code, "too few for orders.eu-west_1-2" in ran.err) == (8, True), ran.err
    client = admin(boot)
    client.create_partitions([NewPartitions("orders.eu-west_1", 3)])["orders.eu-west_1"].result(60)
    until_seen(boot, 3)
    for count in (3, 300, 700):
        died = python("-c", KILLED, count, *asked, "--create-topics")
        assert died.returncode == -signal.SIGKILL, died.stderr
        if count == 300:  # somebody else writes there meanwhile
            stranger = Producer({"bootstrap.servers": boot})
            begun = max(out.glob("*-0.sent.json"), key=lambda path: path.stat().st_mtime_ns)
            stranger.produce(begun.name.removesuffix("-0.sent.json"), b"other", partition=0)
            assert stranger.flush(60) == 0
    ran = run(*asked, "--create-topics", "--json", code=0)
    assert not (live.root / "b1" / "d0" / "__segmend_none-0").exists()
    other, strange = (None, text(b"other"), []), 0
    for name, rows in whole.items():
        topic, _, partition = name.rpartition("-")
        found = list(consumed(boot, topic, int(partition)))
        assert [each[:3] for each in found if each[:3] != other] == rows, name
        strange += len(found) - len(rows)
        if topic != "orders.eu-west_1":
            assert [each[3] for each in found if each[:3] != other] == times[name], name
    assert strange == 1
    notes = {line["topic"]: line["form"]["notes"] for line in ran.of("partition")}
    assert "LogAppendTime there" in notes["orders.eu-west_1"][0]
    assert sum(line["records"] for line in ran.of("partition")) == sum(map(len, whole.values()))
    ran = run(*_elsewhere(asked, tmp_path / "another"))
    assert (ran.code, "--append" in ran.err) == (8, True), ran.err
    ran = run(*asked, "--create-topics", "--json")
    assert (ran.code, len(ran.of("summary"))) == (0, 1), ran.err
    delete_topics(live.bootstrap, ["codec-zstd"])
    monkeypatch.setattr(live_cluster, "SETTLED", 1.0)
    ran = run(*asked, "--create-topics", "--json")
    assert (ran.code, "codec-zstd-0, which was sent, is gone" in ran.err, ran.out) == (8, True, ""), ran.err


@pytest.mark.broker
@pytest.mark.timeout(300)
def test_of_what_was_sent_nothing_is_said_to_be_marked(live: Cluster, tmp_path: Path) -> None:
    home = write_broker(tmp_path, 1, [plain("high", 0)])
    (home / "replication-offset-checkpoint").write_text("0\n1\nhigh 0 100\n")
    asked = ("--as", "kafka", "--bootstrap", live.bootstrap, "--create-topics")
    told = run("rescue", home, "--out", tmp_path / "out", *asked, code=0).out
    assert "20 records above the high watermark on one replica only, sent as they are" in told


@pytest.mark.broker
@pytest.mark.timeout(300)
def test_a_topic_made_anew_meanwhile_has_not_got_all(
    live: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    send, count = Sender.send, [0]

    def make_anew() -> None:
        delete_topics(live.bootstrap, ["codec-zstd"])
        create(live.bootstrap, [Topic("codec-zstd", {}, 1)])

    def sent(self: Sender, *args: Any, **more: Any) -> None:
        count[0] += 1
        if count[0] == 40:
            self.finish()
            make_anew()
        send(self, *args, **more)

    make_anew()
    monkeypatch.setattr(Sender, "send", sent)
    dirs, to = sorted(golden("4.3.1-killed").glob("b1/d*")), ("--as", "kafka", "--bootstrap", live.bootstrap)
    asked = ["rescue", *dirs, "--out", tmp_path / "out", "--topic", "codec-zstd", *to]
    for _ in range(2):
        ran = run(*asked)
        assert (ran.code, "made anew" in ran.err) == (8, True), ran.err


@pytest.mark.parametrize("held", ["{", "[]", "null", "", '{"strange":1}', "\xff"])
def test_a_note_that_is_damaged_is_a_line(held: str, tmp_path: Path) -> None:
    (tmp_path / "t-0.sent.json").write_bytes(held.encode("latin-1"))
    with pytest.raises(SegmendError, match="is damaged; give a new --out to send it again"):
        _Note.read(Folder(str(tmp_path), Effects()), "t-0")


def test_settings_that_a_producer_cannot_have_are_a_line() -> None:
    with pytest.raises(SegmendError, match=r"^--client-config: .*acks"):
        Sender("127.0.0.1:1", {"acks": "1"}, ("t", 0, 1000), lambda _offset, _target: None, str)


class Starting:
    """A broker that has only just started: it tells of a topic when it is asked a third time."""

    def __init__(self, *_args: object, **_more: object) -> None:
        self.asked = 0

    def list_topics(self, name: str, **_more: object) -> Any:
        self.asked += 1
        unknown = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART) if self.asked < 3 else None
        return SimpleNamespace(topics={name: SimpleNamespace(error=unknown, partitions={0: None})})

    def describe_configs(self, resources: list[Any], **_more: object) -> dict[Any, Future[Any]]:
        said = {"message.timestamp.type": "CreateTime", "max.message.bytes": "9", "segment.bytes": "10",
                "cleanup.policy": "delete", "retention.ms": "-1"}  # fmt: skip
        told: Future[Any] = Future()
        told.set_result({name: SimpleNamespace(value=value) for name, value in said.items()})
        return {resources[0]: told}

    def create_topics(self, new: list[Any], **_more: object) -> dict[str, Future[Any]]:
        told: Future[Any] = Future()
        told.set_exception(KafkaException(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS)))
        return {new[0].topic: told}


def test_a_topic_that_was_there_is_not_gone_because_its_broker_only_just_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("Consumer", "AdminClient"):
        monkeypatch.setattr(live_cluster, name, Starting)
    assert LiveCluster("127.0.0.1:1", {}).topic("t") is None
    with pytest.raises(SegmendError, match=r"topic t is there, .*give the same command again"):
        LiveCluster("127.0.0.1:1", {}).create("t", 1, 1, {})
    found = LiveCluster("127.0.0.1:1", {}).topic("t", was_there=True)
    assert found is not None
    assert (found.partitions, found.largest) == (1, 9)
    monkeypatch.setattr(live_cluster, "SETTLED", 0.0)
    assert LiveCluster("127.0.0.1:1", {}).topic("t", was_there=True) is None


class Purged:
    """A producer whose records are on their way to a broker that hangs: purging them is a fatal error."""

    def __init__(self) -> None:
        self.purged = False

    def produce(self, *_args: object, **_more: object) -> None:
        """Nothing is heard of it."""

    def purge(self, **_more: object) -> None:
        self.purged = True

    def poll(self, _seconds: float) -> None:
        if self.purged:
            raise KafkaException(KafkaError(KafkaError._FATAL))


def test_why_sending_stopped_is_said_and_not_what_that_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_cluster, "PATIENCE", 0.0)
    monkeypatch.setattr(live_cluster, "Producer", lambda *_args, **_more: Purged())
    sender = Sender("127.0.0.1:1", {}, ("t", 0, 1000), lambda _offset, _target: None, str)

    def stopped() -> None:
        try:
            sender.send(0, None, b"value", timestamp=0, headers=[])
            sender.finish()
        finally:
            sender.give_up()

    with pytest.raises(SegmendError, match="nothing was acknowledged for"):
        stopped()


def _elsewhere(asked: list[Any], out: Path) -> list[Any]:
    at = asked.index("--out") + 1
    return [*asked[:at], out, *asked[at + 1 :]]


@pytest.mark.broker
@pytest.mark.timeout(300)
def test_an_export_sends_what_is_new_run_after_run_whatever_was_killed(live: Cluster, tmp_path: Path) -> None:
    log, out, boot = Growing(golden("4.3.1-killed"), tmp_path, "txn-0"), tmp_path / "out", live.bootstrap
    many = len(log.ends)
    argv = ["export", log.dir, "--out", out, "--as", "kafka", "--bootstrap", boot]
    asked = [*argv, "--create-topics", "--json"]
    for batches, killed in ((many // 3, 5), (many // 2, None), (many // 2, None), (many - 1, 1), (many, 10)):
        log.show(batches, more=20)
        if killed is not None:
            died = python("-c", KILLED, killed, *asked)
            assert died.returncode == -signal.SIGKILL, died.stderr
        ran = run(*asked)
        assert ran.code in (0, 4), ran.err
    (note,) = out.glob("*.sent.json")
    state = note.read_bytes()
    told = json.loads(state) | {"target_offset": 10_000}
    note.write_text(json.dumps({name: value for name, value in told.items() if name != "sum"}))
    log.show(many)
    run("rescue", log.dir, "--out", tmp_path / "lines", "--as", "jsonl",
        "--isolation", "read_committed")  # fmt: skip
    (rows,), _ = (list(each.values()) for each in wanted(tmp_path / "lines"))
    ran = run(*asked)
    assert (ran.code, "was deleted and made anew" in ran.err) == (8, True), ran.err
    note.write_text(json.dumps(json.loads(state) | {"next_offset": 10}))
    ran = run(*asked)
    assert (ran.code, f"{note}: is damaged" in ran.err) == (8, True), ran.err
    note.unlink()
    ran = run(*asked, "--append")
    assert (ran.code, f"{note}: is gone" in ran.err, ran.err.count("\n")) == (8, True, 1), ran.err
    note.write_bytes(state)
    identity = log.home / "partition.metadata"
    before = identity.read_text()
    identity.write_text("version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw")
    ran = run(*asked)
    assert (ran.code, "has another topic id" in ran.of("partition")[0]["refused"]) == (8, True), ran.err
    identity.write_text(before)
    ran = run(*asked)
    assert (ran.code, ran.of("summary")[0]["records"]) == (0, 0), ran.err
    assert [each[:3] for each in consumed(boot, "txn", 0)] == rows
    assert len(rows) > 100
