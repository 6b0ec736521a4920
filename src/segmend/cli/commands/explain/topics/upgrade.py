"""What another release makes of your disks, before you start it.

A release refuses what it does not know, before it loads a log: settings of topics and of
server.properties, the cluster's metadata.version, its metadata records, the meta.properties of each
dir. Nothing on the disks is hurt by such a start, and the release of before starts again. Worse is what
cannot be taken back: messages and groups in a newer format, directory ids, a raised metadata.version, and
ZooKeeper's log dirs under a server.properties with process.roles, which a start empties.

Between two releases
    segmend explain upgrade --from 3.9 --to 4.1      what refuses, what cannot be taken back, what to check
    segmend explain upgrade --from 4.3 --to 3.9      the way back

For your directories
    segmend explain upgrade DIR... --kafka 4.1 --config server.properties
    also plays the start of 4.1 over them, and names the topics and lines of server.properties that it
    refuses. `--config` is the file as it will be for that start.

What real brokers did with healthy log dirs of another release
                 with ZooKeeper                in KRaft
    written by   1.1 2.5 2.8 3.3 3.6 3.7 3.9   3.3 3.6 3.7 3.9 4.0 4.1 4.2 4.3
    0.8           +   +   +   +   +   +   +     -   -   -   -   -   -   -   -
    0.10          +   +   +   +   +   +   +     -   -   -   -   -   -   -   -
    1.1           +   +   +   +   +   +   +     -   -   -   -   -   -   -   -
    2.5           +   +   +   +   +   +   +     -   !   !   !   !   !   !   !
    2.8           +   +   +   +   +   +   +     -   !   !   !   !   !   !   !
    3.9           +   +   +   +   +   +   +     -   !   !   !   !   !   !   !
    3.3 KRaft     -   -   -   -   -   -   -     +   +   +   +   +   +   +   +
    3.6 KRaft     -   -   -   -   -   -   -     -   +   +   +   +   +   +   +
    3.9 KRaft     -   -   -   -   -   -   -     -   -   -   +   +   +   +   +
    4.0 KRaft     -   -   -   -   -   -   -     -   -   -   -   +   +   +   +
    4.1 KRaft     -   -   -   -   -   -   -     -   -   -   -   -   +   +   +
    4.3 KRaft     -   -   -   -   -   -   -     -   -   -   -   -   -   -   +
    + starts and serves all; - refuses; ! takes every topic for a stray: renames it (3.7), deletes it (3.6)

An order that can be gone back until its last step
    1. segmend explain upgrade, as above, on every broker; mend what is refused while the old release runs.
    2. Restart one broker after the other with the new release.
    3. Only when all is well for some days: kafka-features.sh upgrade (with ZooKeeper:
       inter.broker.protocol.version). From then on the old release does not start any more.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from segmend.broker.upgrades import Mode
from segmend.cli.options import release_argument
from segmend.cli.output import emit_asked, style
from segmend.cli.targets import broker_of, open_log_dirs
from segmend.errors import ExitCode, UsageError
from segmend.explain.upgrade import Here, here, upgrade
from segmend.loading import ForecastOptions
from segmend.logdir.release import NEWEST, Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.report.progress import telling
from segmend.report.upgrade import json_lines, lines

NAME = "upgrade"
SUMMARY = "what another release refuses, changes and does not give back, before you start it"
OPTIONS = ("from_release", "to_release")


def configure(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--from", dest="from_release", metavar="RELEASE", type=release_argument, help="the one that ran last"
    )
    parser.add_argument(
        "--to", dest="to_release", metavar="RELEASE", type=release_argument, help="the release to be started"
    )


def run(args: argparse.Namespace, paths: Sequence[str]) -> int:
    """Explain the start of another release over these log dirs."""
    if args.kafka is not None and args.to_release is not None:
        raise UsageError("--kafka and --to both say which release is to be started: give one")
    wanted = args.to_release or args.kafka
    args.kafka = args.from_release
    present = broker_of(args, open_log_dirs(paths))
    to = wanted or NEWEST
    future = BrokerDirs(present.dirs, release=to, given=present.given)
    mode = Mode.KRAFT if present.kraft else Mode.ZOOKEEPER
    modes = frozenset({mode, Mode.KRAFT if future.kraft else Mode.ZOOKEEPER})
    with telling() as tell:
        start = here(present, future, ForecastOptions(now_ms=time.time_ns() // 1_000_000), tell)
    _tell(args, present.release, to, modes, start)
    return ExitCode.NOTHING_WRONG if start.outcome.nothing_lost else ExitCode.FINDINGS


def told(args: argparse.Namespace) -> bool:
    """Explain a pair of releases, if one was given."""
    if args.from_release is None and args.to_release is None:
        return False
    _tell(args, args.from_release or NEWEST, args.to_release or NEWEST, None, None)
    return True


def _tell(
    args: argparse.Namespace, from_: Release, to: Release, modes: frozenset[Mode] | None, start: Here | None
) -> None:
    pair = upgrade(from_, to, modes)
    emit_asked(args, json_lines(pair, start), lines(pair, start, style(args)))
