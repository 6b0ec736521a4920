"""Replicas as DataFrames: the runs of sound batches that each has, and the one log that they make together.

    runs = segmend.spark.runs(spark, "/brokers/*/data", topic="orders*")      # reads every log, once
    segmend.spark.merge(runs).where("outcome <> 'taken'").show()              # what nobody has, who left
    segmend.spark.rescue(spark, "/brokers/*/data", topic="orders*")           # its records

The rule is that of `segmend diff` and `segmend rescue` (`segmend explain merge`). Runs travel, data does not:
kilobytes a gigabyte are shuffled, and nothing comes to the driver but the names of directories.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from segmend.cluster.cluster_dirs import FleetDirs
from segmend.cluster.elsewhere import More, NotRead
from segmend.cluster.policies import Policies
from segmend.errors import SegmendError, UsageError
from segmend.fleet.compare import ListedDir, places_now
from segmend.fleet.damaged import tell_gone, tell_unread
from segmend.fleet.listing import absolute, find_places
from segmend.fleet.merge_schemas import MERGED_RANGES, RUN, SOUND_RUNS
from segmend.fleet.options import PERMISSIVE
from segmend.fleet.surroundings import Surroundings
from segmend.frozen import replace
from segmend.json_values import JsonObject
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.merge.look import Second
from segmend.merge.replicas import read_replica
from segmend.merge.rule import merge as merged_by_the_rule
from segmend.merge.rule import refuse_strangers
from segmend.merge.values import Conflict, Diverged, Merged, Range, Replica
from segmend.rescue.arrow_rows import batches, schema
from segmend.rescue.request import RescueRequest
from segmend.rescue.rows import Tally
from segmend.rescue.run import RescueTask, job_of, replicas_wanted, unread
from segmend.rescue.spread import Sent
from segmend.spark.tasks import in_a_line, run_tasks
from segmend.spark.workers import make_ready


def runs(
    spark: SparkSession, paths: str | Sequence[str], *, topic: str | None = None, config: Sequence[str] = ()
) -> DataFrame:
    """What each replica has sound, a row a replica: every log is read, its checksums computed, in tasks.

    `config` are server.properties, whose log.cleanup.policy counts where a topic has none of its own.
    """
    asked = RescueRequest(dirs=(), out="", form="", topic=topic, configs=_read_configs(config))
    sent = _sent(spark, paths, asked)
    each = [(*one, number) for one in sent for number in range(len(one[0].places))]
    return run_tasks(spark, each, _read, from_arrow_schema(SOUND_RUNS))


def merge(runs: DataFrame) -> DataFrame:
    """The ranges of the one log that the replicas of each partition make, from the rows of `runs`.

    A filter on topic and partition may stand between; without some of its replicas a partition has less.
    A log that is gone since its runs were read is told as a doubt.
    """
    return runs.groupBy("topic", "partition").applyInArrow(_merge, from_arrow_schema(MERGED_RANGES))


def rescue(
    spark: SparkSession,
    paths: str | Sequence[str],
    *,
    topic: str | None = None,
    isolation: Literal["read_uncommitted", "read_committed"] = "read_uncommitted",
    config: Sequence[str] = (),
) -> DataFrame:
    """The records of the merged log, in the columns of `segmend rescue --as delta`: a task a partition.

    What is missing or diverged is no row here: `merge` tells it. The log names a partition of which not all
    is here, or known, and what lies beside the replicas.
    """
    if isolation not in ("read_uncommitted", "read_committed"):
        raise UsageError(f"isolation is read_uncommitted or read_committed, not {isolation}")
    committed = isolation == "read_committed"
    asked = RescueRequest(
        dirs=(), out="", form="", topic=topic, committed_only=committed, configs=_read_configs(config)
    )
    sent = _sent(spark, paths, asked)
    wanted = schema(pa.timestamp("us", tz="UTC"))
    return run_tasks(spark, sent, partial(_records, wanted), from_arrow_schema(wanted))


def _read_configs(paths: Sequence[str]) -> tuple[ServerConfig, ...]:
    return tuple(map(ServerConfig.load, [paths] if isinstance(paths, str) else paths))


def _sent(
    spark: SparkSession, paths: str | Sequence[str], request: RescueRequest
) -> list[tuple[Sent, NotRead]]:
    """The partitions that are asked for, the largest first, with what may be beyond their replicas."""
    places = find_places(absolute([paths] if isinstance(paths, str) else paths))
    make_ready(spark, places, out=None)
    tell_unread(places, PERMISSIVE)
    fleet = FleetDirs(LogDir.attempt(place.path, place.files) for place in places)
    compacts, around = Policies([fleet], request.configs), Surroundings(fleet, request.wants)
    tell_gone((*around.gone().values(), *around.unsure()), PERMISSIVE)
    wanted = replicas_wanted(request, fleet, ())
    for replicas in wanted.values():
        # A DataFrame has no line that tells of a partition that it is left out.
        refuse_strangers([*map(unread, replicas)])
    tasks = [
        (
            RescueTask(request=request, places=replicas, release=fleet.release, compacted=compacts(key[0])),
            around.elsewhere(key),
        )
        for key, replicas in wanted.items()
    ]
    return [(Sent.of(task), more) for task, more in sorted(tasks, key=lambda each: -each[0].size)]


def _read(one: tuple[Sent, NotRead, int]) -> Iterator[pa.RecordBatch]:
    sent, elsewhere, number = one
    place = _there(places_now(sent.places[number : number + 1]))[0]
    replica = read_replica(place, compacted=sent.compacted)
    row = {
        "topic": replica.topic, "partition": replica.partition, "number": number, "broker": replica.broker,
        "dir": replica.dir, "dir_name": replica.name, "log_start_offset": replica.log_start_offset,
        "log_end_offset": replica.log_end_offset, "high_watermark": replica.high_watermark,
        "damaged": len(replica.damaged), "compacted": sent.compacted,
        "runs": [{field.name: getattr(run, field.name) for field in RUN} for run in replica.runs],
        "replica": zlib.compress(pickle.dumps((replica, elsewhere)), 1),
    }  # fmt: skip
    yield pa.RecordBatch.from_pylist([row], SOUND_RUNS)


def _there(places: Sequence[PartitionDir]) -> Sequence[PartitionDir]:
    """These; raises `SegmendError` for one that is gone, for a DataFrame has no line that tells of it."""
    for each in places:
        if each.unreadable is not None and each.unreadable.missing:
            raise SegmendError(f"{each.path}: is gone")
    return places


def _gone(place: PartitionDir) -> list[str]:
    """The logs that it had when it was listed, and has no more."""
    there = place.afresh().entries
    return [log.path for segment in place.segments if (log := segment.log) and log.name not in there]


def _merge(table: pa.Table) -> pa.Table:
    """In a task: one partition with all its replicas, in the order of their directories."""
    rows = sorted(table.to_pylist(), key=lambda row: row["number"])
    told = [pickle.loads(zlib.decompress(row["replica"])) for row in rows]
    replicas = [replica for replica, _ in told]
    listed = [ListedDir.having(each.dir, each.name, {*each.runs.column("segment")}) for each in replicas]
    common = {"topic": rows[0]["topic"], "partition": rows[0]["partition"]}
    with in_a_line():
        elsewhere = [each for _, each in told]
        ranges = _ranges(replicas, _there(places_now(listed)), rows[0]["compacted"], elsewhere)
        return pa.Table.from_pylist([{**common, **each} for each in ranges], MERGED_RANGES)


def _ranges(
    replicas: Sequence[Replica],
    places: Sequence[PartitionDir],
    compacted: bool | None,
    elsewhere: Sequence[NotRead],
) -> Iterator[JsonObject]:
    try:
        merged = merged_by_the_rule(replicas, Second(places, replicas), compacted=compacted)
    except UsageError as error:
        yield {"outcome": "refused", "why": str(error)}
        return
    whose = [{"broker": replica.broker, "dir": replica.dir} for replica in replicas]
    for each in merged.ranges:
        yield {"outcome": "taken", **_offsets(each), **whose[each.replica],
               "unacknowledged": each.unacknowledged}  # fmt: skip
    for first, last in merged.missing:
        yield {"outcome": "missing", "first_offset": first, "last_offset": last}
    for left in merged.diverged:
        yield {"outcome": "diverged", **_offsets(left), **whose[left.replica], "why": f"epoch {left.epoch}"}
    for conflict in merged.conflicts:
        yield {"outcome": "conflict", **_offsets(conflict), "why": conflict.because}
    more = _beyond(elsewhere, replicas, merged)
    doubts, assumed = (*merged.doubts, *more.doubts), (*merged.assumed, *more.assumed)
    yield from ({"outcome": "doubt", "why": words} for words in doubts)
    yield from ({"outcome": "assumed", "why": words} for words in assumed)
    for replica, place in zip(replicas, places, strict=True):
        for words in (*replica.unreadable, *(f"{path}: is gone since it was read" for path in _gone(place))):
            yield {"outcome": "doubt", "broker": replica.broker, "dir": replica.dir, "why": words}


def _beyond(elsewhere: Sequence[NotRead], replicas: Sequence[Replica], merged: Merged) -> More:
    """What may be beyond them, each once: each row tells it, and `runs` may have been put together."""
    holders = {replica.dir: replica.broker for replica in replicas}
    told = [each.beyond(holders, merged.next_offset) for each in elsewhere]
    doubts, assumed = (dict.fromkeys(words for each in told for words in each[at]) for at in (0, 1))
    return More(tuple(doubts), tuple(assumed))


def _offsets(each: Range | Diverged | Conflict) -> dict[str, int]:
    return {"first_offset": each.first_offset, "last_offset": each.last_offset}


def _records(wanted: pa.Schema, one: tuple[Sent, NotRead]) -> Iterator[pa.RecordBatch]:
    """In a task: the records of one partition."""
    sent, elsewhere = one
    task = sent.opened()
    job = job_of(replace(task, places=_there(task.places)))
    merged = job.merged
    beyond = _beyond([elsewhere], job.replicas, merged)
    if any((merged.missing, merged.diverged, merged.conflicts, merged.doubts, beyond.doubts)):
        name = f"{job.topic}-{job.partition}"
        tell_gone([f"{name}: not all of it is here, or known; segmend.spark.merge tells what"], PERMISSIVE)
    gone = [path for place in task.places for path in _gone(place)] if merged.missing else []
    if gone:
        raise SegmendError(f"{gone[0]}: is gone since it was listed, and offsets with it; read again")
    yield from batches(job, wanted, Tally(), lambda _: None)
