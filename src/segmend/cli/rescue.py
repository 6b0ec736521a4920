"""What `rescue`, `export` and those of the fleet have in common: options, and what is told."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence

from segmend.cli.moment import moment
from segmend.cli.number_range import number_range
from segmend.cli.options import add_release_option
from segmend.cli.output import emit, emit_json, style
from segmend.errors import Cancelled, ExitCode, UsageError
from segmend.report.progress import Progress
from segmend.report.rescue import lines_of, summary_line
from segmend.report.style import Style
from segmend.rescue.forms import names
from segmend.rescue.outlet import Line
from segmend.rescue.request import Request
from segmend.rescue.run import Text, is_whole


def add_rescue_options(parser: argparse.ArgumentParser) -> None:
    """Where to, in which form, and what of it."""
    parser.add_argument("--out", required=True, metavar="OUT", help="a new directory for what is rescued")
    parser.add_argument(
        "--as", dest="form", choices=names(), default="log-dir", help="in which form (default: log-dir)"
    )
    which = parser.add_argument_group("which records")
    which.add_argument("--topic", metavar="GLOB", help="partitions of these topics only")
    which.add_argument("--offsets", metavar="A..B", type=number_range, help="only these offsets")
    which.add_argument("--since", metavar="TIME", type=moment, help="tables: from this time on (UTC, or ms)")
    which.add_argument("--until", metavar="TIME", type=moment, help="tables: up to this time")
    add_isolation(which, "tables: with records of aborted transactions, marked (default), or without")
    parser.add_argument(
        "--broker",
        metavar="N",
        type=int,
        help="log-dir: as that of this node (default: the first)",
    )
    add_release_option(parser)


def add_export_options(parser: argparse.ArgumentParser) -> None:
    """Of `export` and `fleet export`: into which table, and what of the logs."""
    parser.add_argument(
        "--out", required=True, metavar="OUT", help="the table: a new directory, or that of before"
    )
    parser.add_argument("--as", dest="form", choices=("delta",), default="delta", help="the kind of table")
    which = parser.add_argument_group("which records")
    which.add_argument("--topic", metavar="GLOB", help="partitions of these topics only")
    add_isolation(which, "with records of aborted transactions, marked (default), or without")
    add_release_option(parser)


def add_isolation(group: argparse._ArgumentGroup, help: str) -> None:
    """Whether records of aborted transactions are wanted."""
    levels = ("read_uncommitted", "read_committed")
    group.add_argument("--isolation", choices=levels, default=levels[0], help=help)


def request_of(args: argparse.Namespace, dirs: Sequence[str]) -> Request:
    """What the options ask for; raises `UsageError`."""
    if args.form == "log-dir":
        for name in ("since", "until"):
            if getattr(args, name) is not None:
                raise UsageError(f"--{name} is for tables; a log dir has whole batches: choose --offsets")
        if args.isolation == "read_committed":
            raise UsageError("--isolation is for tables; a log dir keeps transactions with their markers")
    if args.since is not None and args.until is not None and args.since > args.until:
        raise UsageError("--since is later than --until")
    return Request(
        dirs=tuple(dirs), out=args.out, form=args.form, topic=args.topic,
        committed_only=args.isolation == "read_committed", offsets=args.offsets,
        since=args.since, until=args.until, release=args.kafka, broker=args.broker,
    )  # fmt: skip


def export_request(args: argparse.Namespace, dirs: Sequence[str]) -> Request:
    """What the options of an export ask for."""
    return Request(
        dirs=tuple(dirs), out=args.out, form=args.form, topic=args.topic,
        committed_only=args.isolation == "read_committed", release=args.kafka,
    )  # fmt: skip


def tell(
    args: argparse.Namespace,
    request: Request,
    progress: Progress,
    lines: Callable[[Text], Iterator[Line]],
) -> ExitCode:
    """Say each line of the report as it comes; ends with what is to be said by the exit code."""
    began, whole = time.monotonic(), True
    try:
        for line in lines(_report(request)):
            whole &= is_whole(line)
            progress.done()
            if args.json:
                emit_json([_with_seconds(line, began)])
            else:
                emit(_text(line, request, style(args)))
    except KeyboardInterrupt:
        raise Cancelled("cancelled; give the same command again and it goes on where it was") from None
    finally:
        progress.done()
    return ExitCode.NOTHING_WRONG if whole else ExitCode.FINDINGS


def _report(request: Request) -> Callable[[Sequence[Line]], Iterator[str]]:
    """Makes the report in OUT, which has no colours."""
    return lambda lines: (each for line in lines for each in _text(line, request, Style(False, "segmend")))


def _with_seconds(line: Line, began: float) -> Line:
    return {**line, "seconds": round(time.monotonic() - began, 3)} if line["type"] == "summary" else line


def _text(line: Line, request: Request, look: Style) -> Iterator[str]:
    if line["type"] == "summary":
        yield summary_line(line, request.out)
    else:
        yield from lines_of(line, look)
