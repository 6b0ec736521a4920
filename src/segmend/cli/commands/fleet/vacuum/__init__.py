"""`segmend fleet vacuum`."""

from __future__ import annotations

import argparse

from segmend.cli.fleet import add_out
from segmend.cli.moment import moment
from segmend.cli.options import add_output_options

HELP = "drop old audits from OUT"
NEEDS = ("pyarrow", "deltalake")
EXAMPLES = """\
examples:
  segmend fleet vacuum report --keep 30 --dry-run       what would go
  segmend fleet vacuum report --keep 30                 all but the thirty newest audits
  segmend fleet vacuum report --older-than 90d

Their rows go from every table, and their files from the disk: a reader of an older version of the
tables (time travel) no longer finds them. What a killed audit left goes, too, once it is a day old;
without an option only that goes. The log of each table is summed up (a Delta checkpoint), so that
opening it stays fast after a thousand audits.

exit codes: 0 done, 8 OUT has no run, 16 usage"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_out(parser)
    parser.add_argument("--keep", type=_positive, metavar="N", help="the N newest finished runs stay")
    parser.add_argument(
        "--older-than", type=_age, metavar="TIME", help="only runs from before: 90d, or 2026-10-01"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    add_output_options(parser)


def _positive(value: str) -> int:
    if not value.isdecimal() or int(value) < 1:
        raise argparse.ArgumentTypeError(f"'{value}' is no number of runs; at least one stays")
    return int(value)


def _age(value: str) -> int:
    return moment(f"-{value}" if value[-1:] in "smhdw" and value[:1].isdecimal() else value)
