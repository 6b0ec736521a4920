"""Healthy log dirs of a broker, written without one: what faults are done to."""

import os
import struct
from collections.abc import Callable, Sequence
from functools import cache, partial, wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from segmend.formats.byte_columns import nonzero_size
from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.checks.build_partition import PartitionWriter
from tests.faults.on_disk import rewrite

Dirs = Sequence[Path]


class Base(Protocol):
    """Writes log dirs below a directory, as after a clean stop or as after a kill."""

    def __call__(self, root: Path, clean: bool = True) -> Dirs: ...


SECOND_ID = "5Ck7mLhOSHGMUSQB0K3Dfg"
QUORUM_STATE = (
    '{"leaderId":1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
)
"""Of version 1, since KIP-853."""
ROLLED, ACTIVE = "t-0/00000000000000000054", "t-0/00000000000000000164"
BASES, END = [0, 54, 109, 164], 220
"""Of `t-0`."""


def plain(topic: str, *, segments: int = 3, batches: int = 6) -> PartitionWriter:
    """A partition without producers, transactions or holes."""
    writer = PartitionWriter(topic)
    for number in range(segments):
        for _ in range(batches):
            writer.append(3)
        if number < segments - 1:
            writer.roll()
    return writer


def written_once(base: Base) -> Base:
    """Thousands of tests ask for the same log dirs: what was written the first time is written again."""

    @cache
    def files(clean: bool) -> tuple[list[str], list[tuple[str, bytes, int]]]:
        with TemporaryDirectory() as made:
            dirs = base(Path(made), clean)
            found = sorted(path for path in Path(made).rglob("*") if path.is_file())
            contents = [(path, path.read_bytes()) for path in found]
            return [path.name for path in dirs], [
                (str(path.relative_to(made)), data[: nonzero_size(data)], len(data))
                for path, data in contents
            ]

    def again(root: Path, clean: bool = True) -> Dirs:
        names, found = files(clean)
        for folder in sorted({os.path.dirname(name) for name, _, _ in found}):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for name, data, size in found:
            with open(root / name, "wb") as file:
                file.write(data)
                file.truncate(size)
        return [root / name for name in names]

    return wraps(base)(again)


@written_once
def clean_dir(root: Path, clean: bool = True) -> Dirs:
    """One log dir: `t-0` with four segments and `u-0`, short and plain."""
    return [build.write_log_dir(root / "a", [build.story("t"), plain("u")], clean=clean)]


def killed_dir(root: Path) -> Dirs:
    """The same after kill -9."""
    return clean_dir(root, clean=False)


@written_once
def two_dirs(root: Path, clean: bool = True) -> Dirs:
    """Two log dirs of one broker: `t-0` and `u-0` in `a`, `v-0` in `b`."""
    second = build.write_log_dir(root / "b", [plain("v")], clean=clean, directory_id=SECOND_ID)
    return [*clean_dir(root, clean), second]


def unflushed_dirs(root: Path, clean: bool = True) -> Dirs:
    """The same, and nothing was ever flushed: a start after a kill reads all of every log."""
    dirs = two_dirs(root, clean)
    for path in dirs:
        (path / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    return dirs


def one(*writers: Callable[[], PartitionWriter]) -> Base:
    """One log dir with these partitions."""

    def made(root: Path, clean: bool = True) -> Dirs:
        return [build.write_log_dir(root / "a", [writer() for writer in writers], clean=clean)]

    return made


def with_zookeeper(dirs: Dirs) -> None:
    """A meta.properties of version 0."""
    for path in dirs:
        (path / "meta.properties").write_text("version=0\nbroker.id=1\ncluster.id=lAb5pZ9vTWWx4JmKu0o3Ng\n")


def metadata_dir(root: Path, clean: bool = True) -> Dirs:
    """A KRaft node's dir: `t-0`, and `__cluster_metadata-0` with a snapshot at its start."""
    return with_controller(clean_dir(root, clean))


def node_dirs(root: Path, clean: bool = True) -> Dirs:
    """The same with a second log dir, of `v-0`."""
    return with_controller(two_dirs(root, clean))


def with_controller(dirs: Dirs) -> Dirs:
    """Beside what lies there a log of records that say nothing, and a snapshot."""
    log = PartitionWriter("__cluster_metadata", epoch=2)
    for _ in range(2):
        for _ in range(5):
            log.append(2, keys=False, value=metadata.NO_OP)
        log.roll()
    log.append(2, keys=False, value=metadata.NO_OP)
    path = log.write_to(dirs[0])
    for snapshot in path.glob("*.snapshot"):
        snapshot.unlink()
    (path / "quorum-state").write_text(QUORUM_STATE)
    (path / f"{20:020d}-{2:010d}.checkpoint").write_bytes(kraft_snapshot())
    return dirs


def formatted(root: Path, clean: bool = True) -> Dirs:
    """Two log dirs that were formatted for a KRaft node, with partitions, and without metadata."""
    dirs = two_dirs(root, clean)
    level = build.record(0, None, metadata.feature("metadata.version", metadata.LEVEL_4_3))
    for path in dirs:
        (path / "bootstrap.checkpoint").write_bytes(build.batch(0, [level]))
    return dirs


def known_and_formatted(root: Path, clean: bool = True) -> Dirs:
    """The same with the metadata, in the first, that puts their partitions there."""
    return known_dirs(root, clean, formatted)


def known_dirs(root: Path, clean: bool = True, base: Base = two_dirs) -> Dirs:
    """Two log dirs, and in the first the metadata that puts them there and knows who led them."""
    epochs = {"t": 6, "u": 0, "v": 0}
    topics = metadata.cluster(list(epochs), epochs=epochs, directory_ids=[build.DIRECTORY_ID, SECOND_ID])
    return with_metadata(topics, base)(root, clean)


def kraft_snapshot() -> bytes:
    """Header, two records, footer: three batches."""
    header = build.batch(0, [build.record(0, struct.pack(">hh", 0, 3), b"\0\0")], attributes=0x20)
    data = build.batch(1, [build.record(i, None, metadata.NO_OP) for i in range(2)])
    footer = build.batch(3, [build.record(0, struct.pack(">hh", 0, 4), b"\0\0")], attributes=0x20)
    return header + data + footer


def with_metadata(records: Sequence[bytes], dirs: Base = clean_dir) -> Base:
    """A node that follows a metadata log with these records."""
    return partial(_followed, records, dirs)


def _followed(records: Sequence[bytes], base: Base, root: Path, clean: bool = True) -> Dirs:
    dirs = base(root, clean)
    metadata.write_metadata(dirs[0], records)
    return dirs


def checkpoint(name: str, *lines: str) -> Callable[[Dirs], None]:
    """An offset checkpoint of a log dir with these lines."""
    return written(name, "\n".join(["0", str(len(lines)), *lines, ""]))


def in_place(name: str, change: Callable[[bytes], bytes]) -> Callable[[Dirs], None]:
    """Rewrite a file of the first log dir with what `change` makes of it."""

    def hurt(dirs: Dirs) -> None:
        path = dirs[0] / name
        rewrite(path, change)

    return hurt


def written(name: str, content: str | bytes, log_dir: int = 0) -> Callable[[Dirs], None]:
    """Write a file, with the directories above it."""

    def hurt(dirs: Dirs) -> None:
        path = dirs[log_dir] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return hurt


def removed(name: str, log_dir: int = 0) -> Callable[[Dirs], None]:
    """Remove a file."""
    return lambda dirs: (dirs[log_dir] / name).unlink()
