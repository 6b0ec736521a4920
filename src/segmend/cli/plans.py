"""Plans at the command line: shown, and written to a file."""

from __future__ import annotations

import argparse

from segmend.cli.output import emit, emit_json, program, style
from segmend.cli.overwriting import refuse_overwriting
from segmend.errors import ExitCode, SegmendError, UsageError, system_words
from segmend.logdir import disk
from segmend.report import text
from segmend.report.plan import plan_lines, plan_objects
from segmend.state_dir import default_state_dir, state_option
from segmend.surgery.backups import backup_place
from segmend.surgery.boundaries import refuse_inside
from segmend.surgery.fingerprint import Fingerprint
from segmend.surgery.plan import Plan
from segmend.surgery.writing.atomic import bytes_of, write_atomically
from segmend.surgery.writing.effects import Effects
from segmend.surgery.writing.work import Workplace, folder


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="where the plan goes; only shown without")


def add_state_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--state-dir", metavar="S", type=place, default=default_state_dir(),
        help="where journals, old bytes and what is set aside go (default: %(default)s)",
    )  # fmt: skip


def place(value: str) -> str:
    """A directory for argparse; nothing is what an unset variable of a script gives."""
    if not value:
        raise argparse.ArgumentTypeError("is empty; name a directory")
    return value


def refuse_output(path: str | None) -> None:
    """Raise `UsageError` if `-o` names something that is there and is no plan."""
    if path is not None:
        refuse_overwriting("-o", path, "plan", lambda begin: begin.startswith(b"{") and b'"plan"' in begin)


def write_plan(plan: Plan, path: str) -> None:
    """Write a plan to a file, outside the log dirs; raises `SegmendError`."""
    refuse_output(path)
    real = disk.real_path(path)
    refuse_inside(plan, folder(real), "-o")
    work = Workplace(fx=Effects(), vault=folder(real))
    try:
        write_atomically(work, real, bytes_of(plan.render(), work), Fingerprint(kind="file", mode=0o644))
    except OSError as error:
        raise SegmendError(f"{path}: {system_words(error)}") from None


def tell_plan(args: argparse.Namespace, plan: Plan, path: str | None) -> int:
    """Show a plan; the exit code says whether it leaves something as it is."""
    if args.json:
        emit_json(plan_objects(plan, path))
    else:
        emit(plan_lines(plan, style(args)))
        emit([_next(args, plan, path)])
    return left_by(plan)


def _next(args: argparse.Namespace, plan: Plan, path: str | None) -> str:
    if not plan.steps:
        return "nothing to do"
    if path is None:
        return "nothing was written: add -o plan.json"
    # What comes out of a state dir is found again only from there.
    state_dir: str = getattr(args, "state_dir", default_state_dir())
    more = text.quoted(state_option(state_dir))
    try:
        backup_place(plan, state_dir, None)
    except UsageError:
        more += " --backup-dir DIR  # on another disk: else nothing comes free"
    return f"next: {program()} apply {text.word(path)}{more}"


def made(args: argparse.Namespace, plan: Plan) -> int:
    """Write a plan where it was asked for, and show it; gives the exit code."""
    if args.output is not None:
        write_plan(plan, args.output)
    return tell_plan(args, plan, args.output)


def left_by(plan: Plan) -> ExitCode:
    """What a plan that leaves findings as they are, or a start that is not well, adds to an exit code."""
    return ExitCode.of(left=plan.left or not plan.start_is_well, unread=False)
