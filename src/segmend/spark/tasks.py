"""Plain values as the tasks of a DataFrame, in Spark's own process or through Spark Connect."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from socket import MSG_PEEK, socket
from traceback import walk_stack, walk_tb
from types import FrameType
from typing import TypeVar
from weakref import ref

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from segmend.errors import SegmendError

T = TypeVar("T")

_CORES_UNKNOWN = 8


def cores(spark: SparkSession) -> int:
    """How many tasks run at once; Spark Connect does not tell."""
    context = getattr(spark, "_sc", None)
    return _CORES_UNKNOWN if context is None else int(context.defaultParallelism)


def java_says(error: Py4JJavaError) -> str:
    """What happened, without where in Java; Python has names for few of its exceptions."""
    thrown = error.java_exception
    return str(thrown.getMessage() or thrown.toString()).partition("\n")[0]


class _Hushed:
    """What a worker of PySpark's own daemon shows of an error: no stack where it is hung up on over our work.

    No setting names `segmend.spark.daemon` for plans. Spark hangs up once it has heard what it wants. One
    worker may plan for other sources as well, from another `infile` each time.
    """

    def __init__(self) -> None:
        self._infile: Callable[[], object] = lambda: None
        self._shown: Callable[[], None] | None = None

    def begin(self) -> None:
        """From here on, if this process is one."""
        main = getattr(sys.modules["__main__"], "__spec__", None)
        if main is not None and main.name == "pyspark.daemon" and self._shown is None:
            self._shown, daemon = traceback.print_exc, vars(sys.modules["__main__"])
            vars(traceback)["print_exc"] = self._print_exc
            daemon["worker"] = partial(_unless_idle, daemon["worker"])
        self.ours()

    def ours(self) -> None:
        """What the worker does now is for us."""
        infile = None if self._shown is None else _infile(reversed([frame for frame, _ in walk_stack(None)]))
        if infile is not None:
            self._infile = ref(infile)

    def _print_exc(self) -> None:
        error = sys.exc_info()[1]
        if isinstance(error, ConnectionError):
            infile = _infile(frame for frame, _ in walk_tb(error.__traceback__))
            if infile is not None and infile is self._infile():
                return
        traceback.print_exception(error)


def _unless_idle(worker: Callable[[socket, bool], int], sock: socket, authenticated: bool) -> int:
    """Of PySpark's daemon: one that is hung up on while it waits for work has nothing to tell."""
    try:
        if not sock.recv(1, MSG_PEEK):
            return 1
    except ConnectionError:
        return 1
    return worker(sock, authenticated)


def _infile(frames: Iterable[FrameType]) -> object:
    """What PySpark's worker reads from, as its own functions call it: the outermost of these frames."""
    return next((frame.f_locals["infile"] for frame in frames if "infile" in frame.f_locals), None)


_HUSHED = _Hushed()
hush = _HUSHED.begin


@contextmanager
def in_a_line() -> Iterator[None]:
    """An error that says what is wrong comes without the lines of our code that found it.

    What `spark.sql.execution.pyspark.udf.hideTraceback.enabled` does for a session, for this process of
    Spark's alone, which ends with the error.
    """
    _HUSHED.ours()
    try:
        yield
    except SegmendError:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


def run_tasks(
    spark: SparkSession,
    works: Sequence[T],
    function: Callable[[T], Iterator[pa.RecordBatch]],
    schema: StructType,
) -> DataFrame:
    """The rows that `function` gives for each of `works`, each a Spark task."""
    if not works:
        return spark.createDataFrame([], schema)
    pickled = [pickle.dumps(work) for work in works]

    # By this name a plan tells that it reads log dirs.
    def kafka_log(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = chain.from_iterable(batch.column(0).to_pylist() for batch in batches)
        with in_a_line():
            for number in numbers:
                yield from function(pickle.loads(pickled[number]))

    return spark.range(0, len(works), 1, len(works)).mapInArrow(kafka_log, schema)
