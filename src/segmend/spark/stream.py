"""The records of growing log dirs as a structured stream: `spark.readStream.format("kafka-log")`.

Offsets are those of Spark's Kafka source, {topic: {partition: the next offset}}, and so is what is said of
records that are not there any more: a query fails (`failOnDataLoss`), or goes on without them and logs which.
Beside them stands "topic:id" with no partition, which Spark's source reads as nothing: by it a topic that was
made anew is told, however far it has come.
As every read here, it takes what the best replica has: also records above the high watermark, which a broker
may still cut off.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from segmend.errors import UsageError
from segmend.fleet.damaged import tell_gone
from segmend.fleet.option_values import EARLIEST, LATEST
from segmend.fleet.options import ReadOptions
from segmend.fleet.tables import Reach, open_table, reached, read
from segmend.frozen import replace
from segmend.spark.left_out import aloud
from segmend.spark.tasks import in_a_line

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # Spark 4.1 asks how far a log reaches, and for all of it
    ReadAllAvailable = ReadLimit = ReadMaxRows = None
    SupportsTriggerAvailableNow = object

Offsets = dict[str, dict[str, int]]
Key = tuple[str, int]

CORES: Final = 8
"""A planner has no say in how many there are; splits are small enough for this many."""


class KafkaLogStream(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Plans each batch where the query runs, reads it in tasks. `options` are of records, one row each."""

    def __init__(self, paths: Sequence[str], options: ReadOptions) -> None:
        self._paths = paths
        given, times = options.starting_offsets, options.begins_by_time
        self._all_latest = given is None and not times
        self._latest = {key for key, offset in given or () if offset == LATEST and not times}
        begins = tuple((key, EARLIEST if key in self._latest else offset) for key, offset in given or ())
        self._from = replace(options, starting_offsets=begins)
        self._options = replace(self._from, starting_offsets=(), starting_timestamp=None, starting_times=())
        self._last: Reach | None = None
        self._said: Offsets | None = None
        self._missed: set[str] = set()
        self._began = False

    def _reached(self, options: ReadOptions) -> Reach:
        # Not sooner: what is raised where a stream is made Spark drowns in a fault of its own.
        if options.table != "records" or options.replicas != "best":
            raise UsageError("a stream has the records, each once: no other table, nor replicas=all")
        if options.ending_offsets is not None or options.ends_by_time:
            raise UsageError("a stream has no end: no endingOffsets, nor endingTimestamp")
        if options.max_offsets_per_trigger is not None and ReadMaxRows is None:
            raise UsageError("option maxOffsetsPerTrigger: it needs Spark 4.2 or later")
        reach = reached(self._paths, options, first=not self._began)
        # As in Spark a pattern may match what is not there yet; a name that is nowhere is a slip, told once.
        fresh = [words for words in reach.nowhere if words not in self._missed]
        tell_gone(fresh, options.gone_mode)
        self._missed.update(fresh)
        self._began = True
        tell_gone(reach.unsure, options.mode)
        return reach

    @in_a_line()
    @aloud()
    def initialOffset(self) -> Offsets:
        """Where a query without a checkpoint begins."""
        reach = self._reached(self._from)
        latest = reach.ends if self._all_latest else self._latest
        return _nested(
            {key: reach.ends[key] if key in latest else at for key, at in reach.firsts.items()}, reach
        )

    def getDefaultReadLimit(self) -> ReadLimit:
        """How many offsets a batch may have (`maxOffsetsPerTrigger`)."""
        most = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    @in_a_line()
    def prepareForTriggerAvailableNow(self) -> None:
        """From here on what is there now is all that there is."""
        self._last = self._reached(self._options)

    @in_a_line()
    @aloud()
    def latestOffset(self, start: Offsets | None = None, limit: ReadLimit | None = None) -> Offsets:
        """How far the logs reach now, or a batch of no more offsets than `limit`."""
        reach = self._reached(self._options) if self._last is None else self._last
        asked = limit if isinstance(limit, ReadMaxRows or ()) else None
        ends = reach.ends
        if start is not None and asked is not None:
            ends = _within(asked.max_rows, _flat(start), reach)
        self._said = _nested(ends, reach)
        return self._said

    @in_a_line()
    @aloud()
    def partitions(self, start: Offsets, end: Offsets) -> list[InputPartition]:
        """The tasks of a batch; SegmendError where offsets of it are not there, if that is asked for."""
        before, after = _flat(start), _flat(end)
        tell_gone(_lost(before, after), self._options.gone_mode)
        tell_gone(_anew(_ids(start), _ids(end)), self._options.gone_mode)
        # All of a partition that is new is wanted: were its first records deleted, that is told.
        wanted = {key: (before.get(key, 0), upto) for key, upto in after.items() if before.get(key, 0) < upto}
        if not wanted:
            return []
        if end != self._said:  # planned before a stop, maybe long ago
            some = {topic: (topic, partition) for topic, partition in sorted(wanted, reverse=True)}
            now = reached(
                self._paths,
                replace(
                    self._options,
                    assign=frozenset(some.values()),
                    topics=(),
                    subscribe=(),
                    subscribe_pattern=None,
                ),
            )
            tell_gone(_anew(_ids(end), now.topic_ids), self._options.gone_mode)
        options = replace(
            self._options, topics=(), subscribe=(), subscribe_pattern=None, assign=frozenset(wanted),
            starting_offsets=tuple((key, first) for key, (first, _) in wanted.items()),
            ending_offsets=tuple((key, upto) for key, (_, upto) in wanted.items()),
        )  # fmt: skip
        return [InputPartition(work) for work in open_table(self._paths, options, cores=CORES, again=True)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        with in_a_line(), aloud():
            yield from read(partition.value)


def _within(most: int, before: Mapping[Key, int], reach: Reach) -> dict[Key, int]:
    """The ends of a batch, of each partition by its share (`KafkaMicroBatchStream.rateLimit`)."""
    begins = {key: before.get(key, first) for key, first in reach.firsts.items()}
    sizes = {key: max(0, end - begins[key]) for key, end in reach.ends.items()}
    total, ends = sum(sizes.values()), {**reach.ends}
    for key, size in sizes.items():
        share = most * (size / total) if size else 0.0
        if size:  # none starves because it is small
            ends[key] = min(ends[key], begins[key] + (math.ceil(share) if share < 1 else math.floor(share)))
    return ends


def _lost(before: Mapping[Key, int], after: Mapping[Key, int]) -> Iterator[str]:
    """In words: partitions that were read and have gone, or end before the offset that was reached."""
    for key, offset in sorted(before.items()):
        name = "{}-{}".format(*key)
        if key not in after:
            yield f"{name}: was read up to offset {offset}, and is on none of these log dirs any more"
        elif after[key] < offset:
            yield f"{name}: ends at offset {after[key]}, and was read up to {offset}: cut, or made anew"


def _anew(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """In words: topics that are others now, whatever their offsets."""
    for topic, was in before.items():
        if after.get(topic, was) != was:
            yield (
                f"{topic}: made anew, its id is {after[topic]}, no longer {was}: what was not "
                "read of it is gone, and of the new one nothing is read below the offset that was reached"
            )


def _nested(offsets: Mapping[Key, int], reach: Reach) -> Offsets:
    nested: Offsets = {}
    for (topic, partition), offset in sorted(offsets.items()):
        nested.setdefault(topic, {})[str(partition)] = offset
    return nested | {f"{topic}:{reach.topic_ids[topic]}": {} for topic in nested if topic in reach.topic_ids}


def _ids(offsets: Iterable[str]) -> dict[str, str]:
    """Of each topic; no name of one has a colon."""
    return dict(name.split(":", 1) for name in offsets if ":" in name)


def _flat(offsets: Mapping[str, Mapping[str, int]]) -> dict[Key, int]:
    return {(topic, int(p)): offset for topic, given in offsets.items() for p, offset in given.items()}
