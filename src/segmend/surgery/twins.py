"""A partition that a plan would bring beside itself, into two log dirs of its broker."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from segmend.formats.names import parse_dir_name
from segmend.logdir import disk
from segmend.surgery.plan import Plan
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.quarantine import Quarantine


def twins(plan: Plan) -> Iterator[str]:
    """Partitions that would come beside themselves in another log dir: a broker starts with no such pair."""
    leaving = {step.paths[0] for step in plan.steps if isinstance(step, MoveDir | Quarantine)}
    comings = [step for step in plan.steps if isinstance(step, MakeDir | MoveDir)]
    coming = {step.paths[-1] for step in comings}
    for step in comings:
        origin, target = step.paths[0], step.paths[-1]
        name = posixpath.basename(target)
        places = {f"{each.path}/{name}" for each in plan.dirs}
        moves_within = origin != target and origin in places
        if target in places and not moves_within and parse_dir_name(name).kind == "current":
            others = sorted(places - leaving - {target})
            there = (path for path in others if path in coming or disk.path_type(path) == "dir")
            yield from (f"{path}: is that partition too; a broker refuses two of them" for path in there)
