"""What must be so before a plan is carried out, or taken back: files, owners, space."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Iterator, Sequence

from segmend.errors import SegmendError
from segmend.formats import clean_shutdown
from segmend.frozen import replace
from segmend.logdir import disk
from segmend.surgery.dir_fingerprint import FILES
from segmend.surgery.execute.journal_events import BACK, FORWARD, Direction, Status
from segmend.surgery.execute.plan_run import PlanRun, RunState
from segmend.surgery.execute.rights import READ_ONLY
from segmend.surgery.execute.runs import runs
from segmend.surgery.execute.steps_told import RunRefused
from segmend.surgery.fingerprint import Fingerprint, below, look, look_without
from segmend.surgery.plan import Plan
from segmend.surgery.step import Need, Neighbours, Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.patch_file import PatchFile
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.twins import twins
from segmend.surgery.writing.atomic import TEMPORARY, other_names
from segmend.surgery.writing.transfer import allocated, differs_at, leftovers, vault_name
from segmend.surgery.writing.work import crosses, folder, nearest

_SHOWN = 3
_HALVED = (AppendFile, MakeDir, MoveDir)
"""What tells by its files alone whether it was begun, though it keeps nothing in the vault."""
LOST = "of which the journal says nothing: lines of it are lost"
LOST_OR_NOT = f"{LOST}, or somebody else did the same"


def refuse_changed(
    plan: Plan, statuses: Sequence[Status], *, run: PlanRun | None = None, begun: PlanRun | None = None
) -> None:
    """Raise `SegmendError` if a file is not as the plan, and what was done of it, have left it.

    Who goes back, with a `run`, does not touch what was not begun, however that is; but if it is as its
    step leaves it, or is another one and what was is kept, then the journal has lost the lines that say so.
    Of a run that has `begun` it is said how what was done goes back.
    """
    going_back = run is not None
    looked_at = [Status.AFTER] if going_back else [Status.BEFORE, Status.AFTER]
    differing = list(_changed(plan.steps, statuses, looked_at))
    changes = [f"{path}: {why}" for _, path, why in differing]
    if run is not None:
        changes += _untold_words(run, statuses)
    if not changes:
        return
    more = f" (and {len(changes) - _SHOWN} more)" if len(changes) > _SHOWN else ""
    said = f"refused: {'; '.join(changes[:_SHOWN])}{more}; nothing was changed"
    known = run or begun
    if run is None and all(status is Status.BEFORE for status in statuses):
        raise SegmendError(f"{said} ({what_helps(plan, known)})")
    if known is None:
        raise SegmendError(said)
    raise RunRefused(
        f"{said}{way_back(known)}", known.told_steps({number: why for number, _, why in differing})
    )


def what_helps(plan: Plan, run: PlanRun | None) -> str:
    """Which command does, where files are otherwise than a plan expects of which nothing is done.

    `run` is its own, perhaps not on a disk yet, beside the others of its state dir.
    """
    paths = {f"{each.path}/{name}" for each in plan.dirs for name in FILES}
    paths.update(path for step in plan.steps for path in step.paths)
    for other in [] if run is None else reversed(runs(run.state_dir)):
        theirs = {path for step in _done(other) for path in step.paths}
        if other.plan.sha256 == plan.sha256 or not _meet(paths, theirs):
            continue
        back = f"segmend undo {other.called}"
        if other.state is not RunState.APPLIED:
            return f"{other.name} was stopped there; {back} takes it back, then this goes, or a new plan"
        first = "" if other.given_up else f", or first: {back}"
        return f"{other.name} was applied there; make the plan again{first}"
    if not any(_changed(plan.steps, [Status.AFTER] * len(plan.steps), [Status.AFTER])):
        return "all is as this plan leaves it: it was applied with another --state-dir, or done by hand"
    return "make the plan again"


def _done(run: PlanRun) -> list[Step]:
    return [step for step, status in zip(run.plan.steps, run.statuses(), strict=True) if is_done(status)]


def _meet(paths: Collection[str], others: Collection[str]) -> bool:
    """Whether one of these is one of those, or lies in it, or it in one of these."""
    return any(
        not {*_above(path)}.isdisjoint(there)
        for here, there in ((paths, others), (others, paths))
        for path in here
    )


def _above(path: str) -> Iterator[str]:
    """A path, and the directories that it lies in."""
    while path not in ("", "/"):
        yield path
        path = folder(path)


def is_done(status: Status) -> bool:
    """Whether a step is, or was begun."""
    return status is not Status.BEFORE


def refuse_untold(run: PlanRun) -> None:
    """Raise `SegmendError` if by the files something was begun that the journal has no line of.

    Where all was taken back, and no line after that is lost, what looks done somebody else did since.
    """
    if disk.path_type(run.path) != "dir" or run.is_whole:
        return
    if changes := _untold_words(run, run.statuses()):
        more = f" (and {len(changes) - _SHOWN} more)" if len(changes) > _SHOWN else ""
        raise RunRefused(
            f"refused: {'; '.join(changes[:_SHOWN])}{more}; nothing was changed{way_back(run)}",
            run.told_steps(),
        )


def as_they_lie(run: PlanRun) -> list[Status]:
    """Where the steps are by the journal, and, where lines of it are lost, by the files.

    Steps are taken in order: those in front of one that was done were done too. Files that another step
    has changed again are looked at once it is known of that one.
    """
    statuses = run.statuses()
    while untold := list(_untold(run, statuses)):
        for number, status, _ in untold:
            statuses[number] = status
        last = max(number for number, _, _ in untold)
        statuses[:last] = [Status.AFTER if each is Status.BEFORE else each for each in statuses[:last]]
    return statuses


def _untold_words(run: PlanRun, statuses: Sequence[Status]) -> list[str]:
    steps = run.plan.steps
    return [
        f"{steps[number].paths[0]}: {why}, {LOST_OR_NOT if status is Status.AFTER else LOST}"
        for number, status, why in _untold(run, statuses)
    ]


def _untold(run: PlanRun, statuses: Sequence[Status]) -> Iterator[tuple[int, Status, str]]:
    """Steps that were begun or done by the look of files, and not begun by the journal."""
    neighbours = Neighbours(run.plan.steps)
    for number, (step, status) in enumerate(zip(run.plan.steps, statuses, strict=True)):
        begun = status is not Status.BEFORE or not _visible(neighbours, statuses, number)
        if begun or not_before(step) is None:
            continue
        if step.not_after() is not None:
            if _is_kept(run, number):
                yield number, Status.BETWEEN, f"step {number + 1} has kept what it was"
            elif on_its_way(run, number) or (isinstance(step, _HALVED) and step.is_half_done()):
                yield number, Status.BETWEEN, f"step {number + 1} has begun to change it"
        elif not _removed_by_hand(run, number, step):
            yield number, Status.AFTER, f"is as step {number + 1} leaves it"


def untold_steps(run: PlanRun, direction: Direction) -> list[int]:
    """Steps that are where they are to be by the journal, and perhaps not by the files; in their order."""
    statuses, neighbours = run.statuses(), Neighbours(run.plan.steps)
    goal = Status.AFTER if direction == FORWARD else Status.BEFORE
    untold = []
    for number in (number for number, status in enumerate(statuses) if status is goal):
        beside = [other for other in neighbours.of(number) if statuses[other] is Status.BETWEEN]
        left, step = on_its_way(run, number), run.plan.steps[number]
        if beside:
            theirs = {f"{path}{TEMPORARY}" for other in beside for path in run.plan.steps[other].paths}
            doubtful = not theirs.issuperset(left) or _hidden_by(run, number, beside, direction)
        else:
            doubtful = bool(left) and (step.not_after() if goal is Status.AFTER else not_before(step)) is None
        if doubtful:
            untold.append(number)
    return untold if direction == FORWARD else untold[::-1]


def _hidden_by(run: PlanRun, number: int, beside: Sequence[int], direction: Direction) -> bool:
    """Whether steps that were stopped keep one from seeing that this one, on the same file, was too."""
    if direction == BACK:
        return _is_kept(run, number)
    return all(isinstance(run.plan.steps[each], PatchFile) for each in (number, *beside))


def _is_kept(run: PlanRun, number: int) -> bool:
    """Whether old bytes of a step lie in the vault, though the journal has no line of that step.

    They stay there when it is undone: then who was on the way forward again may have begun it once more.
    """
    if run.last_begun is None or any(event.get("step") == number for event in run.of_this_round):
        return False
    vault = run.vault(number)
    names = disk.names(vault) if disk.path_type(vault) == "dir" else []
    return any(not name.endswith(TEMPORARY) for name in names)


def on_its_way(run: PlanRun, number: int) -> list[str]:
    """What there is in the log dirs of that which a step has there only until it is done, or undone."""
    paths = run.plan.steps[number].paths
    homes = sorted({folder(path) for path in paths})
    names = [f"{home}/{name}" for home in homes for name in leftovers(run.token(number))]
    return [path for path in (*(f"{path}{TEMPORARY}" for path in paths), *names) if disk.path_type(path)]


def _removed_by_hand(run: PlanRun, number: int, step: Step) -> bool:
    """Whether what a step would set aside is gone without it: the journal's place for it is empty."""
    if not isinstance(step, Quarantine) or run.last_begun is None:
        return False
    return disk.path_type(vault_name(run.vault(number), step.path)) is None


