"""One audit: plan, one pass in tasks, one commit a table, joins over them, the run's row.

Nothing here knows what runs the tasks (`driver.Driver`). The order of commits is the order
of trust: the row in `runs` comes last, and a run without one did not finish.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate, groupby
from operator import itemgetter
from typing import NamedTuple, TypeVar

from segmend.checks import Level
from segmend.errors import ExitCode
from segmend.findings import Severity
from segmend.fleet import carried, delta, history, rows
from segmend.fleet.confirm import Suspect, confirm
from segmend.fleet.cross import cross_findings
from segmend.fleet.cross.replica import Cluster, Divergence, Group, ListedReplica
from segmend.fleet.delta import AuditRun, DeltaFile
from segmend.fleet.driver import Driver
from segmend.fleet.healing import heal
from segmend.fleet.listing import Place, absolute, brokers, clusters, compared_with_nobody
from segmend.fleet.pack import pack
from segmend.fleet.plan import AuditPlan, make_plan
from segmend.fleet.remote import listed_once
from segmend.fleet.schemas import REPLICAS
from segmend.fleet.spool import Spool
from segmend.fleet.sql import PARTITION, suspects
from segmend.fleet.task import AuditJob, Result, run_task
from segmend.fleet.typed_rows import HeldReplica, RunRow, SuspectRow
from segmend.frozen import frozen
from segmend.logdir.release import Release
from segmend.wording import plural

SCANNED = ("log_dirs", "partitions", "segments", "checkpoints", "findings", "digests", "scans")
SKIPPED = {
    Level.STARTUP: (
        *(
            "owners and attributes of segments' files",
            "batches",
            "indexes against batches",
            "CRCs",
            "records",
        ),
        "replicas against each other",
    ),
    Level.DEFAULT: ("CRCs", "records"),
    Level.DEEP: (),
}

_READERS = 3
"""So many runs are named whose readings were taken over."""

Diverged = Mapping[tuple[int, str, int], Divergence | None]

OnProgress = Callable[[int, int, str], None]
"""(bytes done, bytes in all, what is being done)."""
Key = TypeVar("Key")


@frozen
class AuditRequest:
    """What to audit and where to put it; `release` None: read off each broker's disks.

    `since` names a run (see `carried.since`) whose readings are taken over where nothing has changed.
    """

    paths: tuple[str, ...]
    out: str
    level: Level = Level.DEFAULT
    release: Release | None = None
    version: str | None = None
    since: str | None = None


@frozen
class AuditOutcome:
    """The `runs` row, findings by code, and what could not be read."""

    run: AuditRun
    row: RunRow
    codes: Mapping[str, int]
    unreadable: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """As `segmend check`."""
        return self.row["exit_code"]


@delta.kept_open()
def audit(request: AuditRequest, driver: Driver, progress: OnProgress = lambda *_: None) -> AuditOutcome:
    """Run it all. Bad files are findings; UsageError or SegmendError only for what stops us."""
    started = time.monotonic()
    progress(0, 0, "listing log dirs")
    out = absolute([request.out])[0]  # a task's process may stand in another directory
    heal(out)
    run = delta.new_run(max(delta.runs(out), default=""))
    job = AuditJob(out=out, run=run, level=request.level)
    earlier = () if request.since is None else carried.since(job.out, request.since, request.level)
    known = carried.files(job.out, earlier)
    with listed_once(request.paths):
        plan = make_plan(request.paths, job, driver, request.release, known)
    results = _scan(plan, driver, progress)
    # Tasks of one broker meet the same.
    unreadable = tuple(dict.fromkeys(path for result in results for path in result.unreadable))
    parts = [part for result in results for part in result.parts]
    delta.commit(request.out, run, "scan", SCANNED, parts)
    progress(0, 0, "comparing replicas")
    compared = _compare(plan, driver, parts, unreadable)
    delta.commit(request.out, run, "join", ("findings", "replicas"), compared.parts)
    incomparable = _incomparable(request.out)
    changes = (None, None) if incomparable else _changes(request, run)
    row = _run_row(request, driver, plan, results, compared.codes, changes)
    row |= _carried(request, plan.places, results, earlier, time.monotonic() - started)
    row["skipped"] += incomparable
    last = delta.write_part(request.out, run, "runs", rows.table("runs", [{**row}]))
    delta.commit(request.out, run, "run", ("runs",), [last] if last else [])
    codes = _add_up(result.codes for result in results) + compared.codes
    by_code: Counter[str] = Counter()
    for (code, _), count in codes.items():
        by_code[code] += count
    return AuditOutcome(run=run, row=row, codes=dict(sorted(by_code.items())), unreadable=unreadable)


def _scan(plan: AuditPlan, driver: Driver, progress: OnProgress) -> list[Result]:
    # Tasks start heaviest first, so the first ones are most likely those that are finished.
    sizes = list(accumulate((task.bytes for task in plan.tasks), initial=0))

    def done(number: int) -> None:
        progress(sizes[number], sizes[-1], f"{number} of {len(plan.tasks)} tasks")

    done(0)
    return list(driver.run(run_task, plan.tasks, done))


@frozen
class _Compared:
    parts: list[DeltaFile]
    codes: Counter[tuple[str, str]]


def _compare(
    plan: AuditPlan, driver: Driver, parts: Sequence[DeltaFile], unreadable: Sequence[str]
) -> _Compared:
    """The joins, a look at the bytes of what they suspect, and what is wrong after that."""
    files: dict[str, list[str]] = {}
    for part in parts:
        files.setdefault(part.table, []).append(os.path.join(plan.job.out, part.table, part.path))
    places = {place.log_dir_id: place for place in plan.places}
    with driver.sql(files) as sql:
        looked_at = pack(_suspects(suspects(sql), places), cores=driver.cores, target=256 << 20)
        verdicts = driver.run(confirm, looked_at)
        diverged = {verdict[:3]: verdict[3] for each in verdicts for verdict in each if verdict[3]}
        unread = frozenset(each for path in unreadable for each in (path, os.path.dirname(path)))
        judged = list(sql.each_partition(partial(_judged, plan.job, _BesideRows(diverged, unread), places)))
    return _Compared(
        parts=[part for each in judged for part in each.parts], codes=_add_up(each.codes for each in judged)
    )


class _BesideRows(NamedTuple):
    """What is known of replicas beside their rows: where they differ, and directories not read as a whole."""

    diverged: Diverged
    unread: frozenset[str]


def _judged(
    job: AuditJob, told: _BesideRows, places: Mapping[int, Place], replicas: Iterable[HeldReplica]
) -> _Compared:
    """What is said of each group of replicas; no more of them are in memory than one table's file has."""
    spool = Spool(job.out, job.run)
    codes: Counter[tuple[str, str]] = Counter()
    by_path = {place.path: place for place in places.values()}
    for group in _groups(replicas, told, places, spool):
        for finding in cross_findings(group):
            spool.add("findings", rows.finding_row(finding, by_path[finding.dir], "join"))
            codes[finding.code, finding.severity.value] += 1
    return _Compared(parts=spool.close(), codes=codes)


