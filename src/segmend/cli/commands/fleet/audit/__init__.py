"""`segmend fleet audit`."""

from __future__ import annotations

import argparse
import os

from segmend.cli.fleet import add_fleet_options
from segmend.cli.options import add_output_options, add_release_option, given

HELP = "check every log dir, compare the replicas, write tables and a report"
NEEDS = ("pyarrow", "deltalake")
EXAMPLES = """\
examples:
  segmend fleet audit '/brokers/*' --out report            every log dir below, on Spark
  segmend fleet audit /b1 /b2 /b3 --out report --deep      every CRC and every record
  segmend fleet audit '/brokers/*' --out report --driver local       without Java
  segmend fleet audit '/brokers/*' --out report --since-run last     only what changed since the last audit
  segmend fleet audit '/brokers/*' --out report --alerts /var/lib/node_exporter/segmend.prom

OUT gets a Delta table each of partitions, segments, findings, ..., report.html and
summary.json. Auditing into the same OUT again adds a run.

With --since-run RUN a sealed segment whose log and indexes have the inode, size and times that they had
in RUN (or in an audit that was stopped after it) is not read again: what was read then is judged anew, and
`carried_from` in the tables and --json names the run that read it. Damage that changes none of these is not
seen; an audit without --since-run, or with --full, reads everything, and each reads all of an object store.

exit codes: 0 no error and no warning, 4 findings, 8 something could not be read, 16 usage"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, type=given, metavar="DIR", help="where tables and report go")
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--startup", action="store_true", help="only what a broker looks at while it loads")
    depth.add_argument("--deep", action="store_true", help="every CRC and every record")
    add_release_option(parser)
    parser.add_argument(
        "--since-run", type=given, metavar="RUN",
        help="read only what changed since that run (the beginning of its id, or `last`), also a stopped one",
    )  # fmt: skip
    parser.add_argument("--full", action="store_true", help="read everything, whatever --since-run says")
    parser.add_argument("--no-report", action="store_true", help="tables only, no report.html")
    parser.add_argument(
        "--alerts", type=_alert_file, metavar="FILE",
        help="write the counts there for a monitor: FILE.prom (Prometheus textfile) or FILE.json",
    )  # fmt: skip
    add_output_options(parser)
    add_fleet_options(parser)


def _alert_file(value: str) -> str:
    if not value.endswith((".prom", ".json")):
        raise argparse.ArgumentTypeError(f"'{value}' must end in .prom or .json")
    if not os.path.isdir(os.path.dirname(value) or "."):
        raise argparse.ArgumentTypeError(f"'{value}': no such directory")
    return value
