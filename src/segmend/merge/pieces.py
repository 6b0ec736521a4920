"""Where the chosen offsets lie: whole batches as bytes of a log, and by themselves those that are cut.

A batch is never taken apart if all of its records are wanted, so that its bytes stay what they are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from segmend.errors import PartitionError
from segmend.formats import legacy
from segmend.formats.batch import RecordBatch
from segmend.frozen import frozen, replace
from segmend.kernel.types import DECODE_LIMIT
from segmend.logdir.files import FileEntry
from segmend.logdir.partition_dir import PartitionDir
from segmend.merge.rows import iter_rows
from segmend.merge.spans import Span
from segmend.merge.values import Range, Replica, Run


@frozen
class Piece:
    """Batches that lie one behind the other in one log: bytes [start, stop), offsets first to last.

    A piece that is `cut` is one batch of which only these offsets are wanted, and not those of `without`.
    One with an `epoch` is a batch whose header has another one, which is wrong; it is `cut`, too.
    One that is `salvaged` is a batch whose checksum fails, of which only these offsets are taken.
    """

    replica: Replica
    log: FileEntry
    base_offset: int
    start: int
    stop: int
    first: int
    last: int
    batches: int
    records: int
    unacknowledged: bool = False
    cut: bool = False
    epoch: int | None = None
    without: frozenset[int] = frozenset()
    salvaged: tuple[Span, ...] = ()

    def with_next(self, other: Piece) -> Piece:
        """Both as one; `other` begins where this one ends."""
        assert self.stop == other.start, "bytes that nobody chose lie between two batches"
        return replace(
            self, stop=other.stop, last=other.last, batches=self.batches + other.batches,
            records=self.records + other.records,
        )  # fmt: skip

    @property
    def size(self) -> int:
        return self.stop - self.start

    @property
    def file(self) -> str:
        """The log, relative to its log dir."""
        return f"{self.replica.name}/{self.log.name}"


def require_whole(piece: Piece) -> None:
    """Raise `PartitionError` if its log became shorter, and what was read of it is not all."""
    if piece.log.stat().size < piece.stop:
        raise PartitionError(
            f"{piece.log.path}: became shorter while it was read; give the same command again, which goes on"
        )


def pieces(
    replicas: Sequence[Replica], dirs: Sequence[PartitionDir], ranges: Iterable[Range]
) -> Iterator[Piece]:
    """The batches of these ranges, in order; `dirs` are those of the replicas. Raises `Unreadable`."""
    logs: dict[tuple[int, str], FileEntry] = {}
    for wanted in ranges:
        replica, place = replicas[wanted.replica], dirs[wanted.replica]
        at = bisect_left(replica.runs.column("last_offset"), wanted.first_offset)
        to = bisect_right(replica.runs.column("first_offset"), wanted.last_offset)
        for number in range(at, to):
            run = replica.runs[number]
            which = wanted.replica, run.file
            log = logs[which] = logs.get(which) or place.entry(run.file)
            yield from _of_run(replica, log, run, wanted)


def _of_run(replica: Replica, log: FileEntry, run: Run, wanted: Range) -> Iterator[Piece]:
    low, high = max(run.first_offset, wanted.first_offset), min(run.last_offset, wanted.last_offset)
    without = _between(wanted.superseded, low, high)
    whole = Piece(
        replica=replica, log=log, base_offset=run.segment, start=run.first_position, stop=run.end_position,
        first=run.first_offset, last=run.last_offset, batches=run.batches, records=run.records,
        unacknowledged=wanted.unacknowledged, cut=run.written is not None,
        epoch=None if run.written is None else run.epoch,
    )  # fmt: skip
    if (low, high) == (run.first_offset, run.last_offset) and not without:
        yield whole
        return
    current: Piece | None = None
    for batch in _batches(log, run, low, high):
        piece = _of_batch(whole, batch, low, high, without)
        if piece is None:
            continue
        if current is not None and not current.cut and not piece.cut:
            current = current.with_next(piece)
            continue
        if current is not None:
            yield current
        current = piece
    if current is not None:
        yield current


def _batches(log: FileEntry, run: Run, low: int, high: int) -> Iterator[RecordBatch]:
    """The batches of a run that may hold these offsets, found by its marks."""
    before = bisect_right(run.marks, low, key=lambda mark: mark.next_offset)
    behind = bisect_right(run.marks, high, key=lambda mark: mark.next_offset)
    start = run.marks[before - 1].position if before else run.first_position
    stop = run.marks[behind].position if behind < len(run.marks) else run.end_position
    return (row.batch for row in iter_rows(log, base_offset=run.segment, start=start, stop=stop, low=low))


def _of_batch(whole: Piece, batch: RecordBatch, low: int, high: int, without: Sequence[int]) -> Piece | None:
    """What is wanted of one batch, None if it is nothing."""
    first = _first_offset(whole.log, batch)
    if batch.last_offset < low or first > high:
        return None
    taken = max(first, low), min(batch.last_offset, high)
    dropped = frozenset(_between(without, first, batch.last_offset))
    return replace(
        whole, start=batch.position, stop=batch.end, first=taken[0], last=taken[1], batches=1,
        records=batch.records_count if batch.magic >= 2 else batch.last_offset - first + 1,
        cut=whole.cut or bool(dropped) or taken != (first, batch.last_offset), without=dropped,
    )  # fmt: skip


def _between(ascending: Sequence[int], low: int, high: int) -> Sequence[int]:
    return ascending[bisect_left(ascending, low) : bisect_right(ascending, high)]


def _first_offset(log: FileEntry, batch: RecordBatch) -> int:
    """Its first offset, for which a compressed wrapper of magic 0 or 1 is opened."""
    if batch.magic >= 2 or not batch.codec:
        return batch.base_offset
    with log.reader() as reader:
        data = reader.read(batch.size, batch.position)
    first = legacy.base_offset(data, batch, limit=DECODE_LIMIT)
    return batch.base_offset if first is None else first
