"""Files of ZooKeeper's dataDir, small ones, as `FileSnap` and `FileTxnLog` write them."""

import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

CREATE, DELETE, SET_DATA, MULTI, CREATE_TTL, CLOSE_SESSION = 1, 2, 5, 14, 21, -11
_HEADER = struct.Struct(">4siq")
_ACL = struct.pack(">ii5si6s", 31, 5, b"world", 6, b"anyone")


def _buffer(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def snapshot(tree: Mapping[str, bytes | None]) -> bytes:
    """One session, one access list, these nodes, and the root that every tree has."""
    body = _HEADER.pack(b"ZKSN", 2, -1) + struct.pack(">iqi", 1, 7, 6000)
    body += struct.pack(">iqi", 1, 1, 1) + _ACL
    for path, data in {"": b"", **tree}.items():
        body += _buffer(path.encode()) + _buffer(data) + bytes(68)
    body += _buffer(b"/")
    return body + struct.pack(">q", zlib.adler32(body)) + _buffer(b"/")


def made(path: str, data: bytes, kind: int = CREATE) -> tuple[int, bytes]:
    """A node made."""
    more = struct.pack(">i", 1) + (struct.pack(">q", 5) if kind == CREATE_TTL else b"")
    return kind, _buffer(path.encode()) + _buffer(data) + struct.pack(">i", 1) + _ACL + b"\0" + more


def written(path: str, data: bytes) -> tuple[int, bytes]:
    """What is in it, changed."""
    return SET_DATA, _buffer(path.encode()) + _buffer(data) + struct.pack(">i", 1)


def deleted(path: str) -> tuple[int, bytes]:
    """A node gone."""
    return DELETE, _buffer(path.encode())


def together(*changes: tuple[int, bytes]) -> tuple[int, bytes]:
    """Several in one transaction."""
    rows = b"".join(struct.pack(">i", kind) + _buffer(body) for kind, body in changes)
    return MULTI, struct.pack(">i", len(changes)) + rows


def log(first: int, changes: Iterable[tuple[int, bytes]], zeros: int = 64) -> bytes:
    """One transaction each, from the zxid on; preallocated zeros behind them."""
    data = _HEADER.pack(b"ZKLG", 2, 0)
    for zxid, (kind, body) in enumerate(changes, first):
        entry = struct.pack(">qiqqi", 7, 1, zxid, 0, kind) + body
        data += struct.pack(">q", zlib.adler32(entry)) + _buffer(entry) + b"B"
    return data + bytes(zeros)


def state(*isr: int, epoch: int = 3) -> bytes:
    """Of a partition."""
    told = {"controller_epoch": 1, "leader": isr[0], "version": 1, "leader_epoch": epoch, "isr": list(isr)}
    return json.dumps(told).encode()


def topic(name: str, *replicas: list[int], **more: object) -> dict[str, bytes]:
    """Its node with the replicas of each partition."""
    partitions = {str(number): nodes for number, nodes in enumerate(replicas)}
    return {f"/brokers/topics/{name}": json.dumps({"partitions": partitions, **more}).encode()}


def data_dir(root: Path, tree: Mapping[str, bytes], changes: Iterable[tuple[int, bytes]] = ()) -> Path:
    """`root` as dataDir: a snapshot of transaction 0, and a log."""
    folder = root / "version-2"
    folder.mkdir(parents=True)
    whole = {"/brokers/topics": b"", "/cluster/id": b'{"version":"1","id":"abc"}', **tree}
    (folder / "snapshot.0").write_bytes(snapshot(whole))
    (folder / "log.1").write_bytes(log(1, changes))
    return root
