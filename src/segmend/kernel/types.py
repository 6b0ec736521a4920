"""What a scan of one `.log` file says: plain values, the same from both engines.

Nothing here reads or computes. Positions are bytes from the start of the file, offsets
are Kafka offsets, timestamps are milliseconds since the epoch (-1: none).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, Protocol, TypedDict

from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.formats.txn_index import AbortedTxn
from segmend.frozen import frozen

WINDOW: Final = 1 << 20
"""Bytes of one read; the buffer is reused, so a scan of any file needs about this much."""

WINDOW_LIMIT: Final = 32 << 20
"""The window grows for a larger batch up to this size (and never past the end of the file).

A still larger batch has its CRC computed piece by piece and its records are not looked
at: it is reported as `too-large`, which is not damage.
"""

DECODE_LIMIT: Final = 64 << 20
"""No more than this many bytes are decompressed from one batch (`too-large` beyond)."""

MAX_PROBLEMS: Final = 1000
"""Problems kept of one scan; `SegmentScan.problem_counts` counts all of them."""

MAX_MISMATCHES: Final = 100
"""Mismatched index entries kept of one index; `IndexMatch.mismatched` counts all of them."""

MAX_EPOCHS: Final = 65_536
MAX_INDEX_ENTRIES: Final = 1 << 22
"""Entries built of one index; three times what the default segment.index.bytes has room for."""
MAX_ABORTED: Final = 100_000
MAX_PRODUCERS: Final = 100_000
"""Of one replay. Who writes segments anew holds the states before and after one, and the snapshot that they
become, at up to 900 bytes a producer: 85 MiB of the 300 that a rescue may take."""

ProblemKind = Literal[
    "size-too-small", "size-past-end", "header-fragment", "torn-tail", "zero-tail", "crc-mismatch",
    "bad-magic", "bad-codec", "header-field", "offset-before-base", "offset-backwards", "offset-overflow",
    "epoch-backwards", "control-record", "transaction-state", "producer-epoch-backwards", "undecodable",
    "too-large", "record-structure", "count-mismatch", "timestamp-mismatch", "legacy-inner",
]  # fmt: skip
NoProblem = Literal[""]
KINDS: Final[dict[ProblemKind, str]] = {
    # Damage of the chain of batches: the walk cannot take these bytes for a batch. `end` is where it goes on.
    "size-too-small": "the size field is below the minimum of its format",
    "size-past-end": "the size field points past the end of the file, and valid batches follow",
    "header-fragment": "1 to 17 bytes (perhaps zeros) after the last batch, which every broker ignores",
    "torn-tail": "the last batch is shorter than its size field says, nothing valid follows",
    "zero-tail": "18 or more bytes to the end of the file, all of them zero",
    "crc-mismatch": "the checksum of the batch does not match its bytes",
    "bad-magic": "the magic byte is none of 0, 1, 2",
    # Faults of a batch whose checksum is right (or was not asked for). `end` is the end of the batch.
    "bad-codec": "the attributes name a compression codec that does not exist for this magic",
    "header-field": "a field of the header cannot be: lastOffsetDelta or recordsCount is negative",
    "offset-before-base": "the batch begins before the segment's base offset",
    "offset-backwards": "the batch does not begin after the last offset of the batch before it",
    "offset-overflow": "the batch ends more than 2^31-1 after the segment's base offset",
    "epoch-backwards": "the leader epoch is lower than that of the batch before it",
    "control-record": "the record of an end-of-transaction control batch is unreadable or of unknown type",
    "transaction-state": "non-transactional data of a producer whose transaction is open",
    "producer-epoch-backwards": "the producer epoch is lower than the last one of this producer",
    # Faults that only reading the records shows (`records=True`).
    "undecodable": "the compressed records cannot be decompressed",
    "too-large": "the records were not looked at: the batch exceeds WINDOW_LIMIT or DECODE_LIMIT",
    "record-structure": "a record's lengths or offset do not fit its batch",
    "count-mismatch": "recordsCount differs from the number of records",
    "timestamp-mismatch": "maxTimestamp is not the largest timestamp of the records",
    "legacy-inner": "an inner message of a compressed magic 0/1 wrapper has another magic, or a bad CRC",
}
"""Every kind of `Problem`, with its meaning."""

TAIL_KINDS: Final[frozenset[ProblemKind]] = frozenset(("header-fragment", "torn-tail", "zero-tail"))
"""The kinds that can only end a file."""

RECORD_KINDS: Final[frozenset[ProblemKind]] = frozenset(
    ("undecodable", "record-structure", "count-mismatch", "timestamp-mismatch", "legacy-inner", "too-large")
)
"""The kinds that only a look into the records finds."""

CHAIN_KINDS: Final[frozenset[ProblemKind]] = frozenset(
    (*TAIL_KINDS, "size-too-small", "size-past-end", "crc-mismatch", "bad-magic")
)
"""The kinds that take bytes out of the chain of batches."""

ASTRAY_KINDS: Final = frozenset(
    {"position-order", "offset-order", "not-a-boundary", "position-past-end", "offset-behind"}
)
"""Kinds of `IndexMismatch` by which a lookup comes to a wrong place, or skips records."""


class Reader(Protocol):
    """Random access to the bytes of one file, as `logdir.disk` gives it."""

    @property
    def size(self) -> int:
        """Length of the file in bytes when it was opened."""

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Fill `buffer` from `position`; fewer bytes than asked only at the end of the file."""

    def extents(self) -> Iterator[tuple[int, int]]:
        """(start, end) of the parts that are no holes, where that can be told."""


