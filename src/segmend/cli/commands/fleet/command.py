"""`segmend fleet`: many brokers at once, on Spark or on the cores of this machine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segmend import __version__
from segmend.cli.commands.fleet import history
from segmend.cli.commands.fleet.capacity import EXAMPLES as CAPACITY
from segmend.cli.commands.fleet.capacity import configure_capacity, run_capacity
from segmend.cli.commands.fleet.comparing import EXAMPLES as COMPARES
from segmend.cli.commands.fleet.comparing import configure_compare, run_compare
from segmend.cli.commands.fleet.forecasting import EXAMPLES as FORECASTS
from segmend.cli.commands.fleet.forecasting import configure_forecast, run_forecast
from segmend.cli.commands.fleet.growth import EXAMPLES as GROWTH
from segmend.cli.commands.fleet.growth import configure_growth, show_growth
from segmend.cli.commands.fleet.packing import PACK, configure_pack, pack
from segmend.cli.options import add_output_options, add_release_option
from segmend.cli.output import emit, emit_json, note, style
from segmend.cli.parser import Formatter
from segmend.cli.rescue import add_export_options, add_rescue_options, export_request, request_of, tell
from segmend.errors import MissingExtra
from segmend.logdir.tree import LogDir
from segmend.report import text
from segmend.report.progress import Progress
from segmend.report.style import Style
from segmend.wording import plural

if TYPE_CHECKING:
    from segmend.fleet.audit import AuditOutcome
    from segmend.fleet.driver import Driver

EXAMPLES = """\
examples:
  segmend fleet audit '/brokers/*' --out report            every log dir below, on Spark
  segmend fleet audit /b1 /b2 /b3 --out report --deep      every CRC and every record
  segmend fleet audit '/brokers/*' --out report --driver local       without Java
  segmend fleet audit '/brokers/*' --out report --since-run last     only what changed since the last audit
  segmend fleet audit '/brokers/*' --out report --alerts /var/lib/node_exporter/segmend.prom

OUT gets a Delta table each of partitions, segments, findings, ..., report.html and
summary.json. Auditing into the same OUT again adds a run.

With --since-run RUN a sealed segment whose log and indexes have the inode, size and times that they had
in RUN (or in an audit that was stopped after it) is not read again: what was read then is judged anew, and
`carried_from` in the tables and --json names the run that read it. Damage that changes none of these is not
seen; an audit without --since-run, or with --full, reads everything.

exit codes: 0 no error and no warning, 4 findings, 8 something could not be read, 16 usage"""

RESCUES = """\
examples:
  segmend fleet rescue '/disks/*' --out /big/orders --as parquet --topic 'orders*'
  segmend fleet rescue '/disks/*' --out /big/clean --driver local       without Java

The same as `segmend rescue`, which see, of all log dirs below the paths, a task a partition. OUT must be one
directory for all tasks.

exit codes: 0 all is there, 4 something is missing, diverged or in doubt, 8 operational error, 16 usage"""

EXPORTS = """\
examples:
  segmend fleet export '/disks/*' --out /lake/kafka
  segmend fleet export '/disks/*' --out /lake/orders --topic 'orders*' --master spark://host:7077

The same as `segmend export`, which see, of all log dirs below the paths, a task a partition: each run adds
what is new in one Delta commit, with how far it reaches. A run that was killed has added nothing; give it
again. Either command goes on where the other ended. OUT must be one directory for all tasks.

