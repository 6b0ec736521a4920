"""What a plan may touch: what lies below its own log dirs, by no link, and what surgery had set aside.

A plan may name one more place, for records that it leaves out (`SIDE`): new logs only come there, and that
place itself.

A plan is a file that came from somewhere, and is mostly applied by root. So before it is carried out,
or taken back, each path is looked at: no `..`, no symbolic link on the way, no log dir itself, never
the `.lock` that keeps a broker out.
"""

from __future__ import annotations

import functools
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from segmend.errors import SegmendError, UsageError
from segmend.formats.meta_properties import FILE_NAME
from segmend.formats.names import parse_dir_name
from segmend.logdir import disk
from segmend.logdir.above import log_dir_around
from segmend.logdir.log_dir import LOCK, LOG_DIR_FILES, LogDir
from segmend.surgery.plan import SIDE, Plan
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.writing.work import folder, is_plain

_BRANCH: Final = re.compile(r"branch-\d{1,9}", re.ASCII)
_LOG: Final = re.compile(r"\d{20}\.log", re.ASCII)


def refuse_other_dirs(plan: Plan) -> None:
    """Raise `SegmendError` if a log dir of the plan is none that one can open, or there twice."""
    why = next(_wrong_dirs(plan), None)
    if why is not None:
        raise SegmendError(f"refused: {why}; nothing was changed")


def refuse_outside(plan: Plan, vaults: Callable[[], Iterable[str]]) -> None:
    """Raise `SegmendError` if a step would change anything but what is in the log dirs.

    `vaults` gives the directories of old bytes, from which a plan may bring something back.
    """
    why = next(_wrong_places(plan, vaults), None)
    if why is not None:
        raise SegmendError(f"refused: {why}; nothing was changed")


def refuse_no_log_dir(plan: Plan) -> None:
    """Raise `SegmendError` for a dir that was none when the plan was made.

    A directory called like a partition proves nothing: /etc has `dbus-1`. A blank one may get its name.
    """
    for path in (each.path for each in plan.dirs):
        log_dir = LogDir.open(path)
        by_name = not LOG_DIR_FILES.isdisjoint(log_dir.entries)
        if not log_dir.entries:
            by_name = _touched(plan, path) == {f"{path}/{FILE_NAME}"}
        if not by_name and not any(partition.base_offsets for partition in log_dir.partitions):
            raise SegmendError(f"refused: {path}: is no log dir of a broker; nothing was changed")


def refuse_inside(plan: Plan, place: str, what: str) -> None:
    """Raise `UsageError` if backups would lie in a log dir, where no broker would start."""
    real = disk.real_path(place)
    homes = [each.path for each in plan.dirs if f"{real}/".startswith(f"{each.path.rstrip('/')}/")]
    home = next(iter(homes), None) or log_dir_around(real)
    if home is not None:
        raise UsageError(f"{what} {place}: lies in the log dir {home}; give a place outside")


def _touched(plan: Plan, home: str) -> set[str]:
    """What the plan changes below a directory."""
    return {path for step in plan.steps for path in step.paths if path.startswith(f"{home}/")}


def _wrong_places(plan: Plan, vaults: Callable[[], Iterable[str]]) -> Iterator[str]:
    yield from _wrong_dirs(plan)
    homes = [each.path for each in plan.dirs]
    real = functools.cache(os.path.realpath)
    steps = [step for step in plan.steps if not is_beside(step, plan)]
    outside = _misplaced(steps, homes)
    if outside is not None:
        outside = _misplaced(steps, [*homes, *vaults()])
    if outside is not None:
        yield outside
    yield from (why for step in plan.steps if (why := _through_link(step, real)) is not None)


def _wrong_dirs(plan: Plan) -> Iterator[str]:
    homes = [each.path for each in plan.dirs]
    yield from (why for path in homes if (why := _no_directory(path)) is not None)
    yield from (f"{path}: the plan has this log dir twice" for path in homes if homes.count(path) > 1)


def is_beside(step: Step, plan: Plan) -> bool:
    """Whether it makes a log, or a directory for one, in the plan's place for what it leaves out."""
    if not isinstance(step, MakeDir | AppendFile) or step.before.kind != "missing" or not is_plain(step.path):
        return False
    for side in (each for each in plan.said(SIDE) if isinstance(each, str)):
        if not is_plain(side) or not _is_side(side, plan):
            continue
        if step.path == side:
            return isinstance(step, MakeDir)
        if not step.path.startswith(f"{side}/"):
            continue
        *above, name = step.path[len(side) + 1 :].split("/")
        is_log = isinstance(step, AppendFile)
        folders = [*above] if is_log else [*above, name]
        if folders and _BRANCH.fullmatch(folders[0]):
            folders = folders[1:]
            if not folders and not is_log:
                return True
        if len(folders) == 1 and parse_dir_name(folders[0]).kind == "current":
            return not is_log or _LOG.fullmatch(name) is not None
    return False


def _is_side(side: str, plan: Plan) -> bool:
    """Whether it is there, or the plan makes it in a directory that is."""
    kind = disk.path_type(side)
    made = kind is None and any(isinstance(each, MakeDir) and each.path == side for each in plan.steps)
    return kind == "dir" or (made and disk.path_type(folder(side)) == "dir")


def links(steps: Sequence[Step]) -> dict[int, str]:
    """The numbers of the steps that work through a symbolic link, as no plan may, and what to say of it."""
    real = functools.cache(os.path.realpath)
    ways = ((number, _through_link(step, real)) for number, step in enumerate(steps))
    return {number: why for number, why in ways if why is not None}


def _through_link(step: Step, real: Callable[[str], str]) -> str | None:
    for place in map(folder, step.paths):
        if real(place) != place:
            return (
                f"{place}: is, or is reached by, a symbolic link to {real(place)}; segmend works through none"
            )
    return None


def _no_directory(path: str) -> str | None:
    if not is_plain(path):
        return f"{path!r} is no plain, absolute path"
    if os.path.realpath(path) != path:
        return f"{path}: there is a symbolic link on the way by now; the plan was made for another directory"
    if disk.path_type(path) != "dir":
        return f"{path}: no such directory; the plan was made for it"
    return None


def _misplaced(steps: Sequence[Step], homes: Sequence[str]) -> str | None:
    below = tuple(f"{home}/" for home in homes)
    for path in (path for step in steps for path in step.paths):
        if not is_plain(path):
            return f"{path!r} is no plain, absolute path"
        if posixpath.basename(path) == LOCK:
            return f"{path}: the lock of a broker is no file to be changed"
        if not path.startswith(below):
            return (
                f"{path}: lies in none of the plan's log dirs, nor with what this --state-dir has set aside"
            )
    return None
