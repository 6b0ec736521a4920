"""A source of records that costs nothing: one batch, given again and again.

What Spark needs for that is what no Python data source can go below.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from segmend.fleet.schemas import KAFKA_RECORD

_BATCH = 4096


class Constant(DataSource):  # type: ignore[misc]
    """Options: the `file` with a batch, how many `tasks`, and how many `rows` each."""

    @classmethod
    def name(cls) -> str:
        return "constant-records"

    def schema(self) -> StructType:
        return from_arrow_schema(KAFKA_RECORD)

    def reader(self, schema: StructType) -> DataSourceReader:
        del schema
        return _Reader(self.options["file"], int(self.options["tasks"]), int(self.options["rows"]))


class _Reader(DataSourceReader):  # type: ignore[misc]
    def __init__(self, file: str, tasks: int, rows: int) -> None:
        self._file, self._tasks, self._rows = file, tasks, rows

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(self._tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        del partition
        with pa.ipc.open_file(self._file) as file:
            batch = file.get_batch(0)
        for at in range(0, self._rows, len(batch)):
            yield batch.slice(0, self._rows - at)


def constant(spark: SparkSession, like: DataFrame, file: Path, *, tasks: int, rows: int) -> DataFrame:
    """So many rows a task, all of them among the first of `like`."""
    (batch,) = like.limit(_BATCH).toArrow().combine_chunks().cast(KAFKA_RECORD).to_batches()
    with pa.ipc.new_file(file, batch.schema) as written:
        written.write_batch(batch)
    spark.dataSource.register(Constant)
    reader = spark.read.format(Constant.name()).option("file", str(file))
    return reader.option("tasks", tasks).option("rows", rows).load()
