"""Which processes have files below a directory open for writing, or are its broker, as far as /proc tells.

The lock file is what counts; this is for a broker whose `.lock` was deleted under it, or lies on a
file system that does not know locks. What processes of other users have open is seen only by root,
but their command lines by all: a broker's names its configuration, and that its log dirs.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence

from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.logdir.config import ServerConfig
from segmend.logdir.file_system import Unreadable, or_none

_LIMIT = 1 << 20
_BROKERS = (b"kafka.Kafka", b"io.confluent.support.metrics.SupportedKafka")
_OVERRIDE = b"--override"


@frozen
class Writer:
    """A process, the first file of ours that it may write to, and the beginning of its command line."""

    pid: int
    path: str
    command: str


def max_map_count() -> int | None:
    """How many memory maps this machine allows a process (vm.max_map_count), if it tells."""
    try:
        return int(_small("/proc/sys/vm/max_map_count"))
    except ValueError:
        return None


def writers(paths: Sequence[str]) -> Iterator[Writer]:
    """Other processes with something open for writing below these real paths; never raises."""
    for name in _names("/proc"):
        if name.isdecimal() and int(name) != os.getpid():
            path = _written(name, tuple(f"{path.rstrip('/')}/" for path in paths))
            if path is not None:
                yield Writer(pid=int(name), path=path, command=_command(_words(name)))


def brokers(paths: Sequence[str]) -> Iterator[Writer]:
    """Other processes that run Kafka with one of these real paths as log dir (`path`); never raises.

    Follows `kafka.Kafka`: a properties file, then `--override key=value`.
    """
    for name in _names("/proc"):
        if name.isdecimal() and int(name) != os.getpid():
            words = _words(name)
            log_dir = next(
                (p for place in _log_dirs(name, words) for p in paths if _same(name, place, p)), None
            )
            if log_dir is not None:
                yield Writer(pid=int(name), path=log_dir, command=_command(words))


def _log_dirs(pid: str, words: Sequence[bytes]) -> Sequence[str]:
    """As in the configuration that a broker was started with; nothing if it is none, or cannot be read."""
    main = next((number for number, word in enumerate(words) if word in _BROKERS), len(words))
    after = words[main + 1 :]
    if not after:
        return ()
    file = os.fsdecode(after[0])
    config = next((c for c in map(_config, _seen_by(pid, file)) if c is not None), None)
    if config is None:
        return ()
    given = dict(config.given)
    for option, value in itertools.pairwise(after):
        if option == _OVERRIDE:
            key, _, text = os.fsdecode(value).partition("=")
            given[key.strip()] = text.strip()
    return ServerConfig(given=given).log_dirs


def _seen_by(pid: str, path: str) -> Iterator[str]:
    """Paths under which we find what a process calls by this name: it may be in a container."""
    yield f"/proc/{pid}/root{path}" if path.startswith("/") else f"/proc/{pid}/cwd/{path}"
    if path.startswith("/"):
        yield path


def _config(path: str) -> ServerConfig | None:
    return or_none(ServerConfig.load, path)


def _same(pid: str, place: str, path: str) -> bool:
    for seen in _seen_by(pid, place):
        try:
            one, other = disk.file_stat(seen), disk.file_stat(path)
        except Unreadable:
            continue
        return (one.device, one.inode) == (other.device, other.inode)
    return False


def _words(pid: str) -> list[bytes]:
    return _small(f"/proc/{pid}/cmdline").split(b"\0")


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
    return or_none(disk.names, path) or []


def _small(path: str) -> bytes:
    """Files of /proc have no size, so `disk.read` would find them empty."""
    return or_none(disk.read_stream, path, _LIMIT) or b""


def _command(words: Sequence[bytes]) -> str:
    # A broker's command line has hundreds of jars in it; what is run stands first and in the end.
    shown = [os.fsdecode(word) for word in (words[0], *words[-3:]) if word]
    return " ".join(" ".join(dict.fromkeys(shown)).split())[:200]
