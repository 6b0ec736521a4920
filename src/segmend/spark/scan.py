"""Push-down of any predicate: filter the `segments` table with Spark, then read only what is left."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import coalesce, lit
from pyspark.sql.pandas.types import from_arrow_schema

from segmend.errors import UsageError
from segmend.fleet.listing import absolute
from segmend.fleet.options import parse_options
from segmend.fleet.tables import BY_RANGE, open_table, read
from segmend.spark.tasks import cores, run_tasks

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
    has them after any filter or join, and cluster_id where `paths` are of several clusters; it is collected
    to the driver. `paths` and the other
    options are those of `kafka-log`, with `replicas=all`: a segment is one of a broker's.
    """
    if table not in BY_RANGE:
        raise UsageError(f"scan reads {' or '.join(BY_RANGE)}, not {table}")
    lacks = [name for name in KEYS if name not in segments.columns]
    if lacks:
        raise UsageError(f"scan needs the columns {', '.join(KEYS)}; there is no {', '.join(lacks)}")
    whose = coalesce("cluster_id", lit("")) if "cluster_id" in segments.columns else lit(None)
    wanted = {tuple(row) for row in segments.select(whose, *KEYS).distinct().collect()}
    replicas = {"replicas": "all"} if table == "records" else {}
    parsed = parse_options({"table": table, "columns": ",".join(columns), **replicas, **options})
    given = absolute([paths] if isinstance(paths, str) else paths)
    works = open_table(given, parsed, cores=cores(spark), only=wanted)
    return run_tasks(spark, works, read, from_arrow_schema(parsed.schema))
