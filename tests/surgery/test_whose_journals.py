"""Surgery that somebody else was stopped in, told by commands that only read: never silence."""

import os
import re
import shlex
from pathlib import Path

import pytest
from tests.cli.run import as_one_who_may_not, python, run
from tests.surgery.faulty import Died, Mortal
from tests.surgery.world import World, make, plan_of

from segmend.cli import stopped_surgery
from segmend.state_dir import usual_state_dir
from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.runs import find
from segmend.surgery.execute.undo import undo


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make(tmp_path)


def stopped(world: World, state: Path) -> str:
    """A plan was killed on its way; the path of its journal."""
    with pytest.raises(Died):
        apply(plan_of(world), str(state), fx=Mortal(74))
    return find(str(state), None).path


@pytest.mark.parametrize("command", ["check", "forecast"])
def test_a_journal_of_another_user_is_told_of_by_its_path(
    world: World, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A command of root's said nothing of what kafka's own user was stopped in."""
    path = stopped(world, world.root / "his own")
    monkeypatch.setenv("XDG_STATE_HOME", str(world.root / "mine"))
    monkeypatch.setattr(stopped_surgery, "usual_state_dir", lambda _uid: str(world.root / "his own"))
    ran = run(command, world.a, world.b)
    assert f"`segmend undo {shlex.quote(path)}` brings back what was" in ran.out
    assert ran.code & 4
    run("undo", path, "--yes", code=0)
    assert "segmend's journal" not in run(command, world.a, world.b).out


def test_a_plan_over_dirs_that_are_halfway_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It said "nothing to do", exit 0, or had steps from the files as a kill had left them."""
    path = stopped(world, world.root / "his own")
    monkeypatch.setattr(stopped_surgery, "usual_state_dir", lambda _uid: str(world.root / "his own"))
    ran = run("plan", "trim", world.a, world.b, code=4)
    assert f"`segmend undo {shlex.quote(path)}` brings back what was; first that, then plan" in ran.err
    run("undo", path, "--yes", code=0)
    assert run("plan", "trim", world.a, world.b, code=0).err == ""


@pytest.mark.parametrize("command", ["check", "forecast"])
def test_journals_that_are_closed_to_this_user_are_no_silence(world: World, command: str) -> None:
    home = world.root / "segmend" / "journals"
    home.mkdir(parents=True)
    words = ("-m", "segmend", command, world.a, world.b)
    environment = {"XDG_STATE_HOME": str(world.root)}
    before = python(*words, prefix=as_one_who_may_not(), **environment)
    home.chmod(0)
    after = python(*words, prefix=as_one_who_may_not(), **environment)
    home.chmod(0o700)
    assert str(home) not in before.stdout
    said = "no surgery that was" if command == "forecast" else "not looked at: whether surgery was"
    assert f"{said} stopped over these dirs: {home}: permission denied (chmod u+rx {home})" in after.stdout
    assert after.returncode == before.returncode


@pytest.mark.parametrize("calls", [20, 55, 90])
@pytest.mark.parametrize("command", ["apply", "undo"])
def test_what_is_named_of_an_undo_that_was_stopped_does_what_it_says(
    world: World, monkeypatch: pytest.MonkeyPatch, command: str, calls: int
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(world.root))
    before = world.tree()
    done = apply(plan_of(world), str(world.root / "segmend")).run
    after = world.tree()
    with pytest.raises(Died):
        undo(done, fx=Mortal(calls))
    said = run("check", world.a, world.b).out
    named = next(line for line in re.findall(r"`segmend ([^`]+)`", said) if line.startswith(command))
    run(*shlex.split(named), "--yes", code=1 if command == "apply" else 0)
    assert world.tree() == (after if command == "apply" else before)


def test_where_the_journals_of_a_user_lie() -> None:
    assert usual_state_dir(0) == "/var/lib/segmend"
    mine = usual_state_dir(os.getuid())
    assert mine is None or mine.startswith("/")
    assert usual_state_dir(2**31 - 7) is None
