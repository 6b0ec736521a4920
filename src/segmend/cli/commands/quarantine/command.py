"""`segmend quarantine`: what plans have set aside; back again, or given up for good."""

from __future__ import annotations

import argparse
import time
from itertools import groupby

from segmend.cli.options import add_output_options
from segmend.cli.output import emit, emit_asked, emit_json, note, style
from segmend.cli.plans import add_output, add_state_option, made
from segmend.cli.surgery import add_yes_option, confirm
from segmend.errors import ExitCode
from segmend.report import text
from segmend.report.table import columns, table
from segmend.surgery.execute.quarantines import SetAside, SetAsideState, discard, items, named, restore
from segmend.surgery.execute.runs import runs
from segmend.surgery.writing.effects import Effects
from segmend.surgery.writing.transfer import allocated
from segmend.wording import plural

EXAMPLES = """\
What surgery takes out of a log dir lies in the state directory, or in --backup-dir, until it is
discarded. `segmend undo` brings back all of a plan; `restore` makes a plan for one thing.

examples:
  segmend quarantine list
  segmend quarantine restore 0003/2 -o plan.json     then: segmend apply plan.json
  segmend quarantine discard 0003                    for good: no undo brings it back

exit codes: 0 listed or planned (4 as `segmend plan` has it), 1 discarded, 8 refused or failed, 16 usage,
32 cancelled"""

_COLUMNS = columns("item", "state", ">size", "was", "because", bold=("item",))


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listed = commands.add_parser("list", help="everything that was set aside, the oldest first")
    restored = commands.add_parser("restore", help="plan to bring one thing back to where it was")
    restored.add_argument("item", metavar="ITEM", help="its name in the list, such as 0003/2")
    add_output(restored)
    given_up = commands.add_parser("discard", help="remove it for good, and free its bytes")
    given_up.add_argument("item", metavar="ITEM", help="a journal (0003), or one item of it (0003/2)")
    add_yes_option(given_up)
    for command, run in ((listed, _list), (restored, _restore), (given_up, _discard)):
        add_state_option(command)
        add_output_options(command)
        command.set_defaults(action=run)


def run(args: argparse.Namespace) -> int:
    return int(args.action(args))


def _list(args: argparse.Namespace) -> int:
    set_aside = list(items(runs(args.state_dir, lambda problem: note(str(problem)))))
    rows = table(_COLUMNS, map(_row, set_aside), style(args))
    nothing = [f"{args.state_dir}: nothing is set aside"]
    emit_asked(args, map(_object, set_aside), rows if set_aside else nothing)
    return 0


def _object(item: SetAside) -> dict[str, object]:
    return {
        "type": "quarantined", "item": item.name, "journal": item.run.name, "step": item.number + 1,
        "state": item.state, "path": item.step.path, "place": item.place, "kind": item.step.before.kind,
        "bytes": item.step.before.size, "reason": item.step.reason,
    }  # fmt: skip


def _row(item: SetAside) -> list[str]:
    cells = [item.name, item.state, text.size(item.step.before.size or 0), item.step.path, item.step.reason]
    return [text.clean(cell) for cell in cells]


def _restore(args: argparse.Namespace) -> int:
    return made(args, restore(named(args.state_dir, args.item)[0]))


def _discard(args: argparse.Namespace) -> int:
    chosen = named(args.state_dir, args.item)
    kept = [item for item in chosen if item.state is SetAsideState.KEPT]
    if not args.json:
        emit(table(_COLUMNS, map(_row, kept), style(args)))
    if not kept:
        emit_json([{"type": "discarded", "items": 0, "bytes": 0}]) if args.json else emit(["nothing to do"])
        return 0
    size = sum(allocated(item.place) for item in kept)
    confirm(args, f"remove {plural(len(kept), 'item')}, {text.size(size)}, for good?")
    count = sum(
        discard(list(group), fx=Effects(), now=time.time)
        for _, group in groupby(kept, lambda item: item.run.name)
    )
    words = f"discarded: {plural(len(kept), 'item')}, {text.size(count)} came free"
    emit_asked(args, [{"type": "discarded", "items": len(kept), "bytes": count}], [words])
    return ExitCode.CHANGED
