"""A rescue from beginning to end: partition after partition, each in the journal once it is written."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Final, cast

from segmend.cluster.cluster_dirs import FleetDirs
from segmend.cluster.gathered import gathered
from segmend.cluster.policies import Policies
from segmend.errors import ExitCode, PartitionError, UsageError
from segmend.fleet.surroundings import Surroundings
from segmend.formats.java_number import LONG_MAX
from segmend.frozen import frozen, replace
from segmend.logdir.partition_dir import Key, PartitionDir
from segmend.logdir.release import Release
from segmend.merge.cut import count_of
from segmend.merge.fates import fates
from segmend.merge.look import Second
from segmend.merge.packed import Packed
from segmend.merge.pieces import Piece, pieces
from segmend.merge.replicas import read_replicas, while_it_runs
from segmend.merge.rule import merge, refuse_another_cluster, refuse_strangers
from segmend.merge.salvage import salvaged
from segmend.merge.spans import common, united
from segmend.merge.values import Conflicts, Damaged, Diverged, Replica, Run
from segmend.rescue import forms
from segmend.rescue.compact import compact
from segmend.rescue.lines import DivergedSpan, Line, PartitionLine, SourceCount, SummaryLine
from segmend.rescue.outlet import Folder, open_outlet, refuse_place
from segmend.rescue.request import CompactionResult, Due, Job, RescueRequest, Written, ranges_within
from segmend.surgery.writing.effects import Effects
from segmend.wording import few, plural

Told = Callable[[int, int, str], None]
"""Hears of bytes that are behind, of how many, and what is looked at."""
Text = Callable[[Sequence[Line]], Iterable[str]]
REPORT: Final = "_rescue.txt"
WRONG: Final = ("missing", "diverged", "unreadable", "conflicts", "doubts", "vanished", "strays", "shared")
"""What of a line takes an all-clear away, beside what could not be read."""
_TOLD: Final = (
    "first_offset", "next_offset", "records", "aborted", "marked", "missing", "diverged", "sources", "bytes",
    "left_out", "open", "unacknowledged", "read", "gaps", "duplicates", "not_asked_for", "unread",
    "unreadable", "conflicts", "doubts", "assumed", "form",
)  # fmt: skip
"""What each line tells of its partition; None of one that was not written, for nobody may have looked."""


def rescue(
    request: RescueRequest,
    fleet: FleetDirs,
    only: Sequence[str],
    each: Each,
    text: Text,
    fx: Effects | None = None,
) -> Iterator[Line]:
    """The lines of the report: one a partition, and the summary.

    A partition of which only `refused` is told is not in the journal, nor is the summary then, so the same
    command goes on with it. `only` are paths of partition directories where not all of `fleet` was given;
    `each` writes the partitions, and `text` makes the report for people of all lines. Of a rescue that was at
    its end the report is told once more (`again`): nobody looks. Raises `SegmendError`.
    """
    refuse_place(request.out, request.form, (log_dir.path for log_dir in fleet.dirs))
    form, home = forms.form(request.form), fleet.home(request.broker)
    wanted = replicas_wanted(request, fleet, only)
    compacts = Policies([fleet], request.configs)
    release = fleet.release if home is None else home.release
    around = Surroundings(fleet, request.wants, whole=not only)
    with open_outlet(request.out, request.identity, fx or Effects()) as outlet:
        done = set(map(_place, outlet.partitions))
        todo = [
            RescueTask(request=request, places=wanted[key], release=release, compacted=compacts(key[0]))
            for key in wanted
            if key not in done
        ]
        form.prepare(request, outlet, [task.due for task in todo], fleet.image)
        outlet.refuse_changed()
        if outlet.summary is not None:
            yield from outlet.partitions
            told = {name: value for name, value in outlet.summary.items() if name != "held"}
            yield cast(SummaryLine, {**told, "again": True})
            return
        yield from outlet.partitions
        refused = list[PartitionLine]()
        for line in with_doubts(each(todo, outlet), around, wanted):
            refused.append(line) if line.get("refused") else outlet.record(line)
            yield line
        form.finish(home, outlet, sorted(outlet.partitions, key=_place))
        lines = sorted([*outlet.partitions, *refused], key=_place)
        last = summary_of(lines, compacts, around)
        report = "".join(f"{line}\n" for line in text([*lines, last]))
        outlet.lay(REPORT, report.encode("utf-8", "backslashreplace"))
        outlet.settle() if refused else outlet.record(last)
        yield last


def with_doubts(
    lines: Iterable[PartitionLine], around: Surroundings, wanted: Mapping[Key, Sequence[PartitionDir]]
) -> Iterator[PartitionLine]:
    """The lines of partitions, each with what may have been beyond the replicas that are here."""
    for line in lines:
        if not line.get("refused"):
            key = line["topic"], line["partition"]
            holders = {one.dir: one.broker for one in map(unread, wanted[key])}
            more = around.elsewhere(key).beyond(holders, line["next_offset"])
            doubts, assumed = [*line["doubts"], *more.doubts], [*line["assumed"], *more.assumed]
            line = {**line, "doubts": doubts, "assumed": assumed}
        yield line


def _place(line: PartitionLine) -> tuple[str, int]:
    return line["topic"], line["partition"]


@frozen
class RescueTask:
    """One partition to write, out of the replicas in these directories."""

    request: RescueRequest
    places: Sequence[PartitionDir]
    release: Release
    compacted: bool | None
    """Whether the metadata says so of its topic; None where it says nothing of it."""

    @property
    def size(self) -> int:
        """Of the logs of all replicas, in bytes."""
        return sum(place.size for place in self.places)

    @property
    def due(self) -> Due:
        """As a form is told of it beforehand."""
        largest = max(self.places, key=attrgetter("size"))
        return Due(topic=largest.topic, partition=largest.partition, size=largest.size, place=largest)


Each = Callable[[Sequence[RescueTask], Folder], Iterator[PartitionLine]]
"""Writes partitions into OUT, and gives the line of each that is done."""


def here(told: Told, form: forms.Form | None = None) -> Each:
    """One after the other, in this process; `form` is one that has no name."""

    def each(tasks: Sequence[RescueTask], folder: Folder) -> Iterator[PartitionLine]:
        sizes = [task.size for task in tasks]
        for number, task in enumerate(tasks):
            watch = _Watch(told, sum(sizes[:number]), sizes[number], sum(sizes), task.places[0].name)
            folder.tell = watch.written
            yield written(task, folder, watch.read, form)

    return each


def written(
    task: RescueTask,
    folder: Folder,
    merged: Callable[[int], None] = lambda _: None,
    form: forms.Form | None = None,
) -> PartitionLine:
    """Write one partition; `merged` hears how many bytes that will be. Raises `SegmendError`, `OSError`.

    What is no reason to leave the others alone is told by the line, in words (`refused`).
    """
    try:
        job = job_of(task)
        if task.request.compact:
            job = compact(job, task.compacted)
        merged(sum(piece.size for piece in job.pieces))
        return _line(job, (form or forms.form(task.request.form)).write(job, folder))
    except PartitionError as error:
        due = task.due
        untold = cast(PartitionLine, dict.fromkeys(_TOLD))
        return {
            "type": "partition", "topic": due.topic, "partition": due.partition, **untold,
            "refused": str(error),
        }  # fmt: skip


def replicas_wanted(
    request: RescueRequest, fleet: FleetDirs, only: Sequence[str]
) -> dict[tuple[str, int], Sequence[PartitionDir]]:
    """The replicas of each partition that is asked for; raises `UsageError`."""
    by_key = gathered(fleet, only).groups
    wanted = {key: places for key, places in by_key.items() if request.wants(key)}
    if not wanted:
        here = few(sorted({topic for topic, _ in by_key})) or "none"
        raise UsageError(
            f"no partition here is asked for by --topic {request.topic or '*'}; topics here: {here} "
            "(`segmend show DIR` lists their partitions)"
        )
    for places in wanted.values():
        refuse_another_cluster([*map(unread, places)])
    return wanted


def unread(place: PartitionDir) -> Replica:
    """A replica by what is beside its logs: enough to tell those of another topic or cluster, at once."""
    return Replica(
        broker=place.log_dir.node_id, dir=place.log_dir.path, name=place.name,
        topic=place.topic, partition=place.partition, topic_id=place.topic_id,
        cluster_id=place.log_dir.cluster,
        log_start_offset=0, log_end_offset=0, runs=Packed(Run), damaged=Packed(Damaged),
    )  # fmt: skip


class _Watch:
    """Progress within one partition: half of it is reading all replicas, the other half writing."""

    def __init__(self, told: Told, behind: int, size: int, total: int, name: str) -> None:
        self._told, self._behind, self._size, self._total, self._name = told, behind, size, total, name
        self._done, self._of = 0, 1
        told(behind, total, name)

    def read(self, to_write: int) -> None:
        """All replicas are read, and so many bytes are to be written."""
        self._behind, self._of = self._behind + self._size // 2, max(to_write, 1)
        self._told(self._behind, self._total, self._name)

    def written(self, count: int) -> None:
        """So many more bytes are written."""
        self._done = min(self._done + count, self._of)
        self._told(self._behind + self._size // 2 * self._done // self._of, self._total, self._name)


def job_of(task: RescueTask) -> Job:
    """The replicas of one partition read and merged, and where what is wanted of them lies.

    Raises `PartitionError` where they are of several topics, before any is read.
    """
    try:
        refuse_strangers([*map(unread, task.places)])
        return while_it_runs(task.places, partial(_job_of, task))
    except UsageError as error:
        raise PartitionError(str(error)) from None


def _job_of(task: RescueTask, places: Sequence[PartitionDir]) -> Job:
    request = task.request
    replicas = list(read_replicas(places, compacted=task.compacted))
    merged = merge(replicas, Second(places, replicas), compacted=task.compacted)
    chosen = Packed(Piece, pieces(replicas, places, ranges_within(merged.ranges, request)))
    # Of very many holes they are not looked for twice.
    every = chosen if request.offsets is None else pieces(replicas, places, merged.ranges)
    taken = sum(map(_records_of, every))
    if request.salvage:
        lacking = united([*merged.missing, (merged.next_offset, LONG_MAX)])
        asked = common(lacking, [(request.low, request.high)])
        broken = salvaged(replicas, places, replace(merged, missing=asked))
        chosen = Packed(Piece, heapq.merge(chosen, broken, key=attrgetter("first")))
    return Job(
        request=request, topic=replicas[0].topic, partition=replicas[0].partition, places=places,
        replicas=replicas, merged=merged, pieces=chosen, release=task.release,
        chosen=taken,
        # How a transaction ended may stand behind the offsets that are wanted.
        fates=cache(lambda: fates(merged, replicas, places)),
    )  # fmt: skip


def _records_of(piece: Piece) -> int:
    """Those that are wanted: a batch from which several pieces are taken counts once."""
    return count_of(piece) if piece.cut else piece.records


def _line(job: Job, written: Written) -> PartitionLine:
    merged, request = job.merged, job.request
    compaction = job.compaction or CompactionResult()
    gone = compaction.superseded + compaction.aborted
    read = sum(sum(replica.runs.column("records")) for replica in job.replicas) - merged.misplaced
    return {
        "type": "partition",
        "topic": job.topic,
        "partition": job.partition,
        "first_offset": max(merged.first_offset, request.low),
        "next_offset": min(merged.next_offset, request.high + 1),
        "records": written.records,
        "aborted": written.aborted,
        "marked": written.marked,
        "missing": common(merged.missing, [(request.low, request.high)]),
        "diverged": [_diverged(each, job.replicas) for each in merged.diverged],
        "sources": list(_sources(job.pieces)),
        "bytes": written.bytes,
        "left_out": written.left_out,
        "open": written.open,
        "unacknowledged": written.unacknowledged,
        "read": read,
        "gaps": bool(merged.left_out) or any(map(_has_gaps, job.replicas)),
        "duplicates": read - job.chosen,
        "not_asked_for": job.chosen - gone - written.left_out - written.records + written.salvaged,
        "unread": [each for replica in job.replicas for each in replica.unreadable],
        "unreadable": [list(each) for each in written.undecodable],
        "conflicts": Conflicts(merged.conflicts, job.replicas),
        "doubts": [
            *merged.doubts,
            *(f"not compacted: {why}" for why in [compaction.refused] if why),
            *_not_committed(job, written),
            *written.facts.get("doubts", ()),
        ],
        "assumed": list(merged.assumed),
        **({"salvaged": _salvaged(job.pieces)} if request.salvage else {}),
        **({"decoded": dict(written.decoded)} if written.decoded else {}),
        **({"compacted": compaction.to_json()} if job.compaction else {}),
        "form": written.facts,
    }


def _not_committed(job: Job, written: Written) -> Iterator[str]:
    """What stands in a table of committed records, and may be none, in words; `kafka` counts it."""
    if job.request.committed_only and job.request.form != "kafka" and written.open:
        since = job.fates().open_from
        until = "" if since is None else f"; who consumes committed records would get none from {since} on"
        yield (
            f"among these, with `aborted` null, {plural(written.open, 'record')} of transactions without a "
            f"known end: whether they were committed nothing tells{until}"
        )


def _has_gaps(replica: Replica) -> bool:
    """Whether it has no byte of offsets that a cleaner may have taken."""
    return bool(replica.thinned or replica.gaps or any(each.kind == "missing" for each in replica.damaged))


def _salvaged(salvaged_pieces: Sequence[Piece]) -> list[list[int]]:
    """Of the missing offsets, those with a record of a batch whose checksum fails."""
    return [list(span) for span in united(span for piece in salvaged_pieces for span in piece.salvaged)]


def _diverged(span: Diverged, replicas: Sequence[Replica]) -> DivergedSpan:
    return {
        "broker": replicas[span.replica].broker,
        "dir": replicas[span.replica].dir,
        "first_offset": span.first_offset,
        "last_offset": span.last_offset,
        "records": span.records,
        "epoch": span.epoch,
        "producers": list(span.producers),
    }


def _sources(taken_pieces: Sequence[Piece]) -> Iterator[SourceCount]:
    """Which replica gave how much."""
    sums: dict[tuple[int | None, str], list[int]] = {}
    for piece in (each for each in taken_pieces if not each.salvaged):
        total = sums.setdefault((piece.replica.broker, piece.replica.dir), [0, 0])
        total[0] += piece.batches
        total[1] += piece.size
    for (broker, dir), (batches, size) in sums.items():
        yield {"broker": broker, "dir": dir, "batches": batches, "bytes": size}


def summary_of(lines: Sequence[PartitionLine], policies: Policies, around: Surroundings) -> SummaryLine:
    """The last line; `around` tells of which partitions there is none, and what was not looked at.

    It names the topics whose gaps are lost, or were compacted, by a policy that nobody tells.
    """
    refused, beside = sum(bool(line.get("refused")) for line in lines), around.passed_over()
    lines = [line for line in lines if not line.get("refused")]
    undecodable = sum(len(line["unreadable"]) for line in lines)
    gapped = sorted({line["topic"] for line in lines if line.get("gaps")})
    untold = {topic: policies(topic) for topic in gapped if not policies.is_told(topic)}
    return {
        "type": "summary",
        "partitions": len(lines),
        "records": sum(line["records"] for line in lines),
        "bytes": sum(line["bytes"] for line in lines),
        "missing": sum(last - first + 1 for line in lines for first, last in line["missing"]),
        "marked": sum(line["marked"] for line in lines),
        "aborted": sum(line["aborted"] for line in lines),
        "vanished": [
            {"topic": topic, "partition": partition, "why": why}
            for (topic, partition), why in around.gone().items()
        ],
        **beside.to_json(),
        **({"refused": refused} if refused else {}),
        **({"unreadable": undecodable} if undecodable else {}),
        "policy_untold": [
            {"topic": topic, "gaps": "lost" if compacts is False else "compacted"}
            for topic, compacts in untold.items()
        ],
        **(
            {"salvaged": sum(b - a + 1 for line in lines for a, b in line["salvaged"])}
            if any("salvaged" in line for line in lines)
            else {}
        ),
    }


def code_of(line: Line) -> ExitCode:
    """Whether everything that any replica could have is there, nothing is in doubt, and all was looked at."""
    return ExitCode.of(
        left=any(line.get(each) for each in WRONG), unread=bool(line.get("unread") or line.get("refused"))
    )
