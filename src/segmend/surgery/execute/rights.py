"""Whether the system lets this user do what the steps do, asked before the first of them is taken.

What the system would refuse halfway leaves work half done. Nothing is written to find out: modes, access
lists, `chattr +i` and the groups of this process are looked at; root may do nearly all.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator, Sequence, Set

from segmend.errors import SegmendError
from segmend.logdir import disk
from segmend.logdir.log_dir import LOCK
from segmend.surgery.execute.journal_events import Status
from segmend.surgery.execute.lock import without_lock
from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.fingerprint import Fingerprint, below, look
from segmend.surgery.mounts import mounted, renamed
from segmend.surgery.plan import Plan
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.steps.patch_file import PatchFile
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.surgery.writing.atomic import TEMPORARY
from segmend.surgery.writing.transfer import leftovers, vault_name
from segmend.surgery.writing.work import crosses, folder, nearest

READ_ONLY = "{}: its file system is mounted read-only; mount it writable (see `dmesg` if it was)"
_IMMUTABLE = "{}: is made immutable (chattr -i, -a)"
_SHOWN = 3
_OWN, _WITHIN = "0" * 60, f"/journals/{'0' * 60}/steps/0001/{TEMPORARY}"
"""Of paths below a place of segmend's own: a name of a run, or longer, and what is around a file."""
_CHANGE = os.W_OK | os.X_OK


def refuse_without_rights(run: PlanRun, steps: Sequence[int], vaults: str) -> None:
    """Raise `SegmendError` if this user lacks a right that one of these steps needs, forward or back."""
    dirs = [each.path for each in run.plan.dirs]
    # Where a .lock is missing it is made, and taken away again, also by who goes on after a kill.
    locked = [*without_lock(dirs), *_locked_before(run)]
    refusals = [*filter(None, map(_closed, [run.path, vaults, *locked]))]
    refusals += filter(None, (_barred(f"{path}/{LOCK}") for path in dirs))
    refusals += _unopened({*dirs, *(run.begun["folders"] if run.begun is not None else ())})
    refusals += mounted([path for number in steps for path in _places(run, number)])
    refusals += filter(None, [_shut(run.journal)] if disk.path_type(run.journal) is not None else [])
    for number in steps:
        step, status = run.plan.steps[number], run.status(number)
        refusals += _refusals(step, vaults, status)
        if status is not Status.BEFORE:
            refusals += _kept(run.vault(number), step)
        elif disk.path_type(run.vault(number)) == "dir":  # Who was killed before the step has made it.
            refusals += filter(None, [_closed(run.vault(number))])
        if status is Status.BETWEEN:
            refusals += _stuck(step, run.token(number))
    refusals = list(dict.fromkeys(refusals))
    if refusals:
        more = f" (and {len(refusals) - _SHOWN} more)" if len(refusals) > _SHOWN else ""
        raise SegmendError(f"refused: {'; '.join(refusals[:_SHOWN])}{more}; nothing was changed")


def _locked_before(run: PlanRun) -> Sequence[str]:
    """The log dirs in which a run that did not come to its end has made a lock."""
    made: Sequence[str] = [] if run.last_begun is None or run.finished else run.last_begun["locks"]
    return [path for path in made if disk.path_type(path) == "dir"]


def _places(run: PlanRun, number: int) -> Iterator[str]:
    """What a step renames or removes, here or in the vault."""
    step = run.plan.steps[number]
    yield from renamed(step)
    if isinstance(step, Quarantine) and run.status(number) is not Status.BEFORE:
        yield vault_name(run.vault(number), step.path)


def _refusals(step: Step, vaults: str, status: Status) -> Iterator[str]:
    """Why a step cannot be taken; of a directory that was stopped on the way what is in it does not count.

    What it reads and makes counts while it is untouched.
    """
    places = [*step.paths, *([vaults] if len(step.paths) == 1 else [])]
    yield from filter(None, map(_closed, map(folder, step.paths)))
    if status is Status.BEFORE:
        yield from filter(None, [_unreadable(step), _closed_once_made(step), _given_away(step)])
    for path in step.paths:
        kind = None if os.path.islink(path) else disk.path_type(path)
        copied = crosses(folder(places[0]), folder(places[-1]))
        if kind == "file":
            yield from _file(path, step, status)
            if copied and isinstance(step, Quarantine):
                yield from _untaken(path, vaults)
        elif kind == "dir" and step.before.kind == "dir" and status is Status.BETWEEN:
            yield from _other_mode(path, step.before)
        elif kind == "dir" and step.before.kind == "dir":
            yield from _tree(path, status) if copied else filter(None, [_closed(path, status)])
            if copied:
                yield from _untaken(path, places[-1] if path == places[0] else places[0])


