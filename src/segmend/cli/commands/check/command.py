"""`segmend check`: is a log directory healthy."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from segmend.checks import CheckOfAny, CheckRun, Level, Summary, Wanted, known_codes
from segmend.checks.remedies import by_rules_of
from segmend.checks.runner import INDEX_LOOKS, METADATA_UNSEEN
from segmend.cli.nearest import did_you_mean
from segmend.cli.options import add_output_options, add_release_option, add_user_option, count, given
from segmend.cli.output import emit, emit_json, style
from segmend.cli.selection import refuse_topic
from segmend.cli.stopped_surgery import stopped_surgery
from segmend.cli.targets import Targets, broker_of, open_targets
from segmend.errors import ExitCode, UsageError
from segmend.findings import Finding, Severity
from segmend.frozen import replace
from segmend.logdir.processes import max_map_count
from segmend.logdir.user import User
from segmend.report import text
from segmend.report.findings import finding_lines, in_order
from segmend.report.progress import Progress
from segmend.wording import plural

EXAMPLES = """\
levels:
  --startup    what a broker of that release looks at while it loads; seconds for any disk
  (default)    all metadata, and the indexes against the batch headers
  --deep       every CRC and every record

examples:
  segmend check /data/kafka-a /data/kafka-b       all log dirs of one broker together
  segmend check --deep /data/kafka-a/orders-3     one partition
  segmend check /data/kafka-a --as-user kafka     what this user may not read or write
  segmend check /data/kafka-a --only C12,I14      these findings only
  segmend check /data/kafka-a --kafka 2.2 --json  as Kafka 2.2 would see it

each finding tells:
  broker:      what the next start does about it, forecast by the rules of this release; in --json
               broker_effect: effect (as in forecast, or broker-refuses, dir-offline, none), offset,
               records_lost, bytes_lost, text, basis (forecast; manual where the start cannot tell)
  it says:     the words it logs
  explains:    findings that have the same cause, and the same next command; in --json each of them has
               the cause (code, dir, file)
  next:        the command that comes next, for the shell; behind # whether it loses anything

