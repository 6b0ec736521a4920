"""Other processes beside the tests: those that hold a file, or look like a broker."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

LOCK = "import fcntl; fcntl.lockf(file, fcntl.LOCK_EX)  # what Java's FileChannel.tryLock does"
WAIT = "print('ready', flush=True); sys.stdin.read()"


@contextmanager
def waiting(script: str, *arguments: object, cwd: Path | None = None) -> Iterator[int]:
    """A Python process that has done this, and waits until it is no longer wanted; its id."""
    command = [sys.executable, "-c", f"import sys\n{script}\n{WAIT}", *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
        process.communicate()


def holding(path: Path, mode: str = "a", then: str = "") -> AbstractContextManager[int]:
    """One that has a file open."""
    return waiting(f"file = open(sys.argv[1], sys.argv[2])\n{then}", path, mode)


def broker_on(log_dir: Path) -> AbstractContextManager[int]:
    """One that holds the lock of a log dir as a broker does."""
    return holding(log_dir / ".lock", then=LOCK)
