"""What runs in a process of its own, forked from this one, perhaps as another user."""

import codecs
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

from tests.cli.run import Ran
from tests.surgery.faulty import CHANGES

from segmend.cli.main import main
from segmend.surgery.writing.effects import Effects

NOBODY = 65534
Meanwhile = Callable[[int, str, Callable[[], object]], object]


def begun(act: Callable[[], int], uid: int = 0, *, moment: float | None = None) -> Callable[[], int]:
    """A process does this, as that user; the call waits for its exit code, below 0 for a signal.

    With `moment` it gets a SIGKILL after so many seconds, if it still runs.
    """
    # Python may lie where only root reads, and what is loaded late is not there for the child.
    for late in ("utf-16-be", "unicode_escape"):
        codecs.lookup(late)
    import_module("concurrent.futures.thread")
    child = os.fork()
    if child == 0:
        code = 99
        try:
            if uid:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
            code = act()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    if moment is not None:
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
    return lambda: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def begun_and_heard(
    act: Callable[[], int], folder: Path, uid: int = 0, *, moment: float | None = None
) -> Callable[[], Ran]:
    """The same, with what it prints; `folder` holds that meanwhile."""
    base = Path(tempfile.mkdtemp(dir=folder))
    base.chmod(0o777)
    for name in ("out", "err"):
        # Who is killed at once opens neither.
        (base / name).touch()
        (base / name).chmod(0o666)

    def acted() -> int:
        with (
            open(base / "out", "w") as out,
            open(base / "err", "w") as err,
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            try:
                return act()
            except BaseException:
                traceback.print_exc()
                return 99

    wait = begun(acted, uid, moment=moment)

    def ended() -> Ran:
        ran = Ran(wait(), (base / "out").read_text(), (base / "err").read_text())
        shutil.rmtree(base)
        return ran

    return ended


def in_a_child(act: Callable[[], int]) -> int:
    """The exit code of a process that does this."""
    return begun(act)()


def as_user(act: Callable[[], object]) -> None:
    """In a process of a normal user, if this is root's."""

    def acted() -> int:
        act()
        return 0

    assert begun(acted, 0 if os.getuid() else NOBODY)() == 0


def owned_by_nobody(folder: Path) -> None:
    """Have all of it be that of the normal user of `as_user`."""
    for path in (folder, *folder.rglob("*")) if os.getuid() == 0 else ():
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def watched(argv: Iterable[object], meanwhile: Meanwhile) -> tuple[int, int]:
    """The exit code of a command, and how many changes of the disk it made; the process ends with it.

    `meanwhile` is called before each with its number, its name, and what makes the first half of a write.
    """
    calls = 0

    def counted(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def counting(self: Effects, *args: object) -> object:
            nonlocal calls
            calls += 1

            def half() -> object:
                fd, data, position = args
                assert isinstance(data, bytes | memoryview)
                return call(self, fd, data[: len(data) // 2], position)

            meanwhile(calls, name, half)
            return call(self, *args)

        return counting

    for name in CHANGES:
        setattr(Effects, name, counted(name, getattr(Effects, name)))
    return main([str(each) for each in argv]), calls