def _suspects(doubted: Sequence[SuspectRow], places: Mapping[int, Place]) -> list[Suspect]:
    pieces = []
    for _, same in groupby(doubted, itemgetter("log_dir_id", "topic", "partition")):
        group = list(same)
        first = group[0]
        pieces.append(
            Suspect(
                log_dir_id=first["log_dir_id"],
                topic=first["topic"],
                partition=first["partition"],
                dir_name=first["dir_name"],
                path=places[first["log_dir_id"]].path,
                reference_path=places[first["reference_dir_id"]].path,
                reference=first["reference"],
                comparable_from=first["comparable_from"],
                buckets=tuple(row["bucket"] for row in group),
            )
        )
    return pieces


def _groups(
    replicas: Iterable[HeldReplica], told: _BesideRows, places: Mapping[int, Place], spool: Spool
) -> Iterable[Group]:
    whose = _clusters(places.values())
    for (cluster, topic, partition), same in groupby(replicas, itemgetter(*PARTITION)):
        group = list(same)
        doubtful = _is_unread(group[0], told, places)
        for row in group:
            unread = doubtful or _is_unread(row, told, places)
            spool.add("replicas", _replica_row(row, told.diverged, unread=unread))
        yield Group(
            cluster=whose[cluster],
            topic=topic,
            partition=partition,
            replicas=[_replica(row, told.diverged, places) for row in group],
            expected_replicas=group[0]["expected_replicas"],
        )


def _clusters(places: Collection[Place]) -> dict[str, Cluster]:
    unreadable = {place.path for place in places if place.unreadable}
    return {
        name: Cluster(
            cluster_id=name or None, unreadable=unreadable,
            brokers={broker: [place.path for place in group] for broker, group in members.items()},
        )
        for name, members in clusters(places).items()
    }  # fmt: skip


def _replica(row: HeldReplica, diverged: Diverged, places: Mapping[int, Place]) -> ListedReplica:
    return ListedReplica(
        broker=row["broker"],
        dir=places[row["log_dir_id"]].path,
        dir_name=row["dir_name"],
        topic=row["topic"],
        partition=row["partition"],
        topic_id=row["topic_id"],
        log_start_offset=row["log_start_offset"],
        high_watermark=row["high_watermark"],
        log_end_offset=row["log_end_offset"],
        divergence=diverged.get((row["log_dir_id"], row["topic"], row["partition"])),
    )


