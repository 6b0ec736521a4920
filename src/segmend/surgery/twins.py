"""A partition that a plan, or its undo, would bring beside itself, into two log dirs of its broker."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from typing import Final

from segmend.formats.names import parse_dir_name
from segmend.logdir import disk
from segmend.surgery.plan import Plan
from segmend.surgery.step import Step
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.quarantine import Quarantine

_NOWHERE: Final = ""


def twins(plan: Plan, taken_back: Iterable[Step] | None = None) -> Iterator[str]:
    """Partitions that would come beside themselves in another log dir: a broker starts with no such pair.

    By the whole plan, or where these steps of it are taken back: since then a broker may have made one anew.
    """
    ways = [*_ways(plan.steps)] if taken_back is None else [(to, at) for at, to in _ways(taken_back)]
    leaving, coming = {origin for origin, _ in ways}, {target for _, target in ways}
    for origin, target in ways:
        name = posixpath.basename(target)
        places = {f"{each.path}/{name}" for each in plan.dirs}
        if target in places and origin not in places and parse_dir_name(name).kind == "current":
            others = sorted(places - leaving - {target})
            there = (path for path in others if path in coming or disk.path_type(path) == "dir")
            yield from (f"{path}: is that partition too; a broker refuses two of them" for path in there)


def _ways(steps: Iterable[Step]) -> Iterator[tuple[str, str]]:
    """From where to where each directory goes."""
    for step in steps:
        if isinstance(step, MoveDir):
            yield step.source, step.target
        elif isinstance(step, Quarantine):
            yield step.path, _NOWHERE
        elif isinstance(step, MakeDir):
            yield _NOWHERE, step.path
