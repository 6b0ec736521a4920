"""Make the benchmark's log dirs: real batches, indexes and names, as a 4.x broker would leave them.

A batch's base offset lies outside its CRC, so a few built batches are repeated with only
that field changed; a gigabyte is there in seconds and every batch is valid.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import os
import random
import shutil
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure import tell
from segmend.formats.build import NewRecord, build_batch

LZ4 = 3
START_MS = 1_790_000_000_000
TEMPLATES = 32
EMPTY_SNAPSHOT = bytes.fromhex("000148674bc700000000")
MARKER = ".kafka_cleanshutdown"  # written last, so it also says that the data is complete


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the batches of one data set look like."""

    name: str
    value_bytes: int
    records_per_batch: int
    codec: int
    compressible: bool = False

    @property
    def folder(self) -> str:
        """A name for its directory; kafka-dump-log takes no path with a comma."""
        return self.name.replace(",", "").replace(" ", "-")


KIB = Shape(name="1 KiB records", value_bytes=1000, records_per_batch=15, codec=0)
JSON = Shape(name="100 B JSON records", value_bytes=85, records_per_batch=145, codec=0, compressible=True)
JSON_LZ4 = Shape(
    name="100 B JSON records, lz4", value_bytes=85, records_per_batch=145, codec=LZ4, compressible=True
)
SMALL_LZ4 = Shape(name="100 B records, lz4", value_bytes=85, records_per_batch=145, codec=LZ4)


def templates(shape: Shape, count: int = TEMPLATES) -> list[bytes]:
    """Built batches with base offset 0."""
    chance = random.Random(shape.name)
    return [
        build_batch(
            [
                NewRecord(
                    key=b"%012d" % chance.randrange(10**12),
                    value=value(shape, chance),
                    timestamp=START_MS + n,
                )
                for n in range(shape.records_per_batch)
            ],
            codec=shape.codec,
        )
        for _ in range(count)
    ]


def value(shape: Shape, chance: random.Random) -> bytes:
    """One value of about the wanted size: JSON, or bytes that no codec can shrink."""
    if not shape.compressible:
        return chance.randbytes(shape.value_bytes)
    number = chance.randrange(10**9)
    row = b'{"order":%d,"user":"u-%06d","amount":%d.%02d,"currency":"EUR","status":"%s"}'
    return row % (
        number,
        number % 10**6,
        number % 9973,
        number % 100,
        (b"paid", b"open", b"sent")[number % 3],
    )


