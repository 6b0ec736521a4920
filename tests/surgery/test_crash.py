"""Killed, full, unplugged: at every call that changes a disk, in apply, in resume and in undo.

The fast tests take every so many calls and each time another offset into them; `slow` takes all. What must
hold: the same `apply` again reaches the planned state, `undo` the original one, byte for byte
with modes and times; and at every moment each original byte is somewhere the journal names.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.surgery.faulty import Died, Disk, Failing, Mortal, Unplugged
from tests.surgery.world import Tree, chunks, lost, make, plan_of

from segmend.errors import SegmendError
from segmend.formats.names import parse_dir_name, parse_file_name
from segmend.surgery.execute import lock
from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.journal import Run, acknowledge, find, runs
from segmend.surgery.execute.undo import undo
from segmend.surgery.plan import Plan
from segmend.surgery.steps import kinds
from segmend.surgery.writing.effects import Effects

ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS)
SAMPLE = 131


class Story:
    """A world, its plan, and what it looks like before and after; copies of it are cheap."""

    def __init__(self, folder: Path, second_disk: str) -> None:
        # Every copy must lie at the same place, because a plan names real paths.
        self.world = make(folder / "world")
        self.other = self.world.root / second_disk
        self.folder = folder
        self.plan = plan_of(self.world)
        self.wanted = chunks(self.world)
        self.before = self.world.tree()
        self.saved = folder / "saved"
        shutil.copytree(self.world.root, self.saved)
        # As all runs that follow: a copy, whose inodes are not those of the plan.
        self.fresh()
        disk = self.disk()
        self.apply(disk)
        self.apply_calls = disk.calls
        self.after = self.world.tree(folder_times=False)
        self.applied = folder / "applied"
        shutil.copytree(self.world.root, self.applied)
        disk = self.disk()
        self.undo(disk)
        self.undo_calls = disk.calls
        assert self.world.tree() == self.before

    def disk(self) -> Disk:
        return Disk(self.other)

    def fresh(self) -> None:
        """As before the plan."""
        self._restore(self.saved)

    def fresh_applied(self) -> None:
        """As after it."""
        self._restore(self.applied)

    def _restore(self, source: Path) -> None:
        shutil.rmtree(self.world.root)
        shutil.copytree(source, self.world.root)

    def apply(self, fx: Effects) -> None:
        """As the command does, up to its last act."""
        acknowledge(fx, apply(self.plan, str(self.world.state), fx=fx).run, lambda: 0.0)

    def undo(self, fx: Effects) -> None:
        acknowledge(fx, undo(find(str(self.world.state), None), fx=fx).run, lambda: 0.0)

    def begun(self) -> list[Run]:
        return [run for run in runs(str(self.world.state)) if run.events]

    def check_planned(self, why: object) -> None:
        assert difference(self.after, self.world.tree(folder_times=False)) == {}, why

    def check_original(self, why: object) -> None:
        assert difference(self.before, self.world.tree()) == {}, why

    def check_safe(self, why: object) -> None:
        """Every original byte is in the log dirs or in a place that the journal names."""
        vaults = [Path(run.begun["vaults"]) for run in self.begun() if run.begun]
        missing = lost(self.world, self.wanted, [self.world.a, self.world.b, *vaults])
        assert not missing, (why, len(missing))
        self.check_loadable(why)

    def check_loadable(self, why: object) -> None:
        """A broker started now takes no half-moved directory for a partition, and dies of no name."""
        whole = contents(self.saved / "a" / "far-0")
        for home in (self.world.a, self.world.b):
            assert not (home / "far-0").exists() or contents(home / "far-0") == whole, why
            for path in home.iterdir():
                assert not path.is_dir() or parse_dir_name(path.name).kind != "foreign", (why, path)
            for path in home.glob("*/*"):
                assert parse_file_name(path.name).kind != "unparsable", (why, path)

    def back(self) -> None:
        """Undo whatever was begun; what was not needs none."""
        if self.begun():
            self.undo(self.disk())


def contents(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def difference(expected: Tree, found: Tree) -> dict[str, tuple[object, object]]:
    names = expected.keys() | found.keys()
    return {n: (expected.get(n), found.get(n)) for n in names if expected.get(n) != found.get(n)}


@pytest.fixture(scope="module", params=["b", "state"])
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Once the second log dir lies on another disk, once the journal and all backups do."""
    memory = Path("/dev/shm")
    folder = (
        Path(tempfile.mkdtemp(dir=memory)) if os.access(memory, os.W_OK) else tmp_path_factory.mktemp("c")
    )
    with pytest.MonkeyPatch.context() as patch:
        # A look through all processes, thousands of times, is another test's subject.
        patch.setattr(lock, "writers", lambda _dirs: iter(()))
        yield Story(folder, request.param)
    shutil.rmtree(folder)