exit codes: 0 no error and no warning, 4 findings, or surgery that was
stopped, or what these dirs show to matter is not known; 8 something could not be read, 16 usage"""

SHOWN = 100
# Findings that are kept in memory until they are shown, the worst of them.
KEPT = 20_000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="+", metavar="DIR", help="log dirs of one broker, a partition or a file"
    )
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--startup", action="store_true", help="only what a broker looks at while it loads")
    depth.add_argument("--deep", action="store_true", help="every CRC and every record")
    add_release_option(parser)
    parser.add_argument("--config", metavar="FILE", help="the broker's server.properties")
    add_user_option(parser, "the owner of each log dir")
    parser.add_argument("--only", metavar="CODES", type=_codes, default=(), help="report these only: L05,N01")
    parser.add_argument("--ignore", metavar="CODES", type=_codes, default=(), help="do not report these")
    parser.add_argument("--topic", type=given, metavar="GLOB", help="partitions of these topics only")
    parser.add_argument("--max", metavar="N", type=count, help=f"show N findings, 0: all (default {SHOWN})")
    parser.add_argument("--all", action="store_true", help="show also what another finding explains")
    parser.add_argument("--jobs", metavar="N", type=count, default=0, help="threads (default: all cores)")
    add_output_options(parser)


def _codes(value: str) -> tuple[str, ...]:
    codes = tuple(code.strip() for code in value.split(",") if code.strip())
    known = {code.upper(): code for code in known_codes()}
    unknown = [code for code in codes if code.upper() not in known]
    if unknown:
        question = did_you_mean(unknown[0], known)
        raise argparse.ArgumentTypeError(f"no finding is called {', '.join(unknown)}{question}")
    return tuple(known[code.upper()] for code in codes)


def run(args: argparse.Namespace) -> int:
    """Check, report, and say by the exit code what was found."""
    targets = open_targets(args.paths, blank=True)
    refuse_topic(args.topic, (partition for each in targets.dirs for partition in each.partitions))
    broker = broker_of(args, targets.dirs)
    progress = Progress(sys.stderr)
    checks = CheckOfAny(
        broker,
        level=Level.STARTUP if args.startup else Level.DEEP if args.deep else Level.DEFAULT,
        wanted=_wanted(args, targets),
        on_progress=(lambda done, total: progress.update(done, total, "")) if progress.shown else None,
        jobs=args.jobs or len(os.sched_getaffinity(0)),
        max_map_count=max_map_count(),
        user=None if args.as_user is None else User.named(args.as_user),
    )
    surgery = stopped_surgery(targets.dirs)
    checks.summary.surgery.extend(surgery.open)
    checks.summary.unseen += [
        f"whether surgery was stopped over these dirs: {each}" for each in surgery.unseen
    ]
    try:
        (_write_json if args.json else _write_text)(args, checks, progress)
    finally:
        progress.done()
    if not args.json:
        emit(_summary_lines(checks.summary, f"Kafka {broker.release} ({broker.release_reason})"))
    return _exit_code(checks.summary)


def _wanted(args: argparse.Namespace, targets: Targets) -> Wanted:
    if args.only and set(args.only) <= set(args.ignore):
        raise UsageError("--ignore leaves nothing of --only")
    return Wanted(
        only=args.only, ignore=args.ignore, topic=args.topic, names=targets.names, files=targets.files
    )


def _write_json(args: argparse.Namespace, checks: CheckRun, _progress: Progress) -> None:
    most = args.max or sys.maxsize
    emit_json(_told(each, args).to_json() for number, each in enumerate(checks) if number < most)
    emit_json([checks.summary.to_json()])


def _write_text(args: argparse.Namespace, checks: CheckRun, progress: Progress) -> None:
    most = SHOWN if args.max is None else args.max
    findings = [_told(each, args) for each in _worst(checks, most or sys.maxsize)]
    progress.done()
    lines = finding_lines(findings, style(args), most=most, total=checks.summary.total, each=args.all)
    emit(lines)


def _told(finding: Finding, args: argparse.Namespace) -> Finding:
    """With the release that was given in its next command, too."""
    if finding.remedy is None or args.kafka is None:
        return finding
    return replace(finding, remedy=by_rules_of(str(args.kafka), finding.remedy))


def _worst(findings: Iterable[Finding], most: int) -> list[Finding]:
    """Enough to show the worst `most`; a ruined disk has millions, and only their number is kept."""
    kept: list[Finding] = []
    for finding in findings:
        kept.append(finding)
        if len(kept) >= KEPT + 2 * most:
            kept = in_order(kept)[: KEPT // 2 + most]
    return kept


def _exit_code(summary: Summary) -> int:
    left = summary.counts[Severity.ERROR] + summary.counts[Severity.WARNING] + len(summary.surgery)
    left += len(summary.unknown)
    return ExitCode.of(left=left, unread=summary.is_partial)


def _summary_lines(summary: Summary, rules: str) -> Iterator[str]:
    looked = [plural(summary.partitions, "partition"), plural(summary.segments, "segment")]
    if summary.level > Level.STARTUP:
        looked += [plural(summary.batches, "batch", "batches"), text.size(summary.bytes)]
    yield f"{_verdict(summary)} {', '.join(looked)}; {text.duration(summary.seconds)}; rules of {rules}"
    yield from summary.surgery
    if summary.releases:
        yield f"release: {'; '.join(summary.releases)}"
    for path, clean in summary.clean.items():
        yield f"{text.clean(path)}: {_state(summary, path, clean)}"
    yield from _not_looked_at(summary)
    yield from (f"not known: {text.clean(words)}" for words in summary.unknown)
    yield from (f"not given: {text.clean(words)}" for words in summary.others)
    if summary.dirs_not_given:
        missing = plural(summary.dirs_not_given, "more log dir")
        yield f"not given: {missing} of this broker, as its metadata says; of what lies there nothing is said"
    if summary.vanished:
        yield f"not looked at: gone before it was read: {_first_few(summary.vanished)}"
    if summary.unreadable:
        yield f"could not be read with this user's permissions: {_first_few(summary.unreadable)}"


def _not_looked_at(summary: Summary) -> Iterator[str]:
    if summary.skipped:
        yield f"not looked at: {', '.join(summary.skipped)} (--deep does)"
    yield from (f"not looked at: {text.clean(words)}" for words in summary.unseen)
    if summary.index_looks_unseen:
        yield f"not looked at: {INDEX_LOOKS} (--startup does)"
    if summary.metadata_unseen:
        yield f"not looked at: {METADATA_UNSEEN}, which is in none of these dirs (give metadata.log.dir, too)"


def _verdict(summary: Summary) -> str:
    counts = summary.counts
    words = [
        plural(counts[Severity.ERROR], "error"),
        plural(counts[Severity.WARNING], "warning"),
        plural(counts[Severity.INFO], "note"),
    ]
    within = "in what could be read of" if summary.is_partial else "in"
    nothing = "nothing wrong, but not all is known," if summary.unknown else "nothing wrong"
    return f"{', '.join(words) if any(counts.values()) else nothing} {within}"


def _state(summary: Summary, path: str, clean: bool) -> str:
    if summary.running[path]:
        return "a broker is running here; bytes in flight are not judged"
    if path in summary.apart:
        return "the cluster's metadata alone, which each start scans; no marker tells how it stopped"
    return "stopped cleanly" if clean else "not stopped cleanly; the next start recovers the active segments"


def _first_few(paths: Sequence[str]) -> str:
    shown = ", ".join(text.clean(path) for path in paths[:3])
    return shown if len(paths) <= 3 else f"{shown} and {len(paths) - 3} more"
