"""`segmend fleet`: many brokers at once, on Spark or on the cores of this machine; a room a sub-command."""

from __future__ import annotations

import argparse
import pkgutil
from contextlib import nullcontext
from functools import partial
from importlib import import_module

from segmend.cli.parser import Formatter, LateParser
from segmend.fleet.no_pandas import without_pandas

from .audit import EXAMPLES as EXAMPLES
from .needs import need

_HOME = "segmend.cli.commands.fleet"


def configure(parser: argparse.ArgumentParser) -> None:
    """The sub-commands, which are told and configured by their rooms; what they need is not imported."""
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=LateParser
    )
    path = import_module(_HOME).__path__
    for name in sorted(each.name for each in pkgutil.iter_modules(path) if each.ispkg):
        room = import_module(f"{_HOME}.{name}")
        added: LateParser = commands.add_parser(
            name.replace("_", "-"), help=room.HELP, epilog=room.EXAMPLES, formatter_class=Formatter
        )
        added.fill = partial(_fill, name)


def _fill(name: str, parser: argparse.ArgumentParser) -> None:
    import_module(f"{_HOME}.{name}").configure(parser)
    parser.set_defaults(room=name)


def run(args: argparse.Namespace) -> int:
    """Do it, if the extras that it needs are there."""
    need(*import_module(f"{_HOME}.{args.room}").NEEDS)
    with nullcontext() if getattr(args, "driver", "local") == "spark" else without_pandas():
        return int(import_module(f"{_HOME}.{args.room}.command").run(args))
