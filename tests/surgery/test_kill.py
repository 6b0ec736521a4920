"""A real process, really killed: `segmend apply` and `undo` with kill -9 at a change of the disk.

The process kills itself in the n-th call of its effects, before or in the middle of it, so that
nothing of Python runs afterwards: no `finally`, no flush, no release of a lock but by the kernel.
"""

import os
import shutil
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.removal import remove
from tests.surgery.child import in_a_child, watched
from tests.surgery.world import World, make, plan_of

from segmend.surgery.execute.runs import runs

pytestmark = pytest.mark.slow


def suicide(at: int, argv: Sequence[str]) -> tuple[int, int]:
    """The command, killed at its n-th change, 0 for never: its exit code, and how many changes it made."""

    def kill(call: int, name: str, half: Callable[[], object]) -> None:
        if call == at:
            if name == "write" and at % 2:
                half()
            os.kill(os.getpid(), signal.SIGKILL)

    return watched(argv, kill)


@dataclass(frozen=True)
class Ran:
    """How a process ended, and how many changes it made if it was not killed."""

    code: int
    calls: int


class Shell:
    """Commands as processes of their own, on a world that lies where its plan says."""

    def __init__(self, folder: Path) -> None:
        self.world = make(folder / "world")
        self.plan = folder / "plan.json"
        self.plan.write_bytes(plan_of(self.world).render())
        self.saved = folder / "saved"
        shutil.copytree(self.world.root, self.saved)
        self.before = self.world.tree()

    def fresh(self) -> World:
        remove(self.world.root)
        shutil.copytree(self.saved, self.world.root)
        return self.world

    def apply(self, die_at: int = 0) -> Ran:
        return self._run(die_at, "apply", str(self.plan), "--yes", "--state-dir", str(self.world.state))

    def undo(self, die_at: int = 0) -> Ran:
        return self._run(die_at, "undo", "--yes", "--state-dir", str(self.world.state))

    def _run(self, die_at: int, *argv: str) -> Ran:
        counted = self.plan.with_name("calls")
        counted.write_text("0")

        def act() -> int:
            code, calls = suicide(die_at, argv)
            counted.write_text(str(calls))
            return code

        code = in_a_child(act)
        return Ran(code, int(counted.read_text()))


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("kill"))


def test_kill_9_anywhere_in_apply_and_then_in_undo(shell: Shell) -> None:
    world = shell.fresh()
    ran = shell.apply()
    assert ran.code == 1
    after = world.tree(folder_times=False)
    back = shell.undo()
    assert back.code == 0
    for n in range(1, ran.calls + 1, 13):
        world = shell.fresh()
        assert shell.apply(n).code == -9
        assert shell.apply().code == 1
        assert world.tree(folder_times=False) == after, n
        assert shell.undo(1 + n % back.calls).code == -9
        assert shell.undo().code == 0
        assert world.tree() == shell.before, n


def test_kill_9_anywhere_in_apply_and_then_back(shell: Shell) -> None:
    world = shell.fresh()
    calls = shell.apply().calls
    for n in range(7, calls + 1, 29):
        world = shell.fresh()
        assert shell.apply(n).code == -9
        begun = [run for run in runs(str(world.state)) if run.events]
        assert shell.undo().code == (0 if begun else 16)
        assert world.tree() == shell.before, n
