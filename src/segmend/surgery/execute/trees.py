"""How all in directories that a plan moves was, so that of a chmod there it is said where, and what it was.

The plan has only a hash of it, for there may be very many files; what does not fit that is no witness.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from typing import Final

from segmend.errors import SegmendError
from segmend.logdir import disk
from segmend.surgery.execute.journal_events import BACK, Direction, Status
from segmend.surgery.execute.own_files import write_private
from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.execute.preconditions import way_back
from segmend.surgery.fingerprint import Fingerprint, hash_bytes, rows_of
from segmend.surgery.step import Step
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.writing.effects import Effects
from segmend.surgery.writing.transfer import vault_name

_FILE: Final = "trees.json"
_LIMIT: Final = 1 << 30
_SHOWN: Final = 3


def keep(fx: Effects, run: PlanRun) -> None:
    """Write it down, as long as nothing was begun; raises `OSError`."""
    paths = {step.paths[0] for step in run.plan.steps if _brings_dir(step)}
    begun = any(status is not Status.BEFORE for status in run.statuses())
    if begun or not paths or disk.path_type(_place(run)) is not None:
        return
    rows = {path: rows_of(path) for path in sorted(paths) if disk.path_type(path) == "dir"}
    told = {path: data.decode("utf-8", "surrogateescape") for path, data in rows.items()}
    write_private(fx, _place(run), json.dumps(told).encode("ascii"))


def refuse_other_rights(run: PlanRun, direction: Direction) -> None:
    """Raise `SegmendError` if in what was moved, or is to be, owner, group or mode is another one by now."""
    differences = list(_differences(run, direction))
    if differences:
        more = f" (and {len(differences) - _SHOWN} more)" if len(differences) > _SHOWN else ""
        other = way_back(run) if direction is BACK else ""
        raise SegmendError(f"refused: {'; '.join(differences[:_SHOWN])}{more}; nothing was changed{other}")


def _differences(run: PlanRun, direction: Direction) -> Iterator[str]:
    """Of what is not begun, nothing where it goes back: it stays as it is."""
    trees = _load(run)
    for number, (step, status) in enumerate(zip(run.plan.steps, run.statuses(), strict=True)):
        rows = trees.get(step.paths[0], "").encode("utf-8", "surrogateescape")
        if not _brings_dir(step) or hash_bytes(rows) != step.before.sha256:
            continue
        if status is Status.BEFORE and direction is BACK:
            continue
        aside = [vault_name(run.vault(number), step.path)] if isinstance(step, Quarantine) else []
        for place in (*step.paths, *aside):
            if disk.path_type(place) == "dir" and not os.path.islink(place):
                yield from _in_place(place, rows, on_its_way=status is Status.BETWEEN)


def _in_place(place: str, rows: bytes, *, on_its_way: bool) -> Iterator[str]:
    """Files may be missing; to empty a directory its owner may have opened it."""
    for row in rows.splitlines():
        name, mode, uid, gid = row.decode("utf-8", "surrogateescape").split("\0")[:4]
        path, was = f"{place}/{name}", int(mode, 8)
        if not os.path.lexists(path):
            continue
        now = disk.file_stat(path, follow=False)
        opened = on_its_way and stat.S_ISDIR(was) and now.mode == was | stat.S_IRWXU
        if stat.S_IFMT(now.mode) != stat.S_IFMT(was):
            continue
        expected = Fingerprint(kind="file", mode=stat.S_IMODE(was), uid=int(uid), gid=int(gid))
        is_now = stat.S_IMODE(was if opened else now.mode)
        why = expected.other_rights(Fingerprint(kind="file", mode=is_now, uid=now.uid, gid=now.gid))
        if why is not None:
            yield f"{path}: {why}"


def _brings_dir(step: Step) -> bool:
    return isinstance(step, MoveDir | Quarantine) and step.before.kind == "dir"


def _place(run: PlanRun) -> str:
    return f"{run.path}/{_FILE}"


def _load(run: PlanRun) -> dict[str, str]:
    """Nothing where it is not there, or damaged."""
    if disk.path_type(_place(run)) != "file":
        return {}
    try:
        told = json.loads(disk.read(_place(run), _LIMIT))
    except (ValueError, RecursionError):
        return {}
    rows = told.items() if isinstance(told, dict) else ()
    return {path: text for path, text in rows if isinstance(text, str)}
