"""What `rescue`, `export` and those of the fleet have in common: what is asked for, and what is told."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypedDict, cast

from segmend.cli.options import policies_of
from segmend.cli.output import emit_asked, style
from segmend.errors import Cancelled, ExitCode, UsageError
from segmend.report.diff import passed_over_lines, vanished_lines
from segmend.report.progress import Progress
from segmend.report.rescue import again_line, lines_of, outside, summary_line, untold_lines
from segmend.report.style import Style
from segmend.rescue.decoders import Decode, decoder
from segmend.rescue.lines import Line
from segmend.rescue.request import Compacting, RescueRequest
from segmend.rescue.run import Text, code_of

IN_BASE64: Final = (
    "keys, values and values of headers are in base64; --decode utf8 --decode key=utf8 adds columns of text"
)
_LIVE: Final = ("bootstrap", "client_config", "create_topics", "append")


def _decode(args: argparse.Namespace) -> tuple[Decode, ...]:
    """What is to be decoded; raises `SegmendError` before anything is read where that cannot be."""
    decodes: tuple[Decode, ...] = tuple(sorted(args.decode, key=lambda each: each.side))
    if len({each.side for each in decodes}) < len(decodes):
        raise UsageError("--decode: is given twice for the same of key and value")
    for each in decodes:
        decoder(each)
    return decodes


def request_of(args: argparse.Namespace, dirs: Sequence[str]) -> RescueRequest:
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
    return RescueRequest(
        dirs=tuple(dirs), out=args.out, form=args.form, topic=args.topic,
        committed_only=_is_committed(args), offsets=args.offsets,
        since=args.since, until=args.until, release=args.kafka, broker=args.broker,
        decode=_decode(args), compact=_compacting(args), salvage=args.salvage,
        configs=policies_of(args), **_live(args),
    )  # fmt: skip


def export_request(args: argparse.Namespace, dirs: Sequence[str]) -> RescueRequest:
    """What the options of an export ask for; raises `UsageError`."""
    return RescueRequest(
        dirs=tuple(dirs), out=args.out, form=args.form, topic=args.topic, committed_only=_is_committed(args),
        release=args.kafka, decode=_decode(args), configs=policies_of(args), **_live(args),
    )  # fmt: skip


class _Live(TypedDict, total=False):
    """What a request says of a live cluster."""

    bootstrap: str
    client_config: str
    create_topics: bool
    append: bool


def _is_committed(args: argparse.Namespace) -> bool:
    return bool(args.form == "kafka" or args.isolation == "read_committed")


def _live(args: argparse.Namespace) -> _Live:
    """What is asked of a live cluster; raises `UsageError`. `fleet export` has none of it."""
    asked = {name: getattr(args, name, None) for name in _LIVE}
    given = [name for name, value in asked.items() if value]
    if args.form == "kafka" and "bootstrap" not in given:
        raise UsageError("--as kafka needs --bootstrap HOST:PORT")
    if args.form == "kafka" and args.decode:
        raise UsageError("--decode is for tables; records are sent as they are")
    if args.form != "kafka" and given:
        raise UsageError(f"--{given[0].replace('_', '-')} is for --as kafka")
    return cast(_Live, {name: asked[name] for name in given})


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
    request: RescueRequest,
    progress: Progress,
    lines: Callable[[Text], Iterator[Line]],
) -> ExitCode:
    """Say each line of the report as it comes; ends with what is to be said by the exit code."""
    began, code = time.monotonic(), ExitCode.NOTHING_WRONG
    try:
        for line in lines(_report(request)):
            code |= code_of(line)
            progress.done()
            emit_asked(args, [_with_seconds(line, began)], _text(line, request, style(args)))
    except KeyboardInterrupt:
        raise Cancelled("cancelled; give the same command again and it goes on where it was") from None
    finally:
        progress.done()
    return code


def _report(request: RescueRequest) -> Callable[[Sequence[Line]], Iterator[str]]:
    """Makes the report in OUT, which has no colours."""
    return lambda lines: (each for line in lines for each in _text(line, request, Style(False, "segmend")))


def _with_seconds(line: Line, began: float) -> Line:
    return {**line, "seconds": round(time.monotonic() - began, 3)} if line["type"] == "summary" else line


def _text(line: Line, request: RescueRequest, look: Style) -> Iterator[str]:
    if line["type"] == "summary":
        yield summary_line(line, request.out)
        yield from again_line(line)
        if request.form in ("csv", "jsonl") and not request.decode and line["records"]:
            yield IN_BASE64
        yield from untold_lines(line.get("policy_untold", ()))
        yield from vanished_lines([each["why"] for each in line.get("vanished", ())])
        yield from passed_over_lines(line)
    else:
        yield from lines_of(line, look)
        yield from outside(line, request.since, request.until)
