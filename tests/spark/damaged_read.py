"""A data engineer reads log dirs with the mode that is the default, in a process of its own.

python -m tests.spark.damaged_read MASTER CACHE FLEET [HOME]

Executors of the cluster in HOME die as soon as all was read.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from tests.spark.standalone import executors_of

from segmend.spark.session import session


def read(spark: SparkSession, fleet: str) -> None:
    """A line of what was there."""
    source = spark.read.format("kafka-log").option("topics", "orders")
    places = source.option("columns", "offset,_damage").load(fleet).where("_damage is not null")
    found = {
        "records": source.option("columns", "offset").option("splitBytes", "1").load(fleet).count(),
        "_damage": places.count(),
        "damage": spark.read.format("kafka-log").option("table", "damage").load(fleet).count(),
    }
    print(json.dumps(found), flush=True)


def main(master: str, cache: str, fleet: str, home: str | None = None) -> None:
    spark = session(master, cache=Path(cache))
    if home is None:
        read(spark, fleet)
    else:
        rows = spark.read.format("kafka-log").option("topics", "orders").load(fleet).count()
        for executor in executors_of(Path(home)):
            os.kill(executor, signal.SIGKILL)
        print(rows, flush=True)
        time.sleep(5)  # until Spark knows, and it is told
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
