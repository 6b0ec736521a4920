"""Spark over the fleet: a session, the data source `kafka-log`, and functions that give DataFrames.

`scan`, `session` and `summarize` have the names of their modules, and stand here in their place:

    import segmend.spark
    spark = segmend.spark.session()
    spark.read.format("kafka-log").option("offsets", "1000..2000").load("/brokers/*/data")
    segmend.spark.summarize(spark, "/brokers/*/data", by=["topic", "day"])
    segmend.spark.merge(segmend.spark.runs(spark, "/brokers/*/data"))
    segmend.spark.rescue(spark, "/brokers/*/data", topic="orders")
"""

from segmend.spark.merging import merge as merge
from segmend.spark.merging import rescue as rescue
from segmend.spark.merging import runs as runs
from segmend.spark.scan import scan as scan
from segmend.spark.session import session as session
from segmend.spark.summarize import summarize as summarize
