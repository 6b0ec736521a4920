"""Each way to a plan killed at calls of apply and of undo, by root and by a normal user; none is left out.

CI takes a few calls of each, `python -m tests.sweep crash` more. Each kind of step is killed at every call in
`test_crash`, some operations on files that are harder for them in `test_harder_killed`.
"""

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from tests.copies import copy_tree
from tests.faults.on_disk import lengthen
from tests.golden.shared import golden
from tests.memory import swift
from tests.seeds import SEED, sampled
from tests.surgery.child import as_user, owned_by_nobody
from tests.surgery.loop import COMMANDS, Loop
from tests.surgery.picture import Tree, picture
from tests.surgery.shows.bed import Asked, Bed
from tests.surgery.shows.leftovers import restore
from tests.surgery.shows.matrix import CASES
from tests.surgery.shows.names import spare
from tests.surgery.shows.places import move
from tests.surgery.story import plans_read_once

from segmend.cli.commands.plan.command import OTHERS
from segmend.surgery.ops import names
from segmend.surgery.plan import Plan

STOPS = sampled(60, 3)
"""So many of each command, of some hundred."""


def planned(bed: Bed, ask: Callable[[Bed], Asked], file: Path | None = None) -> None:
    """The damage done, and the plan made."""
    asked = ask(bed)
    with asked.during():
        made(bed, "plan", *asked.argv, "--kafka", bed.version, file=file)


def made(bed: Bed, *argv: object, file: Path | None = None) -> None:
    ran = bed.run(*argv, "-o", file or bed.plan_file)
    assert ran.code in (0, 4), ran.err


def composed(bed: Bed) -> None:
    """Of a partition that goes, and of others that move."""
    files = [bed.root / f"{number}.json" for number in range(2)]
    for ask, file in zip((spare, move), files, strict=True):
        planned(bed, ask, file)
    made(bed, "plan", "compose", *files)


def reversed_(bed: Bed) -> None:
    """Of a move, after which records came."""
    planned(bed, move)
    bed.apply()
    lengthen(max(bed.where("codec-lz4-0").glob("*.log")), b"since")
    made(bed, "plan", "reverse", "--state-dir", bed.state)


def restored(bed: Bed) -> None:
    """What `free` has set aside."""
    made(bed, *restore(bed).argv, "--state-dir", bed.state)


def first_case(name: str) -> Callable[[Bed], None]:
    """Of an operation."""
    return lambda bed: planned(bed, next(each.ask for each in CASES if each.name.partition("-")[0] == name))


WAYS: dict[str, Callable[[Bed], None]] = {
    **{name: first_case(name) for name in names()},
    "compose": composed,
    "reverse": reversed_,
    "restore": restored,
}


def test_no_way_to_a_plan_is_left_out() -> None:
    assert WAYS.keys() == {*names(), *OTHERS, "restore"} - {"show"}


def killed_at_some(bed: Bed, way: Callable[[Bed], None]) -> None:
    way(bed)
    plan = Plan.load(str(bed.plan_file))
    assert plan.steps

    def look() -> Tree:
        return bed.tree() | (picture(bed.state) if bed.state.exists() else {})

    loop = Loop(plan, bed.root / "journals", look, bed.dirs[-1])
    with plans_read_once():
        for turn, command in enumerate(COMMANDS):
            step = 1 + loop.calls[command].calls // STOPS
            calls = islice(loop.each_call(command), (SEED + turn) * 7 % step, None, step)
            assert loop.play(command, calls)


@pytest.mark.slow
@pytest.mark.timeout(900)  # on a busy machine
@pytest.mark.parametrize("user", ["root", "normal"])
@pytest.mark.parametrize("name", WAYS)
def test_killed_anywhere(name: str, user: str, tmp_path: Path) -> None:
    with swift(tmp_path) as folder:
        copy_tree(golden("4.3.1-clean"), folder / "whole")
        bed = Bed("4.3.1-clean", folder / "whole", folder)
        if user == "normal":
            owned_by_nobody(folder)
            as_user(lambda: killed_at_some(bed, WAYS[name]))
        else:
            killed_at_some(bed, WAYS[name])
