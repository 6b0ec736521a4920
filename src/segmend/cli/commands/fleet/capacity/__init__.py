"""`segmend fleet capacity`."""

from __future__ import annotations

import argparse

from segmend.cli.fleet import add_fleet_options
from segmend.cli.options import add_output_options, add_release_option, count

HELP = "when disks are full, what grows, what moves and larger batches would give"
NEEDS = ("pyarrow",)
EXAMPLES = """\
examples:
  segmend fleet capacity '/brokers/*'                        when disks are full, what grows, what would help
  segmend fleet capacity '/brokers/*' --days 30 --within 14
  segmend fleet capacity '/brokers/*' --driver local --json  without Java
  segmend fleet capacity '/brokers/*' --reassign > moves.json
  kafka-reassign-partitions --bootstrap-server ... --reassignment-json-file moves.json --execute

Rates are by the times in batches, never by those of files, up to the newest batch of each broker. "full in"
counts what is known to stay (retention and compaction hold others at their size), "at least" is as if
nothing were removed from now on. What codecs and larger batches would save is measured on a sample of the
newest batches of two partitions a topic and broker. --reassign prints a file of moves: between brokers where
these differ by more than --spread, else between the log dirs of each. It names log dirs as they are
called here, and tells the replicas of a partition whole, or leaves the partition out and ends with 4.

exit codes: 0 no disk is full --within the time, 4 one is, or a move could not be told, 8 something could not
be read, 16 usage"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--days",
        type=_days,
        default=7.0,
        metavar="N",
        help="the time that rates are taken over (default: 7 days)",
    )
    parser.add_argument(
        "--within", type=_days, default=7.0, metavar="N",
        help="exit 4 where a disk is full within so many days (default: 7)",
    )  # fmt: skip
    parser.add_argument(
        "--spread", type=_percent, default=0.05, metavar="PERCENT",
        help="how far apart the fullest and the emptiest may be, in points of fill (default: 5%%)",
    )  # fmt: skip
    parser.add_argument(
        "--sample", type=count, default=256 << 10, metavar="BYTES",
        help="of each partition that gives a sample (default: 262144; 0: none)",
    )  # fmt: skip
    parser.add_argument(
        "--reassign", action="store_true", help="print the JSON of kafka-reassign-partitions, nothing else"
    )
    parser.add_argument(
        "--assignment", metavar="FILE",
        help='the replicas as they are, where no metadata log tells: the "Current partition replica '
        'assignment" of kafka-reassign-partitions --generate',
    )  # fmt: skip
    add_release_option(parser)
    add_output_options(parser)
    add_fleet_options(parser)


def _days(value: str) -> float:
    try:
        days = float(value)
    except ValueError:
        days = 0.0
    if not 0 < days <= 3650:
        raise argparse.ArgumentTypeError(f"'{value}' is no number of days")
    return days


def _percent(value: str) -> float:
    try:
        percent = float(value.removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise argparse.ArgumentTypeError(f"'{value}' is no percentage; write 5%")
    return percent / 100
