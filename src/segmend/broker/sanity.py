"""The sanity checks that brokers make of index files while they load, and when.

Offset and time indexes were checked up to 2.2; since KAFKA-7283 nobody looks at them. The
transaction index is checked by every release that has one. Only the first and the last
entry count.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from struct import Struct
from typing import Final

from segmend.broker.failures import LoadFailure, fatal
from segmend.broker.rule import Rule, gone_in, new_in
from segmend.formats import offset_index, time_index
from segmend.formats.txn_index import VERSION, AbortedTxn
from segmend.logdir.index_file import Ends
from segmend.logdir.release import Release


class IndexSanity(StrEnum):
    """How an offset index is judged at load."""

    STRICT = "strict"
    """Its last offset must be above the base offset."""
    RELAXED = "relaxed"
    """Its last offset must not be below the base offset."""
    NONE = "none"


_TIME_ENTRY = Struct(">qi")

INDEX_SANITY: Rule[IndexSanity] = Rule(
    "OffsetIndex.sanityCheck; relaxed in 2.0, dropped in 2.3 (KAFKA-7283, KAFKA-6324)",
    (((0, 8), IndexSanity.STRICT), ((2, 0), IndexSanity.RELAXED), ((2, 3), IndexSanity.NONE)),
)
NOT_ABOVE: Rule[str] = Rule(
    "OffsetIndex.sanityCheck; words changed with KAFKA-6324",
    (((0, 8), "no larger than"), ((1, 1), "no greater than")),
)
INDEXES_JUDGED_LAST: Final = gone_in(
    "Log.loadSegments; 0.8 looks once all is recovered and ends over a corrupt one, 0.9 rebuilds it", (0, 9)
)
OPENS_EVERY_INDEX: Final = gone_in(
    "Log.loadSegmentFiles maps all indexes; LazyOffsetIndex, KAFKA-7283, 2.3", (2, 3)
)
REBUILDS_MISSING_INDEX: Rule[bool] = Rule(
    "Log.loadSegmentFiles; from KAFKA-6324 (1.1) to KAFKA-7283 (2.3) it is made before it is looked for",
    (((0, 8), True), ((1, 1), False), ((2, 3), True)),
)
TIME_INDEX: Final = new_in("TimeIndex; KIP-33", (0, 10, 1))
TXN_VERSION_SHIFT: Rule[int] = Rule(
    "AbortedTxn.version: only the high byte of the 16 bits up to 4.3", (((0, 8), 8), ((4, 4), 0))
)
TXN_VERSION_WORDS: Rule[str] = Rule(
    "AbortedTxn.sanityCheck",
    (
        ((0, 8), "Unexpected aborted transaction version {} in transaction index {}, current version is 0"),
        (
            (4, 4),
            "Unexpected aborted transaction version {} in transaction index {}, "
            "supported version range is 0 to 0",
        ),
    ),
)
TXN_INDEX: Final = new_in("TransactionIndex; KIP-98", (0, 11))


def offset_index_fault(release: Release, name: str, base_offset: int, ends: Ends) -> str | None:
    """Kafka's words on a corrupt `.index`, None if it passes."""
    if ends.entries:
        offset = base_offset + int.from_bytes(ends.last[:4], "big", signed=True)
        strict = INDEX_SANITY.of(release) == IndexSanity.STRICT
        if offset < base_offset or (strict and offset == base_offset):
            words = NOT_ABOVE.of(release) if strict else "less than"
            corrupt = f"Corrupt index found, index file ({name}) has non-zero size but the last offset"
            return f"{corrupt} is {offset} which is {words} the base offset {base_offset}."
    return _odd_length("Index", name, ends, offset_index.ENTRY_SIZE)


def time_index_fault(name: str, base_offset: int, ends: Ends) -> str | None:
    """As `offset_index_fault` for a `.timeindex`."""
    if ends.entries:
        first, (timestamp, relative) = _TIME_ENTRY.unpack(ends.first)[0], _TIME_ENTRY.unpack(ends.last)
        corrupt = f"Corrupt time index found, time index file ({name}) has non-zero size but the last"
        if timestamp < first:
            return f"{corrupt} timestamp is {timestamp} which is less than the first timestamp {first}"
        if relative < 0:
            offset = base_offset + relative
            return f"{corrupt} offset is {offset} which is less than the first offset {base_offset}"
    return _odd_length("Time index", name, ends, time_index.ENTRY_SIZE)


def _odd_length(kind: str, name: str, ends: Ends, unit: int) -> str | None:
    if not ends.rest:
        return None
    corrupt = f"{kind} file {name} is corrupt, found {ends.entries * unit + ends.rest} bytes"
    return f"{corrupt} which is neither positive nor a multiple of {unit}."


def txn_index_fault(
    release: Release, name: str, base_offset: int, entries: Sequence[AbortedTxn]
) -> str | LoadFailure | None:
    """`TransactionIndex.sanityCheck`: words on a corrupt one, or the exception that ends the start."""
    for entry in entries:
        words = txn_version_fault(release, name, entry)
        if words is not None:
            return fatal("KafkaException", words, name)
        if entry.last_offset < base_offset:
            return less_than_start(entry, base_offset)
    return None


def less_than_start(entry: AbortedTxn, base_offset: int) -> str:
    """Kafka's words on an entry that ends before its segment."""
    return (
        f"Last offset of aborted transaction AbortedTxn(version=0, producerId={entry.producer_id}, "
        f"firstOffset={entry.first_offset}, lastOffset={entry.last_offset}, "
        f"lastStableOffset={entry.last_stable_offset}) is less than start offset {base_offset}"
    )


def txn_version_fault(release: Release, name: str, entry: AbortedTxn) -> str | None:
    """The words of the exception that this release throws over the entry's version."""
    if entry.version <= VERSION:
        return None
    version = entry.version >> TXN_VERSION_SHIFT.of(release)
    return TXN_VERSION_WORDS.of(release).format(version, name) if version > VERSION else None
