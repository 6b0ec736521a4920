"""`log.<zxid>` of ZooKeeper's dataLogDir: what changed in its tree, one transaction after the other.

Follows `FileTxnLog.FileTxnIterator`, `SerializeUtils.deserializeTxn` and `DataTree.processTxn`, version 2.
The file is preallocated: zeros end it, as a transaction that is cut off does. Damage kinds: `bad-magic`,
`malformed`, `bad-checksum`; ZooKeeper refuses to start over them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from segmend.formats.cursor import Cursor, Malformed, Truncated
from segmend.formats.damage import Damage
from segmend.formats.zookeeper_snapshot import buffer, skip_acl, text
from segmend.frozen import frozen

PREFIX = "log."
_MAGIC = 0x5A4B4C47
_CREATES, _DELETES = frozenset({1, 15, 19, 21}), frozenset({2, 20})
"""`ZooDefs.OpCode`: create, create2, createContainer, createTTL; delete, deleteContainer."""
_SET_DATA, _MULTI = 5, 14


@frozen
class NodeChange:
    """One node made, written (`data`) or deleted (None); `makes` says that it must not be there yet."""

    zxid: int
    path: str
    data: bytes | None
    makes: bool = False


def parse(data: bytes) -> tuple[tuple[NodeChange, ...], tuple[Damage, ...]]:
    """The changes up to the end, or to the first damage."""
    changes: list[NodeChange] = []
    cursor = Cursor(data)
    try:
        if cursor.i32() != _MAGIC:
            return (), (Damage("bad-magic", 0, "it does not begin with ZKLG"),)
        cursor.take(12)  # version, dbid
        while True:
            at = cursor.position
            stored, entry = cursor.i64(), buffer(cursor)
            if not entry:
                break
            cursor.take(1)  # 0x42: the transaction was written to its end
            if stored != zlib.adler32(entry):
                return tuple(changes), (Damage("bad-checksum", at, "the checksum (Adler-32) is another one"),)
            changes += _changes(entry, at)
    except Truncated:
        pass
    except Malformed as error:
        return tuple(changes), (Damage("malformed", error.position, error.reason),)
    return tuple(changes), ()


def _changes(entry: bytes, at: int) -> list[NodeChange]:
    cursor = Cursor(entry)
    try:
        cursor.take(12)  # clientId, cxid
        zxid = cursor.i64()
        cursor.take(8)  # time
        return list(_of(zxid, cursor.i32(), cursor))
    except Malformed as error:
        raise Malformed(at, f"a transaction with a right checksum: {error.reason}") from None


def _of(zxid: int, kind: int, cursor: Cursor) -> Iterator[NodeChange]:
    if kind in _CREATES:
        path, data = text(cursor), buffer(cursor)
        skip_acl(cursor)
        yield NodeChange(zxid=zxid, path=path, data=data, makes=True)
    elif kind in _DELETES:
        yield NodeChange(zxid=zxid, path=text(cursor), data=None)
    elif kind == _SET_DATA:
        yield NodeChange(zxid=zxid, path=text(cursor), data=buffer(cursor))
    elif kind == _MULTI:
        for _ in range(cursor.i32()):
            inner, body = cursor.i32(), Cursor(buffer(cursor))
            if inner != _MULTI:  # ZooKeeper writes none within another
                yield from _of(zxid, inner, body)