def _changed(
    steps: Sequence[Step], statuses: Sequence[Status], looked_at: Collection[Status]
) -> Iterator[tuple[int, str, str]]:
    """Steps, paths (of a directory that was moved the one where it is now), and how they differ."""
    neighbours = Neighbours(steps)
    for number, (step, status) in enumerate(zip(steps, statuses, strict=True)):
        if status is Status.BETWEEN:
            why = step.not_ours()
        elif status not in looked_at:
            continue
        elif _visible(neighbours, statuses, number):
            why = not_before(step) if status is Status.BEFORE else step.not_after()
        else:
            others = sorted(neighbours.of(number))
            later = [steps[other] for other in others if other > number and statuses[other] is Status.AFTER]
            between = any(statuses[other] is Status.BETWEEN for other in others)
            why = None if between or not later else _changed_within(step, later)
        if why is not None:
            yield number, step.paths[-1 if status is Status.AFTER else 0], why


def _changed_within(step: Step, later: Sequence[Step]) -> str | None:
    """How a directory that was moved differs by more than what later steps did to files in it."""
    if not isinstance(step, MoveDir):
        return None
    inside = f"{step.target}/"
    if not all(path.startswith(inside) for other in later for path in other.paths):
        return None
    if disk.path_type(step.target) != "dir" or disk.path_type(step.source) is not None:
        return step.not_after()
    first: dict[str, Fingerprint] = {}
    for other in later:
        for path in other.paths:
            first.setdefault(path.removeprefix(inside), other.before)
    now = look_without(step.target, first)
    return None if now is None else step.before.difference(now)


