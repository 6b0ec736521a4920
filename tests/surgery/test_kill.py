"""A real process, really killed: `segmend apply` and `undo` with kill -9 at a change of the disk.

The process kills itself in the n-th call of its effects, before or in the middle of it, so that
nothing of Python runs afterwards: no `finally`, no flush, no release of a lock but by the kernel.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.run import SOURCE
from tests.surgery.world import World, make, plan_of

from segmend.surgery.execute.journal import runs

pytestmark = pytest.mark.slow

SUICIDE = """
import os, signal, sys
from segmend.surgery.writing.effects import Effects
from segmend.cli.main import main

at, calls = int(sys.argv[1]), [0]

def deadly(name, call):
    def counted(self, *args):
        calls[0] += 1
        if calls[0] == at:
            if name == "write" and at % 2:
                call(self, args[0], bytes(args[1])[: len(args[1]) // 2], args[2])
            os.kill(os.getpid(), signal.SIGKILL)
        return call(self, *args)
    return counted

for name in ("create write truncate set_owner set_mode set_attributes set_mtime sync rename remove make_dir "
             "remove_dir").split():
    setattr(Effects, name, deadly(name, getattr(Effects, name)))
code = main(sys.argv[2:])
print(calls[0], file=sys.stderr)
sys.exit(code)
"""


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
        shutil.rmtree(self.world.root)
        shutil.copytree(self.saved, self.world.root)
        return self.world

    def apply(self, die_at: int = 0) -> subprocess.CompletedProcess[str]:
        return self._run(die_at, "apply", str(self.plan), "--yes", "--state-dir", str(self.world.state))

    def undo(self, die_at: int = 0) -> subprocess.CompletedProcess[str]:
        return self._run(die_at, "undo", "--yes", "--state-dir", str(self.world.state))

    def _run(self, *argv: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", SUICIDE, *map(str, argv)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("kill"))


def test_kill_9_anywhere_in_apply_and_then_in_undo(shell: Shell) -> None:
    world = shell.fresh()
    ran = shell.apply()
    assert ran.returncode == 1, ran.stderr
    calls = int(ran.stderr.split()[-1])
    after = world.tree(folder_times=False)
    back = shell.undo()
    assert back.returncode == 0, back.stderr
    undo_calls = int(back.stderr.split()[-1])
    for n in range(1, calls + 1, 13):
        world = shell.fresh()
        assert shell.apply(n).returncode == -9
        assert shell.apply().returncode == 1
        assert world.tree(folder_times=False) == after, n
        assert shell.undo(1 + n % undo_calls).returncode == -9
        assert shell.undo().returncode == 0
        assert world.tree() == shell.before, n


def test_kill_9_anywhere_in_apply_and_then_back(shell: Shell) -> None:
    world = shell.fresh()
    calls = int(shell.apply().stderr.split()[-1])
    for n in range(7, calls + 1, 29):
        world = shell.fresh()
        assert shell.apply(n).returncode == -9
        begun = [run for run in runs(str(world.state)) if run.events]
        assert shell.undo().returncode == (0 if begun else 16)
        assert world.tree() == shell.before, n
