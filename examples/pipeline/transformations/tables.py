"""Two tables out of the log dirs of a cluster, made anew by each run."""

from __future__ import annotations

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

spark = SparkSession.active()
COLUMNS = ("partition", "offset", "timestamp", "key", "value", "headers", "topic")
PATHS, TOPICS = (spark.conf.get(f"spark.segmend.{name}") for name in ("paths", "topics"))


@dp.materialized_view(partition_cols=["topic"])
def records() -> DataFrame:
    """Every record once, whatever replicas there are; damaged ones are merged.

    A column by which a table is partitioned comes last, else Spark 4.2 refuses it.
    """
    reader = spark.read.format("kafka-log").option("topics", TOPICS).option("isolation", "read_committed")
    return reader.option("includeHeaders", "true").load(PATHS).select(*COLUMNS)


@dp.materialized_view
def per_day() -> DataFrame:
    """How much came on each day (UTC), out of the table before."""
    day = sql.to_date("timestamp").alias("day")
    return (
        spark.read.table("records")
        .groupBy("topic", day)
        .agg(sql.count("*").alias("records"), sql.sum(sql.length("value")).alias("value_bytes"))
    )
