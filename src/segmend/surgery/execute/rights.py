"""Whether the system lets this user do what the steps do, asked before the first of them is taken.

What the system would refuse halfway leaves work half done. Nothing is written to find out: modes, access
lists, `chattr +i` and the groups of this process are looked at; root may do nearly all.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

from segmend.errors import SegmendError
from segmend.logdir import disk
from segmend.logdir.tree import LOCK
from segmend.surgery.execute.journal import PlanRun
from segmend.surgery.execute.journal_events import Status
from segmend.surgery.execute.lock import without_lock
from segmend.surgery.fingerprint import below
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.steps.patch_file import PatchFile
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.surgery.writing.work import device_of, folder

_SHOWN = 3
_CHANGE = os.W_OK | os.X_OK


def refuse_without_rights(run: PlanRun, steps: Sequence[int], vaults: str) -> None:
    """Raise `SegmendError` if this user lacks a right that one of these steps needs, forward or back."""
    dirs = [each.path for each in run.plan.dirs]
    # Where a .lock is missing it is made, and taken away again.
    refusals = [*filter(None, map(_closed, [vaults, *without_lock(dirs)]))]
    refusals += filter(None, (_barred(f"{path}/{LOCK}") for path in dirs))
    for number in steps:
        status = run.status(number)
        refusals += _refusals(
            run.plan.steps[number],
            vaults,
            whole=status is not Status.BETWEEN,
            untouched=status is Status.BEFORE,
        )
    refusals = list(dict.fromkeys(refusals))
    if refusals:
        more = f" (and {len(refusals) - _SHOWN} more)" if len(refusals) > _SHOWN else ""
        raise SegmendError(f"refused: {'; '.join(refusals[:_SHOWN])}{more}; nothing was changed")


def _refusals(step: Step, vaults: str, *, whole: bool, untouched: bool) -> Iterator[str]:
    """Why a step cannot be taken; of one that was stopped on the way only its folders are `whole` enough.

    What it reads and makes counts while it is `untouched`.
    """
    places = [*step.paths, *([vaults] if len(step.paths) == 1 else [])]
    yield from filter(None, map(_closed, map(folder, step.paths)))
    if untouched:
        yield from filter(None, [_unreadable(step), _closed_once_made(step)])
    for path in step.paths if whole else ():
        kind = None if os.path.islink(path) else disk.path_type(path)
        if kind == "file":
            yield from _file(path, step)
        elif kind == "dir" and step.before.kind == "dir":
            crosses = len({device_of(place) for place in places}) > 1
            yield from _tree(path) if crosses else filter(None, [_closed(path)])


def _unreadable(step: Step) -> str | None:
    """Why the bytes that it writes cannot be read."""
    content = step.content if isinstance(step, AppendFile | PatchFile | ReplaceFile) else None
    source = None if content is None else content.source
    if source is None or disk.path_type(source) is None:  # An earlier step may bring it there.
        return None
    return None if os.access(source, os.R_OK, effective_ids=True) else f"{source}: this user may not read it"


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


def _closed(path: str) -> str | None:
    """Why no name can come into a directory or leave it; the nearest that is there counts."""
    while disk.path_type(path) is None:
        path = folder(path)
    if disk.path_type(path) != "dir":
        return None  # Who makes a directory there is told.
    if disk.is_immutable(path):
        return f"{path}: is made immutable (chattr -i, -a)"
    if not os.access(path, os.R_OK, effective_ids=True):
        return f"{path}: this user may not read what is in it (chmod u+rwx)"  # as one does to sync it
    if not os.access(path, _CHANGE, effective_ids=True):
        return f"{path}: this user may not change what is in it (chmod u+wx)"
    return None


def _file(path: str, step: Step) -> Iterator[str]:
    """What is written over, or beside and renamed: it is read before, and opened for writing."""
    why = _shut(path)
    if why is not None:
        yield why
    group = step.before.gid
    if group is not None and not _may_give(group):
        yield f"{path}: belongs to group {group}, which this user is not in; run this as root"


def _barred(path: str) -> str | None:
    """Why the lock at this path cannot be taken; where there is none it is made."""
    if os.path.islink(path):
        return f"{path}: is a link, and the lock is not taken on what it names"
    kind = disk.path_type(path)
    if kind is None:
        return None
    return _shut(path) if kind == "file" else f"{path}: is no file (a broker makes one)"


def _shut(path: str) -> str | None:
    """Why a file cannot be opened for writing."""
    if disk.is_immutable(path):
        return f"{path}: is made immutable (chattr -i, -a)"
    if not os.access(path, os.R_OK | os.W_OK, effective_ids=True):
        return f"{path}: this user may not read and write it (chmod u+rw)"
    return None


def _tree(path: str) -> Iterator[str]:
    """A directory that is copied and then removed: all in it is read; who owns it can open what is closed."""
    rows = [("", disk.file_stat(path, follow=False))]
    if not os.access(path, os.R_OK | os.X_OK, effective_ids=True):
        yield f"{path}: this user may not read it (chmod u+rx)"
        return
    rows += below(path)
    for name, status in rows:
        full, is_dir = f"{path}/{name}" if name else path, stat.S_ISDIR(status.mode)
        wanted = os.R_OK | os.X_OK if is_dir else os.R_OK
        if not os.access(full, wanted, effective_ids=True):
            yield f"{full}: this user may not read it (chmod u+r)"
        elif disk.is_immutable(full):
            yield f"{full}: is made immutable (chattr -i, -a)"
        elif os.geteuid() not in (0, status.uid):
            yield f"{full}: belongs to user {status.uid}; run this as that user, or as root"
        elif not _may_give(status.gid):
            yield f"{full}: belongs to group {status.gid}, which this user is not in; run this as root"


def _may_give(group: int) -> bool:
    """Whether new files can be given this group."""
    return os.geteuid() == 0 or group == os.getegid() or group in os.getgroups()
