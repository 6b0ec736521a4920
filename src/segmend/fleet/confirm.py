"""Where two replicas differ, read from their batch headers, in the buckets that the joins suspect.

A sum that differs says that something differs, or only that one replica ends or begins in
the middle of the bucket. The headers tell: they are few, and an index says where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from segmend.fleet.cross.replica import Difference, Divergence
from segmend.fleet.pack import FILE_COST
from segmend.fleet.remote import files_of
from segmend.fleet.schemas import DIGEST_OFFSETS
from segmend.formats import offset_index
from segmend.formats.batch import RecordBatch
from segmend.frozen import dataclass, frozen
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_dir import LogDir
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir


@frozen
class Suspect:
    """One replica, its reference, and the buckets to look into, lowest first."""

    log_dir_id: int
    topic: str
    partition: int
    dir_name: str
    path: str
    reference_path: str
    reference: int
    comparable_from: int
    buckets: tuple[int, ...]

    @property
    def weight(self) -> int:
        """Two segments and their indexes."""
        return 4 * FILE_COST


@dataclass(frozen=True, slots=True)
class _Seen:
    """A batch and the file it lies in."""

    batch: RecordBatch
    file: str

    @property
    def identity(self) -> tuple[int, int, int, int]:
        """What must agree between replicas."""
        b = self.batch
        return b.base_offset, b.last_offset, b.partition_leader_epoch, b.crc


Verdict = tuple[int, str, int, Divergence | None]
Found = tuple[Difference, _Seen | None, _Seen | None]


def confirm(suspects: Sequence[Suspect]) -> list[Verdict]:
    """(log dir id, topic, partition, where it differs or None) of each suspect."""
    return [(s.log_dir_id, s.topic, s.partition, _first_difference(s)) for s in suspects]


def _first_difference(suspect: Suspect) -> Divergence | None:
    mine, other = _partition(suspect.path, suspect), _partition(suspect.reference_path, suspect)
    for bucket in suspect.buckets:
        low = max(bucket * DIGEST_OFFSETS, suspect.comparable_from)
        high = (bucket + 1) * DIGEST_OFFSETS
        try:
            difference = differ(list(_batches(mine, low, high)), list(_batches(other, low, high)))
        except Unreadable:
            # Already a finding of its own; what cannot be read cannot be compared, and the rest can.
            continue
        if difference is not None:
            return _divergence(*difference, suspect.reference)
    return None


def _partition(log_dir: str, suspect: Suspect) -> PartitionDir:
    return PartitionDir.forced(LogDir(log_dir, {}, files_of(log_dir)), suspect.dir_name)


def _batches(partition: PartitionDir, low: int, high: int) -> Iterator[_Seen]:
    """The batches of a replica whose base offset is in [low, high), in order of offset."""
    for segment in partition.segments:
        following = segment.next_base_offset
        if segment.log is None or segment.base_offset >= high or (following is not None and following <= low):
            continue
        with segment.log.reader() as reader:
            start = _start(segment, low, reader.size)
            headers = iter_batches(reader, start=start, resync=True, base_offset=segment.base_offset)
            for batch in takewhile(lambda b: b.base_offset < high, headers):
                if batch.base_offset >= low:
                    yield _Seen(batch, f"{partition.name}/{segment.log.name}")


def _start(segment: LogSegment, offset: int, size: int) -> int:
    """Where to begin reading for `offset`; from the start if the index is missing or points past the end."""
    if segment.index is None or offset <= segment.base_offset:
        return 0
    index, damages = offset_index.parse(segment.index.read())
    position = 0 if damages else index.lookup(offset - segment.base_offset)
    return position if position < size else 0


def differ(
    mine: Sequence[_Seen], other: Sequence[_Seen]
) -> tuple[Difference, _Seen | None, _Seen | None] | None:
    """The first difference where both have offsets; None if they agree there.

    A replica may begin later (retention) or end earlier (it lags): only offsets between the
    later beginning and the earlier end are compared.
    """
    if not mine or not other:
        return None
    low = max(mine[0].batch.base_offset, other[0].batch.base_offset)
    high = min(mine[-1].batch.last_offset, other[-1].batch.last_offset)
    ours = [seen for seen in mine if low <= seen.batch.base_offset <= high]
    theirs = [seen for seen in other if low <= seen.batch.base_offset <= high]
    for a, b in zip(ours, theirs, strict=False):
        if a.identity != b.identity:
            return _kind(a.batch, b.batch), a, b
    if len(ours) > len(theirs):
        return "absent-there", ours[len(theirs)], None
    if len(theirs) > len(ours):
        return "absent-here", None, theirs[len(ours)]
    return None


def _kind(mine: RecordBatch, other: RecordBatch) -> Difference:
    if mine.base_offset != other.base_offset:
        return "absent-here" if mine.base_offset > other.base_offset else "absent-there"
    if mine.partition_leader_epoch != other.partition_leader_epoch:
        return "epoch"
    return "content" if mine.last_offset == other.last_offset else "boundary"


def _divergence(kind: Difference, mine: _Seen | None, other: _Seen | None, reference: int) -> Divergence:
    offsets = [seen.batch.base_offset for seen in (mine, other) if seen is not None]
    detail = {}
    for name, seen in (("here", mine), ("there", other)):
        if seen is not None:
            detail[f"epoch_{name}"] = seen.batch.partition_leader_epoch
            detail[f"crc_{name}"] = seen.batch.crc
    return Divergence(
        offset=min(offsets),
        difference=kind,
        reference=reference,
        file=mine.file if mine else None,
        position=mine.batch.position if mine else None,
        detail=detail,
    )
