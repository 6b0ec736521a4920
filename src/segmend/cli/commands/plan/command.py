"""`segmend plan`: what surgery would do, as a file that one can read, keep and apply."""

from __future__ import annotations

import argparse
from functools import partial
from importlib import import_module
from typing import Final

from segmend.cli.parser import Formatter, LateParser
from segmend.surgery import ops

EXAMPLES = """\
A plan is a JSON file. `segmend apply plan.json` carries it out, `segmend undo` takes it back.

examples:
  segmend plan trim /data/a /data/b -o plan.json
  segmend plan move /data/a /data/b --partition orders-3 --to /data/b -o plan.json
  segmend plan show plan.json
  segmend plan compose one.json other.json -o both.json

exit codes: 0 planned, or nothing to do; 4 something is left that it does not mend, or a broker started
after it would lose or not serve something, or refuse to start, or surgery over these dirs was stopped
halfway; 8 something could not be read, 16 usage"""

_HOME = "segmend.cli.commands.plan"
OTHERS: Final = {
    "compose": "several plans for the same log dirs in one, done and undone together",
    "reverse": "the way back from today's files, where a broker ran and undo is refused",
    "show": "show a plan that was made",
}
"""What is no operation; each has a module of its name here."""


def configure(parser: argparse.ArgumentParser) -> None:
    """A sub-command for each operation, and the others; what the others need is not imported."""
    commands = parser.add_subparsers(
        title="operations", metavar="OPERATION", required=True, parser_class=LateParser
    )
    for name in ops.names():
        _sub(commands, name, ops.summary(name), "operation")
    for name, help in OTHERS.items():
        _sub(commands, name, help, name)


def _sub(commands: argparse._SubParsersAction[LateParser], name: str, help: str, module: str) -> None:
    sub_parser = commands.add_parser(
        name, help=help, description=f"{help[:1].upper()}{help[1:]}.", formatter_class=Formatter
    )
    sub_parser.fill = partial(_fill, name, module)


def _fill(name: str, module: str, parser: argparse.ArgumentParser) -> None:
    room = import_module(f"{_HOME}.{module}")
    room.configure(parser, name)
    parser.set_defaults(room=room)


def run(args: argparse.Namespace) -> int:
    """Make or show a plan."""
    return int(args.room.run(args))
