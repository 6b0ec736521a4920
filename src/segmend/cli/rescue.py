"""What `rescue`, `export` and those of the fleet have in common: options, and what is told."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from segmend.cli.moment import moment
from segmend.cli.options import add_policies_option, add_release_option, number_range, policies_of
from segmend.cli.output import emit, emit_json, style
from segmend.errors import Cancelled, ExitCode, UsageError
from segmend.report.diff import vanished_lines
from segmend.report.progress import Progress
from segmend.report.rescue import lines_of, summary_line
from segmend.report.style import Style
from segmend.rescue.decoders import Decode, asked, decoder
from segmend.rescue.decoders import names as kinds
from segmend.rescue.forms import names
from segmend.rescue.outlet import Line
from segmend.rescue.request import Compacting, Request
from segmend.rescue.run import Text, is_whole

DECODES = """\
--decode adds the columns SIDE_decoded (text), SIDE_schema_id and SIDE_undecoded (why there is no text), SIDE
being key or value; the raw bytes stay beside them. SIDE=KIND[:SCHEMA], of which SIDE is value if not given:
  utf8                        text
  json, json:FILE             text as it is (Debezium, too). Spark's schema of it is found out and told, or
                              given as `df.schema.json()` writes it, and then held to
  avro:FILE, avro:DIR         as JSON; DIR has <id>.avsc, or <id>.json as a registry answers /schemas/ids/<id>
  protobuf:FILE#pkg.Message, protobuf:DIR      as JSON; FILE, and <id>.desc in DIR, are descriptor sets
                              (protoc --include_imports --descriptor_set_out=FILE)
With DIR each value names its schema as Confluent's serializers do. More than 1 MiB (json: 4) stays raw."""
"""What is said of `--decode`."""

_LIVE: Final = ("bootstrap", "client_config", "create_topics", "append")


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
    _add_decode(parser)
    parser.add_argument(
        "--salvage", action="store_true",
        help="tables: also single records of batches whose checksum fails, where no replica has them sound",
    )  # fmt: skip
    add_live_options(parser)
    parser.add_argument(
        "--compact", action="store_const", const="known",
        help="of each key the last record only, in logs whose topic is known to be compacted",
    )  # fmt: skip
    parser.add_argument(
        "--compact-all", dest="compact", action="store_const", const="all",
        help="the same in all logs that are asked for (see --topic), whatever is known",
    )  # fmt: skip
    add_policies_option(parser)
    parser.add_argument(
        "--broker",
        metavar="N",
        type=int,
        help="log-dir: as that of this node (default: the first)",
    )
    add_release_option(parser)


def add_live_options(parser: argparse.ArgumentParser) -> None:
    """Which cluster, and what may be done there."""
    live = parser.add_argument_group("a live cluster (--as kafka)")
    live.add_argument("--bootstrap", metavar="HOST:PORT[,...]", help="where to send the records to")
    live.add_argument(
        "--client-config", metavar="FILE", help="settings of librdkafka, such as security.protocol=SASL_SSL"
    )
    live.add_argument(
        "--create-topics", action="store_true",
        help="make topics that are missing, with partitions and settings as they were, where that is known",
    )  # fmt: skip
    live.add_argument("--append", action="store_true", help="send behind what is in a partition already")


def add_export_options(parser: argparse.ArgumentParser, forms: Sequence[str] = ("delta",)) -> None:
    """Of `export` and `fleet export`: into what, and what of the logs."""
    parser.add_argument(
        "--out", required=True, metavar="OUT", help="the table: a new directory, or that of before"
    )
    parser.add_argument("--as", dest="form", choices=forms, default="delta", help="the kind of table")
    which = parser.add_argument_group("which records")
    which.add_argument("--topic", metavar="GLOB", help="partitions of these topics only")
    add_isolation(which, "with records of aborted transactions, marked (default), or without")
    _add_decode(parser)
    add_policies_option(parser)
    add_release_option(parser)


def _add_decode(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--decode", metavar="[SIDE=]KIND[:SCHEMA]", type=asked, action="append", default=[],
        help=f"tables: key or value (default) as text beside the raw bytes, KIND one of {', '.join(kinds())}",
    )  # fmt: skip


def _decode(args: argparse.Namespace) -> tuple[Decode, ...]:
    """What is to be decoded; raises `SegmendError` before anything is read where that cannot be."""
    decodes: tuple[Decode, ...] = tuple(sorted(args.decode, key=lambda each: each.side))
    if len({each.side for each in decodes}) < len(decodes):
        raise UsageError("--decode: is given twice for the same of key and value")
    for each in decodes:
        decoder(each)
    return decodes


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
        if args.decode:
            raise UsageError("--decode is for tables; a log dir keeps records as they are")
    if args.salvage and args.form in ("log-dir", "kafka"):
        raise UsageError(
            "--salvage is for tables, whose column `salvaged` marks such records; who consumes from a log "
            "would take them for sound: rescue the log without it, and these as a table beside it"
        )
    if args.since is not None and args.until is not None and args.since > args.until:
        raise UsageError("--since is later than --until")
    return Request(
        dirs=tuple(dirs), out=args.out, form=args.form, topic=args.topic,
        committed_only=_is_committed(args), offsets=args.offsets,
        since=args.since, until=args.until, release=args.kafka, broker=args.broker,
        decode=_decode(args), compact=_compacting(args), salvage=args.salvage,
        configs=policies_of(args), **_live(args),
    )  # fmt: skip


def export_request(args: argparse.Namespace, dirs: Sequence[str]) -> Request:
    """What the options of an export ask for; raises `UsageError`."""
    return Request(
        dirs=tuple(dirs), out=args.out, form=args.form, topic=args.topic, committed_only=_is_committed(args),
        release=args.kafka, decode=_decode(args), configs=policies_of(args), **_live(args),
    )  # fmt: skip


def _is_committed(args: argparse.Namespace) -> bool:
    return bool(args.form == "kafka" or args.isolation == "read_committed")


def _live(args: argparse.Namespace) -> dict[str, Any]:
    """What is asked of a live cluster; raises `UsageError`. `fleet export` has none of it."""
    asked = {name: getattr(args, name, None) for name in _LIVE}
    given = [name for name, value in asked.items() if value]
    if args.form == "kafka" and "bootstrap" not in given:
        raise UsageError("--as kafka needs --bootstrap HOST:PORT")
    if args.form == "kafka" and args.decode:
        raise UsageError("--decode is for tables; records are sent as they are")
    if args.form != "kafka" and given:
        raise UsageError(f"--{given[0].replace('_', '-')} is for --as kafka")
    return {name: asked[name] for name in given}


def _compacting(args: argparse.Namespace) -> Compacting | None:
    """What is to be compacted; raises `UsageError`."""
    compacting: Compacting | None = args.compact
    if compacting and any(each is not None for each in (args.offsets, args.since, args.until)):
        raise UsageError("--compact looks at whole logs; leave out --offsets, --since and --until")
    if compacting and args.salvage:
        raise UsageError("--compact takes records away for later ones, which --salvage cannot vouch for")
    if compacting and args.form == "kafka":
        raise UsageError("--compact is for tables and log dirs; the brokers compact what is sent")
    return compacting


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
        yield from vanished_lines([each["why"] for each in line.get("vanished", ())])
    else:
        yield from lines_of(line, look)
