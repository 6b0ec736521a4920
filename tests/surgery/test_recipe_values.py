"""Recipes on small partitions, and what they refuse; goldens are in test_recipes.py."""

from pathlib import Path
from typing import Any

import pytest
from tests.faults.written import clean_dir
from tests.surgery.recovery_rule import batches_of

from segmend.errors import SegmendError
from segmend.formats import producer_snapshot
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.surgery import recipes
from segmend.surgery.derive import hash_order

NEW = Release((4, 3))
JAVA = [0, 2980, 1989, 998, 970, 2987, 1996, 977, 2994, 1975, 984, 2973, 1982, 991]
SCALA_2_13 = [0, 2980, 1989, 998, 970, 2987, 1996, 977, 2994, 1975, 984, 2973, 1982, 991]
SCALA_2_12 = [2987, 1982, 977, 998, 2980, 1975, 1996, 991, 970, 2994, 1989, 2973, 984, 0]


@pytest.fixture
def log_dir(tmp_path: Path) -> LogDir:
    return LogDir.open(str(clean_dir(tmp_path)[0]))


def cook(
    log_dir: LogDir, name: str, partition: str = "t-0", release: Release = NEW, **arguments: Any
) -> bytes:
    return recipes.build(name, log_dir, partition, arguments, release)


def test_every_file_of_a_partition_written_by_the_rule(log_dir: LogDir) -> None:
    """The builder of tests/checks writes as a broker does; its bytes and the recipes' are independent."""
    partition = log_dir.partition("t-0")
    assert partition is not None
    for base in partition.base_offsets:
        for suffix, recipe in ((".index", "offset-index"), (".timeindex", "time-index")):
            entry = partition.file(f"{base:020d}{suffix}")
            assert entry is not None
            assert cook(log_dir, recipe, base_offset=base, interval=256) == entry.read()
        txn = partition.file(f"{base:020d}.txnindex")
        mine = cook(log_dir, "transaction-index", base_offset=base, snapshot=None)
        assert mine == (txn.read() if txn else b"")
    for offset, entry in partition.snapshots:
        theirs = producer_snapshot.parse(entry.read())[0].entries
        mine_too = producer_snapshot.parse(cook(log_dir, "producer-snapshot", offset=offset, snapshot=None))
        assert sorted(mine_too[0].entries) == sorted(theirs)
        assert mine_too[1] == ()
    assert (
        cook(log_dir, "leader-epochs", start=0)
        == (Path(partition.path) / "leader-epoch-checkpoint").read_bytes()
    )


def test_a_replay_from_any_snapshot_gives_the_same(log_dir: LogDir) -> None:
    partition = log_dir.partition("t-0")
    assert partition is not None
    offsets = [offset for offset, _ in partition.snapshots]
    found = {
        cook(log_dir, "producer-snapshot", offset=offsets[-1], snapshot=each)
        for each in (None, *offsets[:-1])
    }
    assert len(found) == 1


def test_a_snapshot_in_the_middle_of_a_segment(log_dir: LogDir) -> None:
    """As after a clean stop: the state before the offset, not that of the whole segment."""
    partition = log_dir.partition("t-0")
    assert partition is not None
    base = partition.base_offsets[1]
    log = Path(partition.path) / f"{base:020d}.log"
    middle = batches_of(log)[7].base_offset
    data = cook(log_dir, "producer-snapshot", offset=middle, snapshot=None)
    rows = producer_snapshot.parse(data)[0].entries
    assert rows
    assert all(row.last_offset < middle for row in rows)
    assert cook(log_dir, "producer-snapshot", offset=middle, snapshot=base) == data


def test_checkpoints_and_topic_ids_are_rendered_as_brokers_do(log_dir: LogDir) -> None:
    assert cook(log_dir, "offset-checkpoint", "", entries=[["t", 0, 5]]) == b"0\n1\nt 0 5\n"
    text = cook(log_dir, "partition-metadata", topic_id="AAECAwQFBgcICQoLDA0ODw")
    assert text == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"


@pytest.mark.parametrize(
    ("name", "partition", "arguments", "words"),
    [
        ("no-such", "t-0", {}, "does not have"),
        ("offset-index", "gone-0", {"base_offset": 0}, "no directory gone-0"),
        ("offset-index", "t-0", {"base_offset": 7}, "no segment 00000000000000000007.log"),
        ("producer-snapshot", "t-0", {"offset": 9, "snapshot": 8}, "no producer snapshot at offset 8"),
    ],
)
def test_what_cannot_be_cooked(
    log_dir: LogDir, name: str, partition: str, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(SegmendError, match=words):
        cook(log_dir, name, partition, **arguments)


def test_a_damaged_snapshot_is_no_beginning(log_dir: LogDir) -> None:
    partition = log_dir.partition("t-0")
    assert partition is not None
    offset, entry = partition.snapshots[0]
    data = bytearray(entry.read())
    data[-1] ^= 1
    Path(entry.path).write_bytes(data)
    with pytest.raises(SegmendError, match="CRC"):
        cook(log_dir, "producer-snapshot", offset=offset + 10, snapshot=offset)


def test_orders_of_hash_maps() -> None:
    """What maps of Java 17, Scala 2.13.5 and 2.12.4 said when they were given these keys."""
    keys = [7000 * n % 3001 for n in range(14)]
    assert hash_order.java(keys) == JAVA
    assert hash_order.scala_2_13(keys) == SCALA_2_13
    assert hash_order.scala_2_12(keys) == SCALA_2_12
