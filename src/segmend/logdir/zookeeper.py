"""What a stopped ZooKeeper has on its disk: the newest sound snapshot, and the transactions behind it.

Follows `FileTxnSnapLog.restore` and `FileSnap.deserialize`. The snapshot is written while its tree changes,
so transactions behind it may be in it already (`DataTree.processTxn` passes over them).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from segmend.formats import zookeeper_log, zookeeper_snapshot
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable

VERSION_DIR = "version-2"
_NAME = re.compile(r"(snapshot|log)\.([0-9a-f]{1,16})")
_LIMIT = 2 << 30


@frozen
class ZooKeeperData:
    """The data by path as of the transaction `zxid`; `doubts` tell what could not be read."""

    tree: dict[str, bytes]
    zxid: int
    doubts: tuple[str, ...] = ()


def read_data(dirs: Sequence[str]) -> ZooKeeperData:
    """Of its dataDir, and its dataLogDir if that is another one; raises `Unreadable`."""
    snapshots, logs = (sorted(_files(dirs, kind)) for kind in ("snapshot", "log"))
    doubts: list[str] = []
    for zxid, path in reversed(snapshots):
        tree, damages = zookeeper_snapshot.parse(disk.read(path, _LIMIT))
        if not damages:
            return _replayed(tree, zxid, logs, doubts)
        doubts.append(f"{path}: a snapshot of ZooKeeper's that is damaged ({damages[0].reason})")
    if not snapshots and any(first <= 1 for first, _ in logs):
        return _replayed({}, 0, logs, doubts)  # Of 3.4: it wrote none yet.
    why = doubts[0] if doubts else f"no {VERSION_DIR}/{zookeeper_snapshot.PREFIX}* of ZooKeeper's is there"
    raise Unreadable(", ".join(dirs), why)


def _files(dirs: Iterable[str], kind: str) -> Iterator[tuple[int, str]]:
    """(zxid of its name, path)."""
    for home in dirs:
        below = f"{home}/{VERSION_DIR}"
        folder = below if disk.path_type(below) is not None else home
        for name in disk.names(folder):
            match = _NAME.fullmatch(name)
            if match is not None and match[1] == kind:
                yield int(match[2], 16), f"{folder}/{name}"


def _replayed(
    tree: dict[str, bytes], zxid: int, logs: Sequence[tuple[int, str]], doubts: list[str]
) -> ZooKeeperData:
    first = max((each for each, _ in logs if each <= zxid + 1), default=None)
    if first is None:
        doubts.append(f"what ZooKeeper's transactions from {zxid + 1:#x} on changed: their log was not given")
    changes: list[zookeeper_log.NodeChange] = []
    for begins, path in logs:
        if first is None or begins >= first:
            logged, damages = zookeeper_log.parse(disk.read(path, _LIMIT))
            changes += (each for each in logged if each.zxid > zxid)
            if damages:
                reason = f"{damages[0].reason} at {damages[0].position}"
                doubts.append(
                    f"what {path} has behind a damage ({reason}), on which ZooKeeper does not start"
                )
                break
    changes.sort(key=lambda each: each.zxid)
    for change in changes:
        if change.data is None:
            tree.pop(change.path, None)
        elif change.makes != (change.path in tree):
            tree[change.path] = change.data
    return ZooKeeperData(
        tree=tree, zxid=max((each.zxid for each in changes), default=zxid), doubts=tuple(doubts)
    )
