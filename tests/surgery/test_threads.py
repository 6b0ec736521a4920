"""Two threads take the files of a directory that goes to another disk: their calls are stopped as all are.

Calls are counted by thread, as `strace -f` does it: by that count the first thread, which makes most of them,
would always be the one that is stopped.
"""

import errno
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from tests.memory import swift
from tests.seeds import SWEEP, sampled
from tests.surgery.child import as_user, owned_by_nobody
from tests.surgery.loop import COMMANDS, Loop
from tests.surgery.story import plans_read_once
from tests.surgery.world import make, plan_of, steps

from segmend.surgery.steps.move_dir import MoveDir

FILES = 6


def loop_in(folder: Path) -> Loop:
    """A directory of several files and one below, moved to another disk."""
    world = make(folder / "world")
    home = world.a / "far-0"
    home.chmod(0o755)
    for number in range(FILES):
        (home / f"{number}.snapshot").write_bytes(bytes([number]) * 100)
    move = next(step for step in steps(world) if isinstance(step, MoveDir) and str(home) in step.paths)
    return Loop(plan_of(world, [move]), world.state, world.tree, other=world.b)


def test_files_are_copied_and_removed_in_threads_and_all_else_is_done_in_one(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)
    for command in COMMANDS:
        made = loop.calls[command]
        others = Counter(name for name, thread in zip(made.names, made.threads, strict=True) if thread)
        assert {*made.threads} >= {0, 1}  # On a busy machine one of the two may take all.
        assert (others["create"], others["remove"]) == (FILES + 3, FILES + 2), others


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_each_call_of_each_thread_is_stopped(tmp_path: Path) -> None:
    """In CI half of them as root and the other half as a normal user, in a sweep each as both."""

    def stopped_everywhere(folder: Path, first: int) -> None:
        loop = loop_in(folder)
        for command in COMMANDS:
            stops = loop.each_call_of_a_thread(command, errno.ENOSPC, errno.EIO)
            some = islice(stops, 0 if SWEEP else first, None, sampled(1, 2))
            assert loop.play(command, some) > 3 * FILES

    with swift(tmp_path) as folder, plans_read_once():
        (folder / "root").mkdir()
        (folder / "user").mkdir()
        stopped_everywhere(folder / "root", 0)
        owned_by_nobody(folder)
        as_user(lambda: stopped_everywhere(folder / "user", 1))
