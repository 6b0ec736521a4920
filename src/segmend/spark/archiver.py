"""The process that `archive` starts: run Spark a little, have the JVM write down what it loaded."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark import SparkContext

from segmend.fleet.sql import suspects
from segmend.spark.archive import archive_file, keep_newest
from segmend.spark.driver import SparkDriver
from segmend.spark.java import find_java
from segmend.spark.session import plain_session


def main(folder: Path) -> None:
    """Write the archive into `folder`, under its name only when it is whole."""
    file = archive_file(find_java(os.environ), folder)
    fresh = file.with_suffix(".new")
    spark = plain_session("local[2]", cache=folder, java_options=[f"-XX:ArchiveClassesAtExit={fresh}"])
    driver = SparkDriver(spark)
    list(driver.run(str, [1, 2]))
    with driver.sql({}) as sql:
        suspects(sql)
    process = SparkContext._gateway.proc
    spark.stop()
    process.stdin.close()
    process.wait()
    fresh.replace(file)
    keep_newest(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
