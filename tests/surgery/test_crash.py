"""Killed, full, unplugged: at every call that changes a disk, in apply, in resume and in undo.

What must hold: the same command again reaches its end, the other one the other end, byte for byte with
modes, times and attributes; and at every moment each original byte is somewhere the journal names.
The fast tests take some of the calls, CI every fifth one, a sweep takes all.
"""

import errno
import json
import os
import random
from collections.abc import Iterator
from itertools import product

import pytest
from tests.memory import swift
from tests.surgery.child import as_user, owned_by_nobody
from tests.surgery.faulty import Failing, Mortal, Unplugged
from tests.surgery.story import Story, plans_read_once

from segmend.errors import SegmendError
from segmend.surgery.plan import Plan
from segmend.surgery.steps import kinds

# The whole of it is a hundred seconds of work.
pytestmark = pytest.mark.timeout(900)
FEW = 1
COMMANDS = pytest.mark.parametrize("command", ["apply", "undo"])
HOW = pytest.mark.parametrize("how", ["killed", "unplugged", "refused", "refused for good"])


@pytest.fixture(autouse=True, scope="module")
def read_once() -> Iterator[None]:
    with plans_read_once():
        yield


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=pytest.mark.xdist_group(f"crash-{name}")) for name in ("b", "state")],
)
def story(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, all_cases: bool
) -> Iterator[Story]:
    """Once the second log dir lies on another disk, once the journal and all backups do."""
    with swift(tmp_path_factory.mktemp("crash")) as folder:
        yield Story(folder, request.param, None if all_cases else FEW)


def test_the_story_has_every_kind_of_step_and_many_calls(story: Story) -> None:
    assert {step.KIND for step in story.plan.steps} == set(kinds())
    assert len(story.calls["apply"]) > 200
    assert len(story.calls["undo"]) > 100
    assert set(story.before) != set(story.after)


@COMMANDS
@HOW
def test_stopped_anywhere_both_ways_are_open(story: Story, command: str, how: str) -> None:
    for stop in story.stops(how, command):
        stop.reach()
        story.check_stopped(command, stop.why)


@COMMANDS
def test_stopped_a_second_time(story: Story, command: str) -> None:
    """Killed at some call, and at some call of what came next, in either direction."""
    chance = random.Random(command)
    for stop in story.killed(command):
        stop.reach()
        second = chance.choice(["apply", "undo"]) if story.begun() else command
        second = command if story.begun() and story.begun()[-1].state == "applied" else second
        call = chance.randrange(1, len(story.calls[second]))
        if story.dies(second, Mortal(call, story.other, half=chance.random() < 0.5)):
            story.check_stopped(second, f"{stop.why}, then killed at call {call} of {second}")


def test_killed_then_resumed_then_power_lost(story: Story) -> None:
    """What a killed process wrote and did not sync is not safe because the next one finds it there."""
    chance = random.Random(1)
    for call in sorted({stop.call for stop in story.killed("apply")}):
        story.start("apply")
        fx = Unplugged(call, story.stash, story.other)
        assert story.dies("apply", fx)
        fx.live_on(chance.randrange(1, 2 * len(story.calls["apply"])))
        story.dies("apply", fx)
        story.power_off(fx)
        story.check_stopped("apply", f"killed at call {call}, resumed, without power")


def test_a_normal_user(story: Story) -> None:
    """Who may not give files away, and is not let past their modes."""
    with swift(story.folder) as folder:
        owned_by_nobody(folder)
        os.chmod(story.folder, 0o711)

        def some_of_each() -> None:
            own = Story(folder, story.other.name, 1 if story.most else 8)
            for command, how in product(("apply", "undo"), HOW.args[1]):
                for stop in own.stops(how, command):
                    stop.reach()
                    own.check_stopped(command, stop.why)

        as_user(some_of_each)


def test_a_dead_disk_is_told_with_the_file_and_the_way_on(story: Story) -> None:
    story.start("apply")
    at = 1 + story.calls["apply"].index("truncate")
    with pytest.raises(SegmendError) as told:
        story.apply(Failing(at, errno.EIO, story.other))
    assert "0.log: input/output error; nothing is lost: the same command goes on" in str(told.value)
    assert f"segmend undo {story.begun()[-1].path}" in str(told.value)


def test_the_net_sees_what_was_not_synced(story: Story) -> None:
    """The model itself is proven: surgery that forgets to sync is caught by the power loss."""

    class Careless(Unplugged):
        def sync(self, fd: int) -> None:
            """Forgotten."""

    at = len(story.calls["apply"]) - 8
    story.start("apply")
    fx = Careless(at, story.stash, story.other)
    assert story.dies("apply", fx)
    story.power_off(fx, random.Random(4))
    with pytest.raises((AssertionError, SegmendError, OSError)):
        story.check_stopped("apply", "without power")


def test_nothing_is_written_outside_of_paths_and_state(story: Story) -> None:
    story.start("apply")
    beside = [path for path in story.world.root.iterdir() if path.name not in ("a", "b", "state")]
    assert [path.name for path in beside] == ["replica"]
    story.apply(story.disk())
    names = {path.name for path in story.world.root.iterdir()}
    assert names == {"a", "b", "replica", "state"}
    assert not [path for path in story.world.root.rglob("*.tmp")]
    assert not [path for path in story.world.a.rglob(".lock")]
    assert os.listdir(story.world.state) == ["journals"]


def test_a_plan_survives_its_file(story: Story) -> None:
    read = Plan.from_json(json.loads(story.plan.render()))
    assert (read.sha256, read.render()) == (story.plan.sha256, story.plan.render())
