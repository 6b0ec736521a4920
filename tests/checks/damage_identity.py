"""Damages of identity, KRaft metadata, the machine and its file system (K)."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.checks.damages import (
    Row,
    all_of,
    clean_dir,
    in_place,
    metadata_dir,
    removed,
    renamed,
    two_dirs,
    written,
    zookeeper,
)

from segmend.checks import Level

META, METADATA = "meta.properties", "__cluster_metadata-0"
CACHE, UUID = "remote-log-index-cache", "JKf3ybmxTp6ZRMVaHZWYLA"
SNAPSHOT = f"{METADATA}/{20:020d}-{2:010d}.checkpoint"


def codes(*names: str) -> frozenset[str]:
    return frozenset(names)


def replaced(old: bytes, new: bytes, log_dir: int = 0) -> Callable[[Sequence[Path]], None]:
    def change(data: bytes) -> bytes:
        assert old in data
        return data.replace(old, new)

    return in_place(META, change, log_dir)


def flipped(name: str, position: int) -> Callable[[Sequence[Path]], None]:
    return in_place(name, lambda b: b[:position] + bytes([b[position] ^ 1]) + b[position + 1 :])


def second_metadata(dirs: Sequence[Path]) -> None:
    for path in dirs[:2]:
        (path / METADATA).mkdir()
        (path / METADATA / f"{0:020d}.log").touch()
        (path / METADATA / f"{0:020d}.index").touch()
        (path / METADATA / f"{0:020d}.timeindex").touch()


def hard_linked(dirs: Sequence[Path]) -> None:
    path = dirs[0] / "u-0" / f"{36:020d}.log"
    os.link(path, dirs[0].parent / "backup.log")


def closed_to_its_owner(dirs: Sequence[Path]) -> None:
    """Everything belongs to user 1234, but one file's owner may only read it."""
    chowned(dirs, 1234)
    (dirs[0] / "u-0" / f"{0:020d}.log").chmod(0o400)


def made_by_root(dirs: Sequence[Path]) -> None:
    chowned(dirs, 1234)
    os.chown(dirs[0] / "u-0" / f"{0:020d}.index", 0, 0)


def open_to_all(dirs: Sequence[Path]) -> None:
    made_by_root(dirs)
    (dirs[0] / "u-0" / f"{0:020d}.index").chmod(0o666)


def chowned(dirs: Sequence[Path], user: int) -> None:
    for path in dirs:
        for folder, names, files in os.walk(path):
            for name in [".", *names, *files]:
                os.chown(os.path.join(folder, name), user, user)


def old_times(dirs: Sequence[Path]) -> None:
    """The records are of 2023, the file of now, and there is no time index."""
    (dirs[0] / "u-0" / f"{0:020d}.timeindex").unlink()


