"""`.snapshot`: the producers a partition knows, as of (exclusive) the offset in its name.

Follows `ProducerStateManager.readSnapshot` and `ProducerSnapshot.json`, version 1. The broker
deletes a snapshot with any damage and replays from an older one. Damage kinds: `truncated`,
`bad-version`, `bad-crc`, `count-mismatch`.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from segmend.crc32c import crc32c
from segmend.formats.damage import Damage
from segmend.frozen import frozen

SUFFIX = ".snapshot"
VERSION = 1
HEADER = Struct(">hIi")
ENTRY = Struct(">qhiqiqiq")
CRC_START = 6
LIMIT = 46_000_010
"""The bytes of a million producers; larger ones are not compared."""


class ProducerStateEntry(NamedTuple):
    """What a broker remembers of one producer.

    `current_txn_first_offset` is -1 without an open transaction, `last_sequence` and
    `last_offset` are -1 when only markers were seen.
    """

    producer_id: int
    producer_epoch: int = -1
    last_sequence: int = -1
    last_offset: int = -1
    offset_delta: int = 0
    timestamp: int = -1
    coordinator_epoch: int = -1
    current_txn_first_offset: int = -1


@frozen
class ProducerSnapshot:
    """The entries in file order; `crc` is the one stored, None to have it computed."""

    version: int = VERSION
    crc: int | None = None
    entries: tuple[ProducerStateEntry, ...] = ()
    trailing: bytes = b""
    """Bytes after the declared entries: the checksum covers them, and no broker reads them."""


def parse(data: bytes) -> tuple[ProducerSnapshot, tuple[Damage, ...]]:
    """As many entries as are declared and there."""
    if len(data) < HEADER.size:
        return ProducerSnapshot(), (
            Damage("truncated", len(data), f"{len(data)} bytes are less than a header"),
        )
    version, crc, count = HEADER.unpack_from(data)
    damages = []
    if version != VERSION:
        damages.append(Damage("bad-version", 0, f"Snapshot contained an unknown file version {version}"))
    computed = crc32c(memoryview(data)[CRC_START:])
    if computed != crc:
        reason = f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc: {computed}"
        damages.append(Damage("bad-crc", 2, reason))
    there = (len(data) - HEADER.size) // ENTRY.size
    end = HEADER.size + max(0, min(count, there)) * ENTRY.size
    if not 0 <= count <= there:
        reason = f"{count} entries declared, {len(data) - HEADER.size} bytes hold {there}"
        damages.append(Damage("count-mismatch", CRC_START, reason))
    rows = ENTRY.iter_unpack(memoryview(data)[HEADER.size : end])
    entries = tuple(map(ProducerStateEntry._make, rows))
    value = ProducerSnapshot(version=version, crc=crc, entries=entries, trailing=data[end:])
    return value, tuple(damages)


def render(snapshot: ProducerSnapshot) -> bytes:
    body = bytearray(len(snapshot.entries).to_bytes(4, "big"))
    for entry in snapshot.entries:
        body += ENTRY.pack(*entry)
    body += snapshot.trailing
    crc = crc32c(body) if snapshot.crc is None else snapshot.crc
    return HEADER.pack(snapshot.version, crc, 0)[:CRC_START] + body
