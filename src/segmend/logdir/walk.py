"""A log from one end to the other as a stream: batches, their records, and damage where it lies.

For looking, not for judging: `kernel.scan_log` is the one that checks. Memory is bounded by
one batch, whatever the file. The walk goes on after damage (`iter_batches` with resync) and
asks a scan of the bytes in between for the name of what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.formats.batch import RecordBatch, compute_crc
from segmend.formats.damage import Damage
from segmend.formats.java_number import LONG_MAX, LONG_MIN
from segmend.formats.record import Record, iter_records
from segmend.frozen import frozen
from segmend.kernel.batches import checksum
from segmend.kernel.scan import ScanTask, iter_batches, scan_log
from segmend.kernel.types import KINDS
from segmend.logdir.file_system import OpenFile

DECODE_LIMIT = 64 << 20
"""Batches larger than this, or that decompress to more, are not looked into."""


@frozen
class Selection:
    """What to show: offsets, byte positions and times (ms), each from and to inclusive."""

    first_offset: int = LONG_MIN
    last_offset: int = LONG_MAX
    first_position: int = 0
    last_position: int = LONG_MAX
    since: int | None = None
    until: int | None = None

    def batch(self, batch: RecordBatch) -> bool:
        """Whether any record of the batch can be wanted."""
        if not self.first_position <= batch.position <= self.last_position:
            return False
        if batch.last_offset < self.first_offset or self._begins_after(batch):
            return False
        if self.since is not None and batch.max_timestamp < self.since:
            return False
        return self.until is None or self._may_begin_by(batch, self.until)

    def record(self, record: Record) -> bool:
        return (
            self.first_offset <= record.offset <= self.last_offset
            and (self.since is None or record.timestamp >= self.since)
            and (self.until is None or record.timestamp <= self.until)
        )

    def _begins_after(self, batch: RecordBatch) -> bool:
        # A compressed magic 0/1 wrapper does not tell its first offset.
        return batch.magic >= 2 and batch.base_offset > self.last_offset

    def _may_begin_by(self, batch: RecordBatch, until: int) -> bool:
        # The base timestamp is the first record's, and any later record may be older.
        return batch.records_count != 1 or batch.max_timestamp <= until


@frozen
class BatchItem:
    batch: RecordBatch
    valid: bool


@frozen
class RecordItem:
    """One record of the batch that was told last."""

    batch: RecordBatch
    record: Record


@frozen
class DamageItem:
    """Bytes that are no sound batch, or a fault in one; `end` is exclusive."""

    kind: str
    position: int
    end: int
    reason: str


Item = BatchItem | RecordItem | DamageItem


def walk(
    reader: OpenFile, *, base_offset: int, selection: Selection, start: int, records: bool
) -> Iterator[Item]:
    """Everything wanted from byte `start` (a batch boundary) on, in file order."""
    position = start
    for batch in iter_batches(reader, start=start, resync=True, base_offset=base_offset):
        if batch.position > position:
            yield from _between(reader, base_offset, position, batch.position, selection)
        position = batch.end
        if selection.batch(batch):
            yield from _batch(reader, batch, selection, records)
        if _past(batch, selection):
            return
    if position < reader.size:
        yield from _between(reader, base_offset, position, reader.size, selection)


def _past(batch: RecordBatch, selection: Selection) -> bool:
    return batch.position > selection.last_position or (
        batch.magic == 2 and batch.base_offset > selection.last_offset
    )


def _batch(reader: OpenFile, batch: RecordBatch, selection: Selection, records: bool) -> Iterator[Item]:
    small = batch.size <= DECODE_LIMIT
    data = reader.read(batch.size, batch.position) if small else b""
    valid = (compute_crc(data, batch.magic) if data else checksum(reader, batch)) == batch.crc
    yield BatchItem(batch=_unwrapped(data, batch) if small else batch, valid=valid)
    if not 0 <= batch.magic <= 2:
        yield _fault(batch, "bad-magic", f"magic {batch.magic} is none of 0, 1, 2")
    if not records:
        return
    if not small:
        yield _fault(batch, "too-large", f"{batch.size} bytes are too many to look into")
        return
    yield from _records(data, batch, selection)


def _unwrapped(data: bytes, batch: RecordBatch) -> RecordBatch:
    """A compressed magic 0/1 wrapper with its first offset and its count, which only the inside tells."""
    if batch.magic not in (0, 1) or not batch.codec:
        return batch
    first, count = batch.base_offset, 0
    for record in iter_records(data, batch, [], limit=DECODE_LIMIT):
        first, count = (record.offset if count == 0 else first), count + 1
    return batch._replace(base_offset=first, records_count=count or -1)


def _records(data: bytes, batch: RecordBatch, selection: Selection) -> Iterator[Item]:
    damages: list[Damage] = []
    for record in iter_records(data, batch, damages, limit=DECODE_LIMIT):
        if selection.record(record):
            yield RecordItem(batch=batch, record=record)
    for damage in damages:
        yield DamageItem(
            kind=damage.kind, position=batch.position + damage.position, end=batch.end, reason=damage.reason
        )


def _fault(batch: RecordBatch, kind: str, reason: str) -> DamageItem:
    return DamageItem(kind=kind, position=batch.position, end=batch.end, reason=reason)


def _between(reader: OpenFile, base: int, start: int, end: int, selection: Selection) -> Iterator[DamageItem]:
    """The names of what is wrong with bytes in which no batch was found."""
    if end <= selection.first_position or start > selection.last_position:
        return
    problems = scan_log(reader, ScanTask(base_offset=base, start=start, stop=end, crc=False)).problems
    for problem in problems:
        if problem.position < end:
            facts = ", ".join(f"{name} {value}" for name, value in problem.detail if name != "next")
            reason = f"{KINDS[problem.kind]}{f' ({facts})' if facts else ''}"
            yield DamageItem(
                kind=problem.kind, position=problem.position, end=min(end, problem.end), reason=reason
            )
    if not problems:
        yield DamageItem(kind="hole", position=start, end=end, reason="no batch can be read here")
