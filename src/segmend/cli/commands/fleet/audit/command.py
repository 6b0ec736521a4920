"""`segmend fleet audit`: the disks of many brokers, on Spark or on the cores of this machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import chain

from segmend import __version__
from segmend.checks import Level
from segmend.cli.output import emit, emit_json, note, style
from segmend.fleet import carried, delta, folder, publish
from segmend.fleet.audit import SKIPPED, AuditOutcome, AuditRequest, audit
from segmend.fleet.healing import heal
from segmend.fleet.listing import find_places
from segmend.fleet.typed_rows import FindingObject, RunRow
from segmend.report import text
from segmend.report.progress import Progress
from segmend.report.style import Style
from segmend.wording import plural

from ..driving import driver_of, paths_for_tasks
from ..needs import need

_SHOWN = 40


@delta.kept_open()
def run(args: argparse.Namespace) -> int:
    """Audit, publish, and say by the exit code what was found."""
    if not args.no_report:
        need("jinja2")
    # A path that is not there is told at once, not after Spark has started.
    args.paths = paths_for_tasks(args)
    find_places(args.paths)
    request = AuditRequest(
        paths=tuple(args.paths),
        out=args.out,
        level=Level.STARTUP if args.startup else Level.DEEP if args.deep else Level.DEFAULT,
        release=args.kafka,
        version=__version__,
        since=None if args.full else args.since_run,
    )
    heal(args.out)
    # A stopped audit goes on only for who says so: what it read may be old.
    half = carried.to_go_on_with(args.out)
    if half is not None and not args.full and args.since_run is None and not args.startup:
        note(f"the audit {half} has not ended; --since-run {half} goes on from what it has read")
    progress = Progress(sys.stderr)
    try:
        progress.say("starting Spark" if args.driver == "spark" else "starting")
        with driver_of(args) as driver:
            outcome = audit(request, driver, progress.update)
    finally:
        progress.done()
    if request.since == carried.LAST and outcome.row["since_run"] is None:
        note(f"--since-run last: no earlier audit is in {args.out}, so all was read")
    _publish(args, outcome)
    return outcome.exit_code


def _publish(args: argparse.Namespace, outcome: AuditOutcome) -> None:
    # Without a report there need be no jinja2.
    report = None if args.no_report else import_module(".page", __package__).write_page(outcome, args.out)
    publish.write_summary(outcome, args.out, report)
    if args.alerts:
        publish.write_alerts(outcome, args.out, args.alerts)
    if args.json:
        findings = publish.finding_objects(args.out, outcome.run.run_id)
        emit_json(chain(findings, [publish.summary(outcome, args.out, report)]))
    else:
        emit(lines(publish.leading(args.out, outcome.run.run_id), outcome, style(args)))
        emit([f"tables: {args.out}", *([f"report: {report}"] if report else [])])


def lines(groups: Sequence[tuple[FindingObject, int]], outcome: AuditOutcome, look: Style) -> Iterator[str]:
    """One line a code with its first place, the worst first, and what was looked at."""
    for first, count in groups[:_SHOWN]:
        severity, code = first["severity"], first["code"]
        times = f" (and {count - 1:,} more)" if count > 1 else ""
        head = f"{look.severity(severity, f'{severity:<7}')} {look('bold', f'{code:<4}')}"
        yield f"{head} {_where(first)}{times}"
        yield f"             {text.clean(first['message'])}{_told_by(first)}"
        if first["cause"] is not None:
            cause = first["cause"]
            yield f"             because of {cause['code']} {text.clean(cause['file'] or '')}"
        elif (remedy := first["remedy"]) and severity != "info":
            yield f"             next: {look.command(remedy['command'])}"
    if len(groups) > _SHOWN:
        yield f"... and {plural(len(groups) - _SHOWN, 'more code')}; the report has all of them"
    if groups:
        yield ""
    yield from _totals(outcome.row, "in what could be read of" if outcome.unreadable else "in")


def _told_by(finding: FindingObject) -> str:
    reader = finding["carried_from"]
    return "" if reader is None else f" (as {reader} read it; not read again)"


def _where(finding: FindingObject) -> str:
    place = text.clean(f"{finding['dir'].rstrip('/')}/{finding['file'] or ''}".rstrip("/"))
    return f"broker {finding['broker']}  {place}"


def _totals(row: RunRow, within: str) -> Iterator[str]:
    counts = [
        plural(row["errors"], "error"),
        plural(row["warnings"], "warning"),
        plural(row["infos"], "note"),
    ]
    verdict = ", ".join(counts) if row["errors"] or row["warnings"] or row["infos"] else "nothing wrong"
    looked = [
        plural(row["brokers"], "broker"),
        plural(row["log_dirs"], "log dir"),
        plural(row["partitions"], "partition"),
        plural(row["segments"], "segment"),
        text.size(row["bytes"]),
    ]
    carried = row["carried_segments"]
    yield f"{verdict} {within} {', '.join(looked)}; {text.duration(row['seconds'])} on {row['driver']}"
    if row["new_findings"] is not None:
        yield f"since the run before: {row['new_findings']} new, {row['gone_findings']} gone"
    unseen = SKIPPED[Level[row["level"].upper()]]
    if unseen:
        yield f"not looked at: {', '.join(unseen)} (--deep)"
    for words in row["skipped"][len(unseen) : -1 if carried else None]:
        yield f"not looked at: {text.clean(words)}"
    if carried:
        yield f"not read again: {row['skipped'][-1]} (--full)"
    if row["since_run"] and any(map(folder.is_remote, row["paths"])):
        yield "read again: all that lies in an object store, where no time of change tells what is as it was"
