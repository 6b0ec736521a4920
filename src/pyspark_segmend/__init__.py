"""Where Spark looks for data sources: it imports every module named `pyspark_*` and takes `DefaultSource`."""

from __future__ import annotations

from segmend.spark.source import KafkaLogDataSource

DefaultSource = KafkaLogDataSource