exit codes: 0 all is there, 4 something is missing, diverged or in doubt, 8 operational error, or another log
than that of OUT, 16 usage"""

# What needs a package, the extra that has it, and what does without.
_NEEDS = {
    "pyarrow": ("the fleet commands need pyarrow", "fleet", ""),
    "deltalake": ("the fleet commands need deltalake", "fleet", ""),
    "pyspark": ("Spark is not installed", "spark", ", or use --driver local"),
    "jinja2": ("the report needs jinja2", "report", ", or use --no-report"),
}
_SHOWN = 40


def configure(parser: argparse.ArgumentParser) -> None:
    """The sub-commands."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    audit = commands.add_parser(
        "audit",
        help="check every log dir, compare the replicas, write tables and a report",
        epilog=EXAMPLES,
        formatter_class=Formatter,
    )
    audit.add_argument("--out", required=True, metavar="DIR", help="where tables and report go")
    _add_audit_options(audit)
    add_output_options(audit)
    audit.set_defaults(run=run)
    ahead = commands.add_parser(
        "forecast",
        help="the start of every node, the metadata quorum, who can lead what",
        epilog=FORECASTS,
        formatter_class=Formatter,
    )
    configure_forecast(ahead)
    ahead.set_defaults(run=_forecast)
    beside = commands.add_parser(
        "diff",
        help="compare the replicas of partitions: who has what, who left, what nobody has",
        epilog=COMPARES,
        formatter_class=Formatter,
    )
    configure_compare(beside)
    beside.set_defaults(run=_compare)
    full = commands.add_parser(
        "capacity",
        help="when disks are full, what grows, what moves and larger batches would give",
        epilog=CAPACITY,
        formatter_class=Formatter,
    )
    configure_capacity(full)
    full.set_defaults(run=_capacity)
    for parser in (audit, ahead, beside, full, *_add_rescues(commands)):
        _add_shared_options(parser)
    _add_history(commands)
    packed = commands.add_parser(
        "pack",
        help="one archive with all that workers need beside Spark and Python",
        epilog=PACK,
        formatter_class=Formatter,
    )
    configure_pack(packed)
    packed.set_defaults(run=_pack)


def _add_rescues(commands: Any) -> Iterator[argparse.ArgumentParser]:
    """What writes records anew."""
    anew = commands.add_parser(
        "rescue",
        help="merge damaged replicas of many brokers, a task a partition",
        epilog=RESCUES,
        formatter_class=Formatter,
    )
    add_rescue_options(anew)
    add_output_options(anew)
    anew.set_defaults(run=_rescue)
    yield anew
    added = commands.add_parser(
        "export",
        help="add the records that are new to a Delta table, a task a partition, one commit",
        epilog=EXPORTS,
        formatter_class=Formatter,
    )
    add_export_options(added)
    add_output_options(added)
    added.set_defaults(run=_export)
    yield added


def _add_audit_options(audit: argparse.ArgumentParser) -> None:
    depth = audit.add_mutually_exclusive_group()
    depth.add_argument("--startup", action="store_true", help="only what a broker looks at while it loads")
    depth.add_argument("--deep", action="store_true", help="every CRC and every record")
    add_release_option(audit)
    audit.add_argument(
        "--since-run", metavar="RUN",
        help="read only what changed since that run (the beginning of its id, or `last`), also a stopped one",
    )  # fmt: skip
    audit.add_argument("--full", action="store_true", help="read everything, whatever --since-run says")
    audit.add_argument("--no-report", action="store_true", help="tables only, no report.html")
    audit.add_argument(
        "--alerts", type=_alert_file, metavar="FILE",
        help="write the counts there for a monitor: FILE.prom (Prometheus textfile) or FILE.json",
    )  # fmt: skip


def _pack(args: argparse.Namespace) -> int:
    _need("pyarrow")
    from segmend.fleet import bundle

    return pack(args, bundle)


def _add_history(commands: Any) -> None:
    """What asks about audits that were made."""
    for name, words, examples, configured, call in (
        ("runs", "the audits that lie in OUT", history.RUNS, history.configure_runs, _runs),
        ("diff-runs", "what changed between two audits", history.DIFF, history.configure_diff, _diff_runs),
        ("growth", "what grew, and when disks are full", GROWTH, configure_growth, _growth),
        ("vacuum", "drop old audits from OUT", history.VACUUM, history.configure_vacuum, _vacuum),
    ):
        parser = commands.add_parser(name, help=words, epilog=examples, formatter_class=Formatter)
        configured(parser)
        parser.set_defaults(run=call)


def _runs(args: argparse.Namespace) -> int:
    _need("pyarrow", "deltalake")
    from segmend.fleet import history as fleet

    return history.show_runs(args, fleet)


def _diff_runs(args: argparse.Namespace) -> int:
    _need("pyarrow", "deltalake")
    from segmend.fleet import history as fleet
    from segmend.fleet import publish

    return history.diff_runs(args, fleet, publish)


def _growth(args: argparse.Namespace) -> int:
    _need("pyarrow", "deltalake")
    from segmend.fleet import growth as fleet
    from segmend.fleet import history as past

    return show_growth(args, past, fleet)


def _vacuum(args: argparse.Namespace) -> int:
    _need("pyarrow", "deltalake")
    from segmend.fleet import vacuum as fleet

    return history.vacuum(args, fleet)


