"""How many records and bytes, which offsets and times: aggregates in the tasks, out of batch headers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_schema

from segmend.errors import UsageError
from segmend.fleet.listing import absolute
from segmend.fleet.options import parse_options
from segmend.fleet.summary import KEYS, SUMMARY, check_clusters, check_keys, summarize_task
from segmend.fleet.tables import TableTask, open_table
from segmend.spark.tasks import cores, run_tasks

_NOT_ASKED: Final = ("table", "columns", "includeheaders", "crc")
"""Options of a read that say nothing of a summary."""


def summarize(
    spark: SparkSession, paths: str | Sequence[str], *, by: Sequence[str] = KEYS[:2], **options: str
) -> DataFrame:
    """A row for each of `by`: records, batches, bytes, min and max offset and time.

    `by` names any of topic, partition, day and cluster_id, which has to be there for topics of several.
    No value is read and next to nothing decompressed (see `segmend.fleet.summary` for what is).
    The options are those of the table `records`, but for columns, includeHeaders and crc:
    no checksum is computed. UsageError for anything else.
    """
    check_keys(tuple(by))
    refused = [name for name in options if name.lower() in _NOT_ASKED]
    if refused:
        raise UsageError(f"a summary has no option {', '.join(refused)}")
    parsed = parse_options({**options, "table": "records"})
    given = absolute([paths] if isinstance(paths, str) else paths)
    works = open_table(given, parsed, cores=cores(spark))
    check_clusters(tuple(by), works)
    by_day = "day" in by

    def work(task: TableTask) -> Iterator[pa.RecordBatch]:
        yield summarize_task(task, by_day=by_day)

    rows = run_tasks(spark, works, work, from_arrow_schema(SUMMARY))
    return rows.groupBy(*by).agg(
        *(sql.sum(name).alias(name) for name in ("records", "batches", "bytes")),
        sql.min("min_offset").alias("min_offset"),
        sql.max("max_offset").alias("max_offset"),
        sql.timestamp_millis(sql.min("min_timestamp_ms")).alias("min_timestamp"),
        sql.timestamp_millis(sql.max("max_timestamp_ms")).alias("max_timestamp"),
    )
