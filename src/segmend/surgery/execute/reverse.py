"""The way back from what became of a plan since: a plan of its own, made from today's files.

Once a broker ran on what a plan left, an undo is refused: it would bring back files that are no more what
they were. Here each change is looked at by itself. What still lies as the plan left it goes back; a
partition that was moved or renamed goes back with all that came since; and where something came since that
a way back would cost, nothing of that partition is touched, and the old bytes stay where they are.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence, Set

from segmend.errors import SegmendError, UsageError
from segmend.formats import clean_shutdown, offset_checkpoint
from segmend.formats.names import parse_dir_name
from segmend.formats.offset_checkpoint import FILE_NAMES
from segmend.frozen import frozen, replace
from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.counted import Counted, Tell
from segmend.surgery.execute import lock
from segmend.surgery.execute.journal_events import BACK, Status
from segmend.surgery.execute.log_ends import Behind, behind
from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.execute.preconditions import as_they_lie, on_its_way
from segmend.surgery.execute.reverse_losses import losses
from segmend.surgery.execute.reverse_steps import Kept, Today, back
from segmend.surgery.execute.run import examine
from segmend.surgery.fingerprint import hashing_told
from segmend.surgery.plan import Left, Plan
from segmend.surgery.planning import assembly
from segmend.surgery.planning.assembly import Draft
from segmend.surgery.planning.harm import HarmOfStart
from segmend.surgery.planning.view import planned
from segmend.surgery.request import Request
from segmend.surgery.step import OnePath, Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import KEPT, ReplaceFile
from segmend.surgery.twins import twins

_LIMIT = 64 << 20
Key = tuple[str, int]


@frozen
class _Group:
    """The steps on one partition directory, or on one file of a log dir; numbers as in the plan."""

    numbers: tuple[int, ...]
    names: frozenset[str]


def reverse(run: PlanRun, on_progress: Tell = lambda _done, _total: None) -> Plan:
    """The plan; raises `UsageError` if nothing was done, `BrokerRunning`, `SegmendError`."""
    given = [each.path for each in run.plan.dirs]
    lock.refuse_running(given)
    done, stopped = _done(run, on_progress)
    if not done:
        raise UsageError(f"{run.name}: has nothing done that could be reversed")
    broker = BrokerDirs(map(LogDir.open, given), release=run.plan.release)
    assembly.refuse_strangers(broker, given)
    fatal: dict[_Group, str] = {}
    while True:
        ways, kept = _ways(run, done, broker, fatal, on_progress)
        plan = _plan(run, done, broker, ways, [*stopped, *kept], on_progress)
        why = _refusal(plan)
        culprit = None if why is None else _culprit(broker, ways)
        if why is None or culprit is None:
            break
        fatal[culprit] = why
    twin = next(twins(plan), None)
    if twin is not None:
        raise SegmendError(twin)
    return plan


def _ways(
    run: PlanRun, done: Sequence[int], broker: BrokerDirs, fatal: Mapping[_Group, str], tell: Tell
) -> tuple[dict[_Group, list[Step]], list[Left]]:
    """The steps that take each group back, and why others stay; `fatal` are those that a start refuses."""
    ways, left, since = dict[_Group, list[Step]](), list[Left](), behind(run)
    leaving: Set[str] = set()
    told = Counted(sum(_to_hash(run, number) for number in done), tell)
    for group in _groups(run, done):
        moved = (step for step in map(run.plan.steps.__getitem__, group.numbers) if isinstance(step, MoveDir))
        today = Today(broker=broker, leaving=leaving | {step.target for step in moved})
        try:
            _refuse_kept(run, group, since, fatal)
            with hashing_told(told.add):
                ways[group] = _in_order(
                    [each for number in reversed(group.numbers) for each in back(run, number, today)]
                )
        except Kept as kept:
            left.append(Left(why=str(kept), path=kept.path))
            continue
        leaving = today.leaving
    return ways, left


def _plan(
    run: PlanRun, done: Sequence[int], broker: BrokerDirs, ways: Mapping[_Group, Sequence[Step]],
    left: Sequence[Left], tell: Tell,
) -> Plan:  # fmt: skip
    given, steps = [each.path for each in run.plan.dirs], [step for way in ways.values() for step in way]
    notes = [
        f"{each.source}: goes back with all that came since, {each.before.size or 0:,} bytes"
        for each in steps
        if isinstance(each, MoveDir) and posixpath.dirname(each.source) in given
    ]
    names = {name for group in ways for name in group.names}
    lines, stay = _lines(run, done, broker, names, steps)
    marks = list(_markers(run, broker, steps))
    draft = Draft(
        steps=[*marks, *lines, *steps], losses=list(losses(broker, steps, tell)),
        notes=[*notes, *stay, *_marker_notes(run, done)], left=left,
    )  # fmt: skip
    typed = [each.given for each in run.plan.dirs]
    request = Request(broker=broker, given=typed, options=None, on_progress=tell)
    return assembly.make("reverse", {"journal": run.name}, request, draft)


def _refusal(plan: Plan) -> str | None:
    """Why a broker would not start after the plan, where it does now."""
    now, then = plan.start("before"), plan.start("after")
    harm = (now.get("outcome"), then.get("outcome")) == ("starts", "refuses")
    return str(then.get("reason")) if harm else None


def _culprit(broker: BrokerDirs, ways: Mapping[_Group, Sequence[Step]]) -> _Group | None:
    """The first group with which a broker does not start; None if that is no group alone."""
    groups = list(ways)

    def refuses(count: int) -> bool:
        steps = [step for group in groups[:count] for step in ways[group]]
        return HarmOfStart.of(planned(broker, steps)).line.get("outcome") == "refuses"

    count = bisect_left(range(len(groups) + 1), True, key=refuses)
    return groups[count - 1] if 0 < count <= len(groups) else None


def _refuse_kept(
    run: PlanRun, group: _Group, since: Mapping[str, Behind], fatal: Mapping[_Group, str]
) -> None:
    """Raise `Kept` where a broker appended behind the steps of a group, or would not start without them."""
    steps = [run.plan.steps[number] for number in group.numbers]
    vaults = ", ".join(run.vault(number) for number in group.numbers)
    if group in fatal:
        why = f"with what was, a broker would not start ({fatal[group]}): it stays, the old one in {vaults}"
        raise Kept(steps[0].paths[0], why)
    for step in steps:
        appended = since.get(posixpath.dirname(step.paths[0]))
        if appended is not None and not appended.spares(step):
            raise Kept(appended.path, f"{appended.why}, and it stays; what was stays in {vaults}")


def _to_hash(run: PlanRun, number: int) -> int:
    """About how many bytes the way back of a step reads: of files that are there, or kept."""
    vault = run.vault(number)
    kept = disk.names(vault) if disk.path_type(vault) == "dir" else []
    paths = [*run.plan.steps[number].paths, *(f"{vault}/{name}" for name in kept)]
    return sum(disk.file_size(path) for path in paths if disk.path_type(path) == "file")


def _done(run: PlanRun, tell: Tell) -> tuple[list[int], list[Left]]:
    """The steps that were done, and of others that were stopped on the way how they are.

    Raises `UsageError` where an undo knows better.
    """
    statuses = as_they_lie(run)
    if Status.BETWEEN in statuses:
        try:
            examine(run, BACK, tell)
        except SegmendError:  # Somebody else was there since.
            pass
        else:
            raise UsageError(f"{run.name}: was stopped on the way; apply or undo it")
    done, left = [], []
    for number, (step, status) in enumerate(zip(run.plan.steps, statuses, strict=True)):
        half = status is Status.BETWEEN and isinstance(step, MoveDir) and step.is_half_done()
        if status is Status.AFTER or half or (status is Status.BETWEEN and step.not_after() is None):
            done.append(number)
        elif status is Status.BETWEEN and step.not_before() is not None:
            why = f"step {number + 1} was stopped on the way; what it has kept stays in {run.vault(number)}"
            left.append(Left(why=why, path=step.paths[0]))
        left += [
            Left(why=f"was left by step {number + 1} on its way", path=p) for p in on_its_way(run, number)
        ]
    return done, left


def _groups(run: PlanRun, done: Sequence[int]) -> list[_Group]:
    """The last first; checkpoints and clean markers apart, whose lines go with the partitions."""
    groups: list[_Group] = []
    for number in done:
        step = run.plan.steps[number]
        names = {_place(run, path) for path in step.paths}
        if not {posixpath.basename(name) for name in names}.isdisjoint(
            (*FILE_NAMES, clean_shutdown.FILE_NAME)
        ):
            continue
        same = [group for group in groups if group.names & names]
        numbers = sorted({number, *(each for group in same for each in group.numbers)})
        merged = _Group(numbers=tuple(numbers), names=frozenset(names.union(*(g.names for g in same))))
        groups = [*(group for group in groups if group not in same), merged]
    return groups[::-1]


def _place(run: PlanRun, path: str) -> str:
    """The partition directory of a path, or the file at the top of a log dir."""
    for home in (each.path for each in run.plan.dirs):
        if path.startswith(f"{home}/"):
            return f"{home}/{path[len(home) + 1 :].partition('/')[0]}"
    return path


def _in_order(steps: Sequence[Step]) -> list[Step]:
    """A directory goes back as it is now, before a file in it does: under its old name, then."""
    moves = {each.source: each.target for each in steps if isinstance(each, MoveDir)}
    first = [step for step in steps if isinstance(step, MoveDir) or step.paths[0] in moves.values()]
    rest = [step for step in steps if step not in first]
    return [
        *sorted(first, key=lambda step: isinstance(step, MoveDir)),
        *(_elsewhere(step, moves) for step in rest),
    ]


def _elsewhere(step: Step, moves: Mapping[str, str]) -> Step:
    home, name = posixpath.split(step.paths[0])
    if home not in moves or not isinstance(step, OnePath):
        return step
    return replace(step, path=f"{moves[home]}/{name}")


def _marker_notes(run: PlanRun, done: Sequence[int]) -> Iterator[str]:
    paths = (run.plan.steps[number].paths[0] for number in done)
    if any(posixpath.basename(path) == clean_shutdown.FILE_NAME for path in paths):
        yield "the clean shutdown marker is not brought back: brokers write it anew each time"


def _markers(run: PlanRun, broker: BrokerDirs, steps: Sequence[Step]) -> Iterator[Step]:
    """As a move does: nothing that was not stopped cleanly comes under a clean marker."""
    for log_dir in broker.dirs:
        why = next(filter(None, (_unlooked_at(run, broker, log_dir, step) for step in steps)), None)
        step = None if why is None else assembly.set_marker_aside(log_dir, why)
        if step is not None:
            yield step


def _unlooked_at(run: PlanRun, broker: BrokerDirs, log_dir: LogDir, step: Step) -> str | None:
    """Why a start under the marker of a log dir takes what comes there for closed, and appends behind it."""
    path = step.paths[-1]
    if not path.startswith(f"{log_dir.path}/"):
        return None
    source = posixpath.dirname(step.paths[0])
    home = next((each for each in broker.dirs if each.path == source), None)
    if isinstance(step, MoveDir) and home is not None:
        return None if home.is_clean else f"partitions come from {home.path}, which was not stopped cleanly"
    is_log = path.endswith(".log")
    if isinstance(step, AppendFile) and is_log and not _was_whole(run, path):
        return f"a torn end comes back to {path}"
    comes = is_log and (isinstance(step, AppendFile) or step.before.kind == "missing")
    then = next(each for each in run.plan.dirs if each.path == log_dir.path)
    if then.files[clean_shutdown.FILE_NAME].kind != "missing" or not (comes or isinstance(step, MoveDir)):
        return None
    return f"{path} comes back as it was when it had not been stopped cleanly"


def _was_whole(run: PlanRun, log: str) -> bool:
    """Whether batches went with the end of a log, by what the plan said was lost."""
    return any(posixpath.dirname(log) == f"{e.dir}/{e.topic}-{e.partition}" for e in run.plan.losses)


def _lines(
    run: PlanRun, done: Sequence[int], broker: BrokerDirs, names: set[str], way: Sequence[Step]
) -> tuple[list[Step], list[str]]:
    """Lines of what goes back: of what moved today's, of other things the old ones, if nothing came since."""
    emptied = {each.path for each in way if isinstance(each, Quarantine)}
    returning = {each.target for each in way if isinstance(each, MoveDir)}
    moved = {
        _key(step.source): (step.target, step.source)
        for step in (run.plan.steps[number] for number in done)
        if isinstance(step, MoveDir) and step.source in names
    }
    steps, stay = list[Step](), list[str]()
    for log_dir, name in ((log_dir, name) for log_dir in broker.dirs for name in FILE_NAMES):
        today = log_dir.checkpointed(name)
        changes, of_moves = dict[Key, int | None](), _of_moves(moved, log_dir, name, broker, emptied)
        for key, (old, new) in _changed(run, done, f"{log_dir.path}/{name}").items():
            place = f"{log_dir.path}/{key[0]}-{key[1]}"
            if key in moved or any(key == _key(target) for target, _ in moved.values()):
                if key not in moved and place in returning:
                    of_moves[key] = old
                continue
            touched = any(_touches(run, number, key) for number in done)
            # A line of today that is of an empty one, which goes, says nothing of what takes its place.
            since = today.get(key) if place not in emptied else None
            if (place in names or not touched) and since in (new, None):
                changes[key] = old
            elif today.get(key) != old:
                stay.append(f"{log_dir.path}/{name}: the line of {key[0]}-{key[1]} stays as it is now")
        changes |= of_moves
        if changes:
            steps += assembly.checkpoint_step(log_dir, name, changes, "lines of what goes back")
    return steps, stay


