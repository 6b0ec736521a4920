"""Rows of the damage tables: one damage, and exactly the codes that it fires.

Each family has its table: `damage_<family>.py` with `ROWS`. A row takes a healthy log dir,
made by its `base` in an empty directory, and hurts it. `test_damages.py` runs all rows.
"""

from __future__ import annotations

import importlib
import pkgutil
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.checks import build_partition as build

from segmend.checks import Level

Base = Callable[[Path], Sequence[Path]]


@dataclass(frozen=True, kw_only=True)
class Row:
    """`codes` are all codes that must be reported after `hurt`, at `level` and as `release` sees it."""

    name: str
    codes: frozenset[str]
    hurt: Callable[[Sequence[Path]], None]
    base: Base
    level: Level = Level.DEFAULT
    release: str = "4.3"


def clean_dir(root: Path) -> Sequence[Path]:
    """One log dir, stopped in order: `t-0` with four segments and `u-0`, short and plain."""
    return [build.write_log_dir(root / "a", [build.story("t"), plain("u")])]


def killed_dir(root: Path) -> Sequence[Path]:
    """The same after kill -9."""
    return [build.write_log_dir(root / "a", [build.story("t"), plain("u")], clean=False)]


def two_dirs(root: Path) -> Sequence[Path]:
    """Two log dirs of one broker: `t-0` and `u-0` in `a`, `v-0` in `b`."""
    second = "5Ck7mLhOSHGMUSQB0K3Dfg"
    first = clean_dir(root)
    return [*first, build.write_log_dir(root / "b", [plain("v")], directory_id=second)]


def plain(topic: str, *, segments: int = 3, batches: int = 6) -> build.PartitionWriter:
    """A partition without producers, transactions or holes."""
    writer = build.PartitionWriter(topic)
    for number in range(segments):
        for _ in range(batches):
            writer.append(3)
        if number < segments - 1:
            writer.roll()
    return writer


def zookeeper(base: Base) -> Base:
    """The same dirs with a meta.properties of version 0."""

    def made(root: Path) -> Sequence[Path]:
        dirs = base(root)
        for path in dirs:
            (path / "meta.properties").write_text(
                "version=0\nbroker.id=1\ncluster.id=lAb5pZ9vTWWx4JmKu0o3Ng\n"
            )
        return dirs

    return made


def metadata_dir(root: Path) -> Sequence[Path]:
    """A KRaft node's dir: `t-0`, and `__cluster_metadata-0` with a snapshot at its start."""
    dirs = clean_dir(root)
    log = build.PartitionWriter("__cluster_metadata", epoch=2)
    for _ in range(2):
        for _ in range(5):
            log.append(2)
        log.roll()
    log.append(2)
    path = log.write_to(dirs[0])
    for snapshot in path.glob("*.snapshot"):
        snapshot.unlink()
    (path / "quorum-state").write_text(
        '{"leaderId":1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    )
    (path / f"{20:020d}-{2:010d}.checkpoint").write_bytes(kraft_snapshot())
    return dirs


def kraft_snapshot() -> bytes:
    """Header, two records, footer: three batches."""
    header = build.batch(0, [build.record(0, struct.pack(">hh", 0, 3), b"\0\0")], attributes=0x20)
    data = build.batch(1, [build.record(i, None, b"x") for i in range(2)])
    footer = build.batch(3, [build.record(0, struct.pack(">hh", 0, 4), b"\0\0")], attributes=0x20)
    return header + data + footer


def in_place(
    name: str, change: Callable[[bytes], bytes], log_dir: int = 0
) -> Callable[[Sequence[Path]], None]:
    """Rewrite a file of a log dir with what `change` makes of it."""

    def hurt(dirs: Sequence[Path]) -> None:
        path = dirs[log_dir] / name
        path.write_bytes(change(path.read_bytes()))

    return hurt


def written(name: str, content: str | bytes, log_dir: int = 0) -> Callable[[Sequence[Path]], None]:
    """Write a file, with the directories above it."""

    def hurt(dirs: Sequence[Path]) -> None:
        path = dirs[log_dir] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return hurt


def removed(name: str, log_dir: int = 0) -> Callable[[Sequence[Path]], None]:
    """Remove a file."""
    return lambda dirs: (dirs[log_dir] / name).unlink()


def renamed(old: str, new: str, log_dir: int = 0) -> Callable[[Sequence[Path]], None]:
    """Rename a file or directory."""

    def hurt(dirs: Sequence[Path]) -> None:
        (dirs[log_dir] / old).rename(dirs[log_dir] / new)

    return hurt


def all_of(*hurts: Callable[[Sequence[Path]], None]) -> Callable[[Sequence[Path]], None]:
    """Several damages that make one."""

    def hurt(dirs: Sequence[Path]) -> None:
        for each in hurts:
            each(dirs)

    return hurt


def all_rows() -> list[Row]:
    """The rows of every table in this folder."""
    folder = Path(__file__).parent
    names = sorted(m.name for m in pkgutil.iter_modules([str(folder)]) if m.name.startswith("damage_"))
    return [row for name in names for row in importlib.import_module(f"tests.checks.{name}").ROWS]