def _is_unread(row: HeldReplica, told: _BesideRows, places: Mapping[int, Place]) -> bool:
    return f"{places[row['log_dir_id']].path}/{row['dir_name']}" in told.unread


def _replica_row(row: HeldReplica, diverged: Diverged, *, unread: bool) -> rows.Row:
    difference = diverged.get((row["log_dir_id"], row["topic"], row["partition"]))
    status = "diverged" if difference else "behind" if row["behind"] else "unread" if unread else "in-step"
    shown = {name: value for name, value in row.items() if name in REPLICAS.names}
    return shown | {"diverged_at": difference.offset if difference else None, "status": status}


def _run_row(
    request: AuditRequest,
    driver: Driver,
    plan: AuditPlan,
    results: Sequence[Result],
    joined: Counter[tuple[str, str]],
    changes: tuple[int | None, int | None],
) -> RunRow:
    counts = _add_up(result.counts for result in results)
    codes = _add_up(result.codes for result in results) + joined
    severities: Counter[str] = Counter()
    for (_, severity), count in codes.items():
        severities[severity] += count
    left = severities[Severity.ERROR] + severities[Severity.WARNING]
    refused = any(result.unreadable for result in results)
    run, (new, gone) = plan.job.run, changes
    return {
        "started": datetime.fromtimestamp(run.number / 1000, UTC),
        "version": request.version,
        "driver": driver.name,
        "level": request.level.name.lower(),
        "paths": list(request.paths),
        "brokers": len(brokers(plan.places)),
        "log_dirs": len(plan.places),
        "partitions": counts["partitions"],
        "segments": counts["segments"],
        "batches": counts["batches"],
        "records": counts["records"],
        "bytes": counts["bytes"],
        "errors": severities[Severity.ERROR],
        "warnings": severities[Severity.WARNING],
        "infos": severities[Severity.INFO],
        "new_findings": new,
        "gone_findings": gone,
        "exit_code": int((ExitCode.FINDINGS if left else 0) | (ExitCode.OPERATIONAL if refused else 0)),
    }


def _carried(
    request: AuditRequest,
    places: Sequence[Place],
    results: Sequence[Result],
    earlier: Sequence[str],
    seconds: float,
) -> RunRow:
    """Of the run's row: how long it took, and what was not read again."""
    by_run = _add_up(result.carried for result in results)
    segments, size = sum(by_run.values()), _add_up(result.counts for result in results)["carried_bytes"]
    readers = ", ".join(f"{count:,} by {run}" for run, count in sorted(by_run.items())[:_READERS])
    more = " and others" if len(by_run) > _READERS else ""
    told = f"{plural(segments, 'sealed segment')} of {size:,} bytes that did not change, read {readers}{more}"
    return {
        "seconds": round(seconds, 3),
        "since_run": earlier[-1] if earlier else None,
        "carried_segments": segments,
        "carried_bytes": size,
        "skipped": [*_not_looked_at(request.level, places, results), *([told] if segments else [])],
    }


def _not_looked_at(level: Level, places: Sequence[Place], results: Iterable[Result]) -> Iterator[str]:
    yield from SKIPPED[level]
    if (alone := compared_with_nobody(places)) is not None:
        yield alone
    unseen: dict[str, list[str]] = {}
    for words, whose in sorted({each for result in results for each in result.unseen}):
        unseen.setdefault(words, []).append(whose)
    for words, of in unseen.items():
        yield words.format(of[0] + (f" and {len(of) - 1:,} more" if len(of) > 1 else ""))


def _add_up(counts: Iterable[Mapping[Key, int]]) -> Counter[Key]:
    total: Counter[Key] = Counter()
    for each in counts:
        total.update(each)
    return total


def _incomparable(out: str) -> list[str]:
    """Words where the finished run before this cannot be compared with it: nothing is called new or gone."""
    newest = history.newest(out)
    words = None if newest is None else history.lost(out, newest["run_id"])
    return [] if words is None else [f"what is new or gone ({words})"]


def _changes(request: AuditRequest, run: AuditRun) -> tuple[int | None, int | None]:
    """(findings that the finished run before this did not have, those of it that are gone)."""
    newest = history.newest(request.out)
    if newest is None:
        return None, None
    before = history.bare(newest)
    then = history.sight(request.out, before.run_id, before.level)
    now = history.sight(request.out, run.run_id, request.level)
    changed = history.changes(request.out, then, now)
    return int(changed.new.sum()), int(changed.gone.sum())
