"""The log dirs that server.properties lists, held against those that were given; and what it names beside."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from segmend.broker.server_listeners import stores
from segmend.formats.names import parse_dir_name
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable

if TYPE_CHECKING:
    from segmend.logdir.log_dir import LogDir
    from segmend.node.broker_dirs import BrokerDirs


def left_out(broker: BrokerDirs) -> Iterator[str]:
    """Log dirs of the configuration that are there and were not given, if any of the others was."""
    wanted, given = _wanted(broker)
    for path in wanted:
        if disk.real_path(path) not in given and _is_there(path):
            yield f"{path}: a log dir in server.properties that was not given"


def unlisted(broker: BrokerDirs) -> Iterator[str]:
    """Log dirs that were given and are none of the configuration, which names some of the others."""
    wanted, _ = _wanted(broker)
    listed = {disk.real_path(path) for path in wanted}
    for each in broker.dirs:
        if listed and each.real_path not in listed:
            yield f"{each.path}: no log dir in server.properties, so the broker opens nothing of it"


def absent(broker: BrokerDirs) -> list[str]:
    """Log dirs of the configuration that are not there, if any of the others is among those given."""
    wanted, _ = _wanted(broker)
    return [path for path in wanted if not _is_there(path)]


def made_in(broker: BrokerDirs, log_dir: LogDir) -> Iterator[str]:
    """Directories that the broker makes in this dir before it loads it: a log dir, or the way to one."""
    for path in absent(broker):
        within = os.path.relpath(disk.real_path(path), log_dir.real_path)
        name = within.partition("/")[0]
        if name not in (".", "..") and parse_dir_name(name).kind == "foreign":
            yield name


_NAMES: Final = "whether it starts: {} names {}, which is not here"
_READ_FROM: Final = "whether it starts: {} is to be read from {}, which is not here"


def missing_files(broker: BrokerDirs) -> dict[str, str]:
    """Stores of its listeners, and files of config providers, that are not where its log dirs are.

    By the settings that want them. Seen on 4.3.1: it ends ("Modification time of key store could not be
    obtained", "Could not read properties from file").
    """
    wanted, _ = _wanted(broker)
    if not wanted or broker.given is None:
        return {}
    given = broker.given
    named = {name: path for name, path in stores(given.given).items() if name not in given.provided}
    read = {name: path for path, name in given.provider_files.items()}
    return {
        name: words.format(name, path)
        for words, paths in ((_NAMES, named), (_READ_FROM, read))
        for name, path in paths.items()
        if path.startswith("/") and not _is_there(path)
    }


def _wanted(broker: BrokerDirs) -> tuple[list[str], set[str]]:
    """The dirs of the configuration, if it speaks of those that were given, and these."""
    given = {each.real_path for each in broker.dirs}
    wanted = [] if broker.given is None else list(broker.given.all_dirs)
    return (wanted if any(disk.real_path(path) in given for path in wanted) else []), given


def _is_there(path: str) -> bool:
    """Whether anything is, a loop of links or what this process may not see among it."""
    try:
        return disk.path_type(path) is not None
    except Unreadable:
        return True
