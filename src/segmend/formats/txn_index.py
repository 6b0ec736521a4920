"""`.txnindex`: the aborted transactions whose marker is in the segment.

Follows `org.apache.kafka.storage.internals.log.TransactionIndex` and `AbortedTxn`.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from segmend.formats.byte_columns import cut_entry
from segmend.formats.damage import Damage
from segmend.frozen import frozen

SUFFIX = ".txnindex"
ENTRY = Struct(">hqqqq")
ENTRY_SIZE = ENTRY.size
VERSION = 0


class AbortedTxn(NamedTuple):
    """One aborted transaction; `last_offset` is its ABORT marker's. All offsets are absolute.

    `last_stable_offset` is that of the partition just before the transaction was completed.
    """

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


_ZEROS: Final = AbortedTxn(0, 0, 0, 0, 0)


@frozen
class TransactionIndex:
    """The entries, and up to 33 bytes after them that make no whole entry."""

    entries: tuple[AbortedTxn, ...] = ()
    trailing: bytes = b""


def parse(data: bytes) -> tuple[TransactionIndex, tuple[Damage, ...]]:
    """Damage kinds: `bad-version` (kills the broker), `offsets-not-increasing`,
    `trailing-bytes`; each is given for its first place."""
    rows = len(data) // ENTRY_SIZE
    # What was made larger and never written to is one row many times: no million objects for it.
    written = min(rows, -(-len(data.rstrip(b"\0")) // ENTRY_SIZE))
    entries = tuple(map(AbortedTxn._make, ENTRY.iter_unpack(memoryview(data)[: written * ENTRY_SIZE])))
    index = TransactionIndex(
        entries=entries + (_ZEROS,) * (rows - written), trailing=data[rows * ENTRY_SIZE :]
    )
    return index, (*_damages(index), *cut_entry(data, ENTRY_SIZE))


def _damages(index: TransactionIndex) -> Iterator[Damage]:
    for row, entry in enumerate(index.entries):
        if entry.version != VERSION:
            reason = f"Unexpected aborted transaction version {entry.version}"
            yield Damage("bad-version", row * ENTRY_SIZE, f"entry {row}: {reason}")
            break
    for row in range(1, len(index.entries)):
        before, after = index.entries[row - 1].last_offset, index.entries[row].last_offset
        if after <= before:
            reason = f"entry {row}: last offset {after} follows {before}"
            yield Damage("offsets-not-increasing", row * ENTRY_SIZE + 18, reason)
            break


def render(index: TransactionIndex) -> bytes:
    return b"".join(ENTRY.pack(*entry) for entry in index.entries) + index.trailing
