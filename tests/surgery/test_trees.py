"""Rights that change in a directory on its way to another disk: told with what gives them back."""

import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from tests.copies import copy_tree
from tests.seeds import SEED, sampled
from tests.surgery.desk import Desk
from tests.surgery.faulty import Died, Disk, Mortal
from tests.surgery.picture import Tree, picture

from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.runs import find
from segmend.surgery.execute.undo import undo
from segmend.surgery.plan import Plan

NAME = "txn-0"


@pytest.fixture
def desk(clean: Desk, elsewhere: Path) -> Desk:
    """Its second log dir is on another disk, and a directory in the partition that goes there."""
    copy_tree(clean.dirs[1], elsewhere / "d1")
    clean.dirs[1] = elsewhere / "d1"
    (clean.dirs[0] / NAME / "in it").mkdir()
    (clean.dirs[0] / NAME / "in it" / "note").write_text("mine")
    assert clean.plan("move", "--partition", NAME, "--to", clean.dirs[1]).code == 0
    return clean


def look(desk: Desk) -> Tree:
    return picture(desk.dirs[0]) | picture(desk.dirs[1])


def act(desk: Desk, command: str, fx: Disk) -> None:
    if command == "apply":
        apply(Plan.load(str(desk.plan_file)), str(desk.state), fx=fx)
    else:
        undo(find(str(desk.state), None), fx=fx)


def stops(desk: Desk, command: str) -> Iterator[int]:
    """Changes of the disk in whose step the partition is on its way, or there."""
    counted = Disk()
    if command == "undo":
        act(desk, "apply", Disk())
    act(desk, command, counted)
    if command == "apply":
        act(desk, "undo", Disk())
    shutil.rmtree(desk.state)
    return iter(range(60, counted.calls, sampled(1, 17)))


def entries(desk: Desk) -> list[Path]:
    return [path for log_dir in desk.dirs for path in (log_dir / NAME).rglob("*")]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["apply", "undo"])
def test_a_mode_in_it_is_told_and_given_back(command: str, desk: Desk) -> None:
    before, told = look(desk), 0
    for at in islice(stops(desk, command), 1000):
        chance = Random(f"{SEED} {at}")
        if command == "undo":
            act(desk, "apply", Disk())
        with pytest.raises(Died):
            act(desk, command, Mortal(at))
        path = chance.choice(entries(desk))
        mode = path.stat().st_mode & 0o7777
        path.chmod(mode ^ 0o011)
        words = ("apply", desk.plan_file) if command == "apply" else ("undo",)
        if chance.random() < 0.3:
            words = ("undo",)
        where = {place: place.lstat().st_mtime_ns for place in entries(desk)}
        ran = desk.run(*words, "--yes", "--state-dir", desk.state)
        if ran.code == 0:  # The way back of what is at home: it stays as it is.
            assert path.is_relative_to(desk.dirs[0])
            path.chmod(mode)
        else:
            assert (ran.code, ran.err.count("\n")) == (8, 1), (at, ran)
            assert f"{path}: its mode is {mode ^ 0o011:o}, not {mode:o} (chmod {mode:o})" in ran.err
            assert {place: place.lstat().st_mtime_ns for place in entries(desk)} == where
            path.chmod(mode)
            ran = desk.run(*words, "--yes", "--state-dir", desk.state)
            assert ran.code in (0, 1), (at, ran)
            told += 1
        if words[0] == "apply":
            desk.undo()
        assert look(desk) == before, at
        shutil.rmtree(desk.state)
    assert told > 3
