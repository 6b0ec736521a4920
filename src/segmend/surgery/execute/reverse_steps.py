"""The way back of one step, from today's files: the steps for it, or why what is there now stays."""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, Final

from segmend.formats import partition_metadata
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.boundaries import is_beside
from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.execute.quarantines import SetAside, brought_back
from segmend.surgery.fingerprint import hash_of, look
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.planning.topic_dirs import is_empty
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.cut_file import CutFile
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.patch_file import PatchFile
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import KEPT, ReplaceFile
from segmend.surgery.writing.transfer import allocated, differs_at

_REASON: Final = "back to what it was"
_DERIVED: Final = (".index", ".timeindex", ".txnindex", ".snapshot")
"""Where a broker has made one anew, that is the one that fits the log of today."""


class Kept(Exception):
    """What is there now is kept: `path`, and why."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(why)
        self.path = path


@frozen
class Today:
    """The broker as it is; `leaving` are directories that go back to where they were."""

    broker: BrokerDirs
    leaving: Set[str]


def back(run: PlanRun, number: int, today: Today) -> Iterator[Step]:
    """The steps that take back the step `number` of a run; raises `Kept`."""
    step = run.plan.steps[number]
    if is_beside(step, run.plan):
        raise Kept(step.paths[0], "is outside of the log dirs, and stays")
    yield from _WAYS[type(step)](step, run, number, today)


def _aside(step: Quarantine, run: PlanRun, number: int, today: Today) -> Iterator[Step]:
    item = SetAside(run=run, number=number, step=step)
    if disk.path_type(item.place) is None:
        raise Kept(step.path, f"what was set aside is not at {item.place} any more")
    why = differs_at(step.before, item.place)
    if look(item.place, content=False).kind != step.before.kind:
        raise Kept(step.path, f"what was set aside is not what it was ({why}), and stays in {item.place}")
    reason = f"out of the quarantine, {item.name}" + (f", as what is left of it: {why}" if why else "")
    if step.before.kind != "dir":
        path = item.step.path
        if not os.path.lexists(path) or posixpath.basename(path) == partition_metadata.FILE_NAME:
            yield brought_back(item, reason)
        elif not path.endswith(_DERIVED):
            raise Kept(path, f"there is one again, and it stays; the old one stays in {item.place}")
        return
    yield from _out_of_the_way(posixpath.basename(step.path), step.path, today, item.place)
    yield MoveDir(
        source=item.place, target=step.path, reason=reason,
        before=look(item.place), allocated=allocated(item.place),
    )  # fmt: skip


def _out_of_the_way(name: str, path: str, today: Today, old: str) -> Iterator[Step]:
    """What a broker made under a name since goes aside where it is empty; raises `Kept` where it is not."""
    for log_dir in today.broker.dirs:
        partition = log_dir.partition(name)
        if partition is None or partition.path in today.leaving:
            continue
        if not is_empty(partition):
            raise Kept(
                path, f"{partition.path} is there again with {partition.size:,} bytes of log, and stays; the "
                f"old one stays in {old} (segmend show {shlex.quote(old)})"
            )  # fmt: skip
        yield Quarantine.of(partition.path, "empty, and made since")


def _moved(step: MoveDir, _run: PlanRun, _number: int, today: Today) -> Iterator[Step]:
    if disk.path_type(step.target) != "dir":
        raise Kept(step.target, "is not where the plan has put it")
    if step.is_half_done():
        yield Quarantine.of(step.target, f"a copy: all of it is at {step.source}")
        return
    name = posixpath.basename(step.source)
    if name != posixpath.basename(step.target):
        yield from _out_of_the_way(name, step.source, today, step.target)
    elif os.path.lexists(step.source):
        raise Kept(step.source, "is there again")
    yield MoveDir(
        source=step.target, target=step.source, reason=_REASON, before=look(step.target),
        allocated=allocated(step.target),
    )  # fmt: skip


def _cut(step: CutFile, run: PlanRun, number: int, _today: Today) -> Iterator[Step]:
    tail = _old(step, run.vault(number), CutFile.KEPT)
    now, left = look(step.path, content=False), step.after.size or 0
    if now.size != left:
        raise Kept(
            step.path, f"ended at byte {left} and is {now.size} bytes long now; its old end stays in {tail}"
        )
    yield AppendFile.to(
        step.path, NewBytes.range_of(tail, 0, disk.file_size(tail)), _REASON, like=step.before
    )


def _patched(step: PatchFile, run: PlanRun, number: int, _today: Today) -> Iterator[Step]:
    old = _old(step, run.vault(number), PatchFile.KEPT)
    there = disk.path_type(step.path) == "file"
    if not there or hash_of(step.path, step.position, step.content.length) != step.content.sha256:
        raise Kept(
            step.path, f"its bytes from {step.position} on are others by now; the old ones stay in {old}"
        )
    yield PatchFile.at(step.path, step.position, NewBytes.range_of(old, 0, step.content.length), _REASON)


def _appended(step: AppendFile, _run: PlanRun, _number: int, _today: Today) -> Iterator[Step]:
    start, now = step.before.size or 0, look(step.path, content=False)
    if step.before == step.after:
        return  # It was only synced.
    if now.size != step.after.size or hash_of(step.path, start) != step.content.sha256:
        raise Kept(step.path, "more came behind what the plan has put there, and it stays")
    if step.before.kind == "missing":
        yield Quarantine.of(step.path, _REASON)
    else:
        yield CutFile.to(step.path, start, _REASON)


def _replaced(step: ReplaceFile, run: PlanRun, number: int, _today: Today) -> Iterator[Step]:
    now = look(step.path)
    if now.sha256 != step.after.sha256:
        raise Kept(step.path, "is not as the plan left it: it was written anew since, and stays")
    if step.before.kind == "missing":
        yield Quarantine.of(step.path, _REASON)
        return
    old = _old(step, run.vault(number), KEPT)
    content = NewBytes.range_of(old, 0, disk.file_size(old))
    yield ReplaceFile(path=step.path, before=now, after=step.before, content=content, reason=_REASON)


def _made(step: MakeDir, _run: PlanRun, _number: int, _today: Today) -> Iterator[Step]:
    name = posixpath.basename(step.path)
    why = f"was made by the plan, and stays with what came since; without it: plan delete --partition {name}"
    raise Kept(step.path, why)


def _old(step: Step, vault: str, name: str) -> str:
    kept = f"{vault}/{name}"
    if disk.path_type(kept) != "file" or step.unkept(vault) is not None:
        raise Kept(step.paths[0], f"its old bytes are not at {kept} any more, or damaged")
    return kept


_WAYS: Mapping[type[Any], Callable[[Any, PlanRun, int, Today], Iterator[Step]]] = {
    Quarantine: _aside, MoveDir: _moved, CutFile: _cut, PatchFile: _patched, AppendFile: _appended,
    ReplaceFile: _replaced, MakeDir: _made,
}  # fmt: skip