def _other_mode(path: str, before: Fingerprint) -> Iterator[str]:
    """How a directory that comes or goes as it is was changed; to empty it its owner may have opened it."""
    now = look(path, content=False)
    opened = now.mode is not None and before.mode is not None and now.mode == before.mode | stat.S_IRWXU
    why = before.other_rights(now.but(mode=before.mode) if opened else now)
    if why is not None:
        yield f"{path}: {why}"


def _unopened(folders: Set[str]) -> Iterator[str]:
    """Directories that could not be given their time again: they are opened, whatever is done in them."""
    for path in sorted(folders):
        if disk.path_type(path) == "dir" and not os.access(path, os.R_OK, effective_ids=True):
            yield _refused(path, "may not read what is in it", "rwx")


def _stuck(step: Step, token: str) -> Iterator[str]:
    """What was copied in part, or is removed in part, and cannot be taken away."""
    places = (f"{home}/{name}" for home in sorted(set(map(folder, step.paths))) for name in leftovers(token))
    yield from (_IMMUTABLE.format(path) for path in places if disk.is_immutable(path))


def _kept(vault: str, step: Step) -> Iterator[str]:
    """Why the old bytes of a step, and what it set aside, cannot be had again."""
    if disk.path_type(vault) != "dir":
        return
    why = _closed(vault)
    if why is not None:
        yield why
        return
    copied = crosses(vault, folder(step.paths[0]))
    for name, kind in sorted(disk.listing(vault).items()):
        path = f"{vault}/{name}"
        if kind == "dir":
            yield from _tree(path) if copied else filter(None, [_closed(path)])
        elif kind == "file" and not os.access(path, os.R_OK, effective_ids=True):
            yield _refused(path, "may not read it", "r")


def _unreadable(step: Step) -> str | None:
    """Why the bytes that it writes cannot be read."""
    content = step.content if isinstance(step, AppendFile | PatchFile | ReplaceFile) else None
    source = None if content is None else content.source
    if source is None or disk.path_type(source) is None:  # An earlier step may bring it there.
        return None
    if os.access(source, os.R_OK, effective_ids=True):
        return None
    return _refused(source, "may not read it", "r")


def _closed_once_made(step: Step) -> str | None:
    """Why what it makes could not be filled, or taken away again: it gets the mode of what is beside it."""
    if os.geteuid() == 0 or not isinstance(step, AppendFile | MakeDir | ReplaceFile):
        return None
    wanted, mode = 0o700 if step.after.kind == "dir" else 0o600, step.after.mode
    if step.before.kind != "missing" or mode is None or mode & wanted == wanted:
        return None
    return (
        f"{step.paths[0]}: is to have mode {mode:o}, as what is beside it or copied, and this user could not "
        "change it any more; chmod that and plan again, or run this as root"
    )


def _given_away(step: Step) -> str | None:
    """Whose what it makes is to be, if this user may not give it to him."""
    if os.geteuid() == 0 or not isinstance(step, AppendFile | MakeDir | ReplaceFile):
        return None
    to = step.after
    if step.before.kind != "missing":
        return None
    if to.uid not in (None, os.geteuid()):
        return f"{step.paths[0]}: is to belong to user {to.uid}; run this as that user, or as root"
    if to.gid is not None and not _may_give(to.gid):
        return f"{step.paths[0]}: is to belong to group {to.gid}, which this user is not in; run this as root"
    return None


def refuse_unfit(places: Sequence[str], plan: Plan) -> None:
    """Raise `SegmendError` for places of segmend's own that can be no directories, or are too deep."""
    names = [path.rpartition("/")[2] for step in plan.steps for path in step.paths]
    longest = max([len(_OWN), *(len(os.fsencode(name)) for name in names)])
    for place in places:
        near = place
        while not os.path.lexists(near):
            near = folder(near)
        parts = [len(os.fsencode(part)) for part in place.split("/")]
        if disk.path_type(near) != "dir":
            raise SegmendError(f"{place}: not a directory; nothing was changed (give another place)")
        most, deepest = os.pathconf(near, "PC_NAME_MAX"), os.pathconf(near, "PC_PATH_MAX")
        if max(parts) > most:
            raise SegmendError(f"{place}: has a name of over {most} bytes; nothing was changed")
        if sum(parts) + len(parts) + longest + len(_WITHIN) > deepest:
            raise SegmendError(f"{place}: is too deep for what comes there; nothing was changed")


