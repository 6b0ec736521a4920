"""Fresh KRaft directories as Kafka's own tool formatted others before them, with ids and a port of their own.

The tool is a JVM, which takes half the CPU of the start of a broker. What it writes is the same for all
brokers of a release but for who they are: `meta.properties`, and of a lone broker since 4.0 the voters in a
snapshot.
"""

import os
import struct
from dataclasses import dataclass
from pathlib import Path

import crc32c

from tests.checks.build_metadata import uuid

_CRC_AT, _CRC_FROM, _SIZE_AT, _HEAD = 17, 21, 8, 12
HOST = b"127.0.0.1"


@dataclass(frozen=True)
class Whose:
    """By what the directories of two brokers differ; `dirs` are the ids of directories."""

    node_id: int
    cluster_id: str
    controller_port: int
    dirs: tuple[str, ...]


@dataclass(frozen=True)
class Formatted:
    """All files of the log dirs of one broker as they were when nobody had started on them."""

    whose: Whose
    files: tuple[tuple[int, str, int, bytes], ...]
    """In which log dir, path there, mode, bytes."""

    @classmethod
    def of(cls, dirs: list[Path], node_id: int, cluster_id: str, port: int) -> "Formatted":
        """What the tool wrote."""
        files = tuple(
            (number, str(path.relative_to(home)), path.stat().st_mode & 0o777, path.read_bytes())
            for number, home in enumerate(dirs)
            for path in sorted(home.rglob("*"))
            if path.is_file()
        )
        return cls(Whose(node_id, cluster_id, port, tuple(map(directory_id, dirs))), files)

    def write(self, dirs: list[Path], whose: Whose) -> None:
        """The same for another broker."""
        for number, name, mode, data in self.files:
            path = dirs[number] / name
            path.parent.mkdir(parents=True, exist_ok=True)
            properties = path.name == "meta.properties"
            path.write_bytes(self._named(data, whose) if properties else self._voters(data, whose))
            os.chmod(path, mode)

    def _named(self, data: bytes, whose: Whose) -> bytes:
        was = self.whose
        node = (f"node.id={was.node_id}\n", f"node.id={whose.node_id}\n")
        ids = zip((was.cluster_id, *was.dirs), (whose.cluster_id, *whose.dirs), strict=True)
        for old, new in (node, *ids):
            data = data.replace(old.encode(), new.encode())
        return data

    def _voters(self, data: bytes, whose: Whose) -> bytes:
        """Each batch with the dir and the port of the voter, and with a checksum that says so."""
        old_end, new_end = (HOST + struct.pack(">H", each.controller_port) for each in (self.whose, whose))
        ids = [(uuid(old), uuid(new)) for old, new in zip(self.whose.dirs, whose.dirs, strict=True)]
        out, at = b"", 0
        while at < len(data):
            (size,) = struct.unpack_from(">i", data, at + _SIZE_AT)
            batch = data[at : at + _HEAD + size]
            for old, new in ((old_end, new_end), *ids):
                batch = batch.replace(old, new)
            summed = struct.pack(">I", crc32c.crc32c(batch[_CRC_FROM:]))
            out += batch[:_CRC_AT] + summed + batch[_CRC_FROM:]
            at += len(batch)
        return out


def directory_id(home: Path) -> str:
    """As its meta.properties says it; empty up to 3.6."""
    lines = (home / "meta.properties").read_text().splitlines()
    return next(
        (line.removeprefix("directory.id=") for line in lines if line.startswith("directory.id=")), ""
    )
