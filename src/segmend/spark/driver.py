"""The audit's tasks on Spark: tasks as rows of a mapInArrow, joins in Spark SQL."""

from __future__ import annotations

import os
import pickle
import re
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import chain
from typing import TypeVar, cast

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark import StatusTracker
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from segmend.errors import SegmendError
from segmend.fleet import folder
from segmend.fleet.listing import Place, absolute
from segmend.fleet.schemas import STORED
from segmend.fleet.sql import COLUMNS, GROUPED, PARTITION, Sql
from segmend.fleet.typed_rows import HeldReplica
from segmend.spark.tasks import cores, java_says
from segmend.spark.workers import make_ready

T = TypeVar("T")
R = TypeVar("R")

_RESULT = pa.schema([("result", pa.binary())])
_POLL_SECONDS = 0.3
_AT_ONCE = 4096

FEW_ROWS_BYTES = 32 << 20
"""Rows of so many bytes are compared in the driver; of a fleet that has more they never come there."""
_FOR_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_VIEWS = {name: f"segmend_{name}" for name in (*COLUMNS, "replicas")}
"""As the session has them: it may have others of the plain names."""
_NAMED = re.compile(rf"\b(from|join) ({'|'.join(_VIEWS)})\b")
_OF_PATTERNS = frozenset("*?[]{}\\")
_ALONE = threading.Lock()
"""Views and settings are those of a session, in which several threads may have audits."""


