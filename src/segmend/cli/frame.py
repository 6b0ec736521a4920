"""The parser of the whole command line, with the options of one command or of all."""

from __future__ import annotations

from collections.abc import Sequence

from segmend import __version__
from segmend.cli import registry
from segmend.cli.parser import Formatter, Parser
from segmend.cli.registry import Command
from segmend.errors import EXIT_CODES

DESCRIPTION = """\
fsck, forecast, surgery and rescue for Apache Kafka log directories.
Reading commands never write: they open files read-only and take no lock.
Only apply and undo change a log dir."""

EXAMPLES = """\
examples:
  segmend show /var/lib/kafka/data            what is on this disk
  segmend show /var/lib/kafka/data/orders-0   the segments of one partition
  segmend check /var/lib/kafka/data           is it healthy
  segmend forecast /var/lib/kafka/data        what a start would do to it
  segmend plan repair /var/lib/kafka/data     how to mend it; nothing is touched
  segmend rescue /disks/*/data --out clean    what damaged replicas have together
  segmend explain                             every finding there is
  segmend help plan repair                    the options of a command"""


def parser_for(argv: Sequence[str]) -> Parser:
    """The parser that these arguments need: with the options of the command they name, if it is one."""
    names = registry.names()
    if not argv or argv[0].startswith("-"):
        return _parser({name: registry.summary(name) for name in names}, {})
    name = argv[0]
    if name not in names:
        return whole_parser()  # to say which sub-command may have been meant
    return _parser({name: registry.summary(name)}, {name: registry.command(name)})


def whole_parser() -> Parser:
    """The parser with the options of all commands, for what is rendered from it."""
    names = registry.names()
    return _parser(
        {name: registry.summary(name) for name in names}, {name: registry.command(name) for name in names}
    )


def exit_codes() -> str:
    told = [f"{code} {meaning}" for code, meaning in EXIT_CODES.items()]
    return f"exit codes: {', '.join(told[:4])},\n{', '.join(told[4:])}; the sum where several apply"


def _parser(summaries: dict[str, str], loaded: dict[str, Command]) -> Parser:
    parser = Parser(
        prog="segmend",
        description=DESCRIPTION,
        epilog=f"{EXAMPLES}\n\n{exit_codes()}",
        formatter_class=Formatter,
    )
    parser.add_argument("--version", action="version", version=f"segmend {__version__}")
    subparsers = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=Parser
    )
    for name, summary in summaries.items():
        command = loaded.get(name)
        subparser = subparsers.add_parser(
            name,
            help=summary,
            description=f"{summary[:1].upper()}{summary[1:]}.",
            epilog=getattr(command, "EXAMPLES", None),
            formatter_class=Formatter,
        )
        if command is not None:
            command.configure(subparser)
            subparser.set_defaults(run=command.run)
    return parser
