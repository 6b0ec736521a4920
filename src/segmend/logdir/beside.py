"""What lies beside log dirs on the machine of their broker and tells its release.

`server.log` names it at each start (`AppInfoParser`), `server.properties` the protocol that the brokers of
the cluster speak, which none of them is older than. They count only where they speak of one of these dirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from segmend.errors import UsageError
from segmend.formats import java_properties
from segmend.formats.meta_properties import FILE_NAME as META_PROPERTIES
from segmend.logdir import disk
from segmend.logdir.file_system import FOLDERS, Unreadable, or_none
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release, Told

_LOGS: Final = ("server.log", "logs/server.log")
_PROPERTIES: Final = ("server.properties", "config/server.properties")
_PROTOCOL: Final = "inter.broker.protocol.version"
_SEARCHED: Final = 64 << 20
_STARTED = re.compile(rb"Kafka version ?: (\d[\d.]*) ?\(?[a-z.]*AppInfoParser|Kafka version ?: (\d[\d.]*)\s")
_DIRS = re.compile(rb"^\s*log\.dirs? = (.+)$", re.MULTILINE)


def told_beside(dirs: Iterable[LogDir], given: Mapping[str, str] | None) -> Told | None:
    """What a `server.log` beside the dirs tells, or else server.properties: `given`, or one beside them."""
    paths = [log_dir.real_path for log_dir in dirs if log_dir.files is disk and not log_dir.unreadable]
    homes = list(dict.fromkeys(path.rpartition("/")[0] for path in paths))
    logs = (_by_log(f"{home}/{name}", paths) for home in homes for name in _LOGS)
    told = next(filter(None, logs), None)
    if told is not None:
        return told
    if given is not None:
        return _by_protocol(given, "server.properties")
    files = (f"{home}/{name}" for home in homes for name in _PROPERTIES)
    return next(filter(None, (_by_properties(file, paths) for file in files)), None)


def left_out(dirs: Iterable[LogDir]) -> Iterator[tuple[str, str]]:
    """Log dirs of the same broker that lie beside these and are none of them, if each has a partition that is
    in none of these: a copy has none. With the first such partition."""
    every = list(dirs)
    given = [each for each in every if each.device and each.meta_properties.value is not None]
    real = {each.real_path for each in every}
    owners = {_owner(each) for each in given} - {(None, None)}
    there = {partition.name for each in given for partition in each.current}
    for home in dict.fromkeys(path.rpartition("/")[0] for path in sorted(each.real_path for each in given)):
        folders = (n for n, type in (or_none(disk.listing, home or "/") or {}).items() if type in FOLDERS)
        paths = (f"{home}/{name}" for name in sorted(folders))
        for path in (each for each in paths if or_none(disk.file_size, f"{each}/{META_PROPERTIES}")):
            other = LogDir.attempt(path)
            if other.real_path in real or _owner(other) not in owners:
                continue
            more = next((each.name for each in other.current if each.name not in there), None)
            if more is not None:
                yield other.path, more


def _owner(log_dir: LogDir) -> tuple[str | None, int | None]:
    return (None, None) if log_dir.node_id is None else (log_dir.cluster, log_dir.node_id)


def _by_log(path: str, dirs: Iterable[str]) -> Told | None:
    data = _last_bytes(path)
    starts = list(_STARTED.finditer(data))
    listed = [part.strip() for line in _DIRS.findall(data) for part in line.decode("latin-1").split(",")]
    if not starts or not set(map(disk.real_path, listed)) & set(dirs):
        return None
    release = _parsed((starts[-1][1] or starts[-1][2]).decode("ascii"))
    return None if release is None else Told(release, True, f"{path} says so at the last start")


def _last_bytes(path: str) -> bytes:
    try:
        with disk.open(path) as reader:
            return reader.read(_SEARCHED, max(0, reader.size - _SEARCHED))
    except Unreadable:
        return b""


def _by_properties(path: str, dirs: Iterable[str]) -> Told | None:
    try:
        properties, _ = java_properties.parse(disk.read(path))
    except Unreadable:
        return None
    rows = properties.as_dict()
    listed = _listed(rows)
    return _by_protocol(rows, path) if set(map(disk.real_path, listed)) & set(dirs) else None


def _listed(rows: Mapping[str, str]) -> Iterator[str]:
    for name in ("log.dirs", "log.dir"):
        yield from filter(None, (part.strip() for part in rows.get(name, "").split(",")))


def _by_protocol(rows: Mapping[str, str], path: str) -> Told | None:
    value = rows.get(_PROTOCOL, "").partition("-")[0].strip()
    release = _parsed(value)
    return None if release is None else Told(release, False, f"{_PROTOCOL} is {value} in {path}")


def _parsed(text: str) -> Release | None:
    try:
        return Release.parse(text.strip().rstrip("."))
    except UsageError:
        return None
