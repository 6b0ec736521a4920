"""`segmend fleet`: many brokers at once, on Spark or on the cores of this machine; a room a sub-command."""

from __future__ import annotations

import argparse
import pkgutil
import sys
from contextlib import nullcontext
from functools import partial
from importlib import import_module

from segmend.cli.parser import Formatter, LateParser
from segmend.errors import UsageError
from segmend.fleet.no_pandas import without_pandas
from segmend.fleet.workers import can_share, forks_of_this

from .audit import EXAMPLES as EXAMPLES
from .needs import need
from .unheard import heard_all_the_same

_HOME = "segmend.cli.commands.fleet"
_WITH_THREADS = ("deltalake", "obstore", "pyarrow")


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
    driver = getattr(args, "driver", None)
    if driver == "local" and args.master is not None:
        raise UsageError("--master is Spark's; --driver local runs on the cores of this machine")
    # Of a process that has done something before, a notebook or a test, threads may be there.
    forked = driver == "local" and sys.modules.keys().isdisjoint(_WITH_THREADS)
    with nullcontext() if driver == "spark" else without_pandas():
        room = import_module(f"{_HOME}.{args.room}.command")
        forks = forks_of_this() if forked and can_share() else nullcontext()
        with forks as args.workers, heard_all_the_same():  # forks come before the first thread
            return int(room.run(args))