def _add_shared_options(parser: argparse.ArgumentParser) -> None:
    """What is read, and by whom."""
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="log dirs, brokers, directories of brokers, globs"
    )
    parser.add_argument(
        "--driver", choices=("spark", "local"), default="spark", help="who runs the tasks (default: spark)"
    )
    parser.add_argument(
        "--master", default="local[*]", metavar="URL", help="Spark master (default: local[*])"
    )


def _forecast(args: argparse.Namespace) -> int:
    _need("pyarrow")
    from segmend.fleet import forecast

    args.paths = _paths(args)
    return run_forecast(args, forecast, _driver)


def _compare(args: argparse.Namespace) -> int:
    _need("pyarrow")
    from segmend.fleet import compare, listing

    args.paths = _paths(args)
    return run_compare(args, listing, compare, _driver)


def _capacity(args: argparse.Namespace) -> int:
    _need("pyarrow")
    from segmend.fleet import capacity_run

    args.paths = _paths(args)
    return run_capacity(args, capacity_run, _driver)


def _rescue(args: argparse.Namespace) -> int:
    _need("pyarrow")
    from segmend.fleet.listing import find_places
    from segmend.rescue.run import rescue
    from segmend.rescue.spread import spread

    _as_workers_find_them(args)
    places = find_places(args.paths)
    dirs = [LogDir.attempt(place.path, place.files) for place in places]
    request = request_of(args, args.paths)
    progress = Progress(sys.stderr)
    with _driver(args) as driver:
        each = spread(driver, places, progress.update)
        return tell(args, request, progress, lambda text: rescue(request, dirs, (), each, text))


def _export(args: argparse.Namespace) -> int:
    _need("pyarrow", "deltalake")
    from segmend.fleet.listing import find_places
    from segmend.rescue import forms
    from segmend.rescue.export import export
    from segmend.rescue.run import Each
    from segmend.rescue.spread import spread

    _as_workers_find_them(args)
    places = find_places(args.paths)
    dirs = [LogDir.attempt(place.path, place.files) for place in places]
    request = export_request(args, args.paths)
    progress = Progress(sys.stderr)
    with _driver(args) as driver:

        def each(table: forms.Growing) -> Each:
            return spread(driver, places, progress.update, table.elsewhere)

        return tell(args, request, progress, lambda _: export(request, dirs, (), each, bundle=None))


def _as_workers_find_them(args: argparse.Namespace) -> None:
    """The paths, and OUT, for those who stand elsewhere."""
    from segmend.fleet.listing import absolute

    args.paths = _paths(args)
    args.out = absolute([args.out])[0]
    args.decode = [
        replace(each, path=os.path.abspath(each.path)) if each.path else each for each in args.decode
    ]


def run(args: argparse.Namespace) -> int:
    """Audit, publish, and say by the exit code what was found."""
    _need("pyarrow", "deltalake")
    if not args.no_report:
        _need("jinja2")
    # These need the extras that were looked for just now.
    from segmend.checks import Level
    from segmend.fleet.audit import AuditRequest, audit
    from segmend.fleet.listing import find_places

    # A path that is not there is told at once, not after Spark has started.
    args.paths = _paths(args)
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
        with _driver(args) as driver:
            outcome = audit(request, driver, progress.update)
    finally:
        progress.done()
    _publish(args, outcome)
    return outcome.exit_code


def _tell_of_stopped(args: argparse.Namespace) -> None:
    """A stopped audit goes on only for who says so: what it read may be old."""
    from segmend.fleet import carried

    halves = carried.stopped(args.out)
    if halves and not args.full and args.since_run is None and not args.startup:
        note(f"the audit {halves[-1]} did not end; --since-run {halves[-1]} goes on from what it has read")


def _alert_file(value: str) -> str:
    if not value.endswith((".prom", ".json")):
        raise argparse.ArgumentTypeError(f"'{value}' must end in .prom or .json")
    if not os.path.isdir(os.path.dirname(value) or "."):
        raise argparse.ArgumentTypeError(f"'{value}': no such directory")
    return value


def _is_here(args: argparse.Namespace) -> bool:
    """Whether the workers are children of this process, and end with it."""
    return "local" in (args.driver, args.master) or str(args.master).startswith("local[")


def _paths(args: argparse.Namespace) -> list[str]:
    """As given where the workers stand where we do, else as they find them, too."""
    if _is_here(args):
        return list(args.paths)
    from segmend.fleet.listing import absolute

    return absolute(args.paths)


