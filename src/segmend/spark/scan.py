"""Push-down of any predicate: filter the `segments` table with Spark, then read only what is left."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from segmend.errors import UsageError
from segmend.fleet.options import parse_options
from segmend.fleet.tables import BY_RANGE, open_table, read

KEYS = ("broker", "topic", "partition", "segment")


def scan(
    spark: SparkSession,
    segments: DataFrame,
    paths: str | Sequence[str],
    *,
    table: str = "records",
    columns: Sequence[str] = (),
    **options: str,
) -> DataFrame:
    """Rows of `table` (records or batches) in the segments that the DataFrame names.

    `segments` has the columns broker, topic, partition and segment, as the table `segments`
    has them after any filter or join; it is collected to the driver. `paths` and the other
    options are those of `kafka-log`.
    """
    if table not in BY_RANGE:
        raise UsageError(f"scan reads {' or '.join(BY_RANGE)}, not {table}")
    wanted = {tuple(row) for row in segments.select(*KEYS).distinct().collect()}
    parsed = parse_options({"table": table, "columns": ",".join(columns), **options})
    given = [paths] if isinstance(paths, str) else list(paths)
    works = open_table(given, parsed, cores=spark.sparkContext.defaultParallelism, only=wanted)
    schema = from_arrow_schema(parsed.schema)
    if not works:
        return spark.createDataFrame([], schema)
    pickled = [pickle.dumps(work) for work in works]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read(pickle.loads(pickled[number]))

    return spark.range(0, len(works), 1, len(works)).mapInArrow(work, schema)
