"""What left no damaged byte behind: a read takes it from another replica, or says that it is not there."""

import logging
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.copies import copy_tree
from tests.fleet.build import plain, write_broker
from tests.fleet.test_tables import rows_of
from tests.golden.shared import golden
from tests.kernel.log_writer import Message, batch_bytes
from tests.rescue.test_gaps import cut_out

from segmend.errors import SegmendError
from segmend.fleet.options import parse_options
from segmend.fleet.summary import summarize_task
from segmend.fleet.tables import open_table

pytestmark = pytest.mark.slow
COUNT = 880


@pytest.fixture
def orders(swift_path: Path) -> list[Path]:
    """The three replicas of a partition whose topic is not compacted by the metadata log beside them."""
    copy_tree(golden("4.3.1-fleet"), root := swift_path / "root")
    return sorted(root.glob("b*/d*/orders-0"))


def offsets(replica: Path, **options: str) -> list[int]:
    found = rows_of(replica.parents[2], columns="offset", topics="orders", partitions="0", **options)
    return sorted(row["offset"] for row in found)


@pytest.mark.parametrize("split", ["700", "100000000"])
def test_batches_that_one_replica_lacks_come_from_the_others(orders: list[Path], split: str) -> None:
    for number, log in enumerate(sorted(orders[0].glob("*.log"))):
        cut_out(log, *((0, 3), (2,), (-1,), (1, -2))[number % 4])
    assert offsets(orders[0], mode="FAILFAST", splitBytes=split) == [*range(COUNT)]
    assert offsets(orders[0], mode="FAILFAST", offsets="100..500", splitBytes=split) == [*range(100, 501)]
    committed = {"isolation": "read_committed", "splitBytes": split}
    assert offsets(orders[0], mode="FAILFAST", **committed) == [*range(COUNT)]


def summed(replica: Path, **options: str) -> int:
    """Of the same, what their summary says."""
    told = parse_options({"table": "records", "topics": "orders", "partitions": "0", **options})
    works = open_table([str(replica.parents[2])], told, cores=1)
    return sum(sum(summarize_task(work, by_day=True)["records"].to_pylist()) for work in works)


@pytest.mark.parametrize("split", ["700", "100000000"])
@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_summary_counts_what_the_others_have(orders: list[Path], split: str, gone: int) -> None:
    logs = sorted(orders[0].glob("*.log"))
    for number, log in enumerate(logs):
        cut_out(log, *((0, 3), (2,), (-1,), (1, -2))[number % 4])
    logs[gone].unlink()
    for options in ({}, {"offsets": "100..500"}, {"isolation": "read_committed"}, {"offsets": "131..133"}):
        told = {"mode": "FAILFAST", "splitBytes": split, **options}
        assert summed(orders[0], **told) == len(offsets(orders[0], **told))


def _batch(replica: Path) -> None:
    cut_out(sorted(replica.glob("*.log"))[1], 2)


def test_a_hole_is_one_or_none_by_the_policy_of_server_properties(orders: list[Path], tmp_path: Path) -> None:
    for replica in orders:
        _batch(replica)
    with pytest.raises(SegmendError, match=r"orders-0.*FAILFAST"):
        offsets(orders[0], mode="FAILFAST")
    given = tmp_path / "server.properties"
    given.write_text("log.cleanup.policy=compact\n")
    assert len(offsets(orders[0], mode="FAILFAST", config=str(given))) < COUNT


GONE: dict[str, Callable[[Path], object]] = {
    "a batch": _batch,
    "a segment": lambda replica: sorted(replica.glob("*.log"))[1].unlink(),
    "the first segment": lambda replica: min(replica.glob("*.log")).unlink(),
    "the last segment": lambda replica: max(replica.glob("*.log")).unlink(),
    "all segments": lambda replica: [each.unlink() for each in replica.glob("*.log")],
    "the directory": shutil.rmtree,
}


@pytest.mark.parametrize("what", GONE)
@pytest.mark.parametrize("alone", [False, True])
def test_what_nobody_has_is_said(
    what: str, alone: bool, orders: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    for replica in orders:
        (shutil.rmtree if alone and replica != orders[0] else GONE[what])(replica)
    with caplog.at_level(logging.WARNING, "segmend.fleet"):
        assert len(offsets(orders[0])) < COUNT
    assert "orders-0" in caplog.text
    with pytest.raises(SegmendError, match=r"orders-0.*FAILFAST"):
        offsets(orders[0], mode="FAILFAST")
    with pytest.raises(SegmendError, match=r"orders-0.*FAILFAST"):
        summed(orders[0], mode="FAILFAST")
    # Who reads what lies elsewhere is not stopped by it.
    assert rows_of(orders[0].parents[2], topics="orders", partitions="1", mode="FAILFAST")


@pytest.mark.parametrize("columns", ["offset", "offset,value"])
@pytest.mark.parametrize("seed", range(6))
def test_no_record_comes_twice_or_out_of_order(swift_path: Path, seed: int, columns: str) -> None:
    """Of a compacted log headers tell some batches' offsets, and what damage lies behind these."""
    random_, batches, offset = random.Random(seed), [], 0
    for _ in range(40):
        kept = sorted(random_.sample(range(4), random_.choice((1, 2, 4))))
        batches.append(
            batch_bytes(offset, [Message(each, b"%d" % (offset + each)) for each in kept], last_delta=3)
        )
        offset += 4
    whole = [row["offset"] for row in _replicas(swift_path / "one", [b"".join(batches)], "offset")]
    hurt = [bytearray(b"".join(batches)) for _ in range(2)]
    for number in random_.sample(range(40), 10):
        at = sum(map(len, batches[:number]))
        hurt[number % 2][at + random_.choice((20, 30, 60))] ^= 1
    rows = _replicas(swift_path / "two", hurt, columns)
    assert [row["offset"] for row in rows] == whole


def _replicas(root: Path, logs: Sequence[bytes], columns: str) -> list[dict[str, Any]]:
    """The rows of a topic's replicas, each with one of these logs."""
    for broker, data in enumerate(logs, 1):
        folder = write_broker(root, broker, [plain("t", 0, batches=1)])
        for file in (folder / "t-0").glob("0*"):
            file.write_bytes(data if file.suffix == ".log" else b"")
    return rows_of(root, columns=columns)


def test_what_is_said_of_many_partitions_is_said_once(
    swift_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One broker was out of sync with all of its replicas: a line each would be thousands."""
    copy_tree(golden("4.3.1-fleet"), root := swift_path / "root")
    for number in (1, 2):
        for each in root.glob(f"b{number}/d*/*-0"):
            if each.name != "__cluster_metadata-0":
                shutil.rmtree(each)
    shutil.rmtree(root / "b3")
    with caplog.at_level(logging.WARNING, "segmend.fleet"):
        rows_of(root, columns="offset")
    lines = [record.getMessage() for record in caplog.records if "in sync" in record.getMessage()]
    assert lines
    assert len({line.partition(": by the metadata")[2] for line in lines}) == len(lines)
    assert any(" more: by the metadata log only" in line for line in lines)
