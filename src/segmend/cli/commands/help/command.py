"""`segmend help`: the help of another command."""

from __future__ import annotations

import argparse

from segmend.cli.frame import parser_for


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="COMMAND", help="a command, and its sub-command")


def run(args: argparse.Namespace) -> int:
    """As if `--help` followed the words; argparse ends the process then."""
    parser_for(args.words).parse_args([*args.words, "--help"])
    return 0
