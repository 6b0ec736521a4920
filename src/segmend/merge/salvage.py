"""Single records out of batches whose checksum fails, at offsets that no replica has sound.

Which of their bytes are wrong nothing tells, so such a record is never taken for a sound one: it stands only
where there is none, and is marked. Its batch must lie between the sound ones beside it, and its own offset in
the batch. Where batches of several replicas have the offset, what most of them say is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from segmend.errors import PartitionError
from segmend.formats.batch import HEADER_SIZE_V2, RecordBatch, parse, read_header
from segmend.formats.damage import Damage
from segmend.formats.java_number import LONG_MAX
from segmend.formats.record import Record, iter_records
from segmend.kernel.types import DECODE_LIMIT
from segmend.logdir.files import FileEntry
from segmend.logdir.partition_dir import PartitionDir
from segmend.merge.leaps import FAR, LEAP
from segmend.merge.pieces import Piece
from segmend.merge.spans import Span, Spans, common, has, united
from segmend.merge.values import Damaged, Merged, Replica

KIND: Final = "crc-mismatch"
_MOVED: Final = frozenset({LEAP, "misplaced"})
"""Of sound batches that are left out because their offset may be wrong, though they fit there."""
MOST_RECORDS: Final = 1 << 20
"""Few bytes may say that they are more: held in memory they would take gigabytes."""
_MOST: Final = 64
"""So often may one take the place of another among batches that have offsets in common."""


class _Broken(NamedTuple):
    """A batch whose checksum fails, in a place where it may have been."""

    first: int
    last: int
    number: int
    damaged: Damaged


def salvaged(replicas: Sequence[Replica], dirs: Sequence[PartitionDir], merged: Merged) -> Iterator[Piece]:
    """A piece for each broken batch of which something is taken, in order; raises `Unreadable`."""
    order = sorted(range(len(replicas)), key=lambda number: (number != merged.best, number))
    broken = [each for rank in order for each in _broken(rank, replicas[rank], dirs[rank], merged)]
    together: list[_Broken] = []
    # The sort keeps the order of replicas where batches begin at one offset.
    for each in sorted(broken, key=attrgetter("first")):
        if together and each.first > max(other.last for other in together):
            yield from _chosen(together, replicas, dirs, merged)
            together = []
        together.append(each)
    if together:
        yield from _chosen(together, replicas, dirs, merged)


def records_of(
    log: FileEntry, start: int, stop: int, most: int = MOST_RECORDS
) -> tuple[RecordBatch, list[Record]]:
    """The header of a broken batch, and what can be read of it, in order of offsets: the first `most`."""
    with log.reader() as reader:
        data = reader.read(stop - start, start)
    if len(data) < stop - start:
        raise PartitionError(f"{log.path}: became shorter while it was read")
    batch, damages = read_header(data, 0, start), list[Damage]()
    records = () if batch.is_control else iter_records(data, batch, damages, limit=DECODE_LIMIT)
    salvaged_records: list[Record] = []
    for record in records:
        if len(salvaged_records) == most:
            break
        if batch.magic < 2 and batch.codec and damages:
            break  # its offsets are counted back from the last one, which is not known
        last = (
            salvaged_records[-1].offset
            if salvaged_records
            else batch.base_offset - 1
            if batch.magic >= 2
            else -1
        )
        if last < record.offset <= batch.last_offset:
            salvaged_records.append(record)
    return batch, salvaged_records


def _broken(number: int, replica: Replica, place: PartitionDir, merged: Merged) -> Iterator[_Broken]:
    """Those of one replica that may have had missing offsets, each behind the one before."""
    last = -1
    for each in replica.damaged:
        room = each.first_offset, LONG_MAX if each.last_offset is None else each.last_offset
        small = each.end - each.position <= DECODE_LIMIT
        if each.kind not in {KIND, *_MOVED} or not small or not common([room], merged.missing):
            continue
        with place.entry(each.file).reader() as reader:
            batch, _ = parse(reader.read(min(HEADER_SIZE_V2, each.end - each.position), each.position))
        last = max(last, room[0] - 1)
        most = room[1] if each.kind == KIND else min(room[1], merged.next_offset + FAR)
        if batch is not None and last < batch.base_offset <= batch.last_offset <= most:
            first = last + 1 if batch.magic < 2 and batch.codec else batch.base_offset
            last = batch.last_offset
            yield _Broken(first, last, number, each)


def _chosen(
    together: Sequence[_Broken], replicas: Sequence[Replica], dirs: Sequence[PartitionDir], merged: Merged
) -> Iterator[Piece]:
    """What is taken of broken batches that have offsets in common."""
    said = [
        {
            record.offset: hash((record.timestamp, record.key, record.value, record.headers))
            for record in records_of(dirs[each.number].entry(each.damaged.file), *_bytes(each))[1]
            if has(merged.missing, record.offset)
            # Behind the end of the log nothing broken is believed to have been.
            and (record.offset < merged.next_offset or each.damaged.kind in _MOVED)
        }
        for each in together
    ]
    votes = {
        offset: Counter(each[offset] for each in said if offset in each) for offset in set().union(*said)
    }
    agreed = [sum(votes[offset][value] for offset, value in each.items()) for each in said]
    parts = _parts(said, lambda at, offset: (votes[offset][said[at][offset]], agreed[at], -at))
    if len(parts) > _MOST:
        parts = _parts(said, lambda at, _: (agreed[at], -at))
    for at, spans in parts:
        each = together[at]
        yield _piece(each, spans, replicas[each.number], dirs[each.number], merged)


def _parts(
    said: Sequence[Mapping[int, int]], worth: Callable[[int, int], tuple[int, ...]]
) -> list[tuple[int, Spans]]:
    """In order of offsets: which of the batches is taken for them, the one that is worth most."""
    parts: list[tuple[int, list[Span]]] = []
    for offset in sorted(set().union(*said)):
        having = (at for at, each in enumerate(said) if offset in each)
        taken = max(having, key=lambda at, of=offset: worth(at, of))  # type: ignore[misc]
        if not parts or parts[-1][0] != taken:
            parts.append((taken, []))
        parts[-1][1].append((offset, offset))
    return [(at, united(spans)) for at, spans in parts]


def _bytes(each: _Broken) -> tuple[int, int]:
    return each.damaged.position, each.damaged.end


def _piece(
    each: _Broken, spans: Sequence[Span], replica: Replica, place: PartitionDir, merged: Merged
) -> Piece:
    above = merged.high_watermark is not None and spans[0][0] >= merged.high_watermark
    start, stop = _bytes(each)
    log = place.entry(each.damaged.file)
    return Piece(
        replica=replica, log=log, base_offset=0, start=start, stop=stop, first=spans[0][0],
        last=spans[-1][1], batches=0, records=sum(last - first + 1 for first, last in spans),
        unacknowledged=above, salvaged=tuple(spans),
    )  # fmt: skip
