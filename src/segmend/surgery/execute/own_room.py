"""Room for the journal and what is beside it, asked for before the first step: `refuse_full` has the steps'.

Where only that runs out a plan stops halfway, and its undo has no room for a line either. It is little, so
nothing is counted where there is plenty. File systems give whole blocks, and some only so many names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from segmend.errors import SegmendError
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.surgery.execute.journal_events import FORWARD, Direction, Status
from segmend.surgery.execute.plan_run import PlanRun, packed
from segmend.surgery.execute.preconditions import needs_of
from segmend.surgery.fingerprint import below
from segmend.surgery.writing.transfer import allocated
from segmend.surgery.writing.work import crosses, device_of, folder, nearest

_PLENTY, _NAMES = 64 << 20, 1 << 16
_LINE, _PATH, _ROW = 300, 40, 160
"""Bytes of a line of the journal without its paths, of a path's time in it, of what is kept of a file."""
_EXACT = 1 << 16
"""So long a plan is packed to see how long that is."""


@frozen
class _Own:
    """Bytes of files that go to a directory, one a file; directories that are made there."""

    where: str
    files: Sequence[int]
    dirs: int


def refuse_without_room(run: PlanRun, steps: Sequence[int], vaults: str, direction: Direction) -> None:
    """Raise `SegmendError` if a place of segmend's own has no room for what these steps write there."""
    wanted: dict[int, list[_Own]] = {}
    for own in _owns(run, steps, vaults, direction):
        wanted.setdefault(device_of(own.where), []).append(own)
    homes = {disk.file_stat(each.path).device for each in run.plan.dirs if disk.path_type(each.path) == "dir"}
    hint = " (--state-dir, --backup-dir name other places)" if run.last_begun is None else ""
    for device, owns in wanted.items():
        near = nearest(owns[0].where)
        there = disk.space(near)
        left = there.free if os.geteuid() == 0 else there.available
        a_dir = min(allocated(near), there.block)
        count = sum(_blocks(size, there.block) for own in owns for size in own.files)
        count += sum(own.dirs for own in owns) * a_dir
        # What steps take where logs are, and what comes free there, is asked for in the order of the steps.
        if device not in homes and direction is FORWARD:
            count += sum(_blocks(size, there.block) for size in _of_steps(run, steps, vaults, device))
        names = sum(len(own.files) + own.dirs for own in owns) + (len(steps) if direction is FORWARD else 0)
        if left < min(count, _PLENTY):
            raise SegmendError(
                f"{near}: {count:,} bytes are needed here, with the journal, and {left:,} are free; nothing "
                f"was changed{hint}"
            )
        if there.files and there.files_left < min(names, _NAMES):
            raise SegmendError(
                f"{near}: {names:,} files and directories are made here, and the file system takes "
                f"{there.files_left:,} more; nothing was changed{hint}"
            )


def _owns(run: PlanRun, steps: Sequence[int], vaults: str, direction: Direction) -> Iterator[_Own]:
    plan, begun = run.plan, run.last_begun is not None
    rendered = len(plan.render())
    line = rendered if rendered > _EXACT else len(packed(plan) or "")
    folders = {path for step in plan.steps for path in (*step.paths, *map(folder, step.paths))}
    line += _LINE + sum(len(os.fsencode(path)) + _PATH for path in (*folders, *(e.path for e in plan.dirs)))
    taken = [plan.steps[number] for number in steps]
    lines = line + sum(
        2 * (_LINE + sum(len(os.fsencode(path)) for path in step.paths) + len(os.fsencode(vaults)))
        for step in taken
    )
    lines += 2 * _LINE
    ends = [line, lines]  # The new beginning is written beside the old one.
    if direction is not FORWARD or begun:
        yield _Own(where=run.path, files=ends, dirs=0)
        return
    rows = sum(_ROW * (1 + sum(1 for _ in below(path))) for path in _moving(run))
    missing = 0 if disk.path_type(folder(run.path)) == "dir" else 2
    yield _Own(where=run.path, files=[rendered, rows, *ends], dirs=1 + missing)
    untouched = [number for number in steps if run.status(number) is Status.BEFORE]
    yield _Own(where=vaults, files=[rendered], dirs=1 + len(untouched))


def _moving(run: PlanRun) -> Iterator[str]:
    paths = {step.paths[0] for step in run.plan.steps if step.before.kind == "dir"}
    yield from (path for path in sorted(paths) if disk.path_type(path) == "dir")


def _of_steps(run: PlanRun, steps: Sequence[int], vaults: str, device: int) -> Iterator[int]:
    for number in steps:
        for need in needs_of(run, number, f"{vaults}/{number + 1:04d}", FORWARD):
            same = need.origin is not None and not crosses(need.origin, need.where)
            if not same and device_of(need.where) == device:
                yield need.bytes


def _blocks(size: int, block: int) -> int:
    return -(-size // block) * block
