"""A live cluster whose topic cannot take the records: one line names the topic, the reason, what to do."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
)
from tests.checks.build_partition import PartitionWriter
from tests.cli.run import run
from tests.fleet.build import plain, write_broker
from tests.golden.topics import Topic, create
from tests.lab.admin import admin
from tests.lab.base import QUIET
from tests.lab.cluster import Cluster
from tests.real.conftest import need_kafka
from tests.rescue.served import consumed

from segmend.rescue import live as live_cluster
from segmend.rescue.refusals import silence

GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
READS = (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS, AclOperation.READ)
ISR, LARGEST, STAMP = "min.insync.replicas", "max.message.bytes", "message.timestamp.difference.max.ms"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Of a release whose brokers want as many in sync as a topic says, even of fewer replicas."""
    need_kafka("3.3.2")
    with Cluster("3.3.2", tmp_path_factory.mktemp("guarded"), settings={**QUIET, **GUARDED}) as cluster:
        cluster.start()
        yield cluster


def keyless(topic: str, partition: int) -> PartitionWriter:
    writer = PartitionWriter(topic, partition)
    writer.append(3)
    writer.append(3, keys=False)
    return writer


@pytest.mark.broker
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("name", "made", "wrong", "mended", "told"),
    [
        ("isr", plain, (ISR, "2"), "1", "1 replica, 1 in sync, and min.insync.replicas of .* is 2"),
        ("small", plain, (LARGEST, "60"), "1000000", "offset 0 of .* refused: .*max.message.bytes"),
        ("keyless", keyless, ("cleanup.policy", "compact"), "delete", "offset 3 of .*cleanup.policy"),
        ("dated", plain, (STAMP, "1000"), "9223372036854775807", f"offset 0 of .*{STAMP}"),
    ],
)  # fmt: skip
def test_why_a_topic_takes_nothing_is_told_and_mending_it_helps(
    guarded: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    name: str, made: Callable[[str, int], PartitionWriter], wrong: tuple[str, str], mended: str, told: str,
) -> None:  # fmt: skip
    # Too few replicas are told of without the patience that a broker needs that starts.
    monkeypatch.setattr(live_cluster, "PATIENCE", 1e6 if name == "isr" else 4.0)
    create(guarded.bootstrap, [Topic(name, dict([wrong]))])
    writer = made(name, 0)
    home = write_broker(tmp_path, 1, [writer])
    asked = ("rescue", home, "--out", tmp_path / "out", "--as", "kafka", "--bootstrap", guarded.bootstrap)
    ran = run(*asked)
    assert (ran.code, ran.err.count("\n"), ran.out) == (8, 1, ""), ran.err
    assert re.search(f"{name}-0: .*{told}.*kafka-configs.sh --alter", ran.err), ran.err
    to = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[
        ConfigEntry(wrong[0], mended, incremental_operation=AlterConfigOpType.SET)
    ])  # fmt: skip
    client = admin(guarded.bootstrap)
    for done in client.incremental_alter_configs([to]).values():
        done.result(60)
    run(*asked, code=0)
    assert len(list(consumed(guarded.bootstrap, name, 0))) == writer.next_offset


@pytest.mark.broker
@pytest.mark.timeout(300)
@pytest.mark.parametrize("may", [READS, READS[:1], ()])
def test_what_a_client_has_no_right_to_is_told(
    guarded: Cluster, tmp_path: Path, may: tuple[AclOperation, ...]
) -> None:
    name = f"rights-{len(may)}"
    create(guarded.bootstrap, [Topic(name)])
    client = admin(guarded.bootstrap)
    for who, operation in [("other", AclOperation.READ), *(("ANONYMOUS", each) for each in may)]:
        rule = AclBinding(
            ResourceType.TOPIC, name, ResourcePatternType.LITERAL, f"User:{who}", "*", operation,
            AclPermissionType.ALLOW,
        )  # fmt: skip
        for done in client.create_acls([rule]).values():
            done.result(60)
    home = write_broker(tmp_path, 1, [plain(name, 0)])
    ran = run("rescue", home, "--out", tmp_path / "out", "--as", "kafka", "--bootstrap", guarded.bootstrap)
    assert (ran.code, ran.err.count("\n"), ran.out) == (8, 1, ""), ran.err
    assert re.search(f"{name}.*authorization failed: have ACLs allow this client .* Write", ran.err), ran.err


@pytest.mark.broker
@pytest.mark.timeout(300)
def test_a_right_that_only_old_brokers_ask_for_is_told(tmp_path: Path) -> None:
    need_kafka("2.5.1")
    settings = {**QUIET, **GUARDED, "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
    with Cluster("2.5.1", tmp_path / "cluster", settings=settings) as cluster:
        cluster.start()
        create(cluster.bootstrap, [Topic("t")])
        client = admin(cluster.bootstrap)
        for operation in (AclOperation.ALTER, AclOperation.CLUSTER_ACTION, AclOperation.DESCRIBE):
            rule = AclBinding(
                ResourceType.BROKER, "kafka-cluster", ResourcePatternType.LITERAL, "User:ANONYMOUS", "*",
                operation, AclPermissionType.ALLOW,
            )  # fmt: skip
            for done in client.create_acls([rule]).values():
                done.result(60)
        home = write_broker(tmp_path, 1, [plain("t", 0)])
        asked = ("rescue", home, "--out", tmp_path / "out", "--as", "kafka")
        ran = run(*asked, "--bootstrap", cluster.bootstrap)
    assert (ran.code, ran.err.count("\n"), ran.out) == (8, 1, ""), ran.err
    assert re.search("t-0: .*Cluster authorization failed: .* IdempotentWrite", ran.err), ran.err


@pytest.mark.broker
@pytest.mark.timeout(300)
def test_that_a_topic_will_not_keep_what_was_sent_is_told(guarded: Cluster, tmp_path: Path) -> None:
    create(guarded.bootstrap, [Topic("short", {"cleanup.policy": "compact,delete", "retention.ms": "1000"})])
    home = write_broker(tmp_path, 1, [plain("short", 0)])
    asked = ("rescue", home, "--out", tmp_path / "out", "--as", "kafka", "--bootstrap", guarded.bootstrap)
    ran = run(*asked, code=0)
    assert "cleanup.policy is compact there" in ran.out
    assert "120 records older than retention.ms (1000) there" in ran.out


def test_a_partition_without_a_leader_or_with_all_that_it_needs() -> None:
    assert silence(-1, {2, 1}, (), 1) == "it has no leader: start its brokers (1, 2)"
    assert "see the log of its broker" in silence(1, {1, 2}, {1}, 1)