def not_before(step: Step) -> str | None:
    """How the disk differs from what a step expects, its folders included; None if it does not."""
    folders = (folder(path) for path in step.paths)
    gone = next((path for path in folders if disk.path_type(path) != "dir"), None)
    return step.not_before() if gone is None else f"there is no directory {gone}"


def _visible(neighbours: Neighbours, statuses: Sequence[Status], number: int) -> bool:
    """Whether the files of a step are now as it expects or left them, and not as another one will."""
    for other in neighbours.of(number):
        if statuses[other] is Status.BETWEEN:
            return False
        if statuses[number] is Status.BEFORE and other < number and statuses[other] is Status.BEFORE:
            return False
        if statuses[number] is Status.AFTER and other > number and statuses[other] is Status.AFTER:
            return False
    return True


def refuse_other_owner(plan: Plan) -> None:
    """Raise `SegmendError` if this user cannot give new files their owner, or folders their time again."""
    mine = os.geteuid()
    if mine == 0:
        return
    folders = {folder(path) for step in plan.steps for path in step.paths}
    folders = {path for path in folders if disk.path_type(path) == "dir"}
    for path in sorted(folders.union(each.path for each in plan.dirs)):
        owner = disk.file_stat(path).uid
        if owner != mine:
            raise SegmendError(f"{path}: belongs to user {owner}; run this as that user, or as root")
    for step in plan.steps:
        if step.before.uid not in (None, mine):
            path = step.paths[0]
            raise SegmendError(
                f"{path}: belongs to user {step.before.uid}; run this as that user, or as root"
            )


