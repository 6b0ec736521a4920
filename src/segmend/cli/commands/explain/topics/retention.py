"""Why a segment is deleted, or stays.

A broker looks 30 seconds after its start and then every log.retention.check.interval.ms (5
minutes), at whole segments, from the oldest on, and stops at the first that may stay
(`UnifiedLog.deleteOldSegments`). What it deletes is renamed .deleted, and gone after
file.delete.delay.ms (1 minute). Records inside a segment are never deleted one by one.

By time: retention.ms
    A segment goes when its largest timestamp is older than retention.ms. That is the last entry
    of its .timeindex, never the records; without an entry there, the modification time of the
    .log. So a young segment in front holds all older ones behind it; a record with a timestamp in
    the future holds everything for so long; an index of zeros counts as 1970 and everything goes; a copy
    made without its times starts to count anew.

By size: retention.bytes
    For each partition, not for the topic. A segment goes if the others still have
    retention.bytes without it, so a partition is up to one segment larger than the limit.

By log start offset
    What DeleteRecords gave up goes too, once whole segments are below it; since 2.1 also where the
    policy has no delete.

In which order
    Since 3.0 by log start offset, then size, then time. Up to 2.8 time, size, log start offset: what
    a later rule uncovers goes one look later.

What never goes
    A segment whose end the high watermark has not reached (a replica behind, an ISR too small). The
    active segment while it is empty; when all others are due, it is rolled and goes as well.
    With cleanup.policy=compact time and size do not count: see `segmend explain compaction`. Nor do
    they where it is empty.
    (Logs with compact are looked at by the cleaner, every log.cleaner.backoff.ms, 15 seconds.)
    With remote storage, what is not yet copied; local.retention.* then take the limits' place.

Where a setting comes from
    The topic's own, else the broker's dynamic one (both in __cluster_metadata, or in ZooKeeper),
    else server.properties (log.retention.ms before .minutes before .hours), else the default: 7 days.

A clock that is no record's time
    Zeros at the end of an index (`largestTime=0` in server.log), a file's time, or timestamps in seconds
    or microseconds are told beside the records' own times. What is gone already: `segmend explain gone`.

For your directories, segment by segment: segmend explain retention DIR... [--topic T]
    --at +7d            as if it were then; a date, a date with a zone, milliseconds
    --timeline          drawn, as wide as the terminal
    --topic-config F    settings of topics that ZooKeeper has, as kafka-configs --describe prints them
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence

from segmend.cli.moment import moment
from segmend.cli.output import emit, emit_json, style
from segmend.cli.overwriting import refuse_overwriting
from segmend.cli.parser import columns
from segmend.cli.selection import asked, is_wanted
from segmend.cli.topic_config import told_settings
from segmend.errors import ExitCode, SegmendError, UsageError, system_words
from segmend.explain.retention import Reasons, reasons
from segmend.explain.timestamp_units import now_ms
from segmend.loading import ForecastOptions
from segmend.logdir import disk
from segmend.logdir.as_user import user_of
from segmend.logdir.log_dir import LogDir
from segmend.report.retention import AskedTimes, json_lines, lines
from segmend.report.timeline_page import page
from segmend.surgery.fingerprint import Fingerprint
from segmend.surgery.writing.atomic import bytes_of, write_atomically
from segmend.surgery.writing.effects import Effects
from segmend.surgery.writing.work import Workplace, folder

NAME = "retention"
SUMMARY = "why each segment is deleted or stays, until when, and which setting says so"
OPTIONS = ("topic", "partition", "all", "at", "topic_config", "timeline", "html")


_BEGIN = b"<!doctype html"


def configure(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--all",
        action="store_true",
        default=None,
        help="every partition and every segment, not only what matters",
    )
    parser.add_argument(
        "--at",
        metavar="TIME",
        type=moment,
        help="as if it were then: 2026-12-01T08:00 (UTC, or with a zone), milliseconds, +24h, --at=-7d",
    )
    parser.add_argument(
        "--timeline",
        action="store_true",
        default=None,
        help="draw when the records of each segment were written, and when it goes",
    )
    parser.add_argument("--html", metavar="PAGE", help="the same drawing as a page of its own in this file")


def run(args: argparse.Namespace, paths: Sequence[str]) -> int:
    """Explain the retention of the partitions in these log dirs of one broker."""
    told = told_settings(args.topic_config)
    broker = asked(args, paths)
    user, _ = user_of(None, broker.dirs)
    question = AskedTimes(
        now_ms=now_ms() if args.at is None else args.at, at=args.at is not None, user=user,
        timeline=bool(args.timeline), width=columns(),
    )  # fmt: skip
    options = ForecastOptions(now_ms=question.now_ms, topics=told, user=user)
    failures: list[Reasons] = []
    judged = _watched(reasons(broker, options, lambda each: is_wanted(args, each)), failures)
    chosen = bool(args.all or args.timeline) or args.partition is not None
    if args.html is not None:
        told_all = list(judged)
        shown = [each for each in told_all if chosen or each.matters] or told_all
        write_page(args.html, page(shown, question.now_ms), broker.dirs)
        judged = iter(told_all)
    if args.json:
        emit_json(json_lines(judged, question))
    else:
        emit(lines(list(judged), question, style(args), every=chosen))
    return ExitCode.FINDINGS if failures else ExitCode.NOTHING_WRONG


def _watched(judged: Iterable[Reasons], failures: list[Reasons]) -> Iterator[Reasons]:
    """The same, remembering what does not load."""
    for each in judged:
        if each.failure is not None:
            failures.append(each)
        yield each


def write_page(path: str, content: str, dirs: Iterable[LogDir]) -> None:
    """Write it whole or not at all, never into a log dir; raises `UsageError`, `SegmendError`."""
    real = disk.real_path(path)
    for each in dirs:
        if f"{real}/".startswith(f"{each.real_path}/"):
            raise UsageError(f"{path}: inside the log dir {each.path}; give a place elsewhere")
    refuse_overwriting("--html", path, "page", lambda begin: begin.startswith(_BEGIN))
    work = Workplace(fx=Effects(), vault=folder(real))
    try:
        write_atomically(work, real, bytes_of(content.encode(), work), Fingerprint(kind="file", mode=0o644))
    except OSError as error:
        raise SegmendError(f"{path}: {system_words(error)}") from None
