"""A plan on a small world, and every state of its disk in which it can be stopped.

Whoever goes on has nothing but the disk. So a command is stopped everywhere, each state that this
leaves is compared with those known already (`Story.is_new`), and only from a new one do `resume`
and `back` have to lead to the planned and to the original state: two stops that leave the same
bytes, names, modes, times and attributes, journal included, are one case.
"""

import errno
import hashlib
import os
import random
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

import pytest
from tests.files import contents
from tests.removal import remove
from tests.seeds import SEED, sampled, some_of
from tests.surgery.faulty import Died, Disk, Failing, Photographed, Unplugged
from tests.surgery.picture import Tree, attributes
from tests.surgery.world import chunks, lost, make, plan_of

from segmend.errors import SegmendError
from segmend.formats.names import parse_dir_name, parse_file_name
from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.journal import acknowledge
from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.execute.runs import find, runs
from segmend.surgery.execute.undo import undo
from segmend.surgery.plan import Plan
from segmend.surgery.writing.effects import Effects

ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS)
SEEDS = range(SEED, SEED + sampled(4, 2))
"""Of what is lost by chance when the power goes."""
EACH = 5
"""CI takes one call of so many, another one in the other story; a sweep takes all."""
Case = TypeVar("Case")
AGES = 1_700_000_000_000_000_000
"""Files of the world are older; what has a later time has it from now."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A command stopped at some call: `reach` brings the disk into the state in which that leaves it."""

    why: str
    call: int
    reach: Callable[[], object]


