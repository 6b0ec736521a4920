"""`segmend fleet`: many brokers at once, on Spark or on the cores of this machine; a room a sub-command."""

from __future__ import annotations

import argparse
import pkgutil
from importlib import import_module

from segmend.cli.parser import Formatter

from .audit import EXAMPLES as EXAMPLES
from .needs import need

_HOME = "segmend.cli.commands.fleet"


def configure(parser: argparse.ArgumentParser) -> None:
    """The sub-commands, which are told and configured by their rooms; what they need is not imported."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    path = import_module(_HOME).__path__
    for name in sorted(each.name for each in pkgutil.iter_modules(path) if each.ispkg):
        room = import_module(f"{_HOME}.{name}")
        added = commands.add_parser(
            name.replace("_", "-"), help=room.HELP, epilog=room.EXAMPLES, formatter_class=Formatter
        )
        room.configure(added)
        added.set_defaults(room=name)


def run(args: argparse.Namespace) -> int:
    """Do it, if the extras that it needs are there."""
    need(*import_module(f"{_HOME}.{args.room}").NEEDS)
    return int(import_module(f"{_HOME}.{args.room}.command").run(args))
