"""Options that the fleet commands share."""

from __future__ import annotations

import argparse


def add_fleet_options(parser: argparse.ArgumentParser) -> None:
    """What is read, and by whom."""
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="log dirs, brokers, directories of brokers, globs"
    )
    parser.add_argument(
        "--driver", choices=("spark", "local"), default="spark", help="who runs the tasks (default: spark)"
    )
    parser.add_argument("--master", metavar="URL", help="Spark master (default: local[*])")


def add_out(parser: argparse.ArgumentParser) -> None:
    """The audits that are asked about."""
    parser.add_argument("out", metavar="OUT", help="the --out of the audits")
