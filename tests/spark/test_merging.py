"""As DataFrames: what replicas have, the one log they make, its records are those of diff and rescue."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable
from tests.cli.run import run
from tests.fleet.build import three_brokers
from tests.golden.shared import golden
from tests.golden.unpack import unpack
from tests.lab.elections import HERE
from tests.merge.test_leaps import SOUND, compacted
from tests.rescue.replicas import hurt, replicas

import segmend.spark
from segmend.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
NAMES = ("codec-zstd-0", "txn-0", "nulls-0")


def test_dataframes_say_what_diff_and_rescue_say(spark: SparkSession, tmp_path: Path) -> None:
    draw, home = random.Random(5), tmp_path / "brokers"
    dirs = replicas(golden("4.3.1-killed"), home, NAMES)
    assert hurt(dirs, draw, lambda: {0, 1, 2} if draw.random() < 0.1 else {draw.randrange(3)})
    found = segmend.spark.runs(spark, str(home)).cache()
    told = run("diff", *dirs, "--json", "--all")
    assert sorted(
        (row.topic, row.partition, row.dir, row.log_start_offset, row.log_end_offset)
        for row in found.collect()
    ) == sorted(
        (row["topic"], row["partition"], row["dir"], row["log_start_offset"], row["log_end_offset"])
        for row in told.of("replica")
    )
    ranges = segmend.spark.merge(found).collect()
    missing = sorted(
        (row.topic, row.partition, row.first_offset, row.last_offset)
        for row in ranges
        if row.outcome == "missing"
    )
    assert missing == sorted(
        (row["topic"], row["partition"], *each) for row in told.of("partition") for each in row["missing"]
    )
    assert missing
    run("rescue", *dirs, "--out", tmp_path / "out", "--as", "delta")
    alone = DeltaTable(str(tmp_path / "out")).to_pyarrow_table()
    there = segmend.spark.rescue(spark, str(home)).toArrow()
    assert there.num_rows == alone.num_rows > 500
    assert sorted(map(str, there.to_pylist())) == sorted(map(str, alone.to_pylist()))
    taken = [row for row in ranges if row.outcome == "taken"]
    for row in alone.to_pylist():
        assert any(
            (each.topic, each.partition, each.dir) == (row["topic"], row["partition"], row["dir"])
            and each.first_offset <= row["offset"] <= each.last_offset
            for each in taken
        )
    with pytest.raises(UsageError, match="isolation is"):
        segmend.spark.rescue(spark, str(home), isolation="serializable")  # type: ignore[arg-type]
    committed = segmend.spark.rescue(spark, str(home), topic="txn", isolation="read_committed").toArrow()
    kept = [row["offset"] for row in alone.to_pylist() if row["topic"] == "txn" and not row["aborted"]]
    assert sorted(committed["offset"].to_pylist()) == sorted(kept)
    assert len(kept) < sum(row["topic"] == "txn" for row in alone.to_pylist())


def test_server_properties_decide_compaction_as_for_diff(spark: SparkSession, tmp_path: Path) -> None:
    (given := tmp_path / "server.properties").write_text("log.cleanup.policy=compact\n")
    brokers = str(golden("4.3.1-fleet") / "b*" / "d*")
    for config, expected in (((), False), (str(given), True)):
        found = segmend.spark.runs(spark, brokers, topic="orders", config=config)
        assert {row.compacted for row in found.select("compacted").collect()} == {expected}


def test_what_is_assumed_of_a_compacted_log_is_a_row(spark: SparkSession, tmp_path: Path) -> None:
    home = compacted(tmp_path, 1, [(at, 17 if at == 15 else at) for at, _ in SOUND])
    rows = segmend.spark.merge(segmend.spark.runs(spark, str(home))).where("outcome <> 'taken'").collect()
    (line,) = run("diff", home, "--json", code=0).of("partition")
    assert [(row.outcome, row.why) for row in rows] == [("assumed", words) for words in line["assumed"]]
    assert rows


def test_what_may_be_beyond_the_replicas_is_a_row_and_is_logged(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Those in sync lost the partition with 30 records; a row says so, whatever rows of `runs` are left."""
    root = unpack(HERE / "4.3.1-behind.tar.xz", tmp_path / "b")
    for gone in root.glob("b[12]/d*/safe-0"):
        shutil.rmtree(gone)
    for each in root.glob("b[12]/d*/*-offset-checkpoint"):
        each.unlink()
    dirs = sorted(map(str, root.glob("b*/d*")))
    (next(root.glob("b3/d*/safe-1")).parent / "x-0").symlink_to("safe-1")
    found = segmend.spark.runs(spark, dirs, topic="[!_]*").cache()
    assert "x-0: the same directory as" in caplog.text
    left = segmend.spark.merge(found).where("outcome <> 'taken'").collect()
    told = run("diff", *dirs, "--topic", "[!_]*", "--json", code=4).of("partition")
    assert sorted((row.topic, row.partition, row.why) for row in left if row.outcome == "doubt") == sorted(
        (line["topic"], line["partition"], words) for line in told for words in line["doubts"]
    )
    assert next(row.why for row in left if (row.topic, row.partition) == ("safe", 0)).startswith(
        "by the metadata log only brokers 1, 2 were in sync"
    )
    behind = segmend.spark.merge(found.where("broker = 3")).where("why like '%in sync%'").collect()
    assert ("safe", 0) in {(row.topic, row.partition) for row in behind}


def test_a_log_that_goes_between_the_two_looks_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """Its offsets were said to be taken from there, without a word."""
    root = three_brokers(tmp_path / "fleet")
    found = segmend.spark.runs(spark, str(root), topic="orders").cache()
    assert found.count() == 6
    logs = [sorted((home / "data" / "orders-0").glob("*.log"))[1] for home in sorted(root.glob("b*"))]
    for log in logs:
        log.unlink()
    told = segmend.spark.merge(found).where("outcome <> 'taken'").collect()
    assert [(row.outcome, row.partition, row.broker, row.why) for row in told] == [
        ("doubt", 0, number, f"{log}: is gone since it was read") for number, log in enumerate(logs, 1)
    ]
    shutil.rmtree(logs[2].parent)
    with pytest.raises(Exception, match=r"orders-0: is gone$"):
        segmend.spark.merge(found).collect()


def test_records_of_a_log_that_goes_before_its_task_are_not_silently_fewer(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = three_brokers(tmp_path / "fleet")
    planned = segmend.spark.rescue(spark, str(root), topic="orders")
    logs = [sorted((home / "data" / "orders-0").glob("*.log"))[1] for home in sorted(root.glob("b*"))]
    logs[0].unlink()
    assert planned.count() == 240
    for log in logs[1:]:
        log.unlink()
    with pytest.raises(Exception, match=r"\.log: is gone since it was listed"):
        planned.count()
    assert segmend.spark.rescue(spark, str(root), topic="orders").count() == 210
