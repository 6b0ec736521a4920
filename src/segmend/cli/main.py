"""`segmend`: finds the commands, parses arguments, turns errors into one line and an exit code.

Exit codes as fsck's: 0 nothing wrong, 4 findings left, 8 operational error, 16 usage,
32 cancelled, 64 a broker runs.
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from segmend import __version__
from segmend.cli import commands
from segmend.cli.common import Parser, note
from segmend.errors import Cancelled, SegmendError, UsageError

_DESCRIPTION = """\
fsck, forecast, surgery and rescue for Apache Kafka log directories.
Reading commands never write: they open files read-only and take no lock."""

_EXAMPLES = """\
examples:
  segmend show /var/lib/kafka/data            what is on this disk
  segmend show /var/lib/kafka/data/orders-0   the segments of one partition
  segmend check /var/lib/kafka/data           is it healthy
  segmend explain                             every finding there is

exit codes: 0 nothing wrong, 4 findings, 8 operational error, 16 usage, 32 cancelled"""


def entry() -> NoReturn:
    """The console script."""
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit code and never lets a traceback out for what a disk holds."""
    # Names on a disk are bytes; those that are no UTF-8 are shown escaped and never stop us.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(argv)
        sys.stdout.flush()
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
        # The reader has seen enough (`| head`). Keep Python from complaining at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Cancelled.exit_code


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(argv: Sequence[str]) -> int:
    names = [module.name for module in pkgutil.iter_modules(commands.__path__)]
    wanted = [argv[0]] if argv and argv[0] in names else sorted(names)
    parser = _parser([import_module(f"{commands.__name__}.{name}") for name in wanted])
    if not argv:
        parser.print_help()
        return UsageError.exit_code
    args = parser.parse_args(argv)
    return int(args.run(args))


def _parser(modules: Sequence[ModuleType]) -> Parser:
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
    for module in modules:
        command = subparsers.add_parser(
            module.NAME,
            help=module.HELP,
            description=module.HELP[0].upper() + module.HELP[1:] + ".",
            epilog=getattr(module, "EXAMPLES", None),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.configure(command)
        command.set_defaults(run=module.run)
    return parser