def _of_moves(
    moved: Mapping[Key, tuple[str, str]],
    log_dir: LogDir,
    name: str,
    broker: BrokerDirs,
    emptied: set[str],
) -> dict[Key, int | None]:
    changes: dict[Key, int | None] = {}
    for target, _ in moved.values():
        if posixpath.dirname(target) == log_dir.path:
            changes[_key(target)] = None
    for target, source in moved.values():
        # One that lies in both places has never left this one, nor has its line.
        if posixpath.dirname(source) == log_dir.path and target not in emptied:
            home = next(each for each in broker.dirs if each.path == posixpath.dirname(target))
            changes[_key(source)] = home.checkpointed(name).get(_key(target))
    return changes


def _touches(run: PlanRun, number: int, key: Key) -> bool:
    """Whether a step is about a partition's own files."""
    places = {_place(run, path) for path in run.plan.steps[number].paths}
    return any(_key(place) == key for place in places)


def _changed(run: PlanRun, done: Sequence[int], path: str) -> Mapping[Key, tuple[int | None, int | None]]:
    """What the steps on a checkpoint changed, by line: the old offset and the new one, None for no line."""
    for number in done:
        step = run.plan.steps[number]
        if step.paths != (path,) or not isinstance(step, ReplaceFile) or step.content is None:
            continue
        kept = f"{run.vault(number)}/{KEPT}"
        old = _entries(disk.read(kept, _LIMIT)) if disk.path_type(kept) == "file" else {}
        new = _entries(step.content.read())
        keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
        return {key: (old.get(key), new.get(key)) for key in keys}
    return {}


def _entries(data: bytes) -> Mapping[Key, int]:
    value, _ = offset_checkpoint.parse(data)
    return {} if value is None else value.offsets()


def _key(path: str) -> Key:
    parsed = parse_dir_name(posixpath.basename(path))
    return parsed.topic, parsed.partition
