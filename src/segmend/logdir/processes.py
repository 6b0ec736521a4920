"""Which processes have files below a directory open for writing, as far as /proc tells.

The lock file is what counts; this is for a broker whose `.lock` was deleted under it, or lies on a
file system that does not know locks. Processes of other users are seen only by root.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from segmend.logdir import disk
from segmend.logdir.disk import Unreadable

_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A process, the first file of ours that it may write to, and the beginning of its command line."""

    pid: int
    path: str
    command: str


def writers(paths: Sequence[str]) -> Iterator[Writer]:
    """Other processes with something open for writing below these real paths; never raises."""
    for name in _names("/proc"):
        if name.isdecimal() and int(name) != os.getpid():
            path = _written(name, tuple(f"{path.rstrip('/')}/" for path in paths))
            if path is not None:
                yield Writer(pid=int(name), path=path, command=_command(name))


def _written(pid: str, prefixes: tuple[str, ...]) -> str | None:
    for fd in _names(f"/proc/{pid}/fd"):
        target = disk.link_target(f"/proc/{pid}/fd/{fd}")
        if target is not None and target.startswith(prefixes) and _for_writing(pid, fd):
            return target
    return None


def _for_writing(pid: str, fd: str) -> bool:
    for line in _small(f"/proc/{pid}/fdinfo/{fd}").splitlines():
        if line.startswith(b"flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return False


def _names(path: str) -> list[str]:
    try:
        return disk.names(path)
    except Unreadable:
        return []


def _small(path: str) -> bytes:
    """Files of /proc have no size, so `disk.read` would find them empty."""
    try:
        return disk.read_stream(path, _LIMIT)
    except Unreadable:
        return b""


def _command(pid: str) -> str:
    words = _small(f"/proc/{pid}/cmdline").split(b"\0")
    # A broker's command line has hundreds of jars in it; what is run stands first and in the end.
    shown = [os.fsdecode(word) for word in (words[0], *words[-3:]) if word]
    return " ".join(" ".join(dict.fromkeys(shown)).split())[:200]
