"""Damage to producer snapshots and transactions: catalogue 6.3."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path

from . import build_partition as build
from .build_partition import PartitionWriter
from .damages import Row, clean_dir, in_place, killed_dir, removed, written
from .surgery import one, unhurt

NEWEST = "t-0/00000000000000000220.snapshot"
HOUR_MS = 3_600_000


def no_snapshots(dirs: Sequence[Path]) -> None:
    for path in (dirs[0] / "t-0").glob("*.snapshot"):
        path.unlink()


def stale(dirs: Sequence[Path]) -> None:
    """The snapshot of the last roll under the name of the newest."""
    old = dirs[0] / "t-0/00000000000000000164.snapshot"
    (dirs[0] / NEWEST).write_bytes(old.read_bytes())


def without_open_transaction(data: bytes) -> bytes:
    """The snapshot with all transactions closed and its CRC right."""
    rows = [bytearray(data[at : at + 46]) for at in range(10, len(data), 46)]
    for row in rows:
        row[38:46] = struct.pack(">q", -1)
    body = data[6:10] + b"".join(rows)
    return data[:2] + struct.pack(">I", build.crc32c(body)) + body


def hanging() -> PartitionWriter:
    """Producer 11's transaction stays open and the log goes on for an hour."""
    return still_open(HOUR_MS)


def still_open(duration_ms: int) -> PartitionWriter:
    writer = build.story("t")
    for _ in range(2):
        writer.append(2, producer=9, transactional=True)
        writer.commit(9)
        writer.clock += duration_ms
    return writer


def backdated() -> PartitionWriter:
    """An open transaction of which the producer wrote timestamps of long ago."""
    writer = build.story("t")
    writer.clock += 24 * HOUR_MS
    writer.append(2, producer=9, transactional=True)
    writer.commit(9)
    return writer


def ongoing() -> PartitionWriter:
    """The same for ten minutes: a transaction that goes on."""
    return still_open(HOUR_MS // 6)


def open_across_segments() -> PartitionWriter:
    writer = PartitionWriter("t")
    writer.append(2, producer=9, transactional=True)
    for _ in range(3):
        for _ in range(4):
            writer.append(3)
        writer.roll()
    writer.append(3)
    return writer


def first_segment_gone(dirs: Sequence[Path]) -> None:
    """As retention leaves it."""
    for path in (dirs[0] / "t-0").glob("00000000000000000000.*"):
        path.unlink()


def lost(end: str) -> Callable[[], PartitionWriter]:
    """A log of which the end marker of the second transaction is gone, with everything else right."""

    def made() -> PartitionWriter:
        writer = PartitionWriter("t")
        for turn in range(4):
            writer.append(2, producer=9, transactional=True)
            writer.append(3)
            segment = writer.segments[-1]
            before, places = len(segment.log), list(segment.positions)
            (writer.abort if end == "abort" or turn % 2 else writer.commit)(9)
            if turn == 1:
                del segment.log[before:]
                segment.positions = places
            writer.append(3)
        writer.roll()
        writer.append(2, producer=9, transactional=True)
        writer.commit(9)
        return writer

    return made


def outside_its_transaction() -> PartitionWriter:
    writer = build.story("t")
    writer.append(1, producer=11)
    return writer


def outside_its_transaction_later() -> PartitionWriter:
    writer = build.story("t")
    writer.roll()
    writer.append(1, producer=11)
    return writer


def unknown_marker() -> PartitionWriter:
    writer = build.story("t")
    writer.write(
        build.marker_batch(writer.next_offset, 11, 9, epoch=6, timestamp=writer.clock), 1, writer.clock
    )
    return writer


def epoch_back() -> PartitionWriter:
    writer = build.story("t")
    for epoch in (5, 3):
        writer.producers[7].epoch = epoch
        writer.append(2, producer=7)
    return writer


def epoch_back_later() -> PartitionWriter:
    writer = build.story("t")
    for epoch in (5, 3):
        writer.roll()
        writer.producers[7].epoch = epoch
        writer.append(2, producer=7)
    return writer


def coordinator_back_later() -> PartitionWriter:
    writer = build.story("t")
    writer.commit(11, coordinator=8)
    writer.roll()
    writer.append(2, producer=11, transactional=True)
    writer.commit(11, coordinator=6)
    return writer


def row(name: str, codes: str, hurt: object, base: object = clean_dir) -> Row:
    return Row(name=name, codes=frozenset(codes.split()), hurt=hurt, base=base)  # type: ignore[arg-type]


ROWS = [
    row("snapshot-crc", "P01", in_place(NEWEST, lambda data: data[:20] + b"\xff" + data[21:])),
    row("snapshot-cut", "P01", in_place(NEWEST, lambda data: data[:-5])),
    row("snapshot-empty", "P01", in_place("t-0/00000000000000000054.snapshot", lambda _: b"")),
    row("all-snapshots-missing", "P02", no_snapshots),
    row("newest-snapshot-missing", "P03", removed(NEWEST)),
    row("snapshot-name", "P04", written("t-0/foo.snapshot", b"")),
    row(
        "snapshot-beyond",
        "P05",
        written("u-0/00000000000000005000.snapshot", build.PartitionWriter().snapshot()),
    ),
    row("snapshot-stale", "P06", stale),
    row("snapshot-forgets-transaction", "P06", in_place(NEWEST, without_open_transaction)),
    row("hanging", "P07", unhurt, one(hanging)),
    row("beginning-gone", "P08", first_segment_gone, one(open_across_segments)),
    row("commit-lost", "P09", unhurt, one(lost("commit"))),
    row("abort-lost", "P09", unhurt, one(lost("abort"))),
    row("outside-transaction", "P10", unhurt, one(outside_its_transaction)),
    row("outside-transaction-later", "P10", unhurt, one(outside_its_transaction_later)),
    row("unknown-marker", "P11", unhurt, one(unknown_marker)),
    row("epoch-back", "P12", unhurt, one(epoch_back)),
    row("epoch-back-later", "P12", unhurt, one(epoch_back_later)),
    row("coordinator-back-later", "P12", unhurt, one(coordinator_back_later)),
]

HARMLESS = [
    row("open-transaction", "", unhurt, one(ongoing)),
    row("open-transaction-backdated", "", unhurt, one(backdated)),
    row("head-deleted", "", first_segment_gone),
    row("head-deleted-killed", "", first_segment_gone, killed_dir),
    row("no-snapshots-killed", "", no_snapshots, killed_dir),
    row(
        "stray-snapshot", "", written("t-0/00000000000000000190.snapshot", build.PartitionWriter().snapshot())
    ),
]

ROWS += HARMLESS
