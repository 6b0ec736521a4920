"""`segmend fleet runs`, `diff-runs` and `vacuum`: the audits that lie in one OUT."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from segmend.cli.moment import moment
from segmend.cli.options import add_output_options
from segmend.cli.output import emit, emit_json, style
from segmend.errors import ExitCode
from segmend.report import text
from segmend.report.style import Style
from segmend.report.table import Column, table
from segmend.wording import plural

if TYPE_CHECKING:
    from types import ModuleType

_SHOWN = 40
_COLUMNS = (
    *(Column("run"), Column("level"), Column("brokers", right=True), Column("partitions", right=True)),
    *(Column("bytes", right=True), Column("errors", right=True), Column("warnings", right=True)),
    *(Column("new", right=True), Column("gone", right=True)),
)

RUNS = """\
examples:
  segmend fleet runs report             the audits in OUT, the oldest first
  segmend fleet runs report --json

exit codes: 0 told, 8 OUT has no run"""
DIFF = """\
examples:
  segmend fleet diff-runs report                  what the newest audit finds that the one before did not
  segmend fleet diff-runs report 20261121         since that run (the beginning of its id is enough)
  segmend fleet diff-runs report 20261115 20261121 --json

A finding counts as gone only where the later run could list the log dir and looked as deep.

exit codes: 0 no new error or warning, 4 there are, 8 OUT has no run, 16 usage"""
VACUUM = """\
examples:
  segmend fleet vacuum report --keep 30 --dry-run       what would go
  segmend fleet vacuum report --keep 30                 all but the thirty newest audits
  segmend fleet vacuum report --older-than 90d

Their rows go from every table, and their files from the disk: a reader of an older version of the
tables (time travel) no longer finds them. What a killed audit left goes, too, once it is a day old;
without an option only that goes.

exit codes: 0 done, 8 OUT has no run, 16 usage"""


def configure_runs(parser: argparse.ArgumentParser) -> None:
    """OUT alone."""
    _add_out(parser)
    add_output_options(parser)


def configure_diff(parser: argparse.ArgumentParser) -> None:
    """OUT, and up to two runs."""
    _add_out(parser)
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help="the beginning of a run's id (default: the last two)"
    )
    add_output_options(parser)


def configure_vacuum(parser: argparse.ArgumentParser) -> None:
    """OUT, and which runs stay."""
    _add_out(parser)
    parser.add_argument("--keep", type=_positive, metavar="N", help="the N newest finished runs stay")
    parser.add_argument(
        "--older-than", type=_age, metavar="TIME", help="only runs from before: 90d, or 2026-10-01"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    add_output_options(parser)


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out", metavar="OUT", help="the --out of the audits")


def _positive(value: str) -> int:
    if not value.isdecimal() or int(value) < 1:
        raise argparse.ArgumentTypeError(f"'{value}' is no number of runs; at least one stays")
    return int(value)


def _age(value: str) -> int:
    return moment(f"-{value}" if value[-1:] in "smhdw" and value[:1].isdecimal() else value)


def show_runs(args: argparse.Namespace, fleet: ModuleType) -> ExitCode:
    """Every finished audit; `fleet` is `segmend.fleet.history`, an extra's."""
    rows = fleet.finished(args.out)
    if args.json:
        emit_json({"type": "run"} | row | {"started": row["started"].isoformat()} for row in rows)
    else:
        emit(table(_COLUMNS, map(_cells, rows), style(args)))
    return ExitCode.NOTHING_WRONG


def _cells(row: Mapping[str, Any]) -> Sequence[str]:
    counts = [row[name] for name in ("brokers", "partitions")]
    ends = [row[name] for name in ("errors", "warnings", "new_findings", "gone_findings")]
    shown = [text.number(value) for value in (*counts, *ends)]
    return (row["run_id"], row["level"], *shown[:2], text.size(row["bytes"]), *shown[2:])


def diff_runs(args: argparse.Namespace, fleet: ModuleType, publish: ModuleType) -> ExitCode:
    """What changed between two audits."""
    pair = fleet.pick(fleet.finished(args.out), args.runs)
    before, after = (fleet.sight(args.out, each.run_id, each.level) for each in pair)
    changed = fleet.changes(args.out, before, after)
    told = {
        name: publish.objects(rows)
        for name, rows in (("new", changed.new), ("gone", changed.gone), ("unseen", changed.unseen))
    }
    summary = {"type": "summary", "before": before.run_id, "after": after.run_id}
    summary |= {name: len(found) for name, found in told.items()}
    if args.json:
        emit_json(found | {"change": name} for name, rows in told.items() for found in rows)
        emit_json([summary])
    else:
        emit(_lines(told, summary, style(args)))
    worse = any(found["severity"] in ("error", "warning") for found in told["new"])
    return ExitCode.FINDINGS if worse else ExitCode.NOTHING_WRONG


def _lines(
    told: Mapping[str, list[dict[str, Any]]], summary: Mapping[str, Any], look: Style
) -> Iterator[str]:
    for name, rows in told.items():
        for found in rows[:_SHOWN]:
            place = text.clean(f"{found['dir'].rstrip('/')}/{found['file'] or ''}".rstrip("/"))
            severity = look.severity(found["severity"], f"{found['severity']:<7}")
            code = look("bold", f"{found['code']:<4}")
            yield f"{name:<6} {severity} {code} broker {found['broker']}  {place}"
            yield f"                    {text.clean(found['message'])}"
        if len(rows) > _SHOWN:
            yield f"... and {len(rows) - _SHOWN:,} more {name} (--json has all of them)"
    unseen = summary["unseen"]
    kept = f", {unseen} not looked at again" if unseen else ""
    yield f"{summary['before']} to {summary['after']}: {summary['new']} new, {summary['gone']} gone{kept}"


def vacuum(args: argparse.Namespace, fleet: ModuleType) -> ExitCode:
    """Drop old audits and the files that nothing names."""
    if args.keep is None and args.older_than is None:
        # Nothing was said of whole runs: only what killed audits left goes.
        args.older_than = 0
    swept = fleet.vacuum(args.out, keep=args.keep, older_than_ms=args.older_than, dry_run=args.dry_run)
    if args.json:
        counts = {"runs": list(swept.runs), "files": swept.files, "bytes": swept.bytes}
        emit_json([{"type": "summary", "dry_run": args.dry_run} | counts])
    else:
        verb = "would go" if args.dry_run else "gone"
        runs = plural(len(swept.runs), "run")
        emit([f"{verb}: {runs}, {plural(swept.files, 'file')}, {text.size(swept.bytes)}"])
    return ExitCode.NOTHING_WRONG
