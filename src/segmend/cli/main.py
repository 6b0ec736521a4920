"""`segmend`: finds the commands, parses arguments, turns errors into one line and an exit code.

Exit codes as fsck's: 0 nothing wrong, 1 a plan was applied, 4 findings left, 8 operational error,
16 usage, 32 cancelled, 64 a broker runs.
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import NoReturn, TextIO

from segmend import __version__
from segmend.cli import commands
from segmend.cli.common import flush
from segmend.cli.parser import Parser, note, summary
from segmend.errors import Cancelled, SegmendError, UsageError

_DESCRIPTION = """\
fsck, forecast and surgery for Apache Kafka log directories.
Reading commands never write: they open files read-only and take no lock.
Only apply and undo change a log dir."""

_EXAMPLES = """\
examples:
  segmend show /var/lib/kafka/data            what is on this disk
  segmend show /var/lib/kafka/data/orders-0   the segments of one partition
  segmend check /var/lib/kafka/data           is it healthy
  segmend explain                             every finding there is

exit codes: 0 nothing wrong, 4 findings left, 1 a plan was applied (5 both), 8 operational error,
16 usage, 32 cancelled, 64 a broker runs"""


def entry() -> NoReturn:
    """The console script."""
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit code and never lets a traceback out for what a disk holds."""
    # Names on a disk are bytes; those that are no UTF-8 are shown escaped and never stop us.
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(argv)
        flush()
        return code
    except SegmendError as error:
        _flush()
        note(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        _flush()
        note("cancelled; nothing was changed")
        return Cancelled.exit_code
    except BrokenPipeError:
        # The reader has seen enough (`| head`).
        _let_go()
        return Cancelled.exit_code


def _flush() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _let_go()


def _let_go() -> None:
    """Give up what is still to be written, so that Python does not complain at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _nowhere() -> TextIO:
    """In the place of a stream that was closed before we were started (`>&-`)."""
    return open(os.devnull, "w")


def _run(argv: Sequence[str]) -> int:
    empty = next((word for word in argv if word.startswith("--") and word.endswith("=--")), None)
    if empty is not None:  # argparse of some Pythons makes a list of it
        raise UsageError(f"{empty}: '--' is no value")
    names = [module.name for module in pkgutil.iter_modules(commands.__path__)]
    if argv and argv[0] in names:
        parser = _parser([_loaded(argv[0])])
        args = parser.parse_args(argv)
        return int(args.run(args))
    parser = _parser(
        [Command(name=name, help=summary(f"{commands.__name__}.{name}")) for name in sorted(names)]
    )
    if not argv:
        parser.print_help()
        return UsageError.exit_code
    parser.parse_args(argv)
    raise UsageError(f"'{argv[0]}' is no command (see `segmend --help`)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command as the parser needs it; `module` is None where only the list of commands is wanted."""

    name: str
    help: str
    module: ModuleType | None = None


def _loaded(name: str) -> Command:
    module = import_module(f"{commands.__name__}.{name}")
    return Command(name=module.NAME, help=module.HELP, module=module)


def _parser(found: Sequence[Command]) -> Parser:
    parser = Parser(
        prog="segmend",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"segmend {__version__}")
    subparsers = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=Parser
    )
    for each in found:
        command = subparsers.add_parser(
            each.name,
            help=each.help,
            description=f"{each.help[:1].upper()}{each.help[1:]}.",
            epilog=getattr(each.module, "EXAMPLES", None),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if each.module is not None:
            each.module.configure(command)
            command.set_defaults(run=each.module.run)
    return parser