def refuse_read_only(plan: Plan) -> None:
    """Raise `SegmendError` if a log dir is on a file system that takes nothing."""
    for path in (each.path for each in plan.dirs):
        if disk.space(path).read_only:
            raise SegmendError(f"{READ_ONLY.format(path)}; nothing was changed")


def refuse_stopped_since(run: PlanRun) -> None:
    """Raise `SegmendError` if a broker was stopped cleanly since: its marker is not of what would come back.

    The next start would not look at that, and append behind a torn end what nobody can read. What was
    stopped on the way must have a way to go.
    """
    own = {path for step in run.plan.steps for path in step.paths}
    for each in run.plan.dirs if run.state is RunState.APPLIED else ():
        marker = f"{each.path}/{clean_shutdown.FILE_NAME}"
        if marker in own or disk.path_type(marker) is None:
            continue
        if each.files[clean_shutdown.FILE_NAME].other_bytes(look(marker)) is not None:
            raise RunRefused(
                f"refused: {marker}: a broker was stopped cleanly here since; nothing was changed"
                f"{way_back(run)}",
                run.told_steps(),
            )


def refuse_twins_of_undo(run: PlanRun) -> None:
    """Raise `SegmendError` if a broker made a partition anew meanwhile, in another log dir than it was in."""
    back = [step for step, status in zip(run.plan.steps, run.statuses(), strict=True) if is_done(status)]
    twin = next(twins(run.plan, back), None)
    if twin is not None:
        raise RunRefused(f"refused: {twin}; nothing was changed{way_back(run)}", run.told_steps())


def way_back(run: PlanRun) -> str:
    return f" (what can still be taken back: segmend plan reverse {run.called})"


def refuse_lost_backups(run: PlanRun, steps: Sequence[int]) -> None:
    """Raise `SegmendError` if the old bytes of a run are not where they went, before anything is touched."""
    begun = [number for number, status in enumerate(run.statuses()) if status is not Status.BEFORE]
    wanted = [run.vaults] if begun else []
    wanted += [run.vault(number) for number in steps if run.status(number) is not Status.BEFORE]
    gone = next((path for path in wanted if disk.path_type(path) != "dir"), None)
    if gone is not None:
        moved = disk.path_type(run.own_vaults) == "dir"
        why = "the state directory was moved; move it back" if moved else "is that disk mounted?"
        where = f"{gone}: is not there, where {run.name} put old bytes ({why})"
        raise RunRefused(f"{where}; nothing was changed{way_back(run)}", run.told_steps())


def refuse_damaged_backups(run: PlanRun, steps: Sequence[int]) -> None:
    """Raise `SegmendError` if old bytes that these steps bring back are not what they were."""
    back = [n for n in steps if run.status(n) is not Status.BEFORE]
    lost = {n: why for n in back if (why := run.plan.steps[n].unkept(run.vault(n))) is not None}
    if lost:
        said = next(iter(lost.values()))
        raise RunRefused(f"refused: {said}; nothing was changed{way_back(run)}", run.told_steps(lost))


def refuse_changed_aside(run: PlanRun, steps: Sequence[int]) -> None:
    """Raise `SegmendError` if what was set aside is not what it was, which an undo is to bring back.

    Also what lies nowhere else of a step that was stopped: it was renamed, and no line says so yet.
    """
    for number in (number for number in steps if is_done(run.status(number))):
        step = run.plan.steps[number]
        place = vault_name(run.vault(number), step.paths[0])
        moved = run.status(number) is Status.AFTER or disk.path_type(step.paths[0]) is None
        why = differs_at(step.before, place) if moved and isinstance(step, Quarantine) else None
        if why is not None:
            raise RunRefused(
                f"refused: {place}: {why}; nothing was changed{way_back(run)}", run.told_steps({number: why})
            )


