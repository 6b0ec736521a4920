"""Free TCP ports on the loopback interface."""

import fcntl
import functools
import os
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.waiting import until

_given: set[int] = set()


def free_port() -> int:
    """A port that nothing listens on and that was not given out before: here, or in a run beside this one."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port not in _given and _is_mine(port):
            _given.add(port)
            return port


@functools.cache
def _locks() -> int:
    """A file that has a byte for each port, locked by the run of tests that was given it."""
    path = Path(tempfile.gettempdir(), f"segmend-ports-{os.getuid()}.lock")
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _is_mine(port: int) -> bool:
    try:
        fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


def is_free(port: int) -> bool:
    """Whether nothing listens on it."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def wait_until_free(ports: Sequence[int], seconds: float = 60) -> None:
    """Recorded log dirs name their ports, and a broker stopped before may hold them a moment longer."""
    what = f"ports {list(ports)}, which the recorded log dirs need, to be free"
    until(what, lambda: all(map(is_free, ports)), seconds)