def _need(*modules: str) -> None:
    for module in modules:
        if find_spec(module) is None:
            raise MissingExtra(*_NEEDS[module])


@contextmanager
def _driver(args: argparse.Namespace) -> Iterator[Driver]:
    if args.driver == "local":
        from segmend.fleet.driver import LocalDriver

        yield LocalDriver()
        return
    _need("pyspark")
    from segmend.spark.driver import SparkDriver
    from segmend.spark.session import session

    spark = session(args.master, cache=_cache())
    yield SparkDriver(spark)
    # Here the JVM ends with this process, and a stop would only make the user wait. A cluster is told,
    # or it starts executors anew for one that has gone, and complains.
    if not _is_here(args):
        spark.stop()


def _cache() -> Path | None:
    """Where Spark's class archive is kept; None when there is no such place."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(home) / "segmend"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def _publish(args: argparse.Namespace, outcome: AuditOutcome) -> None:
    from segmend.fleet import publish

    report = None if args.no_report else _write_report(args, outcome)
    publish.write_summary(outcome, args.out, report)
    if args.alerts:
        publish.write_alerts(outcome, args.out, args.alerts)
    found = publish.finding_objects(args.out, outcome.run.run_id)
    if args.json:
        emit_json([*found, publish.summary(outcome, args.out, report)])
    else:
        emit(_lines(found, outcome, style(args)))
        emit([f"tables: {args.out}", *([f"report: {report}"] if report else [])])


def _write_report(args: argparse.Namespace, outcome: AuditOutcome) -> str:
    from segmend.fleet import publish
    from segmend.fleet.cross import whole_manual
    from segmend.report.html import render

    page = render(
        publish.tables_of(args.out, outcome.run.run_id),
        title="Kafka fleet audit",
        generated_at=outcome.row["started"],
        tool_version=__version__,
        level=outcome.row["level"],
        manual=whole_manual(),
    )
    return publish.write_text(args.out, "report.html", page)


def _lines(found: list[dict[str, Any]], outcome: AuditOutcome, look: Style) -> Iterator[str]:
    """One line a code with its first place, the worst first, and what was looked at."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for finding in found:
        groups.setdefault((finding["severity"], finding["code"]), []).append(finding)
    for (severity, code), group in list(groups.items())[:_SHOWN]:
        first = next((finding for finding in group if finding["cause"] is None), group[0])
        times = f" (and {len(group) - 1:,} more)" if len(group) > 1 else ""
        head = f"{look.severity(severity, f'{severity:<7}')} {look('bold', f'{code:<4}')}"
        yield f"{head} {_where(first)}{times}"
        yield f"             {text.clean(first['message'])}{_told_by(first)}"
        if first["cause"] is not None:
            cause = first["cause"]
            yield f"             because of {cause['code']} {text.clean(cause['file'] or '')}"
        elif first["remedy"] and severity != "info":
            yield f"             next: {look.command(text.clean(first['remedy']['command']))}"
    if len(groups) > _SHOWN:
        yield f"... and {plural(len(groups) - _SHOWN, 'more code')}; the report has all of them"
    if groups:
        yield ""
    yield from _totals(outcome.row)
    if outcome.unreadable:
        shown = ", ".join(map(text.clean, outcome.unreadable[:3]))
        more = f" and {len(outcome.unreadable) - 3} more" if len(outcome.unreadable) > 3 else ""
        yield f"could not be read with this user's permissions: {shown}{more}"


def _told_by(finding: Mapping[str, Any]) -> str:
    reader = finding["carried_from"]
    return "" if reader is None else f" (as {reader} read it; not read again)"


def _where(finding: Mapping[str, Any]) -> str:
    place = text.clean(f"{finding['dir'].rstrip('/')}/{finding['file'] or ''}".rstrip("/"))
    return f"broker {finding['broker']}  {place}"


def _totals(row: Mapping[str, Any]) -> Iterator[str]:
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
    yield f"{verdict} in {', '.join(looked)}; {text.duration(row['seconds'])} on {row['driver']}"
    if row["new_findings"] is not None:
        yield f"since the run before: {row['new_findings']} new, {row['gone_findings']} gone"
    unseen = row["skipped"][:-1] if carried else row["skipped"]
    if unseen:
        yield f"not looked at: {', '.join(unseen)} (--deep)"
    if carried:
        yield f"not read again: {row['skipped'][-1]} (--full)"
