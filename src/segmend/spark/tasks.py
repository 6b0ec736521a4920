"""Plain values as the tasks of a DataFrame, in Spark's own process or through Spark Connect."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

T = TypeVar("T")

_CORES_UNKNOWN = 8


def cores(spark: SparkSession) -> int:
    """How many tasks run at once; Spark Connect does not tell."""
    context = getattr(spark, "_sc", None)
    return _CORES_UNKNOWN if context is None else int(context.defaultParallelism)


def java_says(error: Py4JJavaError) -> str:
    """What happened, without where in Java; Python has names for few of its exceptions."""
    return str(error.java_exception.getMessage()).partition("\n")[0]


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

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from function(pickle.loads(pickled[number]))

    return spark.range(0, len(works), 1, len(works)).mapInArrow(run, schema)
