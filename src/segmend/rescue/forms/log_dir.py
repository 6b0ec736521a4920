"""A log dir that a broker of the release opens as one that was closed in order.

Batches keep their bytes; all that goes with them is computed from them. The identity is that of a
source dir, with the metadata log of its node, as it is, if that is among the sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from segmend.broker.checkpoints import LEADER_EPOCHS, TOPIC_IDS
from segmend.broker.recovery import PRODUCER_STATE
from segmend.broker.sanity import TIME_INDEX
from segmend.cluster.cluster_dirs import Home
from segmend.errors import UsageError
from segmend.formats import (
    clean_shutdown,
    epoch_checkpoint,
    meta_properties,
    offset_checkpoint,
    partition_metadata,
)
from segmend.formats.batch import RecordBatch
from segmend.formats.java_number import INT_MAX
from segmend.formats.names import BOOTSTRAP_CHECKPOINT, CLUSTER_METADATA, file_prefix
from segmend.formats.offset_checkpoint import CheckpointEntry, OffsetCheckpoint
from segmend.formats.partition_metadata import PartitionMetadata
from segmend.frozen import frozen, replace
from segmend.kernel.scan import ScanTask, scan_log
from segmend.kernel.types import SegmentScan
from segmend.logdir import disk
from segmend.logdir.disk import FileReader
from segmend.logdir.files import FileEntry
from segmend.logdir.log_dir import LOCK, LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.merge.cut import count_of, kept_of, recut
from segmend.merge.packed import Packed
from segmend.merge.pieces import Piece
from segmend.merge.rows import iter_rows
from segmend.merge.spans import Spans, common
from segmend.node.metadata_image import MetadataImage
from segmend.rescue.lines import FormFacts, PartitionLine
from segmend.rescue.outlet import Folder
from segmend.rescue.request import Due, Job, RescueRequest, Written
from segmend.rescue.rows import Tally
from segmend.rescue.space import require_space
from segmend.surgery.derive.file_bytes import joined_leader_epochs, producer_snapshot_of
from segmend.surgery.derive.index_interval import interval_of
from segmend.surgery.derive.segment_indexes import rule_of
from segmend.surgery.replicas.derived import derive
from segmend.surgery.replicas.joined_log import FileRange, JoinedReader, JoinedSegment
from segmend.surgery.writing import pairwise
from segmend.surgery.writing.work import Workplace

LARGEST: Final = INT_MAX
"""Of the bytes of a segment, and of its offsets behind the first: both are Java ints."""


_STEP: Final = 1 << 20
_OF_THE_END: Final = (offset_checkpoint.RECOVERY_POINT, offset_checkpoint.HIGH_WATERMARK)


@frozen
class NewSegment:
    base: int
    pieces: Packed[Piece]


def roll(pieces: Iterable[Piece], cap: int, next_offset: int) -> Iterator[NewSegment]:
    """The segments, ascending; none but the last is empty. `cap` is the largest of the logs, in bytes.

    A new one begins where the log of the next batch began behind what was written so far; and where
    pieces of several replicas would make a segment larger than any of theirs. The last one ends at
    `next_offset`: where the last offsets are lost it is empty, so that no broker gives them out again.
    """
    base, held, size, last = 0, Packed(Piece), 0, -1
    for piece in pieces:
        assert piece.first > last, f"{piece.log.path} at {piece.start}: its offsets are written already"
        begins = not held or piece.base_offset > last
        full = size + piece.size > min(max(cap, 0), LARGEST) or piece.last - base > LARGEST
        if held and (begins or full):
            yield NewSegment(base=base, pieces=held)
        if not held or begins or full:
            base = piece.base_offset if begins else piece.first
            held, size = Packed(Piece), 0
        held.append(piece)
        size, last = size + piece.size, piece.last
    if held:
        yield NewSegment(base=base, pieces=held)
    if not held or last + 1 < next_offset:
        yield NewSegment(base=next_offset, pieces=Packed(Piece))


def prepare(request: RescueRequest, outlet: Folder, due: Sequence[Due], known: MetadataImage | None) -> None:
    del known
    if disk.path_type(f"{outlet.path}/{LOCK}") is not None:
        raise UsageError(
            f"{outlet.path}: a broker ran there since; rescue the rest with --topic into a new directory"
        )
    require_space(request, due)


def write(job: Job, outlet: Folder) -> Written:
    """The directory of the partition."""
    end, chosen = _end(job), Packed(Piece, _whole_at_start(job))
    cap = max((segment.known_size for place in job.places for segment in _logs(place)), default=LARGEST)
    first = max(job.merged.first_offset, job.request.low)
    segments = _begun(first, job.merged.missing, roll(chosen, cap, end))
    start = max(first, segments[0].base)
    with outlet.folder(job.name, keep={_name(segment) for segment in segments}) as folder:
        beside = _Beside(job, folder, outlet)
        ends = [*(segment.base for segment in segments[1:]), end]

        def have(
            work: Workplace, due: tuple[NewSegment, int], before: Callable[[], SegmentScan | None]
        ) -> SegmentScan:
            _have_log(due[0], f"{folder}/{_name(due[0])}", outlet, work)
            return beside.write(*due, before())

        scans = pairwise.in_turn(outlet.work, have, list(zip(segments, ends, strict=True)))
        _write_partition_files(job, (start, end), folder, outlet)
    records = sum(each.records - each.control.control_batches for each in scans)
    hidden = [piece for piece, written in zip(job.pieces, chosen, strict=True) if piece.cut > written.cut]
    records -= sum(piece.records - count_of(piece) for piece in hidden)
    counted = _counted(job, scans)
    facts: FormFacts = {"log_start_offset": start, "next_offset": end, "held": outlet.wrote(job.name)}
    if end < job.merged.next_offset and (since := _open_since(scans[-1])) is not None:
        facts["open_since"] = since
    return Written(
        records=records, bytes=sum(each.size for each in scans), aborted=counted.aborted, open=counted.open,
        unacknowledged=counted.unacknowledged, marked=counted.marked, facts=facts,
    )  # fmt: skip


def _open_since(scan: SegmentScan) -> int | None:
    """The first offset of a transaction whose end is not among the wanted offsets; None without one."""
    firsts = (each.current_txn_first_offset for each in scan.producers)
    return min((first for first in firsts if first >= 0), default=None)


def _logs(place: PartitionDir) -> Iterator[FileEntry]:
    return (each.log for each in place.segments if each.log is not None)


def _end(job: Job) -> int:
    """The log end offset: where the wanted offsets end before that, behind the last of them."""
    last = max(job.pieces.column("last"), default=-1)
    return job.merged.next_offset if job.request.high >= job.merged.next_offset - 1 else last + 1


def _whole_at_start(job: Job) -> Iterator[Piece]:
    """The pieces; a first batch that a deleted beginning reaches into stays whole, as a broker leaves it."""
    for number, piece in enumerate(job.pieces):
        deleted = number == 0 and piece.cut and piece.first == job.merged.first_offset > job.request.low
        whole = piece.epoch is None and not piece.without
        ends = deleted and whole and kept_of(piece)[0].last_offset == piece.last
        yield replace(piece, cut=False) if ends else piece


def _begun(first: int, missing: Spans, rolled: Iterable[NewSegment]) -> list[NewSegment]:
    """The segments, which begin with the log where that is compacted before its first batch.

    A reader who stands there goes on; were the log to begin later, it would start anew, or miss all there is.
    """
    head, *others = rolled
    compacted = head.pieces and first < head.base and not common(missing, [(first, head.base - 1)])
    if compacted and head.pieces[-1].last - first <= LARGEST:
        head = replace(head, base=first)
    return [head, *others]


def _name(segment: NewSegment) -> str:
    return f"{file_prefix(segment.base)}.log"


def _have_log(segment: NewSegment, name: str, outlet: Folder, work: Workplace) -> None:
    """The log of a segment; one that a killed run had whole stays, if its bytes are those of today."""
    if _is_there(segment, path := f"{outlet.path}/{name}"):
        outlet.has(name, disk.file_size(path))
        work.tell(sum(piece.size for piece in segment.pieces))
        return
    with outlet.file(name) as stream:
        for piece in segment.pieces:
            if piece.cut:
                stream.write(recut(piece))
            else:
                stream.write_part(work, piece.log, piece.start, piece.size)
        if segment.pieces:
            # Retention goes by it where records have no time.
            stream.set_mtime(segment.pieces[-1].log.stat().mtime_ns)


def _is_there(segment: NewSegment, path: str) -> bool:
    if disk.path_type(path) is None:
        return False
    with FileReader(path) as written:
        at = 0
        for piece in segment.pieces:
            for wanted in [recut(piece)] if piece.cut else _bytes_of(piece):
                if written.read(len(wanted), at) != wanted:
                    return False
                at += len(wanted)
        return at == written.size


def _bytes_of(piece: Piece) -> Iterator[bytes]:
    with piece.log.reader() as reader:
        for at in range(piece.start, piece.stop, _STEP):
            yield reader.read(min(_STEP, piece.stop - at), at)


class _Beside:
    """Indexes, aborted transactions and snapshots; what was written is read for them, every checksum."""

    def __init__(self, job: Job, folder: str, outlet: Folder) -> None:
        place = job.places[job.merged.best]
        self._rule = rule_of(job.release, interval_of(place, place.base_offsets, None))
        self._release, self._folder, self._outlet = job.release, folder, outlet

    def write(self, segment: NewSegment, end: int, before: SegmentScan | None) -> SegmentScan:
        """Those of a segment whose log is there; `before` is what the one before gave."""
        outlet, stem = self._outlet, f"{self._folder}/{file_prefix(segment.base)}"
        log = FileEntry.at(f"{outlet.path}/{stem}.log")
        joined = JoinedSegment(segment.base, FileRange(log.path, 0, log.size), None)
        (derived,) = derive([(joined, None)], before.producers if before else (), self._rule)
        outlet.lay(f"{stem}.index", derived.built.offset_index)
        if TIME_INDEX.of(self._release):
            outlet.lay(f"{stem}.timeindex", derived.built.time_index)
        if derived.txn_index:
            outlet.lay(f"{stem}.txnindex", derived.txn_index)
        producers = derived.scan.producers
        if PRODUCER_STATE.of(self._release) and end:
            snapshot = producer_snapshot_of(producers, self._release)
            outlet.lay(f"{self._folder}/{file_prefix(end)}.snapshot", snapshot)
        scan = derived.scan
        return scan if scan.records_exact else replace(_looked_into(joined), producers=producers)


def _looked_into(segment: JoinedSegment) -> SegmentScan:
    """Compressed wrappers of magic 0 and 1 do not tell how many records they hold."""
    with JoinedReader(segment) as reader:
        return scan_log(reader, ScanTask(base_offset=segment.base, records=True))


def _write_partition_files(job: Job, bounds: tuple[int, int], folder: str, outlet: Folder) -> None:
    start, end = bounds
    if LEADER_EPOCHS.of(job.release):
        owned = [each for each in job.merged.lineage if each.last_offset is None or each.last_offset >= start]
        entries = [(each.epoch, max(each.first_offset, start)) for each in owned if each.epoch >= 0]
        data = joined_leader_epochs(entries, (), (), start=end, end=end)
        outlet.lay(f"{folder}/{epoch_checkpoint.FILE_NAME}", data)
    topic_id = next((each.topic_id for each in job.replicas if each.topic_id), None)
    if topic_id and TOPIC_IDS.of(job.release):
        data = partition_metadata.render(PartitionMetadata(topic_id=topic_id))
        outlet.lay(f"{folder}/{partition_metadata.FILE_NAME}", data)


def _counted(job: Job, scans: Sequence[SegmentScan]) -> Tally:
    """What is aborted, open or unacknowledged, as other forms count it row by row: markers are no records."""
    tally = Tally()
    transactional = any(each.control.transactional_batches for each in scans)
    followed = transactional and job.fates().any
    old = any(magic < 2 for replica in job.replicas for magic in replica.runs.column("magic"))
    for piece in job.pieces:
        if not followed and not piece.unacknowledged:
            continue  # none of these counts is about it
        if not transactional:
            rows = count_of(piece) if piece.cut or old else piece.records
            tally.add(rows, False, piece.unacknowledged, left_out=False)
            continue
        headers = iter_rows(piece.log, base_offset=piece.base_offset, start=piece.start, stop=piece.stop)
        for batch in (header.batch for header in headers if not header.batch.is_control):
            rows = _records_of(piece, batch)
            fate = batch.is_transactional and job.fates().of(batch.producer_id, batch.base_offset)
            tally.add(rows, fate, piece.unacknowledged, left_out=False)
    return tally


def _records_of(piece: Piece, batch: RecordBatch) -> int:
    """Of a wrapper of magic 0 or 1 only its inside tells."""
    told = batch.magic >= 2 and not piece.cut
    return batch.records_count if told else count_of(replace(piece, start=batch.position, stop=batch.end))


def finish(home: Home | None, outlet: Folder, lines: Sequence[PartitionLine]) -> None:
    """Whose dir it is, the checkpoints, and last that it was closed in order."""
    if home is not None:
        _copy(home.identity, meta_properties.FILE_NAME, outlet)
        _bring_metadata(home.broker.metadata_dir, outlet)
    for name in _OF_THE_END:
        _checkpoint(name, [(line, line["form"]["next_offset"]) for line in lines], outlet)
    started = [(line, line["form"]["log_start_offset"]) for line in lines]
    _checkpoint(offset_checkpoint.LOG_START_OFFSET, [each for each in started if each[1]], outlet)
    compacted = [
        (line, line["form"]["next_offset"]) for line in lines if "superseded" in line.get("compacted", ())
    ]
    if compacted:
        # Else the offsets that are not there any more would be taken for lost.
        _checkpoint(offset_checkpoint.CLEANER_OFFSET, compacted, outlet)
    outlet.lay(clean_shutdown.FILE_NAME, b"")


def _checkpoint(name: str, rows: Sequence[tuple[PartitionLine, int]], outlet: Folder) -> None:
    entries = tuple(CheckpointEntry(line["topic"], line["partition"], offset) for line, offset in rows)
    outlet.lay(name, offset_checkpoint.render(OffsetCheckpoint(entries=entries)))


def _bring_metadata(log_dir: LogDir | None, outlet: Folder) -> None:
    """The metadata log of the node, without which a KRaft broker knows none of its topics."""
    if log_dir is None or log_dir.cluster_metadata is None:
        return
    with outlet.folder(CLUSTER_METADATA) as folder:
        for name, file in log_dir.cluster_metadata.files.items():
            with outlet.file(f"{folder}/{name}") as stream:
                stream.write_file(outlet.work, file)
    _copy(log_dir, BOOTSTRAP_CHECKPOINT, outlet)


def _copy(log_dir: LogDir, name: str, outlet: Folder) -> None:
    file = log_dir.entry(name)
    if file is not None:
        outlet.lay(name, file.read())
