"""The records of growing log dirs as a structured stream: `spark.readStream.format("kafka-log")`.

Offsets are those of Spark's Kafka source, {topic: {partition: the next offset}}, and so is what is said of
records that are not there any more: a query fails (`failOnDataLoss`), or goes on without them and logs which.
As every read here, it takes what the best replica has: also records above the high watermark, which a broker
may still cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from segmend.errors import UsageError
from segmend.fleet.damaged import tell_gone
from segmend.fleet.options import ReadOptions
from segmend.fleet.tables import open_table, reached, read
from segmend.frozen import replace
from segmend.spark.left_out import aloud
from segmend.spark.tasks import in_a_line

Offsets = dict[str, dict[str, int]]
Key = tuple[str, int]

CORES: Final = 8
"""A planner has no say in how many there are; splits are small enough for this many."""


class KafkaLogStream(DataSourceStreamReader):  # type: ignore[misc]
    """Plans each batch where the query runs, reads it in tasks. `options` are of records, one row each."""

    def __init__(self, paths: Sequence[str], options: ReadOptions) -> None:
        self._paths = paths
        self._latest = options.starting_offsets is None and not options.begins_by_time
        self._from = replace(options, starting_offsets=options.starting_offsets or ())
        self._options = replace(self._from, starting_offsets=(), starting_timestamp=None, starting_times=())

    def _reached(self, options: ReadOptions) -> dict[Key, tuple[int, int]]:
        # Not sooner: what is raised where a stream is made Spark drowns in a fault of its own.
        if options.table != "records" or options.replicas != "best":
            raise UsageError("a stream has the records, each once: no other table, nor replicas=all")
        if options.ending_offsets is not None or options.ends_by_time:
            raise UsageError("a stream has no end: no endingOffsets, nor endingTimestamp")
        return reached(self._paths, options)

    @in_a_line()
    def initialOffset(self) -> Offsets:
        """Where a query without a checkpoint begins."""
        found = self._reached(self._from)
        return _nested({key: end if self._latest else first for key, (first, end) in found.items()})

    @in_a_line()
    def latestOffset(self) -> Offsets:
        """How far the logs reach now."""
        return _nested({key: end for key, (_, end) in self._reached(self._options).items()})

    @in_a_line()
    @aloud()
    def partitions(self, start: Offsets, end: Offsets) -> list[InputPartition]:
        """The tasks of a batch; SegmendError where offsets of it are not there, if that is asked for."""
        before, after = _flat(start), _flat(end)
        tell_gone(_lost(before, after), self._options.gone_mode)
        # All of a partition that is new is wanted: were its first records deleted, that is told.
        wanted = {key: (before.get(key, 0), upto) for key, upto in after.items() if before.get(key, 0) < upto}
        if not wanted:
            return []
        options = replace(
            self._options, topics=(), subscribe=(), subscribe_pattern=None, assign=frozenset(wanted),
            starting_offsets=tuple((key, first) for key, (first, _) in wanted.items()),
            ending_offsets=tuple((key, upto) for key, (_, upto) in wanted.items()),
        )  # fmt: skip
        return [InputPartition(work) for work in open_table(self._paths, options, cores=CORES)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        with in_a_line(), aloud():
            yield from read(partition.value)


def _lost(before: Mapping[Key, int], after: Mapping[Key, int]) -> Iterator[str]:
    """In words: partitions that were read and have gone, or end before the offset that was reached."""
    for key, offset in sorted(before.items()):
        name = "{}-{}".format(*key)
        if key not in after:
            yield f"{name}: was read up to offset {offset}, and is on none of these log dirs any more"
        elif after[key] < offset:
            yield f"{name}: ends at offset {after[key]}, and was read up to {offset}: cut, or made anew"


def _nested(offsets: Mapping[Key, int]) -> Offsets:
    nested: Offsets = {}
    for (topic, partition), offset in sorted(offsets.items()):
        nested.setdefault(topic, {})[str(partition)] = offset
    return nested


def _flat(offsets: Mapping[str, Mapping[str, Any]]) -> dict[Key, int]:
    return {(topic, int(p)): offset for topic, given in offsets.items() for p, offset in given.items()}
