"""What a consumer meets after the start in segments that the start did not look into.

Every batch is read, its CRC checked and its records taken apart. A consumer gets an error where
a batch is damaged, and silently misses records where an index leads it past them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from segmend.broker.cleanup_policy import UNLESS_COMPACTED
from segmend.broker.serving import CODEC_SINCE, MAGIC_SINCE, STOPS_BEFORE_THE_MARK, UNKNOWN_CODEC
from segmend.formats.names import file_prefix
from segmend.formats.offset_index import ENTRY_SIZE
from segmend.frozen import dataclass, replace
from segmend.kernel.holes import holes
from segmend.kernel.scan import ScanTask, iter_batches, scan_log
from segmend.kernel.types import ASTRAY_KINDS, CHAIN_KINDS, KINDS, TAIL_KINDS, Problem, SegmentScan
from segmend.loading.committed_reads import note_forgotten, note_wrong_aborts
from segmend.loading.load import LoadedLog
from segmend.loading.segment import Lost, Prefix, Segment
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.index_file import is_bare, last_entry, read_index
from segmend.logdir.scans import deep_scan, known_deep_scan
from segmend.logdir.second_looks import look_again

_MOST = 20
"""Effects told of one segment; the first ones say what is wrong."""
_AT_THEIR_OFFSET = frozenset(
    {
        "crc-mismatch", "bad-magic", "bad-codec", "undecodable", "record-structure", "count-mismatch",
        "offset-backwards",
    }
)  # fmt: skip
_FAILING = CHAIN_KINDS | _AT_THEIR_OFFSET


@dataclass(slots=True, kw_only=True)
class Budget:
    """How much is read beyond what the start itself reads: small disks whole, large ones with `--deep`."""

    unlimited: bool = False
    segments: int = 2_000
    bytes: int = 256 << 20
    refused: int = 0

    @property
    def spent(self) -> bool:
        return not self.unlimited and self.segments <= 0

    def takes(self, size: int) -> bool:
        if self.spent or (not self.unlimited and self.bytes < size):
            self.refused += 1
            return False
        self.segments, self.bytes = self.segments - 1, self.bytes - size
        return True


def note_failing_reads(loaded: LoadedLog, budget: Budget, *, compacted: bool, told: bool) -> str | None:
    """Add a `reads-fail` for each place between log start and log end that cannot be read as it should.

    What is not known of a log that is mostly a hole, and not read; or of one that may be `compacted` if
    nothing here has `told` so.
    """
    segments = loaded.state.segments
    doubt = None
    for segment, after in pairwise(segments):
        if not segment.size and after.base_offset > segment.base_offset:
            perhaps = None if compacted or told else _perhaps_cleaned(loaded, segment, after)
            doubt = doubt or perhaps
            if perhaps is None:
                _note_empty(loaded, segment, compacted=compacted)
    if budget.spent:
        budget.refused += sum(bool(each.log and each.size) for each in segments)
        return next(filter(None, map(_hole, segments)), doubt)
    scanned: list[tuple[int, SegmentScan | None]] = []
    empty = segments[-1].base_offset if segments and not segments[-1].size else None
    for number, segment in enumerate(segments):
        following = [each.base_offset for each in segments[number + 1 : number + 3]]
        try:
            scanned.append((segment.base_offset, _looked_into(loaded, segment, following, budget)))
        except Unreadable as error:
            loaded.state.note("reads-fail", segment.name, offset=segment.base_offset, says=str(error))
            scanned.append((segment.base_offset, None))
    if not compacted:
        note_wrong_aborts(loaded, [scan for _, scan in scanned])
        note_forgotten(loaded, [scan for _, scan in scanned])
    topic, read = loaded.state.partition.topic, scanned if empty is None else scanned[:-1]
    for first, base in holes(topic, read, compacted=compacted, empty=empty):
        if loaded.after is not None and base > (loaded.after.log_start_offset or 0):
            name = f"{file_prefix(base)}.log"  # a consumer jumps over it
            loaded.state.note("reads-fail", name, offset=first)
    return _too_new(loaded, [scan for _, scan in scanned if scan]) or (
        next((_hole(each) for each, (_, scan) in zip(segments, scanned, strict=True) if scan is None), doubt)
        or doubt
    )


def _too_new(loaded: LoadedLog, scans: Sequence[SegmentScan]) -> str | None:
    """What is not known of a log in a message format that the release does not know.

    It takes the first offset of a batch for that of a message: its log ends too early (seen of 0.10.2).
    """
    release, partition = loaded.state.settings.release, loaded.state.partition
    magic = max((magic for scan in scans for magic, _ in scan.magics), default=0)
    since = MAGIC_SINCE.get(magic)
    if since is None or release >= since:
        return None
    words = f"it holds magic {magic}, which Kafka {release} takes for messages of its own format (K19)"
    return f"{partition.path}: where this log ends, and what a consumer gets of it: {words}"


def _perhaps_cleaned(loaded: LoadedLog, empty: Segment, after: Segment) -> str | None:
    """What is not known of a rolled segment without a byte, if no index has an entry either."""
    times = loaded.state.partition.file(f"{file_prefix(empty.base_offset)}.timeindex")
    if empty.log is None or empty.size != empty.log.stat().size or not is_bare(empty.index, times):
        return None
    missing = f"offsets {empty.base_offset} to {after.base_offset - 1} are missing"
    return f"{empty.log.path}: {missing}{UNLESS_COMPACTED}"


def _hole(segment: Segment) -> str | None:
    """Where a consumer may get no further: no broker leaves a hole in what it has written."""
    if segment.log is None or (stat := segment.log.stat()).allocated * 2 >= segment.size:
        return None
    with segment.log.reader() as reader:
        begins = next((end for _, end in reader.extents()), 0)
    if begins >= segment.size:
        return None
    words = (
        f"a hole begins there, {stat.allocated:,} of {stat.size:,} bytes are on the disk, not read (--deep)"
    )
    return f"{segment.log.path}: whether a consumer gets past byte {begins:,}: {words}"


def _looked_into(
    loaded: LoadedLog, segment: Segment, following: Sequence[int], budget: Budget
) -> SegmentScan | None:
    """What is in a segment, once told of; None if it is not read."""
    if segment.log is None or not segment.size or not budget.takes(segment.size):
        return None
    scan = _scan(segment, segment.log)
    _note(loaded, segment, scan, following)
    return scan


def _note_empty(loaded: LoadedLog, segment: Segment, *, compacted: bool) -> None:
    """A rolled segment without a byte had some: the cleaner alone leaves such a one, with an empty index.

    A consumer goes on behind it without a word, or waits where nothing follows.
    """
    if segment.log is None or segment.size != segment.log.stat().size:
        return  # emptied by this start, which says so
    if not compacted or last_entry(segment.index, ENTRY_SIZE) is not None:
        loaded.state.note("reads-fail", segment.name, offset=segment.base_offset)


def _note(loaded: LoadedLog, segment: Segment, scan: SegmentScan, following: Sequence[int]) -> None:
    """`following` are the base offsets of the next two segments, as far as there are any."""
    for problem in [p for p in scan.problems if p.kind in _FAILING][:_MOST]:
        if problem.kind in TAIL_KINDS and not _fails_at_tail(problem, scan, following):
            continue
        offset = problem.offset
        if problem.kind not in _AT_THEIR_OFFSET or (problem.kind == "bad-magic" and _is_passed(problem)):
            offset = problem.expected
        lost = Lost(bytes=problem.end - problem.position)
        loaded.state.note("reads-fail", segment.name, offset=offset, says=KINDS[problem.kind], lost=lost)
    _note_codec(loaded, segment, scan)
    _note_jump(loaded, segment, scan, following)
    _note_index(loaded, segment, scan)


def _is_passed(problem: Problem) -> bool:
    """Whether who comes to the batch is already behind the offset that it has."""
    offset, expected = problem.offset, problem.expected
    return offset is not None and expected is not None and offset < expected


def _note_codec(loaded: LoadedLog, segment: Segment, scan: SegmentScan) -> None:
    """The first batch in a codec that clients of this release do not know (K19)."""
    release = loaded.state.settings.release
    unknown = {codec for codec, _ in scan.codecs if release < CODEC_SINCE.get(codec, (0,))}
    if not unknown or segment.log is None:
        return
    with look_again(segment.log) as reader:
        batches = iter_batches(Prefix(reader, segment.size))
        first = next((each for each in batches if each.codec in unknown), None)
    if first is not None:
        says = f"{UNKNOWN_CODEC.format(first.codec)}, by clients before 2.1"
        loaded.state.note("reads-fail", segment.name, offset=first.base_offset, says=says)


def _scan(segment: Segment, log: FileEntry) -> SegmentScan:
    """All that is left of the segment, records looked into."""
    base, size = segment.base_offset, segment.size
    index = None if segment.index is None else read_index(segment.index, ENTRY_SIZE, exact=True)[0]
    if size == log.stat().size:
        return deep_scan(log, base_offset=base, offset_index=index)
    known = known_deep_scan(log, base_offset=base) if index is None else None
    if known and known.sound and known.sound.end == size and "problems" not in known.bounded:
        # Cut at the first damage: what stands before it is known.
        last, problems = known.sound.last_offset, [p for p in known.problems if p.position < size]
        next_offset = base if last is None else last + 1
        return replace(known, problems=tuple(problems), last_offset=last, next_offset=next_offset)
    with look_again(log) as reader:
        return scan_log(Prefix(reader, size), ScanTask(base_offset=base, records=True, offset_index=index))


def _fails_at_tail(problem: Problem, scan: SegmentScan, following: Sequence[int]) -> bool:
    """The end of the active log was judged with the log end offset. Elsewhere consumers ignore a piece
    of a batch unless a gap tells of a loss; zeros they take for a batch of size 0 (`nextBatchSize`)."""
    return bool(following) and (problem.kind == "zero-tail" or scan.next_offset < following[0])


def _note_jump(loaded: LoadedLog, segment: Segment, scan: SegmentScan, following: Sequence[int]) -> None:
    """A last offset beyond the whole next segment: a consumer goes on behind it, or is out of range."""
    end = None if loaded.after is None else loaded.after.log_end_offset
    if not following or end is None or scan.last_offset is None:
        return
    if scan.last_offset >= (following[1] if len(following) > 1 else end):
        loaded.state.note("reads-fail", segment.name, offset=following[0])
        if scan.last_offset >= end and STOPS_BEFORE_THE_MARK.of(loaded.state.settings.release):
            loaded.state.note("reads-fail", segment.name, offset=_batch_of(segment, end))


def _batch_of(segment: Segment, offset: int) -> int | None:
    """Where the first batch begins that reaches the offset: whoever read all before it asks for that one."""
    if segment.log is None:
        return None
    with look_again(segment.log) as reader:
        batches = iter_batches(Prefix(reader, segment.size))
        return next((batch.base_offset for batch in batches if batch.last_offset >= offset), None)


def _note_index(loaded: LoadedLog, segment: Segment, scan: SegmentScan) -> None:
    wrong = scan.offset_index.mismatches if scan.offset_index else ()
    first = next((each for each in wrong if each.kind in ASTRAY_KINDS), None)
    if first is not None:
        name = f"{file_prefix(segment.base_offset)}.index"
        loaded.state.note("reads-fail", name, offset=first.offset)
