"""Why data is gone: what server.log says of each deletion, whether rightly, and by which clock.

Give it the broker's server.log, as many as there are, rotated and packed ones too (`-` is stdin). It
reads the lines of every release that speak of deleted data, and puts those of one segment together:

    "Found deletable segments with base offsets [...] due to ..."         0.11 to 2.6
    "Scheduling segments for deletion ..." "Deleting segment ..."         each in its own words
    "Incremented log start offset to ... due to ..."                      DeleteRecords, the leader
    "Log for partition ... is renamed ... is scheduled for deletion"      a deleted topic, a moved replica
    "Truncating to offset ..." "... below high watermark"                 a replica that follows its leader

The clock of a deletion by time
    largestTime or largestRecordTimestamp is the last entry of the segment's .timeindex. 0 is no time
    of a record: the index ended in an entry of zeros, as one does that a crash, a copy or a change of
    owners left untrimmed, and zero is 1970. None or -1 means that the index had no entry, so that
    the modification time of the .log counted (`lastModifiedTime`). Ten digits are seconds.

Rightly, wrongly
    right      the rule held, and the clock was a record's own time (or size, or somebody's request)
    wrong      a clock decided that is no record's time, and by what is known of it, it was too early
    unknown    the lines do not tell: the modification time counted, the release logs offsets only, or a
               replica was cut to its leader's end, of which nobody says whether it was acknowledged

The bytes lie beside it as *.deleted for file.delete.delay.ms (1 minute); stop the broker at once if
you need them. server.log has no time zone: --zone.

For your logs: segmend explain gone FILE... [--topic T] [--zone +02:00] [--config server.properties]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from fnmatch import fnmatchcase

from segmend.cli.output import emit_asked, note, style
from segmend.errors import ExitCode, UsageError
from segmend.explain.gone import Account, ServerLogReader
from segmend.logdir.config import ServerConfig
from segmend.logdir.file_system import Unreadable
from segmend.logdir.text_lines import lines, lines_of
from segmend.report.gone import json_lines, needs_a_look
from segmend.report.gone import lines as report_lines

NAME = "gone"
SUMMARY = "why data is gone: server.log's deletions, whether rightly, and by which clock"
OPERANDS = "FILE"
OPTIONS = ("topic", "partition", "all", "zone")
_ZONE = re.compile(r"([+-])(\d\d):?(\d\d)|(Z|UTC)")
_CHUNK = 1 << 20


def configure(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--zone",
        metavar="+HH:MM",
        type=_zone,
        help="the zone in which the broker logs (default UTC; --zone=-05:00)",
    )


def _zone(value: str) -> timedelta:
    match = _ZONE.fullmatch(value)
    if match is None or (match[2] and (int(match[2]) > 14 or int(match[3]) > 59)):
        raise argparse.ArgumentTypeError(f"'{value}' is no zone such as +02:00")
    if match[4]:
        return timedelta()
    ahead = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return -ahead if match[1] == "-" else ahead


def run(args: argparse.Namespace, paths: Sequence[str]) -> int:
    """Tell what these logs say of deleted data."""
    if args.kafka is not None:
        raise UsageError("explain gone takes no --kafka: the lines themselves tell the release")
    limits = _limits(args)
    reader, code = ServerLogReader(args.zone or timedelta()), ExitCode.NOTHING_WRONG
    for path in paths:
        try:
            reader.read(lines(_stdin(), "stdin") if path == "-" else lines_of(path))
        except Unreadable as error:
            note(str(error))
            code |= ExitCode.OPERATIONAL
    if code and not reader.account.lines:
        return code
    account = _selected(args, reader.account)
    chosen = bool(args.all) or args.partition is not None
    told = report_lines(account, style(args), limits=limits, every=chosen)
    emit_asked(args, json_lines(account), told)
    return code | (ExitCode.FINDINGS if needs_a_look(account) else ExitCode.NOTHING_WRONG)


def _stdin() -> Iterator[bytes]:
    while data := sys.stdin.buffer.read(_CHUNK):
        yield data


def _limits(args: argparse.Namespace) -> Mapping[int, str]:
    """Where a limit comes from, as far as server.properties tells."""
    if args.config is None:
        return {}
    config = ServerConfig.load(args.config)
    return {config.number("retention.ms"): config.source("retention.ms")}


def _selected(args: argparse.Namespace, account: Account) -> Account:
    def wanted(name: str) -> bool:
        topic = name.rpartition("-")[0]
        named = args.partition is None or name == args.partition
        return named and (args.topic is None or fnmatchcase(topic, args.topic))

    account.gone = {key: each for key, each in account.gone.items() if wanted(each.partition)}
    account.remarks = {key: each for key, each in account.remarks.items() if wanted(each.partition)}
    return account
