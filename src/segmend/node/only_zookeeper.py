"""What only ZooKeeper knows of log dirs that show that it matters: what was, or is to be, in a place."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from segmend.formats.names import parse_dir_name
from segmend.logdir.beside import left_out
from segmend.logdir.tree import LogDir

LONE_FUTURE: Final = (
    "{0}: whether ZooKeeper has {1} here; the broker makes it anew then, and empties this one; the dir goes "
    "offline if it is made in it"
)
_LEFT_OUT: Final = (
    "{0}: a dir of this broker with {1} and perhaps more, which was not given; if log.dirs lacks it, what "
    "ZooKeeper has of it is made again, empty"
)
_EMPTIED = "which partitions were in this empty dir (ZooKeeper knows); they are made again, empty"
_NOT_SERVED = "which partitions are or were in this dir (ZooKeeper knows); no client gets them"


def only_zookeeper_knows(
    dirs: Sequence[LogDir], absent: Collection[str] = (), offline: Collection[str] = ()
) -> Iterator[str]:
    """What lay in dirs that are empty or not there, or in whose partitions' places something else lies.

    `absent` are paths of log dirs that are not there, `offline` those of `dirs` that the broker goes without.
    """
    blank = [each for each in dirs if each.meta_properties.missing and not each.partitions]
    becomes = {each.path: _NOT_SERVED if each.path in offline else _EMPTIED for each in blank}
    becomes |= dict.fromkeys(absent, _EMPTIED)
    yield from (f"{path}: {words}" for path, words in becomes.items())
    for each in dirs:
        for name in each.others:
            if parse_dir_name(name).kind == "current":
                yield f"{each.path}/{name}: whether ZooKeeper has a replica of this name; it is no directory"
    current = {one.key for each in dirs for one in each.current}
    for one in (one for each in dirs for one in each.partitions if one.kind == "future"):
        if one.key not in current and one.log_dir.path not in offline:
            yield LONE_FUTURE.format(one.path, f"{one.topic}-{one.partition}")


def not_given(dirs: Sequence[LogDir], absent: Collection[str] = ()) -> Iterator[str]:
    """Dirs of the broker that lie beside these."""
    for path, name in left_out(dirs):
        if path not in absent:
            yield _LEFT_OUT.format(path, name)
