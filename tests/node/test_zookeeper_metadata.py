"""What ZooKeeper's files say of a cluster: who is in sync, settings, and what they leave open."""

from pathlib import Path

import pytest
from tests.zookeeper_files import data_dir, deleted, made, state, topic, written

from segmend.errors import SegmendError, UsageError
from segmend.node.metadata_image import PartitionLeader
from segmend.node.zookeeper_metadata import ZooKeeperMetadata, zookeeper_metadata

STATE = "/brokers/topics/t/partitions/0/state"
CONFIG = b'{"version":1,"config":{"unclean.leader.election.enable":"true"}}'


def told(root: Path, cluster: str | None = "abc") -> ZooKeeperMetadata:
    return zookeeper_metadata([str(root)], cluster)


def test_replicas_and_in_sync(tmp_path: Path) -> None:
    tree = {
        **topic("t", [1, 2], [2, 1], topic_id="ID", removing_replicas={"1": [1]}),
        STATE: state(1, 2),
        "/config/topics/t": CONFIG,
        "/config/brokers/<default>": b'{"version":1,"config":{"min.insync.replicas":"2"}}',
    }
    found = told(data_dir(tmp_path, tree, [written(STATE, state(2, epoch=9))]))
    image = found.image
    assert image.replicas == {("ID", 0): (1, 2), ("ID", 1): (2, 1)}
    assert image.leaders[("ID", 0)] == PartitionLeader(leader=2, epoch=9, isr=(2,))
    assert image.leaders[("ID", 1)] == PartitionLeader(isr=(2, 1), removing=(1,))
    assert image.configs["t"] == {"unclean.leader.election.enable": "true"}
    assert image.dynamic(7) == {"min.insync.replicas": "2"}
    assert found.unknown == ()
    assert "0x1" in found.assumed[0]


def test_a_topic_without_an_id_is_known_by_its_name(tmp_path: Path) -> None:
    image = told(data_dir(tmp_path, {}, [made(*each) for each in topic("t", [1]).items()])).image
    assert image.assigned("t", 0, 1)


def test_odd_content_is_no_exception(tmp_path: Path) -> None:
    odd = b'{"partitions":{"9%s":[1],"x":[1],"1":{},"2":null,"3":["a"]},"removing_replicas":7}' % (
        b"9" * 5000
    )
    tree = {
        "/brokers/topics/t": odd,
        STATE: b"[]",
        "/config/topics/t": b'{"config":[]}',
        "/brokers/topics/u": b"x",
    }
    found = told(data_dir(tmp_path, tree))
    assert found.image.replicas == {("t", 1): (), ("t", 2): (), ("t", 3): ()}
    assert len(found.unknown) == 1


def test_what_waits_in_zookeeper_is_named(tmp_path: Path) -> None:
    tree = {"/admin/delete_topics/t": b"", "/admin/reassign_partitions": b"{}", "/migration": b"{}"}
    found = told(data_dir(tmp_path, {**topic("t", [1]), **tree}))
    assert [each.split()[0] for each in found.unknown] == ["when", "a", "what"]
    gone = told(data_dir(tmp_path / "b", tree, [deleted(path) for path in tree]))
    assert gone.unknown == ()


def test_a_damaged_or_missing_log_is_named(tmp_path: Path) -> None:
    root = data_dir(tmp_path, topic("t", [1]), [made(STATE, state(1)), made("/x", b"")])
    file = root / "version-2" / "log.1"
    file.write_bytes(file.read_bytes().replace(b"/x", b"/y"))
    assert "behind a damage" in told(root).unknown[0]
    file.rename(file.with_name("log.5"))
    assert "0x1" in told(root).unknown[0]
    file.with_name("log.5").unlink()
    assert "was not given" in told(root).unknown[0]


def test_before_the_first_snapshot_the_log_is_all(tmp_path: Path) -> None:
    """As ZooKeeper 3.4 of 1.1.0 leaves it, until it has written 50,000 transactions or starts again."""
    nodes = {"/brokers/topics": b"", "/cluster/id": b'{"id":"abc"}', **topic("t", [1]), STATE: state(1)}
    root = data_dir(tmp_path, {}, [made(*each) for each in nodes.items()])
    (root / "version-2" / "snapshot.0").unlink()
    found = told(root)
    assert (found.image.leaders["t", 0].isr, found.unknown) == ((1,), ())
    log_file = root / "version-2" / "log.1"
    log_file.rename(log_file.with_name("log.2"))
    with pytest.raises(SegmendError, match="no version-2/snapshot"):
        told(root)


def test_a_damaged_snapshot_is_passed_over(tmp_path: Path) -> None:
    root = data_dir(tmp_path, topic("t", [1]), [made(STATE, state(1))])
    (root / "version-2" / "snapshot.1").write_bytes(b"ZKSN")
    found = told(root)
    assert found.image.leaders[("t", 0)].isr == (1,)
    assert "snapshot.1" in found.unknown[0]
    (root / "version-2" / "snapshot.0").unlink()
    with pytest.raises(SegmendError, match="damaged"):
        told(root)


def test_a_log_dir_apart(tmp_path: Path) -> None:
    root = data_dir(tmp_path / "a", topic("t", [1]), [made(STATE, state(1))])
    apart = tmp_path / "b" / "version-2"
    apart.mkdir(parents=True)
    (root / "version-2" / "log.1").rename(apart / "log.1")
    found = zookeeper_metadata([str(root), str(apart)], "abc")
    assert (found.image.leaders["t", 0].isr, found.unknown) == ((1,), ())


def test_the_chroot(tmp_path: Path) -> None:
    own = {"/k/brokers/topics": b"", "/k/cluster/id": b'{"id":"def"}', "/k/brokers/topics/u": b"{}"}
    root = data_dir(tmp_path, {**topic("t", [1]), **own})
    assert told(root, "abc").image.ids == {"t": "t"}
    assert told(root, "def").image.ids == {"u": "u"}
    with pytest.raises(UsageError, match="2 that may be it"):
        told(root, None)


def test_another_cluster_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no data of cluster other"):
        told(data_dir(tmp_path, {}), "other")
    with pytest.raises(SegmendError, match="no version-2/snapshot"):
        zookeeper_metadata([str(Path(__file__).parent)], None)
