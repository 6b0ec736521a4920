"""Spark over the fleet: a session, the data source `kafka-log`, `scan`, `summarize`, an audit's driver.

The three functions have the names of their modules, and stand here in their place:

    import segmend.spark
    spark = segmend.spark.session()
    spark.read.format("kafka-log").option("offsets", "1000..2000").load("/brokers/*/data")
    segmend.spark.summarize(spark, "/brokers/*/data", by=["topic", "day"])
"""

from segmend.spark.scan import scan as scan
from segmend.spark.session import session as session
from segmend.spark.summarize import summarize as summarize
