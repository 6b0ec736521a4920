"""What plans have set aside: where it lies, how it is brought back one by one, or given up for good.

Only `discard` removes anything, and only what a finished journal holds. It says so in that journal
first; from then on the plan cannot be undone any more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from segmend.errors import SegmendError, UsageError, system_words
from segmend.frozen import frozen, replace
from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.state_dir import state_option
from segmend.surgery.execute import lock
from segmend.surgery.execute.journal import JournalWriter, writing
from segmend.surgery.execute.journal_events import FORWARD, Status
from segmend.surgery.execute.plan_run import PlanRun, RunState
from segmend.surgery.execute.preconditions import way_back
from segmend.surgery.execute.runs import runs
from segmend.surgery.fingerprint import look
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.plan import Plan
from segmend.surgery.planning import assembly
from segmend.surgery.planning.assembly import Draft
from segmend.surgery.request import Request
from segmend.surgery.step import Step
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.surgery.twins import twins
from segmend.surgery.writing.effects import Effects, sync_dir
from segmend.surgery.writing.transfer import allocated, vault_name
from segmend.surgery.writing.work import folder


class SetAsideState(StrEnum):
    """What became of something set aside; it is gone if somebody took it, and no journal says who."""

    KEPT = "kept"
    RESTORED = "restored"
    DISCARDED = "discarded"
    GONE = "gone"


@frozen
class SetAside:
    """Something that a step set aside: it was at `step.path` and lies at `place`, if it still does.

    `restored`: a later plan has moved it from there.
    """

    run: PlanRun
    number: int
    step: Quarantine
    restored: bool = False

    @property
    def name(self) -> str:
        """Run and step, counted from 1: `0003/2`."""
        return f"{self.run.name.partition('-')[0]}/{self.number + 1}"

    @property
    def place(self) -> str:
        return vault_name(self.run.vault(self.number), self.step.path)

    @property
    def state(self) -> SetAsideState:
        if os.path.lexists(self.place):
            return SetAsideState.KEPT
        if self.number in self.run.discarded:
            return SetAsideState.DISCARDED
        return SetAsideState.RESTORED if self.restored else SetAsideState.GONE


def items(runs: Sequence[PlanRun]) -> Iterator[SetAside]:
    """All that is set aside by these runs, oldest first."""
    done = [(run, number, step) for run in runs for number, step in _done(run)]
    moved = {step.source for _, _, step in done if isinstance(step, MoveDir)}
    for run, number, step in done:
        if isinstance(step, Quarantine):
            item = SetAside(run=run, number=number, step=step)
            yield replace(item, restored=item.place in moved)


def _done(run: PlanRun) -> Iterator[tuple[int, Step]]:
    statuses = run.statuses()
    return ((number, step) for number, step in enumerate(run.plan.steps) if statuses[number] is Status.AFTER)


def named(state_dir: str, name: str) -> list[SetAside]:
    """The items of a run (`0003`, or its whole name), or the one item `0003/2`; raises `UsageError`."""
    run_name, _, number = name.partition("/")
    wanted = [
        item for item in items(runs(state_dir))
        if run_name in (item.run.name, item.name.partition("/")[0], item.name.partition("/")[0].lstrip("0"))
        and number in ("", str(item.number + 1))
    ]  # fmt: skip
    if not wanted:
        listing = f"segmend quarantine list{state_option(state_dir)}"
        raise UsageError(f"'{name}': nothing is set aside under this name (see `{listing}`)")
    return wanted


def refuse_discarded(run: PlanRun) -> None:
    """Raise `SegmendError` if what an undo would bring back was given up for good."""
    gone = [run.plan.steps[number] for number in run.given_up]
    if gone:
        more = f" and {len(gone) - 1} more were" if len(gone) > 1 else " was"
        raise SegmendError(
            f"{run.name} cannot be taken back: {gone[0].paths[0]}{more} given up for good by "
            f"`segmend quarantine discard`; nothing was changed{way_back(run)}"
        )


def discard(chosen: Sequence[SetAside], *, fx: Effects, now: Callable[[], float]) -> int:
    """Remove items of one run for good; gives the bytes that came free. Raises `SegmendError`."""
    run = chosen[0].run
    if run.state is not RunState.APPLIED:
        raise SegmendError(f"{run.name}: is {run.state}; only what a finished plan set aside can go for good")
    kept = [item for item in chosen if item.state is SetAsideState.KEPT]
    count = sum(allocated(item.place) for item in kept)
    try:
        with writing(fx, run, now) as journal:
            _discard(fx, journal, chosen, kept)
    except OSError as error:
        where = error.filename or run.path
        raise SegmendError(f"{where}: {system_words(error)}; the same command goes on") from None
    return count


def _discard(
    fx: Effects, journal: JournalWriter, chosen: Sequence[SetAside], kept: Sequence[SetAside]
) -> None:
    journal.write("discarded", FORWARD, steps=[item.number for item in chosen])
    for item in kept:
        home = f"{item.run.vault(item.number)}/"
        assert item.place.startswith(home), "only what lies in the vault of its step is removed for good"
        _remove(fx, item.place)
        sync_dir(fx, folder(item.place))


def _remove(fx: Effects, path: str) -> None:
    if look(path, content=False).kind != "dir":
        fx.remove(path)
        return
    for name in sorted(disk.listing(path)):
        _remove(fx, f"{path}/{name}")
    fx.remove_dir(path)


def restore(item: SetAside) -> Plan:
    """The plan that brings one item back to where it was; raises `SegmendError` if it cannot go there.

    A file is copied, so that its run can still be undone as a whole; a directory is moved back.
    """
    step, run = item.step, item.run
    if item.state is not SetAsideState.KEPT:
        raise SegmendError(f"{item.name}: {item.place} is not there any more ({item.state})")
    if os.path.lexists(step.path):
        raise SegmendError(f"{step.path}: is there again; move it out of the way first")
    if disk.path_type(folder(step.path)) != "dir":
        raise SegmendError(f"{folder(step.path)}: is not there any more; it must be before its content")
    given = [each.path for each in run.plan.dirs]
    lock.refuse_running(given)
    broker = BrokerDirs([LogDir.open(path) for path in given], release=run.plan.release)
    draft = Draft(steps=[brought_back(item)], notes=[f"it was set aside because: {step.reason}"])
    request = Request(broker=broker, given=given, options=None)
    plan = assembly.make("restore", {"item": item.name}, request, draft)
    twin = next(twins(plan), None)
    if twin is not None:
        raise SegmendError(twin)
    return plan


def brought_back(item: SetAside, reason: str = "") -> Step:
    """The step that has it where it was; nothing may be there."""
    step = item.step
    reason = reason or f"out of the quarantine, {item.name}"
    if step.before.kind == "dir":
        return MoveDir.of(item.place, step.path, reason)
    content = NewBytes.range_of(item.place, 0, disk.file_size(item.place))
    after = look(item.place)
    return ReplaceFile(path=step.path, before=look(step.path), after=after, reason=reason, content=content)
