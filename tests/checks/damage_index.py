"""Damage to `.index`, `.timeindex` and `.txnindex`: catalogue 6.2."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from segmend.checks import Level

from . import build_partition as build
from .build_partition import INDEX_BYTES, PartitionWriter
from .damages import Base, Row, all_of, clean_dir, in_place, killed_dir, removed, renamed, written, zookeeper
from .surgery import ACTIVE, ROLLED, entry, one, time_entry, txn_entry, unhurt

DAY_MS = 86_400_000


def large() -> PartitionWriter:
    """A rolled segment of 3 MiB."""
    writer = PartitionWriter("t", interval=4096)
    for _ in range(30):
        writer.append(1, size=100_000)
    writer.roll()
    writer.append(1)
    return writer


def padded(size: int) -> Callable[[bytes], bytes]:
    """As preallocated."""
    return lambda data: data.ljust(size, b"\0")


def beyond(rows: int) -> Callable[[bytes], bytes]:
    """The last entries of an index point past the end of the log."""

    def changed(data: bytes) -> bytes:
        for row in range(1, rows + 1):
            data = entry(-row, ">i", 4, lambda position: position + 1_000_000)(data)
        return data

    return changed


def one_further(data: bytes) -> bytes:
    """Each entry points to where the next one points."""
    out = bytearray(data)
    for at in range(0, len(data) - 8, 8):
        out[at + 4 : at + 8] = data[at + 12 : at + 16]
    return bytes(out[:-8])


def copied(source: str, target: str) -> Callable[[Sequence[Path]], None]:
    def hurt(dirs: Sequence[Path]) -> None:
        shutil.copy(dirs[0] / source, dirs[0] / target)

    return hurt


def directory(name: str) -> Callable[[Sequence[Path]], None]:
    return lambda dirs: (dirs[0] / name).mkdir()


def killed_long_ago() -> PartitionWriter:
    """A log whose offset index has no entry yet, as most of a killed 1.1 broker have."""
    writer = PartitionWriter("t", interval=1 << 30)
    for _ in range(6):
        writer.append(3)
    return writer


def times_of_magic_0() -> PartitionWriter:
    """As 0.10 with message.format.version 0.9: the time index knows timestamps that were not stored."""
    writer = PartitionWriter("t", interval=100)
    for _ in range(12):
        writer.write(build.legacy_message(writer.next_offset, b"v" * 30, magic=0), 1, writer.clock)
    writer.epochs.clear()
    return writer


def row(name: str, codes: str, hurt: object, base: Base = clean_dir, **more: object) -> Row:
    """The releases named here are older than KRaft."""
    base = zookeeper(base) if "release" in more else base
    return Row(name=name, codes=frozenset(codes.split()), hurt=hurt, base=base, **more)  # type: ignore[arg-type]


def hurt_file(
    suffix: str, change: Callable[[bytes], bytes], stem: str = ROLLED
) -> Callable[[Sequence[Path]], None]:
    return in_place(f"{stem}.{suffix}", change)


ROWS = [
    row("index-missing", "I01", removed(f"{ROLLED}.index"), level=Level.STARTUP),
    row("both-missing", "I01", all_of(removed(f"{ROLLED}.index"), removed(f"{ROLLED}.timeindex"))),
    row("index-empty", "I02", in_place("t-0/00000000000000000000.index", lambda _: b""), one(large)),
    row("index-length", "I03", hurt_file("index", lambda data: data + b"\1\2\3")),
    row("timeindex-length", "I03", hurt_file("timeindex", lambda data: data + b"\1\2\3")),
    row("last-offset-high", "I04", hurt_file("index", entry(-1, ">i", 0, lambda o: o + 5000), ACTIVE)),
    row(
        "last-offset-high-startup",
        "I04",
        hurt_file("index", entry(-1, ">i", 0, lambda o: o + 5000), ACTIVE),
        level=Level.STARTUP,
    ),
    row(
        "last-position-past-end",
        "I05",
        hurt_file("index", entry(-1, ">i", 4, lambda p: p + 100_000), ACTIVE),
        level=Level.STARTUP,
    ),
    row(
        "last-position-past-end-default",
        "I05",
        hurt_file("index", entry(-1, ">i", 4, lambda p: p + 10**6), ACTIVE),
    ),
    row("last-position-inside", "I06", hurt_file("index", entry(-1, ">i", 4, lambda p: p + 7), ACTIVE)),
    row(
        "last-position-inside-startup",
        "I06",
        hurt_file("index", entry(-1, ">i", 4, lambda p: p + 7), ACTIVE),
        level=Level.STARTUP,
    ),
    row("position-negative", "I07", hurt_file("index", entry(3, ">i", 4, lambda _: -5))),
    row("positions-past-end", "I08", hurt_file("index", beyond(2))),
    row("positions-shifted", "I09", hurt_file("index", one_further)),
    row("index-of-another", "I10", copied(f"{ACTIVE}.index", f"{ROLLED}.index")),
    row("one-bit", "I11", hurt_file("index", entry(3, ">i", 4, lambda p: p ^ 1))),
    row("offsets-back", "I11", hurt_file("index", entry(3, ">i", 0, lambda _: 1))),
    row("one-offset-high-active", "I11", hurt_file("index", entry(-2, ">i", 0, lambda o: o + 2**30), ACTIVE)),
    row("index-zeros-rolled", "I12", hurt_file("index", padded(INDEX_BYTES))),
    row("index-zeros-clean", "I12 C12", hurt_file("index", padded(INDEX_BYTES), ACTIVE)),
    row("timeindex-missing", "I13", removed(f"{ROLLED}.timeindex"), level=Level.STARTUP),
    row("timeindex-zeros-rolled", "I14", hurt_file("timeindex", padded(INDEX_BYTES - 4))),
    row("timeindex-zeros-clean", "I14", hurt_file("timeindex", padded(INDEX_BYTES - 4), ACTIVE)),
    row("timestamp-future", "I15", hurt_file("timeindex", time_entry(-1, ">q", 0, lambda t: t + DAY_MS))),
    row("timestamps-back", "I16", hurt_file("timeindex", time_entry(3, ">q", 0, lambda t: t - DAY_MS))),
    row("time-offset-high", "I16", hurt_file("timeindex", time_entry(-1, ">i", 8, lambda _: 2**30), ACTIVE)),
    row("txnindex-missing", "I17", removed(f"{ROLLED}.txnindex")),
    row("txnindex-short", "I17", hurt_file("txnindex", lambda data: data[34:])),
    row("txnindex-version", "I18", hurt_file("txnindex", txn_entry(1, ">h", 0, lambda _: 1))),
    row(
        "txnindex-version-doomed",
        "I18 N19",
        all_of(
            hurt_file("txnindex", txn_entry(1, ">h", 0, lambda _: 1)),
            renamed("t-0", f"t-0.{'a' * 32}-delete"),
        ),
        level=Level.STARTUP,
    ),
    row("txnindex-below-base", "I19", hurt_file("txnindex", txn_entry(0, ">q", 18, lambda _: 3))),
    row("txnindex-length", "I20", hurt_file("txnindex", lambda data: data + bytes(10))),
    row("txnindex-foreign", "I21", hurt_file("txnindex", txn_entry(0, ">q", 2, lambda _: 77))),
    row("orphan", "I22", written("t-0/00000000000000000030.index", b""), level=Level.STARTUP),
    row("index-directory", "I23", directory("t-0/00000000000000000060.index"), level=Level.STARTUP),
    row("old-broker-zeros", "I25", unhurt, killed_dir, level=Level.STARTUP, release="1.1.0"),
    row(
        "old-broker-length",
        "I25",
        hurt_file("index", lambda data: data + b"\1"),
        level=Level.STARTUP,
        release="2.2",
    ),
]

# Nothing of this is damage (kafka-storage.md 8.6, and what the next start mends by itself).
HARMLESS = [
    row("killed", "", unhurt, killed_dir, level=Level.DEEP),
    row("killed-no-entries", "", unhurt, one(killed_long_ago, clean=False), level=Level.DEEP),
    row("old-broker-clean", "", unhurt, level=Level.STARTUP, release="1.1.0"),
    row(
        "old-broker-relaxed",
        "",
        unhurt,
        one(killed_long_ago, clean=False),
        level=Level.STARTUP,
        release="2.0",
    ),
    row(
        "no-timeindex-before-0.10.1",
        "",
        removed(f"{ROLLED}.timeindex"),
        level=Level.STARTUP,
        release="0.10.0",
    ),
    row("times-of-magic-0", "", unhurt, one(times_of_magic_0), level=Level.DEEP, release="0.10.2"),
    row("empty-txnindex", "", written("u-0/00000000000000000000.txnindex", b"")),
    row("name-below-first-batch", "", unhurt, one(lambda: _gap_at_the_start())),
]


def _gap_at_the_start() -> PartitionWriter:
    writer = PartitionWriter("t", base=10)
    writer.next_offset = 25
    for _ in range(6):
        writer.append(3)
    writer.compacted = True
    return writer


ROWS += HARMLESS