ROWS = [
    Row(name="meta-missing", codes=codes("K01"), base=two_dirs, hurt=removed(META, 1), level=Level.STARTUP),
    Row(
        name="meta-missing-zookeeper",
        codes=codes(),
        base=zookeeper(two_dirs),
        hurt=removed(META, 1),
        release="2.7",
    ),
    Row(name="meta-version", codes=codes("K02"), base=clean_dir, hurt=replaced(b"version=1", b"version=7")),
    Row(name="meta-key", codes=codes("K02"), base=clean_dir, hurt=replaced(b"cluster.id", b"cluster")),
    Row(name="cluster-id", codes=codes("K03"), base=two_dirs, hurt=replaced(b"lAb5pZ9v", b"XXXXXXXX", 1)),
    Row(name="node-id", codes=codes("K03"), base=two_dirs, hurt=replaced(b"node.id=1", b"node.id=2", 1)),
    Row(
        name="more-properties",
        codes=codes("K03"),
        base=two_dirs,
        hurt=replaced(b"#", b"a=b", 1),
        release="3.6",
    ),
    Row(name="more-properties-now", codes=codes(), base=two_dirs, hurt=replaced(b"#", b"a=b", 1)),
    Row(
        name="no-node-id",
        codes=codes("K02"),
        base=two_dirs,
        hurt=replaced(b"version=1", b"", 1),
        level=Level.STARTUP,
    ),
    Row(
        name="cloned",
        codes=codes("K04"),
        base=two_dirs,
        hurt=replaced(b"5Ck7mLhOSHGMUSQB0K3Dfg", b"JKf3ybmxTp6ZRMVaHZWYLA", 1),
    ),
    Row(
        name="reserved-id",
        codes=codes("K05"),
        base=clean_dir,
        hurt=replaced(b"JKf3ybmxTp6ZRMVaHZWYLA", b"AAAAAAAAAAAAAAAAAAAAAQ"),
    ),
    Row(name="two-metadata-logs", codes=codes("K06"), base=two_dirs, hurt=second_metadata),
    Row(
        name="metadata-crc",
        codes=codes("K07"),
        base=metadata_dir,
        hurt=flipped(f"{METADATA}/{0:020d}.log", 80),
        level=Level.STARTUP,
    ),
    Row(
        name="metadata-crc-deep",
        codes=codes("K07"),
        base=metadata_dir,
        hurt=flipped(f"{METADATA}/{0:020d}.log", 80),
        level=Level.DEEP,
    ),
    Row(
        name="snapshot-footer",
        codes=codes("K08"),
        base=metadata_dir,
        hurt=in_place(SNAPSHOT, lambda b: b[:-82]),
        level=Level.STARTUP,
    ),
    Row(name="snapshot-crc", codes=codes("K08"), base=metadata_dir, hurt=flipped(SNAPSHOT, 70)),
    Row(
        name="no-snapshot",
        codes=codes("K09"),
        base=metadata_dir,
        hurt=all_of(
            removed(SNAPSHOT), *(removed(f"{METADATA}/{0:020d}.{s}") for s in ("log", "index", "timeindex"))
        ),
        level=Level.STARTUP,
    ),
    Row(
        name="snapshot-part",
        codes=codes("K10"),
        base=metadata_dir,
        hurt=written(f"{METADATA}/{40:020d}-{2:010d}-1234.checkpoint.part", "x"),
    ),
    Row(
        name="quorum-empty",
        codes=codes("K11"),
        base=metadata_dir,
        hurt=written(f"{METADATA}/quorum-state", ""),
    ),
    Row(
        name="quorum-version",
        codes=codes("K11"),
        base=metadata_dir,
        hurt=written(f"{METADATA}/quorum-state", '{"data_version":9}'),
    ),
    Row(
        name="quorum-behind",
        codes=codes("K12"),
        base=metadata_dir,
        hurt=in_place(
            f"{METADATA}/quorum-state", lambda b: b.replace(b'"leaderEpoch":2', b'"leaderEpoch":1')
        ),
    ),
    Row(
        name="cache-length",
        codes=codes("K16"),
        base=clean_dir,
        hurt=written(f"{CACHE}/5_{UUID}.index", bytes(15)),
        level=Level.STARTUP,
    ),
    Row(
        name="cache-offset",
        codes=codes("K16"),
        base=clean_dir,
        hurt=written(f"{CACHE}/5_{UUID}.index", b"\xff" * 8),
    ),
    Row(
        name="cache-times",
        codes=codes("K16"),
        base=clean_dir,
        hurt=written(f"{CACHE}/5_{UUID}.timeindex", struct.pack(">qiqi", 9, 0, 8, 1)),
    ),
    Row(
        name="cache-transactions",
        codes=codes("K16"),
        base=clean_dir,
        hurt=written(f"{CACHE}/5_{UUID}.txnindex", struct.pack(">hqqqq", 0, 7, 1, 4, 4)),
    ),
    Row(
        name="cache-sound",
        codes=codes(),
        base=clean_dir,
        hurt=all_of(
            written(f"{CACHE}/5_{UUID}.index", struct.pack(">ii", 3, 90)),
            written(f"{CACHE}/5_{UUID}.timeindex", struct.pack(">qi", 9, 3)),
            written(f"{CACHE}/5_{UUID}.txnindex", struct.pack(">hqqqq", 0, 7, 5, 6, 7)),
            written(f"{CACHE}/5_{UUID}.index.deleted", "x"),
        ),
    ),
    Row(name="hard-link", codes=codes("K17"), base=clean_dir, hurt=hard_linked),
    Row(name="times-lost", codes=codes("I13", "K18"), base=clean_dir, hurt=old_times),
    Row(
        name="magic-2-under-0.10",
        codes=codes("K19"),
        base=zookeeper(clean_dir),
        hurt=lambda dirs: None,
        release="0.10.2",
    ),
    Row(
        name="renamed-meta", codes=codes("K01"), base=metadata_dir, hurt=renamed(META, "meta.properties.old")
    ),
]

AS_ROOT = [
    Row(name="mode", codes=codes("K13"), base=clean_dir, hurt=closed_to_its_owner),
    Row(name="owner", codes=codes("K13"), base=clean_dir, hurt=made_by_root),
    Row(name="owner-but-open", codes=codes(), base=clean_dir, hurt=open_to_all),
]