def log_dir(folder: Path, shape: Shape, *, total_bytes: int, segments: int = 4) -> list[Path]:
    """A log dir with one partition of `total_bytes`; returns its `.log` files. Made once a folder."""
    partition = folder / "bench-0"
    if not (folder / MARKER).exists():
        partition.mkdir(parents=True, exist_ok=True)
        offset = 0
        built = templates(shape)
        for _ in range(segments):
            offset = write_segment(partition, offset, cycle(built, total_bytes // segments), shape)
        finish(folder, {partition: offset})
    return sorted(partition.glob("*.log"))


def topic_dir(folder: Path, shape: Shape, *, total_bytes: int, partitions: int) -> int:
    """A log dir with a topic of so many partitions, a segment each; how many records. Made once a folder."""
    if not (folder / MARKER).exists():
        # As many as it takes for checksums, and dictionaries of values, to be no other than in real logs.
        built, ends = templates(shape, 64 * TEMPLATES), dict[Path, int]()
        for number in range(partitions):
            partition = folder / f"bench-{number}"
            partition.mkdir(parents=True, exist_ok=True)
            ends[partition] = write_segment(partition, 0, cycle(built, total_bytes // partitions), shape)
        finish(folder, ends)
    return sum(int(each.stem) for each in folder.glob("bench-*/*.snapshot"))


def cycle(built: Sequence[bytes], until: int) -> Iterator[bytes]:
    """The templates in turn until `until` bytes are out."""
    done = 0
    for each in itertools.cycle(built):
        if done >= until:
            return
        yield each
        done += len(each)


def write_segment(partition: Path, base: int, batches: Iterator[bytes], shape: Shape) -> int:
    """One segment with its indexes; returns the next offset."""
    stem = partition / f"{base:020d}"
    offset, position, entries = base, 0, bytearray()
    with open(f"{stem}.log", "wb") as log:
        for batch in batches:
            log.write(struct.pack(">q", offset) + batch[8:])
            last = offset + shape.records_per_batch - 1
            if position:
                entries += struct.pack(">ii", last - base, position)
            offset, position = last + 1, position + len(batch)
    Path(f"{stem}.index").write_bytes(entries)
    newest = START_MS + shape.records_per_batch - 1
    Path(f"{stem}.timeindex").write_bytes(struct.pack(">qi", newest, shape.records_per_batch - 1))
    return offset


def many_segments(folder: Path, *, segments: int, a_partition: int = 1000) -> Path:
    """A log dir of tiny segments, one batch each, for the start-up figures."""
    if (folder / MARKER).exists():
        return folder
    shape = Shape(name="tiny", value_bytes=40, records_per_batch=1, codec=0)
    built = templates(shape)
    ends: dict[Path, int] = {}
    tell(f"making {segments:,} segments")
    for number in range(-(-segments // a_partition)):
        partition = folder / f"tiny-{number}"
        partition.mkdir(parents=True, exist_ok=True)
        offset = 0
        for _ in range(min(a_partition, segments - number * a_partition)):
            offset = write_segment(partition, offset, iter(built[:1]), shape)
        ends[partition] = offset
    finish(folder, ends)
    # The first to be timed would wait while the system still writes them.
    os.sync()
    return folder


def replicas(folder: Path, original: Path, *, brokers: int = 3) -> Path:
    """A fleet of brokers that all hold the original's partitions, as hard links; only the node ids differ."""
    for node in range(1, brokers + 1):
        if (folder / f"b{node}" / MARKER).exists():
            continue
        shutil.copytree(original, folder / f"b{node}", copy_function=os.link, dirs_exist_ok=True)
        identity = folder / f"b{node}" / "meta.properties"
        text = identity.read_text()
        identity.unlink()
        identity.write_text(text.replace("node.id=1", f"node.id={node}").replace("=JKf3", f"=JKf{node}"))
    return folder


def many_brokers(folder: Path, *, brokers: int, partitions: int = 42, segments: int = 48) -> Path:
    """Brokers of `partitions` partitions of `segments` tiny segments each, a partition on three of them.

    All partitions have the same sealed segments, as hard links: a million take a few megabytes, and as
    many names, looks and opens as if each had bytes of its own.
    """
    original = many_segments(folder / "original", segments=segments, a_partition=segments) / "tiny-0"
    files = [entry for entry in os.scandir(original) if entry.name.endswith((".log", "index"))]
    for node in range(brokers):
        home = folder / "brokers" / f"b{node}"
        if (home / MARKER).exists():
            continue
        # A third of the topics begin here, the others at the two brokers before.
        names = [f"t{(node - number % 3) % brokers}-{number // 3}" for number in range(partitions)]
        for name in names:
            (home / name).mkdir(parents=True, exist_ok=True)
            for file in files:
                active = file.name.startswith(f"{segments - 1:020d}")
                (shutil.copyfile if active else os.link)(file.path, home / name / file.name)
        finish(home, dict.fromkeys((home / name for name in names), segments), node=node)
    return folder / "brokers"


def topic_id(partition: Path) -> str:
    """The same for all partitions of a topic, and for no other."""
    digest = hashlib.blake2b(partition.name.rpartition("-")[0].encode(), digest_size=16).digest()
    return base64.urlsafe_b64encode(digest)[:22].decode()


def finish(folder: Path, ends: dict[Path, int], *, node: int = 1) -> None:
    """The side files a clean stop leaves, so that a check has nothing to say."""
    for partition, end in ends.items():
        (partition / f"{end:020d}.snapshot").write_bytes(EMPTY_SNAPSHOT)
        (partition / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
        (partition / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id(partition)}")
    lines = [
        f"{path.name.rpartition('-')[0]} {path.name.rpartition('-')[2]} {end}" for path, end in ends.items()
    ]
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (folder / name).write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")
    for name in ("log-start-offset-checkpoint", "cleaner-offset-checkpoint"):
        (folder / name).write_text("0\n0\n")
    (folder / "meta.properties").write_text(
        f"#\nversion=1\ncluster.id=lAb5pZ9vTWWx4JmKu0o3Ng\nnode.id={node}\n"
        f"directory.id=JKf3ybmxTp6{node:010d}A\n"
    )
    (folder / MARKER).write_text('{"version":0,"brokerEpoch":10}')