class BytesReader:
    """A `Reader` over bytes in memory."""

    __slots__ = ("_data", "size")

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self._data = memoryview(data)
        self.size = len(self._data)

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Copy what there is at `position`."""
        part = self._data[position : position + len(buffer)]
        buffer[: len(part)] = part
        return len(part)

    def extents(self) -> Iterator[tuple[int, int]]:
        """All of it."""
        yield 0, self.size


@frozen
class BatchRange:
    """Which batches of a `.log` file are read: those that begin in bytes [start, stop), a batch at `start`.

    `base_offset` is the number in the file's name. With `crc` every checksum is computed first.
    """

    base_offset: int
    start: int = 0
    stop: int | None = None
    crc: bool = True

    def limits(self, size: int) -> tuple[int, int, int]:
        """Where reading begins and where batches may begin no more, in a file of this size, and the size."""
        return self.start, size if self.stop is None else min(self.stop, size), size


@frozen
class Problem:
    """One located fault of a `.log` file.

    `position` and `end` bound the bytes it concerns; `offset` is the base offset the batch
    claims (None where no header can be read). `detail` holds pairs such as
    `("stored", 1234)`; see `facts`.
    """

    kind: ProblemKind
    position: int
    end: int
    offset: int | None = None
    detail: tuple[tuple[str, int | str], ...] = ()
    expected: int | None = None
    """Of damage: the offset that should have come here, after the batches before it."""

    @property
    def facts(self) -> dict[str, int | str]:
        return dict(self.detail)


@frozen
class IndexMismatch:
    """One entry of an offset or time index that disagrees with the batches.

    `entry` counts entries from 0, `offset` is absolute, `position` is set for an offset
    index and `timestamp` for a time index. `expected` is what the log says instead, where
    one number says it (the batch's largest timestamp, the previous entry's value, ...).
    """

    kind: str
    entry: int
    offset: int
    position: int | None = None
    timestamp: int | None = None
    expected: int | None = None


@frozen
class IndexMatch:
    """How the entries of one index agree with the batches that were walked.

    `entries` counts whole entries without the zero-filled tail, `padding` the zero entries
    at the end, `surplus_bytes` what is left after the last whole entry. `unverifiable`
    entries point into damaged bytes or outside the walked range. `mismatched` counts all
    disagreements, `mismatches` holds the first `MAX_MISMATCHES` of them by entry.
    """

    entries: int
    padding: int
    surplus_bytes: int
    unverifiable: int
    mismatched: int
    mismatches: tuple[IndexMismatch, ...]


@frozen
class IndexRule:
    """How index entries are made (class LogSegment, recover).

    A batch gets an entry when it begins more than `interval` bytes (index.interval.bytes)
    after the batch that got the last one. Its offset is the batch's last one, or its first
    one with `first_offsets` (before 2.0); of a compressed magic 0/1 wrapper always the last.
    """

    interval: int = 4096
    first_offsets: bool = False


@frozen
class BuiltIndexes:
    """The bytes of `.index` and `.timeindex` as a recovery of the sound batches writes them."""

    offset_index: bytes
    time_index: bytes


@frozen
class ControlFacts:
    """Control and transactional batches by number.

    `unmatched_markers` end a transaction whose beginning is not in the scanned bytes nor
    in the producer state they started from; a broker writes no `.txnindex` row for them.
    `other` counts control batches without producer id (KRaft: leader change, snapshot
    header and footer, ...).
    """

    control_batches: int = 0
    transactional_batches: int = 0
    commits: int = 0
    aborts: int = 0
    unmatched_markers: int = 0
    unmatched_aborts: int = 0
    other: int = 0


@frozen
class SoundPart:
    """What the batches before the first damage say: all that a recovery, which stops there, sees.

    `end` is where the damage begins, `kind` what it looks like there, without a look behind it.
    """

    end: int
    kind: str
    batches: int
    last_offset: int | None
    max_timestamp: int
    epochs: tuple[tuple[int, int], ...]
    producers: tuple[ProducerStateEntry, ...]


class SoundFacts(TypedDict):
    """What a `Walker` says of a `SegmentScan`: what the sound batches said."""

    batches: int
    records: int
    records_exact: bool
    first_offset: int | None
    last_offset: int | None
    next_offset: int
    min_timestamp: int
    max_timestamp: int
    offset_of_max_timestamp: int
    epochs: tuple[tuple[int, int], ...]
    magics: tuple[tuple[int, int], ...]
    codecs: tuple[tuple[int, int], ...]
    null_keys: int
    control: ControlFacts
    producers: tuple[ProducerStateEntry, ...]
    aborted: tuple[AbortedTxn, ...]
    offset_index: IndexMatch | None
    time_index: IndexMatch | None
    built: BuiltIndexes | None
    bounded: tuple[str, ...]


@frozen
class SegmentScan:
    """Everything one pass over the batches of a `.log` says. Small, whatever the file.

    Only sound batches (right size, magic and, if asked for, checksum) count in `batches`
    and in all facts below it; `damaged_batches` counts the rest. The
    one exception is `next_offset`.

    `valid_bytes` is the end of the undamaged beginning: where a broker's recovery would
    cut. `end` is where the scan ended (`stop`, or the end of the file).

    `records` adds up recordsCount; for compressed magic 0/1 wrappers the inner messages
    are counted with `records=True`, otherwise they are missing and `records_exact` is
    False. `first_offset` is the base offset of the first batch (of a magic 0/1 wrapper:
    its last inner offset, as in the header). `next_offset` is what a broker takes for the
    log end offset: one after the physically last batch with a readable header, damaged or
    not, or `base_offset` without any.

    `min_timestamp` is the smallest first timestamp of a batch, `max_timestamp` the largest
    maxTimestamp field, `offset_of_max_timestamp` the last offset of the first batch that
    has it. `epochs` are the (leader epoch, start offset) pairs a broker's recovery would
    assign. `magics` and `codecs` are (value, number of batches), ascending. `null_keys`
    counts records without key outside control batches (only with `records=True`).

    `producers` is the state after the scan, by producer id, `aborted` the rows of the
    `.txnindex`; `built` are the indexes, where they were asked for; `sound` is the beginning of a
    log that has damage. `bounded` names what was
    cut at its limit (`problems`, `epochs`, `producers`, `aborted`, `index`): past that point
    the named value is incomplete.

    What has a default is filled in by `scan_log`, all else by a `Walker`: what the sound batches said.
    """

    size: int = 0
    start: int = 0
    end: int = 0
    base_offset: int = 0
    crc_checked: bool = False
    records_checked: bool = False

    valid_bytes: int = 0
    damaged_batches: int = 0

    batches: int
    records: int
    records_exact: bool
    first_offset: int | None
    last_offset: int | None
    next_offset: int
    min_timestamp: int
    max_timestamp: int
    offset_of_max_timestamp: int
    epochs: tuple[tuple[int, int], ...]
    magics: tuple[tuple[int, int], ...]
    codecs: tuple[tuple[int, int], ...]
    null_keys: int

    control: ControlFacts
    producers: tuple[ProducerStateEntry, ...]
    aborted: tuple[AbortedTxn, ...]

    problems: tuple[Problem, ...] = ()
    problem_counts: tuple[tuple[str, int], ...] = ()
    offset_index: IndexMatch | None
    time_index: IndexMatch | None
    built: BuiltIndexes | None
    sound: SoundPart | None = None
    bounded: tuple[str, ...]

    @property
    def open_transactions(self) -> tuple[ProducerStateEntry, ...]:
        """Producers whose transaction is still open at the end, earliest first."""
        unended = (state for state in self.producers if state.current_txn_first_offset >= 0)
        return tuple(sorted(unended, key=lambda state: (state.current_txn_first_offset, state.producer_id)))

    @property
    def unreplayable(self) -> tuple[str, ...]:
        """Of what there is more than a scan keeps, so that no later segment can be replayed from it."""
        return tuple(what for what in self.bounded if what in ("producers", "aborted"))

    @property
    def holes(self) -> tuple[tuple[int, int], ...]:
        """(position, end) of the damage inside the file, after which the walk found batches again."""
        chain = (problem for problem in self.problems if problem.kind in CHAIN_KINDS - TAIL_KINDS)
        return tuple((problem.position, problem.end) for problem in chain)

    @property
    def tail(self) -> Problem | None:
        return next((problem for problem in self.problems if problem.kind in TAIL_KINDS), None)


@frozen
class BrokerEnd:
    """Where a broker's iteration from one position ends (class FileLogInputStream).

    `next_offset` is the log end offset it would take. `failure` is None, or the kind of
    the exception it would die from: `size-too-small` (CorruptRecordException "Found record
    size ... smaller than minimum record overhead"). `ignored` is the number of bytes after
    `position` that it silently takes for the end of the log.
    """

    next_offset: int
    position: int
    batches: int
    ignored: int
    failure: str | None = None
    found_size: int | None = None
