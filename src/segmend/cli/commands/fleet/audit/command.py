"""`segmend fleet audit`: the disks of many brokers, on Spark or on the cores of this machine."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from itertools import chain

from segmend import __version__
from segmend.checks import Level
from segmend.cli.output import emit, emit_json, note, style
from segmend.fleet import carried, publish
from segmend.fleet.audit import AuditOutcome, AuditRequest, audit
from segmend.fleet.listing import find_places
from segmend.report.progress import Progress

from ..driving import driver_of, paths_for_tasks
from ..needs import need
from .lines import lines


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
    _tell_of_stopped(args)
    progress = Progress(sys.stderr)
    try:
        progress.say("starting Spark" if args.driver == "spark" else "starting")
        with driver_of(args) as driver:
            outcome = audit(request, driver, progress.update)
    finally:
        progress.done()
    _publish(args, outcome)
    return outcome.exit_code


def _tell_of_stopped(args: argparse.Namespace) -> None:
    """A stopped audit goes on only for who says so: what it read may be old."""
    half = carried.to_go_on_with(args.out)
    if half is not None and not args.full and args.since_run is None and not args.startup:
        note(f"the audit {half} did not end; --since-run {half} goes on from what it has read")


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