def _closed(path: str, seen: Status | None = None) -> str | None:
    """Why no name can come into a directory or leave it; the nearest that is there counts."""
    path = nearest(path)
    if disk.path_type(path) != "dir":
        return None  # Who makes a directory there is told.
    if disk.is_immutable(path):
        return _IMMUTABLE.format(path)
    if disk.space(path).read_only:
        return READ_ONLY.format(path)
    if not os.access(path, os.R_OK, effective_ids=True):
        return _refused(path, "may not read what is in it", "rwx", seen)  # as one does to sync it
    if not os.access(path, _CHANGE, effective_ids=True):
        return _refused(path, "may not change what is in it", "wx", seen)
    return None


def _file(path: str, step: Step, status: Status) -> Iterator[str]:
    """What is written over, or beside and renamed: it is read before, and opened for writing."""
    mode = stat.S_IMODE(disk.file_stat(path).mode)
    why = _shut(path, status if mode == step.before.mode else None)
    if why is not None:
        yield why
    group = step.before.gid
    if group is not None and not _may_give(group):
        yield f"{path}: belongs to group {group}, which this user is not in; run this as root"


def _refused(path: str, why: str, rights: str, seen: Status | None = None) -> str:
    """What this user may not do, and who may, or how he may.

    With `seen`, where its step is, the mode is one that the plan has seen, and holds against what it finds.
    """
    owner = disk.file_stat(path).uid
    if os.geteuid() not in (0, owner):
        return f"{path}: this user {why}, it is user {owner}'s; run this as that user, or as root"
    if seen is None:
        return f"{path}: this user {why} (chmod u+{rights})"
    again = f" (chmod u+{rights} and plan again, or run this as root)"
    return f"{path}: this user {why}{again if seen is Status.BEFORE else '; run this as root'}"


def _barred(path: str) -> str | None:
    """Why the lock at this path cannot be taken; where there is none it is made."""
    if os.path.islink(path):
        return f"{path}: is a link, and the lock is not taken on what it names"
    kind = disk.path_type(path)
    if kind is None:
        return None
    return _shut(path) if kind == "file" else f"{path}: is no file (a broker makes one)"


def _shut(path: str, seen: Status | None = None) -> str | None:
    """Why a file cannot be opened for writing."""
    if disk.is_immutable(path):
        return _IMMUTABLE.format(path)
    if disk.space(path).read_only:
        return READ_ONLY.format(path)
    if not os.access(path, os.R_OK | os.W_OK, effective_ids=True):
        return _refused(path, "may not read and write it", "rw", seen)
    return None


def _tree(path: str, seen: Status | None = None) -> Iterator[str]:
    """A directory that is copied and then removed: all in it is read; who owns it can open what is closed."""
    rows = [("", disk.file_stat(path, follow=False))]
    if not os.access(path, os.R_OK | os.X_OK, effective_ids=True):
        yield _refused(path, "may not read it", "rx", seen)
        return
    rows += below(path)
    for name, status in rows:
        full, is_dir = f"{path}/{name}" if name else path, stat.S_ISDIR(status.mode)
        wanted = os.R_OK | os.X_OK if is_dir else os.R_OK
        if not os.access(full, wanted, effective_ids=True):
            yield _refused(full, "may not read it", "rx" if is_dir else "r", seen)
        elif disk.is_immutable(full):
            yield _IMMUTABLE.format(full)
        elif os.geteuid() not in (0, status.uid):
            yield f"{full}: belongs to user {status.uid}; run this as that user, or as root"
        elif not _may_give(status.gid):
            yield f"{full}: belongs to group {status.gid}, which this user is not in; run this as root"


def _untaken(path: str, other: str) -> Iterator[str]:
    """Attributes of a file or in a directory that another path's file system has not, as those of Btrfs."""
    other = nearest(other)
    taken = dict[str, bool]()
    inside = below(path) if disk.path_type(path) == "dir" else ()
    for full in (path, *(f"{path}/{name}" for name, _ in inside)):
        for name in () if os.path.islink(full) else (name for name, _ in disk.attributes(full)):
            if name not in taken:
                taken[name] = disk.takes_attribute(other, name)
            if not taken[name]:
                yield (
                    f"{full}: has the attribute {name}, which the file system of {other} does not take "
                    f"(`setfattr -h -x {shlex.quote(name)} {shlex.quote(full)}`, and plan again)"
                )


def _may_give(group: int) -> bool:
    """Whether new files can be given this group."""
    return os.geteuid() == 0 or group == os.getegid() or group in os.getgroups()
