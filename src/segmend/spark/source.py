"""The data source `kafka-log`: a fleet's log dirs as DataFrames.

    spark.read.format("kafka-log").load("/brokers/*/data")                      # Kafka's columns
    spark.read.format("kafka-log").option("table", "segments").load(paths)

The default table is `records`, with exactly the columns and types of Spark's own Kafka
source, so that `format("kafka")` becomes `format("kafka-log")`. The options are those of
`segmend.fleet.options`. A `.schema(...)` with fewer columns prunes like `columns`.

`pushFilters` is not implemented and must not be: on Spark 4.1 to 4.3 a DataFrame that is
used twice then gives wrong rows in silence (tests/spark/test_canary.py). Filter the
`segments` table and hand it to `scan` instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from segmend.errors import UsageError
from segmend.fleet.damaged import LOG
from segmend.fleet.listing import absolute
from segmend.fleet.options import ReadOptions, parse_options
from segmend.fleet.tables import TableTask, open_table, read
from segmend.frozen import replace
from segmend.spark.stream import CORES, KafkaLogStream
from segmend.spark.tasks import hush, in_a_line

NAME = "kafka-log"
_NO_TABLE: Final = (
    "CREATE TABLE cannot be, for Spark hands on no option when the table is read: "
    "CREATE TEMPORARY VIEW ... USING `kafka-log` OPTIONS (path ...)"
)
hush()  # a worker that plans a read imports this before it does anything else for us


class KafkaLogDataSource(DataSource):  # type: ignore[misc]
    """Found by name in `pyspark_segmend`, or registered by `session`."""

    @classmethod
    def name(cls) -> str:
        return NAME

    @in_a_line()
    def schema(self) -> StructType:
        """The columns that the options ask for."""
        if "provider" in self.options:  # as a catalog's table has it, and no read
            raise UsageError(_NO_TABLE)
        return from_arrow_schema(parse_options(self.options).schema)

    @in_a_line()
    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of `schema`, whose columns must be of the table."""
        return KafkaLogReader(paths_of(self.options), self._read_of(schema, self.options))

    def _read_of(self, schema: StructType, given: Mapping[str, str]) -> ReadOptions:
        options = replace(parse_options(given), columns=tuple(schema.names))
        if from_arrow_schema(options.schema) != _nullable(schema):
            raise UsageError(f"the table {options.table} has other types: {options.schema}")
        return options

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A stream of records; it begins at the latest, and fails on loss, if nothing else is said."""
        defaults = {"startingOffsets": "latest", "failOnDataLoss": "true"}
        said = {name.lower() for name in self.options}
        more = {name: value for name, value in defaults.items() if name.lower() not in said}
        return KafkaLogStream(paths_of(self.options), self._read_of(schema, {**self.options, **more}))

    @in_a_line()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """There is none."""
        del schema, overwrite
        raise UsageError("kafka-log only reads; write to a broker with format('kafka')")


class _Misnamed(DataSource):  # type: ignore[misc]
    """A slip in the name, for which Spark shows 150 lines of Java."""

    @in_a_line()
    def schema(self) -> StructType:
        raise UsageError(f"the format is called {NAME}: spark.read.format({NAME!r})")


class _Underscored(_Misnamed):
    @classmethod
    def name(cls) -> str:
        return "kafka_log"


class _InOneWord(_Misnamed):
    @classmethod
    def name(cls) -> str:
        return "kafkalog"


SOURCES: Final = (KafkaLogDataSource, _Underscored, _InOneWord)
"""What a session of ours knows by name."""


class KafkaLogReader(DataSourceReader):  # type: ignore[misc]
    """Plans on the driver, reads in tasks."""

    def __init__(self, paths: list[str], options: ReadOptions) -> None:
        self._paths = paths
        self._options = options

    @in_a_line()
    def partitions(self) -> list[InputPartition]:
        """One for each packed task; none for an empty fleet would make Spark invent one."""
        if self._options.max_offsets_per_trigger is not None:  # as `KafkaSourceProvider` does
            LOG.warning("kafka-log: option maxOffsetsPerTrigger is ignored in a batch read: all is read")
        works = open_table(self._paths, self._options, cores=CORES)
        return [InputPartition(work) for work in works or [TableTask(options=self._options)]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        with in_a_line():
            yield from read(partition.value)


def paths_of(options: Mapping[str, str]) -> list[str]:
    """What was given to `load`: one path, or several (Spark sends those as JSON); `UsageError` if none."""
    many = options.get("paths")
    paths = list(map(str, json.loads(many))) if many else [options.get("path", "")]
    if not any(paths):
        raise UsageError(f"kafka-log needs a path: .load('/brokers/*/data'); {_NO_TABLE}")
    return absolute(paths)


def _nullable(schema: StructType) -> StructType:
    """The schema with every column nullable, as ours are."""
    plain = StructType()
    for field in schema.fields:
        plain.add(field.name, field.dataType, nullable=True)
    return plain