def points(total: int, *, every: int, shift: int = 0) -> range:
    return range(1 + shift % every, total + 1, every)


def dies(act: Callable[[Effects], None], fx: Effects) -> None:
    with pytest.raises(Died):
        act(fx)


EVERY = pytest.mark.parametrize("every", [SAMPLE, pytest.param(1, marks=pytest.mark.slow)])


def test_the_story_has_every_kind_of_step_and_many_calls(story: Story) -> None:
    assert {step.KIND for step in story.plan.steps} == set(kinds())
    assert story.apply_calls > 200
    assert story.undo_calls > 100
    assert set(story.before) != set(story.after)


@EVERY
@pytest.mark.parametrize("half", [False, True])
def test_killed_while_applying(story: Story, every: int, half: bool) -> None:
    for n in points(story.apply_calls, every=every, shift=3):
        for way in ("resume", "back"):
            story.fresh()
            dies(story.apply, Mortal(n, story.other, half=half))
            story.check_safe(n)
            if way == "resume":
                story.apply(story.disk())
                story.check_planned(n)
                story.undo(story.disk())
            else:
                story.back()
            story.check_original((n, way))


@EVERY
def test_killed_while_undoing(story: Story, every: int) -> None:
    for n in points(story.undo_calls, every=every, shift=5):
        for way in ("back", "forward"):
            story.fresh_applied()
            dies(story.undo, Mortal(n, story.other))
            story.check_safe(n)
            if way == "back":
                story.undo(story.disk())
                story.check_original(n)
            else:
                if story.begun()[-1].state != "applied":  # else it died before it said that it began
                    story.apply(story.disk())
                story.check_planned(n)


@EVERY
def test_killed_while_resuming(story: Story, every: int) -> None:
    """Killed twice: at some call, and at some call of the second attempt, in either direction."""
    chance = random.Random(every)
    for n in points(story.apply_calls, every=every, shift=7):
        story.fresh()
        dies(story.apply, Mortal(n, story.other))
        back = chance.random() < 0.5 and bool(story.begun())
        act = story.undo if back else story.apply
        try:
            act(Mortal(chance.randrange(1, story.apply_calls), story.other))
        except Died:
            story.check_safe(n)
            if not back or story.begun():
                act(story.disk())
        (story.check_original if back else story.check_planned)(n)


