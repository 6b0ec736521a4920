"""The plan of an operation."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

from segmend.cli.options import add_output_options, add_release_option
from segmend.cli.output import note
from segmend.cli.plans import add_output, made, refuse_output
from segmend.cli.stopped_surgery import stopped_surgery
from segmend.cli.targets import Targets, open_targets
from segmend.errors import ExitCode, UsageError
from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.report.progress import telling
from segmend.surgery import ops
from segmend.surgery.ops import Operation
from segmend.surgery.options import Option, options_of
from segmend.surgery.plan import Plan
from segmend.surgery.planning.any_release import plan_for_any
from segmend.surgery.request import Request

Chosen = TypeVar("Chosen")


def configure(parser: argparse.ArgumentParser, name: str) -> None:
    """The options of an operation; the others are not even imported."""
    operation = ops.operation(name)
    parser.epilog = operation.EXAMPLES
    parser.add_argument("paths", nargs="+", metavar="DIR", help="all log dirs of one broker")
    add_options(parser, operation.Options)
    add_output(parser)
    add_release_option(parser)
    add_output_options(parser)
    parser.set_defaults(operation=operation)


def run(args: argparse.Namespace) -> int:
    """Make a plan, write it, show it."""
    refuse_output(args.output)
    targets = open_targets(args.paths, blank=ops.takes_blank(args.operation))
    surgery = stopped_surgery(targets.dirs)
    for each in surgery.open:
        note(f"{each}; first that, then plan again: the files are halfway")
    for each in surgery.unseen:
        note(f"not looked at, whether surgery was stopped over these dirs: {each}")
    return made(args, _make(args, args.operation, targets)) | ExitCode.of(left=surgery.open, unread=False)


def _make(args: argparse.Namespace, operation: Operation, targets: Targets) -> Plan:
    given = [log_dir.path for log_dir in targets.dirs]
    running = next((log_dir.path for log_dir in targets.dirs if log_dir.broker_running()), None)
    if running is not None:
        note(f"{running}: a broker runs here; stop it, and plan again, before `segmend apply`")
    with telling() as tell:
        request = Request(
            broker=BrokerDirs([LogDir.open(disk.real_path(path)) for path in given], release=args.kafka),
            given=given,
            options=options_from(args, operation.Options),
            names=targets.names,
            on_progress=tell,
        )
        return plan_for_any(operation.plan, request)


def add_options(parser: argparse.ArgumentParser, kind: type[object]) -> None:
    for each in options_of(kind):
        about = each.asked.help.replace("%", "%%")
        if each.is_flag:
            parser.add_argument(each.flag, dest=each.name, action="store_true", help=about)
        else:
            parser.add_argument(
                each.flag, dest=each.name, metavar=each.asked.metavar, type=_reader(each), help=about,
                action="append" if each.repeatable else "store", required=each.required,
                default=None if each.repeatable else each.default,
            )  # fmt: skip


def options_from(args: argparse.Namespace, kind: type[Chosen]) -> Chosen:
    """The `Options` of parsed arguments."""
    values = {each.name: getattr(args, each.name) for each in options_of(kind)}
    return kind(**{
        each.name: tuple(values[each.name] or ()) if each.repeatable else values[each.name]
        for each in options_of(kind)
    })  # fmt: skip


def _reader(option: Option) -> Callable[[str], object]:
    def read(words: str) -> object:
        try:
            return option.read(words)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read