class SparkDriver:
    """Runs on the executors of a session; files must be readable and OUT writable from there."""

    name = "spark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.cores = cores(spark)

    def run(
        self, function: Callable[[T], R], tasks: Sequence[T], done: Callable[[int], None] | None = None
    ) -> Iterator[R]:
        """One Spark task for each task; the results come when all are there."""
        if not tasks:
            return
        # Pickled one by one: a worker unpickles its own task and not all of them.
        pickled = [zlib.compress(pickle.dumps((function, task)), 1) for task in tasks]
        count = len(tasks)
        try:
            with self._watched(done, count):
                results = self._collected(pickled)
        except (PySparkException, Py4JJavaError) as error:
            raise SegmendError(f"a Spark task failed: {_one_line(error)}") from error
        if done:
            done(count)
        for result in map(pickle.loads, results):
            if isinstance(result, SegmendError):
                raise result
            yield result

    def _collected(self, pickled: Sequence[bytes]) -> Sequence[bytes]:
        """What the tasks gave, pickled. A DataFrame of as many rows costs twice as much to set up."""
        context = getattr(self._spark, "_sc", None)
        if context is not None:
            given: Sequence[bytes] = context.parallelize(pickled, len(pickled)).map(_done).collect()
            return given
        frame = self._spread(pickled).mapInArrow(_work, from_arrow_schema(_RESULT))
        return [row.result for row in frame.collect()]

    def _spread(self, pickled: Sequence[bytes]) -> DataFrame:
        """A row for each task, in a Spark task of its own: a worker is sent its own and nothing else."""
        numbers = pa.array(range(len(pickled)), pa.int32())
        rows = pa.table({"number": numbers, "task": pa.array(pickled, pa.binary())})
        return self._spark.createDataFrame(rows).repartitionById(len(pickled), "number").select("task")

    def ready(self, places: Sequence[Place], out: str | None = None) -> None:
        """Ask the workers what they have and see."""
        make_ready(self._spark, places, out)

    @contextmanager
    def _watched(self, done: Callable[[int], None] | None, count: int) -> Iterator[None]:
        """Tell `done` about finished tasks while a job runs (the collect itself only blocks)."""
        context = getattr(self._spark, "_sc", None)
        if done is None or context is None:  # Spark Connect tells nothing meanwhile
            yield
            return
        over = threading.Event()
        watcher = threading.Thread(
            target=self._watch, args=(context.statusTracker(), done, count, over), daemon=True
        )
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def _watch(
        self, tracker: StatusTracker, done: Callable[[int], None], count: int, over: threading.Event
    ) -> None:
        while not over.wait(_POLL_SECONDS):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            # Beside ours there is the stage that hands out the tasks.
            ours = (stage for stage in stages if stage is not None and stage.numTasks == count)
            if finished := max((stage.numCompletedTasks for stage in ours), default=0):
                done(finished)

    @contextmanager
    def sql(self, files: Mapping[str, Sequence[str]]) -> Iterator[Sql]:
        """Spark SQL over temporary views of the files."""
        few = sum(map(folder.size, chain.from_iterable(files.values()))) < FEW_ROWS_BYTES
        with _ALONE, self._quick() if few else nullcontext():
            for name in COLUMNS:
                self._view(name, list(files.get(name, ())))
            sql = _Here(self._spark) if few else _There(self._spark)
            try:
                yield sql
            except (PySparkException, Py4JJavaError) as error:
                raise SegmendError(f"replicas could not be compared: {_one_line(error)}") from error
            finally:
                sql.forget()

    @contextmanager
    def _quick(self) -> Iterator[None]:
        """Few rows: skip what costs more than it saves. Compiling the joins takes seconds by itself."""
        conf = self._spark.conf
        before = {name: conf.get(name) for name in _FOR_FEW_ROWS}
        for name, value in _FOR_FEW_ROWS.items():
            conf.set(name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                conf.set(name, value)

    def _view(self, name: str, files: Sequence[str]) -> None:
        schema = from_arrow_schema(STORED[name])
        if not files:
            frame = self._spark.createDataFrame([], schema)
        elif folder.is_remote(files[0]) or not _OF_PATTERNS.isdisjoint(os.path.abspath(files[0])):
            # Spark reads a store only with jars for it, and takes such names for patterns.
            paths = self._spark.createDataFrame([(path,) for path in absolute(files)], "path string")
            frame = paths.mapInArrow(_loaded(COLUMNS[name]), from_arrow_schema(_of(name)))
        else:
            # A bare path is one of the cluster's own file system, HDFS.
            frame = self._spark.read.schema(schema).parquet(*(f"file://{os.path.abspath(f)}" for f in files))
        frame.select(*COLUMNS[name]).createOrReplaceTempView(_VIEWS[name])


def _work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for packed in batch.column(0):
            yield pa.record_batch([[_done(packed.as_buffer())]], schema=_RESULT)


def _done(packed: bytes | pa.Buffer) -> bytes:
    """A refusal is handed back as a result: of what is raised there Spark shows the stack, in each try."""
    call, task = pickle.loads(zlib.decompress(packed))
    try:
        return pickle.dumps(call(task))
    except SegmendError as error:
        return pickle.dumps(error)


def _of(name: str) -> pa.Schema:
    """What is read of a table."""
    return pa.schema([STORED[name].field(column) for column in COLUMNS[name]])


def _loaded(columns: Sequence[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def load(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path in batch.column(0).to_pylist():
                yield from pq.read_table(folder.source(path), columns=list(columns)).to_batches()

    return load


def _one_line(error: PySparkException | Py4JJavaError) -> str:
    """What happened; of a Python traceback the last line says it."""
    if isinstance(error, Py4JJavaError):
        return java_says(error)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


class _Here:
    """Few rows."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def view(self, name: str, statement: str) -> None:
        """Make the result a temporary view; computed once, for it is asked more than once."""
        result = self._asked(statement).toArrow()
        self._spark.createDataFrame(result).createOrReplaceTempView(_VIEWS[name])

    def rows(self, statement: str) -> Iterator[Mapping[str, object]]:
        """The rows of a statement, objects of some of them at a time."""
        return _rows(self._asked(statement).toArrow().to_batches(max_chunksize=_AT_ONCE))

    def each_partition(self, judge: Callable[[Iterator[HeldReplica]], R]) -> Iterator[R]:
        yield judge(cast(HeldReplica, row) for row in self.rows(GROUPED))

    def forget(self) -> None:
        for view in _VIEWS.values():
            self._spark.catalog.dropTempView(view)

    def _asked(self, statement: str) -> DataFrame:
        return self._spark.sql(_NAMED.sub(lambda name: f"{name[1]} {_VIEWS[name[2]]}", statement))


class _There(_Here):
    """Many rows: they stay with the executors, and what is written of them is written there."""

    _kept: DataFrame | None = None

    def view(self, name: str, statement: str) -> None:
        """The same, kept where it was computed."""
        self._kept = self._asked(statement).persist()
        self._kept.createOrReplaceTempView(_VIEWS[name])

    def each_partition(self, judge: Callable[[Iterator[HeldReplica]], R]) -> Iterator[R]:
        rows = self._spark.table(_VIEWS["replicas"]).repartition(*PARTITION)
        sorted_rows = rows.sortWithinPartitions(*PARTITION, "seniority")
        judged = sorted_rows.mapInArrow(partial(_judged, judge), from_arrow_schema(_RESULT))
        for row in judged.collect():
            yield pickle.loads(row.result)

    def forget(self) -> None:
        """The rows that were kept, too."""
        super().forget()
        if self._kept is not None:
            self._kept.unpersist()


def _judged(
    judge: Callable[[Iterator[HeldReplica]], object], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    result = judge(cast(HeldReplica, row) for row in _rows(batches))
    yield pa.record_batch([[pickle.dumps(result)]], schema=_RESULT)


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Mapping[str, object]]:
    for batch in batches:
        yield from batch.to_pylist()
