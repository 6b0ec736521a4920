"""Records as columns in plain buffers, laid out as Arrow lays them out, but without Arrow."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Self, TypeAlias

from segmend.formats.batch import CONTROL, TRANSACTIONAL
from segmend.formats.java_number import LONG_MAX, LONG_MIN
from segmend.frozen import frozen

if TYPE_CHECKING:
    from typing_extensions import Buffer

COLUMNS: Final = (
    "offset",
    "timestamp",
    "timestamp_type",
    "key",
    "value",
    "headers",
    "leader_epoch",
    "producer_id",
    "producer_epoch",
    "sequence",
    "is_transactional",
    "is_control",
    "batch_position",
)
"""Every column of a record, in this order."""

SIZES: Final = ("key_size", "value_size")
"""Columns beside these: bytes of keys and values, -1 for null, which cost none of the bytes themselves."""


Allocate: TypeAlias = "Callable[[int], Buffer]"
"""Gives memory of so many bytes that supports the buffer protocol."""


@frozen
class WantedRecords:
    """Which records, and what of them. Offsets and timestamps (ms) are inclusive bounds."""

    columns: frozenset[str] = frozenset(COLUMNS)
    control: bool = False
    first_offset: int = LONG_MIN
    last_offset: int = LONG_MAX
    since: int = LONG_MIN
    until: int = LONG_MAX

    @classmethod
    def between(
        cls, low: int, high: int, since: int | None, until: int | None,
        columns: Iterable[str] = COLUMNS, *, control: bool = False,
    ) -> Self:  # fmt: skip
        """The records of these offsets and times, None of which is no bound."""
        return cls(
            columns=frozenset(columns), control=control, first_offset=low, last_offset=high,
            since=LONG_MIN if since is None else since, until=LONG_MAX if until is None else until,
        )  # fmt: skip

    def takes(self, offset: int, timestamp: int) -> bool:
        return self.first_offset <= offset <= self.last_offset and self.since <= timestamp <= self.until


class Binary(NamedTuple):
    """Nullable byte strings: int32 `offsets` (one more than values), `data`, and a bitmap of the valid."""

    offsets: Buffer
    data: Buffer
    valid: Buffer
    nulls: int

    def values(self, count: int) -> list[bytes | None]:
        """The first so many."""
        ends, data, valid = numbers(self.offsets, "i"), memoryview(self.data), memoryview(self.valid)
        all_there = not self.nulls
        return [
            bytes(data[ends[row] : ends[row + 1]]) if all_there or valid[row >> 3] >> (row & 7) & 1 else None
            for row in range(count)
        ]


class Headers(NamedTuple):
    """Lists of headers: int32 `starts` (one more than records), and `total` keys and values."""

    starts: Buffer
    total: int
    keys: Binary
    values: Binary


class BatchRun(NamedTuple):
    """`rows` records of one batch, and what they have in common."""

    rows: int
    position: int
    magic: int
    attributes: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int

    @property
    def is_transactional(self) -> bool:
        return self.magic >= 2 and bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return self.magic >= 2 and bool(self.attributes & CONTROL)


_RUN: Final = Struct(f"{len(BatchRun._fields)}q")


def numbers(buffer: Buffer | None, kind: Literal["q", "i"]) -> memoryview[int]:
    """Those of a column that was wanted."""
    assert buffer is not None
    return memoryview(buffer).cast("B").cast(kind)


@frozen
class RecordColumns:
    """Some records; a column that was not wanted is None.

    `offsets` and `timestamps` are int64, `sequences` and sizes int32. `runs` holds `BatchRun` rows as int64.
    """

    rows: int
    offsets: Buffer | None
    timestamps: Buffer | None
    sequences: Buffer | None
    key_sizes: Buffer | None
    value_sizes: Buffer | None
    key: Binary | None
    value: Binary | None
    headers: Headers | None
    runs: Buffer
    run_count: int

    def batches(self) -> Iterator[BatchRun]:
        packed = memoryview(self.runs).cast("B")[: self.run_count * _RUN.size]
        return map(BatchRun._make, _RUN.iter_unpack(bytes(packed)))


class BinaryBuilder:
    """Appends nullable byte strings."""

    def __init__(self) -> None:
        self._offsets = array("i", [0])
        self._data = bytearray()
        self._valid = bytearray()
        self._nulls = 0

    def append(self, value: bytes | None) -> None:
        row = len(self._offsets) - 1
        if row % 8 == 0:
            self._valid.append(0)
        if value is None:
            self._nulls += 1
        else:
            self._valid[-1] |= 1 << row % 8
            self._data += value
        self._offsets.append(len(self._data))

    def finish(self) -> Binary:
        return Binary(self._offsets, self._data, self._valid, self._nulls)


class RecordBuilder:
    """Appends records one by one: the plain engine, and the wrappers of magic 0 and 1 of both."""

    def __init__(self, wanted: WantedRecords) -> None:
        self._columns = wanted.columns
        self.rows = 0
        self.size = 0
        self._offsets, self._timestamps, self._sequences = array("q"), array("q"), array("i")
        self._key_sizes, self._value_sizes = array("i"), array("i")
        self._key, self._value = BinaryBuilder(), BinaryBuilder()
        self._starts = array("i", [0])
        self._header_keys, self._header_values = BinaryBuilder(), BinaryBuilder()
        self._runs = array("q")

    def append(
        self,
        numbers: tuple[int, int, int],
        key: bytes | None,
        value: bytes | None,
        headers: tuple[tuple[bytes, bytes | None], ...],
    ) -> None:
        """One record; `numbers` are offset, timestamp and sequence."""
        self.rows += 1
        self.size += len(key or b"") + len(value or b"")
        for column, number in zip((self._offsets, self._timestamps, self._sequences), numbers, strict=True):
            column.append(number)
        self._key_sizes.append(-1 if key is None else len(key))
        self._value_sizes.append(-1 if value is None else len(value))
        self._key.append(key)
        self._value.append(value)
        for header_key, header_value in headers:
            self._header_keys.append(header_key)
            self._header_values.append(header_value)
        self._starts.append(self._starts[-1] + len(headers))

    def end_run(self, run: BatchRun) -> None:
        """The last `run.rows` records were of one batch."""
        if run.rows:
            self._runs.extend(run)

    def finish(self) -> RecordColumns:
        columns = self._columns
        headers = Headers(
            self._starts, self._starts[-1], self._header_keys.finish(), self._header_values.finish()
        )
        return RecordColumns(
            rows=self.rows,
            offsets=self._offsets if "offset" in columns else None,
            timestamps=self._timestamps if "timestamp" in columns else None,
            sequences=self._sequences if "sequence" in columns else None,
            key_sizes=self._key_sizes if "key_size" in columns else None,
            value_sizes=self._value_sizes if "value_size" in columns else None,
            key=self._key.finish() if "key" in columns else None,
            value=self._value.finish() if "value" in columns else None,
            headers=headers if "headers" in columns else None,
            runs=self._runs,
            run_count=len(self._runs) // len(BatchRun._fields),
        )