class Story:
    """A world, its plan, and what it looks like before and after; copies of it are cheap.

    `second_disk` is the directory of the world that counts as lying on another disk; `most` how many cases
    of each kind are taken; one in `EACH` if it is None.
    """

    def __init__(self, folder: Path, second_disk: str, most: int | None = None) -> None:
        # Every copy must lie at the same place, because a plan names real paths.
        self.world = make(folder / "world")
        self.other = self.world.root / second_disk
        self.folder = folder
        self.plan = plan_of(self.world)
        self.wanted = chunks(self.world)
        self.before = self.world.tree()
        self.saved = folder / "saved"
        self.stash = folder / "stash"
        self.most = most
        self.turn = second_disk == "state"
        self._known: set[tuple[str, str]] = set()
        self._stops: dict[str, list[Stop]] = {}
        _copy(self.world.root, self.saved)
        # As all runs that follow: a copy, whose inodes are not those of the plan.
        self.restore(self.saved)
        disk = self.disk()
        self.apply(disk)
        self.calls = {"apply": disk.names}
        self.after = self.world.tree(folder_times=False)
        self.applied = folder / "applied"
        _copy(self.world.root, self.applied)
        disk = self.disk()
        self.undo(disk)
        self.calls["undo"] = disk.names
        assert self.world.tree() == self.before

    def disk(self) -> Disk:
        return Disk(self.other)

    def restore(self, source: Path) -> None:
        """The world as in a copy of it."""
        remove(self.world.root)
        _copy(source, self.world.root)

    def start(self, command: str) -> None:
        """As before the command: `undo` starts from the applied plan."""
        self.restore(self.saved if command == "apply" else self.applied)

    def apply(self, fx: Effects) -> None:
        """As the command does, up to its last act."""
        acknowledge(fx, apply(self.plan, str(self.world.state), fx=fx).run, lambda: 0.0)

    def undo(self, fx: Effects) -> None:
        acknowledge(fx, undo(find(str(self.world.state), None), fx=fx).run, lambda: 0.0)

    def act(self, command: str, fx: Effects) -> None:
        (self.apply if command == "apply" else self.undo)(fx)

    def dies(self, command: str, fx: Effects) -> bool:
        """Whether it died; False if it came to its end before."""
        try:
            self.act(command, fx)
        except Died:
            return True
        return False

    # The states in which a command can be stopped.

    def stops(self, how: str, command: str) -> Sequence[Stop]:
        """One in `EACH`, or a few of them."""
        found: dict[str, Callable[[], Iterable[Stop]]] = {
            "killed": lambda: self.killed(command),
            "unplugged": lambda: self._draw([*self._unplugged(command)]),
            "refused": lambda: self._draw([*self._refused(command, stays=False)]),
            "refused for good": lambda: self._draw([*self._refused(command, stays=True)]),
        }
        return [*found[how]()]

    def _draw(self, cases: Sequence[Case]) -> Sequence[Case]:
        if self.most is None:
            return some_of(cases, EACH, self.turn)
        return random.Random(self.most).sample(cases, self.most)

    def killed(self, command: str) -> list[Stop]:
        """Before each change, and in the middle of each write, but for states that were there already."""
        if command not in self._stops:
            self.start(command)
            found: list[Stop] = []
            known: set[str] = set()
            wanted = {*self._draw(range(1, len(self.calls[command]) + 1))}

            def look(call: int, words: str) -> None:
                state = self._state() if call in wanted else ""
                if call in wanted and state not in known:
                    known.add(state)
                    saved = self._kept(f"{command}-{len(found)}")
                    found.append(Stop(words, call, lambda: self.restore(saved)))

            self.act(command, Photographed(look, self.other))
            self._stops[command] = found
        return self._stops[command]

    def _unplugged(self, command: str) -> Iterator[Stop]:
        """What was not synced is lost: all of it (which is other after a sync only), or by chance some."""
        names = self.calls[command]
        chances: list[tuple[int, int | None]] = [(call, None) for call in range(1, len(names) + 1)]
        chances = [(call, None) for call, _ in chances if call == 1 or names[call - 2] == "sync"]
        changing = sorted({stop.call for stop in self.killed(command)})
        chances += [(call, seed) for call in changing for seed in SEEDS]
        for call, seed in chances:
            yield Stop(
                f"power lost at call {call}, {seed=}", call, partial(self._unplug, command, call, seed)
            )

    def _unplug(self, command: str, call: int, seed: int | None) -> None:
        self.start(command)
        fx = Unplugged(call, self.stash, self.other)
        self.dies(command, fx)
        self.power_off(fx, None if seed is None else random.Random(seed * 1000 + call))

    def power_off(self, fx: Unplugged, chance: random.Random | None = None) -> None:
        """Lose what was not synced."""
        fx.power_off(chance)
        shutil.rmtree(self.stash)

    def _refused(self, command: str, *, stays: bool) -> Iterator[Stop]:
        """Each call refused; it meets each of the errors once, over both stories, once and for good."""
        met: Counter[str] = Counter()
        for call, name in enumerate(self.calls[command], 1):
            met[name] += 1
            number = ERRORS[(met[name] + 2 * self.turn + stays) % len(ERRORS)]
            words = f"{errno.errorcode[number]} at call {call}, {name}, {stays=}"
            yield Stop(words, call, partial(self._refuse, command, call, number, stays))

    def _refuse(self, command: str, call: int, number: int, stays: bool) -> None:
        self.start(command)
        told = ""
        try:
            self.act(command, Failing(call, number, self.other, stays=stays))
        except (SegmendError, OSError) as error:
            told = str(error)
        assert "\n" not in told

    # What must be true of them.

    def is_new(self, goal: str) -> bool:
        """Whether no other stop on the way to this goal left the disk as it is now."""
        key = (goal, self._state())
        found = key not in self._known
        self._known.add(key)
        return found

    def check_stopped(self, command: str, why: str) -> bool:
        """From where the disk is now both ways lead to their ends; False if that is known already."""
        if not self.is_new(command):
            return False
        self.check_safe(why)
        here = self._kept("here")
        self._go_on(command, why)
        self.restore(here)
        remove(here)
        self._turn_back(command, why)
        return True

    def _go_on(self, command: str, why: str) -> None:
        """The same command again, unless it had come to its end; then the way back."""
        if command == "undo":
            if not self._is_done("undone"):
                self.undo(self.disk())
            self.check_original((why, "undone"))
            return
        if not self._is_done("applied"):
            self.apply(self.disk())
        self.check_planned((why, "applied"))
        self.undo(self.disk())
        self.check_original((why, "applied and undone"))

    def _turn_back(self, command: str, why: str) -> None:
        """The other command."""
        if command == "apply":
            if self.begun():
                self.undo(self.disk())
            self.check_original((why, "taken back"))
            return
        if self.begun()[-1].state != "applied":  # else it died before it said that it began
            self.apply(self.disk())
        self.check_planned((why, "applied again"))

    def _is_done(self, state: str) -> bool:
        return any(run.state == state and run.told for run in self.begun())

    def begun(self) -> list[PlanRun]:
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
        self._check_loadable(why)

    def _check_loadable(self, why: object) -> None:
        """A broker started now takes no half-moved directory for a partition, and dies of no name."""
        whole = contents(self.saved / "a" / "far-0")
        for home in (self.world.a, self.world.b):
            assert not (home / "far-0").exists() or contents(home / "far-0") == whole, why
            for path in home.iterdir():
                assert not path.is_dir() or parse_dir_name(path.name).kind != "foreign", (why, path)
            for path in home.glob("*/*"):
                assert parse_file_name(path.name).kind != "unparsable", (why, path)

    def _state(self) -> str:
        """All that a process which is started now could see; of times that are from now only that."""
        digest = hashlib.sha256()
        for path in sorted(self.world.root.rglob("*")):
            s = path.lstat()
            time = min(s.st_mtime_ns, AGES)
            content = b"" if stat.S_ISDIR(s.st_mode) else path.read_bytes()
            digest.update(repr((str(path), s.st_mode, s.st_uid, time, attributes(path), content)).encode())
        return digest.hexdigest()

    def _kept(self, name: str) -> Path:
        place = self.folder / "stops" / name
        place.parent.mkdir(exist_ok=True)
        _copy(self.world.root, place)
        return place


def _copy(source: str | Path, target: str | Path) -> None:
    """As `shutil.copytree`, which takes twice the time for small files."""
    os.mkdir(target)
    with os.scandir(source) as entries:
        for entry in entries:
            place = f"{target}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                _copy(entry.path, place)
            elif entry.is_symlink():
                os.symlink(os.readlink(entry.path), place)
            else:
                _copy_file(entry.path, place)
    shutil.copystat(source, target)


def _copy_file(source: str, target: str) -> None:
    with open(source, "rb", 0) as old, open(target, "wb", 0) as new:
        new.write(old.read())
        status = os.fstat(old.fileno())
        for name in os.listxattr(old.fileno()):
            os.setxattr(new.fileno(), name, os.getxattr(old.fileno(), name))
        os.utime(new.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
        os.fchmod(new.fileno(), status.st_mode & 0o7777)


@contextmanager
def plans_read_once() -> Iterator[None]:
    """The same bytes are the same plan: a third of the time went into reading it from them again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plan, "parse", staticmethod(cache(Plan.parse)))
        yield


def difference(expected: Tree, found: Tree) -> dict[str, tuple[object, object]]:
    names = expected.keys() | found.keys()
    return {n: (expected.get(n), found.get(n)) for n in names if expected.get(n) != found.get(n)}
