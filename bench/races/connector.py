"""Spark's own Kafka source at a live broker, and ours on the broker's files: the same records, in turn.

Four partitions, two cores, one session with Java's whole JIT. CPU is that of Spark and of Python, on either
side; what the broker needs comes on top for spark-sql-kafka, and is not counted.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from tests.golden.topics import Topic, create
from tests.lab.base import QUIET
from tests.lab.cluster import Cluster

from bench.connector import connector
from bench.constant import constant
from bench.data import KIB, SMALL_LZ4, Shape, topic_dir
from bench.measure import Contender, FamilyCpu, race
from bench.peers import KAFKA
from bench.races.fleet import CACHE
from bench.scale import Scale
from bench.table import Target, show
from segmend.cluster.cluster_dirs import FleetDirs
from segmend.fleet.driver import Driver, LocalDriver
from segmend.logdir.log_dir import LogDir
from segmend.rescue.export import export
from segmend.rescue.request import RescueRequest
from segmend.rescue.spread import spread
from segmend.spark.driver import SparkDriver
from segmend.spark.session import session
from segmend.spark.summarize import summarize

_PARTITIONS = 4
_WANTED = 10_000
_SETTINGS = {**QUIET, "log.index.size.max.bytes": str(10 << 20)}
_THEIRS = "spark-sql-kafka"


def run(scale: Scale) -> None:
    """1 KiB records, then small ones in lz4; without a broker only our side runs."""
    conf = {"spark.jars": connector()} if scale.live else {}
    options = ("-XX:TieredStopAtLevel=4",) if scale.live else ()
    spark = session("local[2]", cache=CACHE, conf=conf, java_options=options)
    shapes = (
        (KIB, scale.kib_bytes, _Goals(export=6, plain=1.7, summary=5)),
        (SMALL_LZ4, scale.small_bytes, _Goals(export=8, plain=3, summary=10)),
    )
    for shape, size, goals in shapes if scale.live else shapes[:1]:
        folder = scale.folder / f"{shape.folder}-{_PARTITIONS}"
        records = topic_dir(folder, shape, total_bytes=size, partitions=_PARTITIONS)
        with _served(folder, scale) as bootstrap:
            _Races(spark, folder, bootstrap, records, scale.runs).run(shape, goals)


class _Goals:
    """How many times as fast as spark-sql-kafka."""

    def __init__(self, *, export: float, plain: float, summary: float) -> None:
        self.export, self.plain, self.summary = export, plain, summary


class _Races:
    """The contenders over one topic; `bootstrap` is empty where nobody serves it."""

    def __init__(self, spark: SparkSession, folder: Path, bootstrap: str, records: int, runs: int) -> None:
        self._spark, self._folder, self._bootstrap = spark, folder, bootstrap
        self._records, self._runs = records, runs
        self._cpu = FamilyCpu()

    def run(self, shape: Shape, goals: _Goals) -> None:
        """Three tables."""
        same = self._same()
        self._show(
            f"all records to Parquet: {shape.name}",
            [
                self._contender("fleet export", lambda out: self._export(SparkDriver(self._spark), out)),
                self._contender("fleet export, no Spark", lambda out: self._export(LocalDriver(2), out)),
                self._contender(_THEIRS, lambda out: self._to_parquet(self._theirs(), out)),
            ],
            [Target(against=_THEIRS, at_most=1 / goals.export),
             Target(against="fleet export, no Spark", at_most=1.3)],
        )  # fmt: skip
        self._show(
            f"all records to Parquet, as DataFrames: {shape.name}",
            [
                self._contender("kafka-log", lambda out: self._to_parquet(self._ours(), out)),
                self._contender("one batch again and again", lambda out: self._to_parquet(same, out)),
                self._contender(_THEIRS, lambda out: self._to_parquet(self._theirs(), out)),
            ],
            [Target(against=_THEIRS, at_most=1 / goals.plain)],
        )  # fmt: skip
        self._show(
            f"count, newest time, sum of bytes: {shape.name}",
            [
                self._contender("summarize", lambda _: self._summarize()),
                self._contender("kafka-log, value_size", lambda _: self._of_sizes()),
                self._contender("kafka-log", lambda _: self._aggregate(self._ours())),
                self._contender(_THEIRS, lambda _: self._aggregate(self._theirs())),
            ],
            [Target(against=_THEIRS, at_most=1 / goals.summary)],
        )
        low = self._records // _PARTITIONS // 2
        some = min(_WANTED, low)
        ends = [f'{{"bench": {{"0": {at}}}}}' for at in (low, low + some)]
        options = {"startingOffsets": ends[0], "endingOffsets": ends[1], "assign": '{"bench": [0]}'}
        self._show(
            f"offsets of {some:,} records: {shape.name}",
            [
                self._contender("kafka-log", lambda _: self._aggregate(self._ours(**options), some)),
                self._contender(_THEIRS, lambda _: self._aggregate(self._theirs(**options), some)),
            ],
            [Target(against=_THEIRS, at_most=1)],
        )

    def _show(self, title: str, contenders: Sequence[Contender], targets: Sequence[Target]) -> None:
        racing = [each for each in contenders if self._bootstrap or each.name != _THEIRS]
        race(racing, runs=self._runs)
        show(title, racing, size=self._records / 1e6, unit="M records", targets=targets)

    def _contender(self, name: str, work: Callable[[Path], None]) -> Contender:
        def once() -> float:
            with tempfile.TemporaryDirectory(dir=self._folder.parent) as out:
                started = time.perf_counter()
                work(Path(out))
                return time.perf_counter() - started

        return Contender(name, function=once, clock=self._cpu)

    def _export(self, driver: Driver, out: Path) -> None:
        request = RescueRequest(dirs=(str(self._folder),), out=str(out), form="delta")
        fleet = FleetDirs([LogDir.open(str(self._folder))])
        *_, summary = export(
            request, fleet, (), lambda table: spread(driver, (), _unheard, table.elsewhere), bundle=None
        )
        assert summary["records"] == self._records

    def _to_parquet(self, frame: DataFrame, out: Path) -> None:
        frame.write.mode("overwrite").parquet(str(out / "table"))

    def _of_sizes(self) -> None:
        self._aggregate(self._ours(columns="timestamp,value_size"), size="value_size")

    def _aggregate(self, frame: DataFrame, wanted: int | None = None, size: str = "length(value)") -> None:
        (row,) = frame.agg(sql.count("*"), sql.max("timestamp"), sql.expr(f"sum({size})")).collect()
        assert row[0] == (wanted or self._records), row

    def _summarize(self) -> None:
        (row,) = summarize(self._spark, str(self._folder), by=["topic"]).collect()
        assert row.records == self._records, row

    def _ours(self, **options: str) -> DataFrame:
        return self._spark.read.format("kafka-log").options(**options).load(str(self._folder))

    def _same(self) -> DataFrame:
        """As many rows that cost nothing: what Spark itself needs."""
        file = self._folder.parent / "batch.arrow"
        rows = self._records // _PARTITIONS
        return constant(self._spark, self._ours(), file, tasks=_PARTITIONS, rows=rows)

    def _theirs(self, **options: str) -> DataFrame:
        which = options or {"subscribe": "bench"}
        reader = self._spark.read.format("kafka").option("kafka.bootstrap.servers", self._bootstrap)
        return reader.options(**which).load()


def _unheard(done: int, total: int, what: str) -> None:
    """Nobody watches."""


@contextmanager
def _served(folder: Path, scale: Scale) -> Iterator[str]:
    """A live broker with these logs; the address."""
    if not scale.live:
        yield ""
        return
    with (
        tempfile.TemporaryDirectory(dir=scale.folder) as root,
        Cluster(KAFKA, Path(root), log_dirs=1, settings=_SETTINGS) as cluster,
    ):
        (broker,) = cluster.brokers
        broker.jvm = ["-Xmx1g"]
        cluster.start()
        create(cluster.bootstrap, [Topic("bench", {}, _PARTITIONS)])
        cluster.stop()
        for source in folder.glob("bench-*"):
            mine = Path(root) / "b1" / "d0" / source.name
            for each in [*mine.glob("0*"), mine / "leader-epoch-checkpoint"]:
                each.unlink(missing_ok=True)
            for each in source.glob("0*.*"):
                if each.suffix != ".snapshot":
                    shutil.copyfile(each, mine / each.name)
        os.sync()
        cluster.start()
        yield cluster.bootstrap
