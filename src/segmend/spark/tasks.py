"""Plain values as the tasks of a DataFrame, in Spark's own process or through Spark Connect."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TypeVar

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


def hush() -> None:
    """In a worker of PySpark's own daemon, as plans and clusters have: one that is hung up on shows no stack.

    No setting names `segmend.spark.daemon` for plans. Spark hangs up once it has heard what it wants.
    """
    main = getattr(sys.modules["__main__"], "__spec__", None)
    if main is not None and main.name == "pyspark.daemon":
        vars(traceback)["print_exc"] = _print_exc


def _print_exc() -> None:
    if not isinstance(error := sys.exc_info()[1], ConnectionError):
        traceback.print_exception(error)


@contextmanager
def in_a_line() -> Iterator[None]:
    """An error that says what is wrong comes without the lines of our code that found it.

    What `spark.sql.execution.pyspark.udf.hideTraceback.enabled` does for a session, for this process of
    Spark's alone, which ends with the error.
    """
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