def refuse_full(run: PlanRun, steps: Sequence[int], vaults: str, direction: Direction) -> None:
    """Raise `SegmendError` if a file system cannot take what these steps write to it, when they do.

    What an earlier step brought to another file system is free by then, also on a disk that was full.
    """
    wanted: dict[int, tuple[str, int]] = {}
    freed: dict[int, int] = {}
    sums: dict[int, int] = {}
    for number in steps:
        left = []
        for need in needs_of(run, number, f"{vaults}/{number + 1:04d}", direction):
            where, device = _device(need.where)
            origin = None if need.origin is None else _device(need.origin)[1]
            if need.origin is not None and origin == device and not crosses(need.origin, need.where):
                continue
            sums[device] = sums.get(device, 0) + need.bytes
            most = max(wanted.get(device, (where, 0))[1], sums[device] - freed.get(device, 0))
            wanted[device] = wanted.get(device, (where, 0))[0], most
            if origin is not None:
                left.append((origin, _alone(run.plan.steps[number], need.bytes)))
        left += _needless(run, number, direction)
        for device, count in left:
            freed[device] = freed.get(device, 0) + count
    _, backups = _device(vaults)
    for device, (where, count) in wanted.items():
        available = disk.space(where).available
        if count > available:
            hint = (
                " (--backup-dir puts the old bytes on another disk)"
                if direction == FORWARD and device == backups
                else ""
            )
            raise SegmendError(
                f"{where}: {count:,} bytes are needed here and {available:,} are free; "
                f"nothing was changed{hint}"
            )


def _needless(run: PlanRun, number: int, direction: Direction) -> Iterator[tuple[int, int]]:
    """Of the copy that a stopped move has begun, what comes free on which disk as it goes the other way."""
    step = run.plan.steps[number]
    if isinstance(step, MoveDir) and run.status(number) is Status.BETWEEN:
        home = folder(step.target if direction == BACK else step.source)
        for path in on_its_way(run, number):
            if folder(path) == home:
                yield _device(home)[1], allocated(path)


def _alone(step: Step, most: int) -> int:
    """Bytes that come free where a step takes something away: not those of files with other names."""
    path = next((each for each in step.paths if disk.path_type(each) in ("file", "dir")), None)
    if path is None:
        return 0
    if disk.path_type(path) == "file":
        return 0 if other_names(path) else min(most, allocated(path))
    rows = [status for _, status in below(path) if status.type == "file"]
    return min(most, sum(status.allocated for status in rows if status.nlink == 1))


def needs_of(run: PlanRun, number: int, vault: str, direction: Direction) -> Iterator[Need]:
    """What a step still takes up: less what an earlier attempt brought there, or left to be removed first."""
    step = run.plan.steps[number]
    for need in step.needs(vault):
        left = need if direction == FORWARD else _back(step, need, vault)
        if left is not None and need.where == vault and need.origin is None:
            place = step.paths[0] if direction == FORWARD else vault
            left = replace(left, bytes=_in_blocks(place, need.bytes))
        if left is not None and left.origin is not None and run.status(number) is Status.BETWEEN:
            left = replace(left, bytes=max(left.bytes - _there(run, number, left.where), 0))
        if left is not None:
            yield left


def _back(step: Step, need: Need, vault: str) -> Need | None:
    """The same for the way back: what was moved, or kept in the vault, returns; what was added goes."""
    if need.origin is not None:
        return Need(need.origin, need.bytes, need.where)
    return Need(folder(step.paths[0]), need.bytes) if need.where == vault else None


def _in_blocks(path: str, size: int) -> int:
    """What a copy of old bytes takes: no more than these do where they lie, since their holes stay holes."""
    return min(size, allocated(path)) if disk.path_type(path) in ("file", "dir") else size


def _there(run: PlanRun, number: int, home: str) -> int:
    """Bytes in blocks of what a move that was stopped has in the directory it goes to."""
    own = {posixpath.basename(path) for path in run.plan.steps[number].paths}
    names = {*own, *(f"{name}{TEMPORARY}" for name in own), *leftovers(run.token(number))}
    paths = (f"{home}/{name}" for name in names)
    return sum(allocated(path) for path in paths if disk.path_type(path) in ("file", "dir"))


def _device(path: str) -> tuple[str, int]:
    """The nearest directory that is there, and its file system."""
    path = nearest(path)
    return path, disk.file_stat(path).device
