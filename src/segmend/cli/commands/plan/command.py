"""`segmend plan`: what surgery would do, as a file that one can read, keep and apply."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from segmend.cli.options import add_output_options, add_release_option
from segmend.cli.output import note
from segmend.cli.parser import Formatter, LateParser
from segmend.cli.surgery import add_state_option, refuse_output, tell_plan, write_plan
from segmend.cli.targets import open_targets
from segmend.errors import UsageError
from segmend.logdir import disk
from segmend.logdir.tree import LogDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.report.progress import Progress
from segmend.surgery import ops
from segmend.surgery.execute.journal import find
from segmend.surgery.execute.reverse import reverse
from segmend.surgery.ops import Operation
from segmend.surgery.options import Option, options_of
from segmend.surgery.plan import Plan
from segmend.surgery.planning.any_release import plan_for_any
from segmend.surgery.planning.compose import composed
from segmend.surgery.request import Request, Tell

EXAMPLES = """\
A plan is a JSON file. `segmend apply plan.json` carries it out, `segmend undo` takes it back.

examples:
  segmend plan trim /data/a /data/b -o plan.json
  segmend plan move /data/a /data/b --partition orders-3 --to /data/b -o plan.json
  segmend plan show plan.json
  segmend plan compose one.json other.json -o both.json

exit codes: 0 planned, or nothing to do; 4 something is left that it does not mend; 8 something could
not be read, 16 usage"""

REVERSE = """\
What still lies as the plan left it goes back, a partition that was moved or renamed with all that came since.
Where a way back would cost what came since, the partition stays as it is; the plan says so.

examples:
  segmend plan reverse -o back.json             of the latest journal
  segmend plan reverse 0003-move-5d1f0c2a -o back.json"""


Chosen = TypeVar("Chosen")


def configure(parser: argparse.ArgumentParser) -> None:
    """A sub-command for each operation, and `show`."""
    commands = parser.add_subparsers(
        title="operations", metavar="OPERATION", required=True, parser_class=LateParser
    )
    for name in ops.names():
        _sub(commands, name, ops.summary(name)).fill = partial(_configure, name)
    both = _sub(commands, "compose", "several plans for the same log dirs in one, done and undone together")
    both.add_argument("plans", nargs="+", metavar="PLAN", help="the files")
    both.add_argument("-o", "--output", metavar="FILE", help="where the plan goes; only shown without")
    add_output_options(both)
    both.set_defaults(run=_compose)
    returns = _sub(
        commands, "reverse", "the way back from today's files, where a broker ran and undo is refused"
    )
    returns.epilog = REVERSE
    returns.add_argument("journal", nargs="?", metavar="JOURNAL", help="its name, number or path; the latest")
    returns.add_argument("-o", "--output", metavar="FILE", help="where the plan goes; only shown without")
    add_state_option(returns)
    add_output_options(returns)
    returns.set_defaults(run=_reverse)
    show = _sub(commands, "show", "show a plan that was made")
    show.add_argument("plan", metavar="PLAN", help="the file")
    add_output_options(show)
    show.set_defaults(run=_show)


def _configure(name: str, command: argparse.ArgumentParser) -> None:
    """The options of an operation; the others are not even imported."""
    operation = ops.operation(name)
    command.epilog = operation.EXAMPLES
    command.add_argument("paths", nargs="+", metavar="DIR", help="all log dirs of one broker")
    add_options(command, operation.Options)
    command.add_argument("-o", "--output", metavar="FILE", help="where the plan goes; only shown without")
    add_release_option(command)
    add_output_options(command)
    command.set_defaults(run=run, operation=operation)


def _sub(commands: Any, name: str, help: str) -> LateParser:
    sub_parser: LateParser = commands.add_parser(
        name,
        help=help,
        description=f"{help[:1].upper()}{help[1:]}.",
        formatter_class=Formatter,
    )
    return sub_parser


def run(args: argparse.Namespace) -> int:
    """Make a plan, write it, show it."""
    refuse_output(args.output)
    return _made(args, _make(args, args.operation))


def _show(args: argparse.Namespace) -> int:
    return tell_plan(args, Plan.load(args.plan), args.plan)


def _compose(args: argparse.Namespace) -> int:
    refuse_output(args.output)
    plans = [Plan.load(path) for path in args.plans]
    with _telling() as tell:
        plan = composed(plans, tell)
    return _made(args, plan)


def _reverse(args: argparse.Namespace) -> int:
    refuse_output(args.output)
    earlier = find(args.state_dir, args.journal)
    with _telling() as tell:
        plan = reverse(earlier, tell)
    return _made(args, plan)


def _made(args: argparse.Namespace, plan: Plan) -> int:
    if args.output is not None:
        write_plan(plan, args.output)
    return tell_plan(args, plan, args.output)


def _make(args: argparse.Namespace, operation: Operation) -> Plan:
    targets = open_targets(args.paths, blank=ops.takes_blank(operation))
    given = [log_dir.path for log_dir in targets.dirs]
    running = next((log_dir.path for log_dir in targets.dirs if log_dir.broker_running()), None)
    if running is not None:
        note(f"{running}: a broker runs here; stop it, and plan again, before `segmend apply`")
    with _telling() as tell:
        request = Request(
            broker=BrokerDirs([LogDir.open(disk.real_path(path)) for path in given], release=args.kafka),
            given=given,
            options=options_from(args, operation.Options),
            names=targets.names,
            on_progress=tell,
        )
        return plan_for_any(operation.plan, request)


@contextmanager
def _telling() -> Iterator[Tell]:
    """Shows how far it is, and wipes that in the end."""
    progress = Progress(sys.stderr)
    try:
        yield lambda done, total: progress.update(done, total, "")
    finally:
        progress.done()


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
    def read(words: str) -> Any:
        try:
            return option.read(words)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read
