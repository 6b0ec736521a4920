"""`snapshot.<zxid>` of ZooKeeper's dataDir: the nodes of its tree, and what is in each.

Follows `FileSnap`, `SerializeUtils.deserializeSnapshot` and `DataTree.deserialize`, version 2, of ZooKeeper
3.4 to 3.9 (what 3.6 and later write behind the first checksum is no part of the tree). ZooKeeper passes over
a snapshot with any damage. Damage kinds: `truncated`, `bad-magic`, `malformed`, `bad-checksum`.
"""

from __future__ import annotations

import zlib

from segmend.formats.cursor import Cursor, Malformed, Truncated
from segmend.formats.damage import Damage

PREFIX = "snapshot."
_MAGIC = 0x5A4B534E
_SESSION, _STAT = 12, 68
"""Bytes of a session (id, timeout) and of what a node has besides its data (acl, `StatPersisted`)."""


def parse(data: bytes) -> tuple[dict[str, bytes], tuple[Damage, ...]]:
    """The data by path, as far as it goes."""
    tree: dict[str, bytes] = {}
    cursor = Cursor(data)
    try:
        if cursor.i32() != _MAGIC:
            return tree, (Damage("bad-magic", 0, "it does not begin with ZKSN"),)
        cursor.take(12)  # version, dbid
        cursor.take(_SESSION * cursor.i32())
        for _ in range(cursor.i32()):
            cursor.take(8)
            skip_acl(cursor)
        while (path := text(cursor)) != "/":
            tree[path] = buffer(cursor)
            cursor.take(_STAT)
        sealed = cursor.position
        stored = cursor.i64()
    except Truncated as error:
        return tree, (Damage("truncated", error.position, error.reason),)
    except Malformed as error:
        return tree, (Damage("malformed", error.position, error.reason),)
    if stored != zlib.adler32(memoryview(data)[:sealed]):
        return tree, (Damage("bad-checksum", sealed, "the checksum (Adler-32) is another one"),)
    return tree, ()


def buffer(cursor: Cursor) -> bytes:
    """Bytes behind their length; -1 is null (`BinaryInputArchive.readBuffer`)."""
    size = cursor.i32()
    return b"" if size == -1 else cursor.take(size)


def text(cursor: Cursor) -> str:
    """A path, or the name of a scheme."""
    return buffer(cursor).decode("utf-8", "surrogateescape")


def skip_acl(cursor: Cursor) -> None:
    for _ in range(cursor.i32()):
        cursor.take(4)
        buffer(cursor)
        buffer(cursor)