@EVERY
@pytest.mark.parametrize("seed", [None, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_power_lost_while_applying(story: Story, every: int, seed: int | None) -> None:
    for n in points(story.apply_calls, every=every, shift=11):
        for way in ("resume", "back"):
            story.fresh()
            fx = Unplugged(n, story.folder / "stash", story.other)
            dies(story.apply, fx)
            fx.power_off(None if seed is None else random.Random(seed * 1000 + n))
            shutil.rmtree(story.folder / "stash")
            story.check_safe(n)
            if way == "resume":
                story.apply(story.disk())
                story.check_planned(n)
                story.undo(story.disk())
            else:
                story.back()
            story.check_original((n, way))


@EVERY
def test_killed_then_resumed_then_power_lost(story: Story, every: int) -> None:
    """What a killed process wrote and did not sync is not safe because the next one finds it there."""
    chance = random.Random(every)
    for n in points(story.apply_calls, every=every, shift=13):
        story.fresh()
        fx = Unplugged(n, story.folder / "stash", story.other)
        dies(story.apply, fx)
        fx.live_on(chance.randrange(1, 2 * story.apply_calls))
        finished = True
        try:
            story.apply(fx)
        except Died:
            finished = False
        fx.power_off()
        shutil.rmtree(story.folder / "stash")
        story.check_safe(n)
        if not finished:
            story.apply(story.disk())
        story.check_planned(n)
        story.undo(story.disk())
        story.check_original(n)


@EVERY
@pytest.mark.parametrize("seed", [None, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_power_lost_while_undoing(story: Story, every: int, seed: int | None) -> None:
    for n in points(story.undo_calls, every=every, shift=2):
        story.fresh_applied()
        fx = Unplugged(n, story.folder / "stash", story.other)
        dies(story.undo, fx)
        fx.power_off(None if seed is None else random.Random(seed * 1000 + n))
        shutil.rmtree(story.folder / "stash")
        story.check_safe(n)
        story.undo(story.disk())
        story.check_original(n)


@pytest.mark.parametrize("number", ERRORS, ids=[errno.errorcode[e] for e in ERRORS])
@pytest.mark.parametrize("stays", [False, True], ids=["once", "stays"])
@EVERY
def test_the_system_refuses(story: Story, every: int, number: int, stays: bool) -> None:
    """A one-line error, and the same command goes on once the disk is well again."""
    for n in points(story.apply_calls, every=every * (3 if every > 1 else 1), shift=number):
        story.fresh()
        fx = Failing(n, number, story.other, stays=stays)
        told = refused(story, story.apply, fx)
        story.check_safe(n)
        assert told is None or "\n" not in told
        if n % 2 and story.begun():
            story.back()
        else:
            if told is not None:
                story.apply(story.disk())
            story.check_planned((n, fx.failed))
            story.undo(story.disk())
        story.check_original((n, fx.failed))


def refused(story: Story, act: Callable[[Effects], None], fx: Failing) -> str | None:
    try:
        act(fx)
    except (SegmendError, OSError) as error:
        return str(error)
    return None


def test_a_dead_disk_is_told_with_the_file_and_the_way_on(story: Story) -> None:
    story.fresh()
    disk = story.disk()
    story.apply(disk)
    at = next(n for n, name in enumerate(disk.names, 1) if name == "truncate")
    story.fresh()
    with pytest.raises(SegmendError) as told:
        story.apply(Failing(at, errno.EIO, story.other))
    assert "0.log: input/output error; nothing is lost: the same command goes on" in str(told.value)
    assert "segmend undo 0001-test-" in str(told.value)


def test_the_net_sees_a_backup_that_was_not_synced(story: Story) -> None:
    """The model itself is proven: surgery that forgets to sync is caught by the power loss."""

    class Careless(Unplugged):
        def sync(self, fd: int) -> None:
            """Forgotten."""

    at = story.apply_calls - 8
    story.fresh()
    fx = Careless(at, story.folder / "stash", story.other)
    dies(story.apply, fx)
    fx.power_off(random.Random(4))

    def resume() -> None:
        story.check_safe(at)
        story.apply(story.disk())
        story.check_planned(at)

    with pytest.raises((AssertionError, SegmendError, OSError)):
        resume()


def test_nothing_is_written_outside_of_paths_and_state(story: Story) -> None:
    story.fresh()
    beside = [path for path in story.world.root.iterdir() if path.name not in ("a", "b", "state")]
    assert [path.name for path in beside] == ["replica"]
    story.apply(story.disk())
    names = {path.name for path in story.world.root.iterdir()}
    assert names == {"a", "b", "replica", "state"}
    assert not [path for path in story.world.root.rglob("*.tmp")]
    assert not [path for path in story.world.a.rglob(".lock")]
    assert os.listdir(story.world.state) == ["journals"]


def test_a_plan_survives_its_file(story: Story) -> None:
    assert Plan.parse(story.plan.render(), "plan.json").sha256 == story.plan.sha256
    assert Plan.parse(story.plan.render(), "plan.json").render() == story.plan.render()
