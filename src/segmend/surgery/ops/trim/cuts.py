"""What must be cut off one segment so that its files end with its last good batch.

The log is cut where its good batches end, and each index to the entries of what is left: the
broker's loader does the same, but only for segments that it recovers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from segmend.formats import offset_index, time_index, txn_index
from segmend.formats.batch import HEADER_SIZE_V2, RecordBatch, read_header
from segmend.formats.java_number import INT_MAX
from segmend.frozen import frozen, replace
from segmend.kernel.indexes import TIME_ENTRY
from segmend.kernel.proven import batch_at_end
from segmend.kernel.scan import ScanTask, iter_batches, scan_log
from segmend.kernel.types import CHAIN_KINDS, TAIL_KINDS, SegmentScan
from segmend.logdir.file_system import OpenFile
from segmend.logdir.files import FileEntry
from segmend.logdir.log_segment import LogSegment
from segmend.surgery.step import Step
from segmend.surgery.steps.cut_file import CutFile
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile

_WORDS = {
    "torn-tail": "the last batch is cut short",
    "header-fragment": "less than a header follows the last batch",
    "zero-tail": "zeros follow the last batch",
}


@frozen
class Cut:
    """A segment, the byte at which its log is to end, and what goes beyond garbage.

    `records` counts what whole batches behind it hold; `next_offset` is the first offset that is gone.
    `torn_end` is what can go without them: where they, too, are followed by garbage.
    """

    segment: LogSegment
    position: int
    size: int
    next_offset: int
    last_offset: int | None
    records: int
    why: str
    kept: SegmentScan
    torn_end: Cut | None = None

    @property
    def lossy(self) -> bool:
        """Whether a batch would go that is there as a whole."""
        return self.last_offset is not None


def cut_of(segment: LogSegment) -> Cut | None:
    """Where the log of a segment is to be cut; None if it ends as it should. Raises `Unreadable`."""
    if segment.log is None:
        return None
    with segment.log.reader() as reader:
        scan = scan_log(reader, ScanTask(base_offset=segment.base_offset))
        damage = next((p for p in scan.problems if p.kind in CHAIN_KINDS), None)
        if damage is None:
            return None
        position = damage.position
        kept = scan_log(reader, ScanTask(base_offset=segment.base_offset, stop=position))
        next_offset = segment.base_offset if kept.last_offset is None else kept.last_offset + 1
        whole = batch_at_end(reader, scan)
        behind: tuple[int, int | None] = 0, None
        if damage.kind not in TAIL_KINDS or whole is not None:
            copies = _copies(reader, scan, position, next_offset)
            behind = _behind(reader, scan, position, copies, whole)
        records, last = behind
        why = _WORDS.get(damage.kind, f"damage at byte {position} ({damage.kind})")
        return Cut(
            segment=segment, position=position, size=reader.size, next_offset=next_offset, records=records,
            last_offset=last, kept=kept, why=why,
            torn_end=None if last is None or whole is not None else _torn_end(segment, reader),
        )  # fmt: skip


def _torn_end(segment: LogSegment, reader: OpenFile) -> Cut | None:
    """What follows the last batch that has a header, whatever is wrong with those before it."""
    task = ScanTask(base_offset=segment.base_offset, crc=False)
    tail = scan_log(reader, task).tail
    if tail is None:
        return None
    kept = scan_log(reader, replace(task, stop=tail.position))
    after_all = segment.base_offset if kept.last_offset is None else kept.last_offset + 1
    return Cut(
        segment=segment, position=tail.position, size=reader.size, last_offset=None, records=0,
        next_offset=max(kept.next_offset, after_all), kept=kept, why=_WORDS[tail.kind],
    )  # fmt: skip


def _copies(reader: OpenFile, scan: SegmentScan, position: int, next_offset: int) -> frozenset[int]:
    """Where whole batches behind the damage are, byte for byte, what stands before it already."""
    places: dict[tuple[int, int], list[int]] = {}
    for batch in iter_batches(reader, start=position, crc=True, resync=True, base_offset=scan.base_offset):
        if batch.last_offset < next_offset:
            places.setdefault((batch.base_offset, batch.size), []).append(batch.position)
    copies: set[int] = set()
    for batch in iter_batches(reader, stop=position, base_offset=scan.base_offset) if places else ():
        data = reader.read(batch.size, batch.position)
        again = places.get((batch.base_offset, batch.size), ())
        copies.update(at for at in again if reader.read(batch.size, at) == data)
    return frozenset(copies)


def _behind(
    reader: OpenFile, scan: SegmentScan, position: int, copies: frozenset[int], whole: RecordBatch | None
) -> tuple[int, int | None]:
    """Records in, and last offset of, the whole batches from the damage on, those with a bad CRC included.

    `whole` is the one at the end that its CRC proves to be one. Copies of what is kept are not counted.
    """
    bad = [problem.position for problem in scan.problems if problem.kind == "crc-mismatch"]
    if whole is not None:
        copies, bad = copies - {whole.position}, [at for at in bad if at < whole.position]
    damaged = (read_header(reader.read(HEADER_SIZE_V2, at), 0, at) for at in bad)
    sound = iter_batches(reader, start=position, crc=True, resync=True, base_offset=scan.base_offset)
    records, last = 0, None
    ends = () if whole is None else (whole,)
    for batch in (each for each in chain(sound, damaged, ends) if each.position not in copies):
        last = batch.last_offset if last is None else max(last, batch.last_offset)
        if batch.magic >= 2 and not batch.is_control:
            records += batch.records_held
        elif batch.magic < 2:
            records += 1
    return records, last


def steps_of(cut: Cut) -> Iterator[Step]:
    """The log first, then its indexes; snapshots of offsets that are gone, if the segment is the last."""
    segment = cut.segment
    if segment.log is not None:
        yield CutFile.to(segment.log.path, cut.position, cut.why)
    why = "entries of what is cut off the log"
    if segment.index is not None and (size := _offset_entries(segment.index, cut)) is not None:
        yield CutFile.to(segment.index.path, size, why)
    if segment.timeindex is not None:
        yield from _time_entries(segment.timeindex, cut, why)
    if segment.txnindex is not None and (size := _txn_entries(segment.txnindex, cut)) is not None:
        yield CutFile.to(segment.txnindex.path, size, why)
    for offset, snapshot in segment.partition.snapshots if segment.is_active else ():
        if offset > cut.next_offset:
            yield Quarantine.of(snapshot.path, f"of offset {offset}, which the log does not reach any more")


def _offset_entries(index: FileEntry, cut: Cut) -> int | None:
    """The bytes of the entries that point to what is left; None if all do."""
    entries, _ = offset_index.parse(index.read())
    base = cut.segment.base_offset
    bad = (
        row for row, entry in enumerate(entries)
        if entry.position >= cut.position or base + entry.relative_offset >= cut.next_offset
    )  # fmt: skip
    row = next(bad, None)
    return None if row is None else row * offset_index.ENTRY_SIZE


def _time_entries(index: FileEntry, cut: Cut, why: str) -> Iterator[Step]:
    """The entries of what is left; if some go, the last one must be the largest timestamp that is left."""
    data = index.read()
    entries, _ = time_index.parse(data)
    base = cut.segment.base_offset
    rows = (row for row, entry in enumerate(entries) if base + entry.relative_offset >= cut.next_offset)
    row = next(rows, None)
    if row is None:
        return
    size = row * time_index.ENTRY_SIZE
    largest, offset = cut.kept.max_timestamp, cut.kept.offset_of_max_timestamp
    relative = -1 if offset is None else offset - base  # no entry can name one that is far off
    if not 0 <= relative <= INT_MAX or largest <= (entries[row - 1].timestamp if row else -1):
        yield CutFile.to(index.path, size, why)
        return
    data = data[:size] + TIME_ENTRY.pack(largest, relative)
    yield ReplaceFile.with_bytes(index.path, data, f"{why}; the largest timestamp that is left")


def _txn_entries(index: FileEntry, cut: Cut) -> int | None:
    aborted, _ = txn_index.parse(index.read())
    gone = (row for row, entry in enumerate(aborted.entries) if entry.last_offset >= cut.next_offset)
    row = next(gone, None)
    return None if row is None else row * txn_index.ENTRY_SIZE
