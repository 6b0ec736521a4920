"""Where the time of a start goes.

A broker serves nobody until all its logs are loaded: `LogManager.loadLogs` opens every
partition of every log dir, before the first request is taken.

After a clean stop (.kafka_cleanshutdown is there)
    Every segment is opened, nothing of it is read: time grows with the number of segments, not
    with their bytes. Up to 2.2 the index files of every segment were opened, mapped and checked
    too ("sanity check"): one to three random reads a segment, minutes on spinning disks.
    The state of producers comes from the newest .snapshot; what lies behind it is read.

After a kill or a power cut
    Each partition recovers the segments from its recovery point on: they are read from end to
    end, every CRC is computed, their indexes are built anew. Mostly that is the active segment of
    each partition, and one that was just rolled: up to segment.bytes (1 GiB) each. Where
    recovery-point-offset-checkpoint is lost, everything is read.
    __cluster_metadata-0 is read in full at every start, clean or not.

num.recovery.threads.per.data.dir
    Threads that load partitions, for each log dir; 1 up to 3.9, 2 since 4.0. Log dirs load
    beside each other. One partition is one thread's work, so more threads than partitions, or
    than cores, gain nothing. It is read at the start only and costs nothing later.

KIP-263
    Proposed to check only the active segments and leave the others to a background thread: "a
    broker spends around 8 minutes on LogManager.loadLogs()", 30 brokers in turn 8 hours. The
    switch (sanity.check.all.logs.enabled) was never merged; its idea came with 2.3 (KAFKA-7283):
    indexes are opened when first used, and no index of offsets or times is checked at load.
    What is not checked is not found either: `segmend check` looks at all of them.

Rolling restarts
    Each broker: stop, start, and the time until its replicas are in the ISR again, which is about
    as long as it was away. Stop with SIGTERM and wait: a kill makes the next start a recovery.

Kubernetes
    A liveness probe that fires during recovery kills the broker, which then begins anew: a loop.
    Give it a startupProbe (periodSeconds x failureThreshold) above the worst unclean start, and a
    terminationGracePeriodSeconds that lets a clean stop finish.

For your directories, in seconds: segmend explain startup DIR...
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence

from segmend.cli.options import add_read_speed_option
from segmend.cli.output import emit_asked, style
from segmend.cli.targets import broker_of, open_log_dirs
from segmend.explain.disk_speed import Speed
from segmend.explain.rolling_restart import bounce, probe
from segmend.explain.startup import Study, study
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.candidates import each_release
from segmend.report.startup import StartupPage, json_lines, lines

NAME = "startup"
SUMMARY = "where the time of a start goes: threads, rolling restarts, Kubernetes probes"
OPTIONS = ("brokers", "threads", "read_speed")
BROKERS = 30
THREADS = "num.recovery.threads.per.data.dir"


def configure(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--brokers", metavar="N", type=_number, help=f"brokers to restart (default {BROKERS})"
    )
    parser.add_argument("--threads", metavar="N", type=_number, help="num.recovery.threads.per.data.dir")
    add_read_speed_option(parser)


def run(args: argparse.Namespace, paths: Sequence[str]) -> int:
    """The time of a start over these log dirs of one broker, and what follows from it."""
    broker = broker_of(args, open_log_dirs(paths))
    config = broker.config
    given = None if args.read_speed is None else Speed(bytes_per_second=args.read_speed, given=True)
    studies = list(_studies(broker, args.threads, given))
    first = studies[0]
    brokers = args.brokers or BROKERS
    page = StartupPage(
        dirs=[log_dir.path for log_dir in broker.dirs],
        clean=[log_dir.is_clean for log_dir in broker.dirs],
        rules=f"Kafka {broker.release} ({broker.release_reason})",
        releases=broker.guess.words,
        threads_from="--threads" if args.threads else config.source(THREADS),
        study=first,
        others=studies[1:],
        lazy=bounce(first, brokers, eager=False),
        eager=bounce(first, brokers, eager=True),
        own=bounce(first, brokers),
        probe=probe(studies, config.given),
    )
    emit_asked(args, json_lines(page), lines(page, style(args)))
    return 0


def _studies(broker: BrokerDirs, threads: int | None, speed: Speed | None) -> Iterator[Study]:
    """By the rules of the release that is taken for granted, then of those that it may be instead."""

    def ask(candidate: BrokerDirs) -> Study:
        nonlocal speed
        count = threads or candidate.config.number(THREADS)
        studied = study(candidate, count, cores=len(os.sched_getaffinity(0)), speed=speed)
        studied.by_case()  # which asks for the rules that part the releases
        speed = studied.speed
        return studied

    yield from (part for _, part in each_release(broker, ask))


def _number(value: str) -> int:
    if not value.isdecimal() or not 0 < int(value) < 10**6:
        raise argparse.ArgumentTypeError(f"'{value}' is no number above 0")
    return int(value)
