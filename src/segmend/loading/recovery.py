"""Recovery of one segment: read from end to end, CRCs checked, cut at the first bad batch.

A sound segment is judged by one scan of the kernel. Only where that scan finds something
that a broker takes differently are the batches walked one by one. Follows `LogSegment.recover`
and `LogLoader.recoverSegment`.
"""

from __future__ import annotations

from typing import Final

from segmend.broker.checkpoints import OPENING_ASSIGNS_EPOCHS
from segmend.broker.failures import fatal, io_failure
from segmend.broker.index_room import IndexRoom, outgrown, too_long, unmapped
from segmend.broker.producer_state import UNKNOWN_MARKER
from segmend.broker.recovery import (
    ENTRIES_NAME_FIRST_OFFSETS,
    INVALID_MESSAGES,
    PRODUCER_STATE,
    REPLAYS_UNGUARDED,
    SPLIT_ON_OVERFLOW,
    SPLIT_REFUSED,
)
from segmend.broker.sanity import TIME_INDEX
from segmend.broker.search import search
from segmend.formats import offset_index, time_index
from segmend.formats.batch import HEADER_SIZE_V2, RecordBatch, compute_crc, header_size
from segmend.formats.codec import CodecError, decompress
from segmend.formats.control import ABORT, COMMIT
from segmend.formats.names import file_prefix
from segmend.formats.txn_index import AbortedTxn
from segmend.frozen import dataclass, field
from segmend.kernel.records import control_type, end_txn_marker
from segmend.kernel.scan import ScanTask, iter_batches, next_offset_from, scan_log
from segmend.kernel.types import DECODE_LIMIT, SegmentScan
from segmend.loading.interval import index_interval
from segmend.loading.ongoing import Transactions, is_plain
from segmend.loading.producers import after_recovery, rebuild
from segmend.loading.segment import (
    Lost,
    Prefix,
    Segment,
    check_end,
    check_size,
    end_in,
    lost_from,
    lost_in,
    scan_from,
)
from segmend.loading.state import LoadState, States
from segmend.loading.usable import check_made, check_writable
from segmend.logdir.file_system import FOLDERS, OpenFile
from segmend.logdir.scans import first_part
from segmend.logdir.second_looks import Near, look_again

_WALKED = frozenset(
    {"bad-magic", "offset-before-base", "offset-backwards", "offset-overflow", "control-record",
     "transaction-state", "header-field"}
)  # fmt: skip
"""Problems of a scan that need the slow walk: a broker may die of them, empty the segment, or not mind."""
_PRODUCERS_SINCE: Final = 2
"""The magic of which a recovery looks at the producers (`LogSegment.recover`): what it knows ends there."""
_SPAN = 2**31 - 1


class InvalidOffset(Exception):
    """`InvalidOffsetException`: an index entry would go backwards; the caller empties the segment."""


class Overflow(Exception):
    """`LogSegmentOffsetOverflowException`: an offset that is no 31-bit distance from the base."""


@dataclass(slots=True, kw_only=True)
class _Walk:
    """What `LogSegment.recover` keeps while it goes over the batches; `since` the last index entry.

    `map_end` is the offset up to which the producers are known (`ProducerStateManager.mapEndOffset`).
    """

    valid: int = 0
    next_offset: int
    map_end: int
    invalid: bool = False
    sure: bool = False
    in_order: bool = False
    newest: int | None = None
    epochs: list[tuple[int, int]] = field(default_factory=list)
    states: States = field(default_factory=dict)
    aborted: tuple[AbortedTxn, ...] = ()
    last_entry: int = 0
    since: list[RecordBatch] = field(default_factory=list)
    index_offset: int | None = None
    time_entry: tuple[int, int] | None = None
    entries: int = 0
    time_entries: int = 0
    max_timestamp: int = -1
    offset_of_max: int = -1


def recover_segment(state: LoadState, segment: Segment, *, opening: bool = True) -> int:
    """Recover one segment; returns the bytes cut off. Raises `LoadFailure`, `InvalidOffset`, `Overflow`.

    `opening`: because of its indexes or a swap, and not because it was not flushed.
    """
    check_index_files(state, segment)
    state.scanned_bytes += segment.size
    state.scanned_segments += 1
    states: States = {}
    if PRODUCER_STATE.of(state.settings.release):
        _check_replay(state, segment)
        states = rebuild(
            state,
            segment.base_offset,
            clean=False,
            log_start=state.settings.log_start,
            opening=opening,
        )
    walk = _recovered(state, segment, states)
    if walk.valid:
        _note_transactions(state, segment)
    cut = segment.size - walk.valid
    if cut > 0 and segment.log is not None:
        rest = scan_from(segment, segment.log, walk.valid)
        if walk.in_order and segment.size == segment.log.stat().size:
            segment.end_on_disk = max(walk.next_offset, end_in(rest))
        lost = Lost() if _is_preallocated(state, segment, rest) else lost_in(segment, rest)
        words = INVALID_MESSAGES.format(state.path(segment.name), walk.valid) if walk.invalid else None
        state.note("tail-truncated", segment.name, offset=walk.next_offset, says=words, lost=lost)
    assigns = not opening or OPENING_ASSIGNS_EPOCHS.of(state.settings.release)
    if assigns and not state.settings.drops_epochs:
        state.epochs.recover(walk.epochs)
    segment.size, segment.next_offset = walk.valid, walk.next_offset
    segment.index, segment.recovered = None, True
    segment.sure, segment.in_order, segment.newest = walk.sure, walk.in_order, walk.newest
    segment.aborted = walk.aborted
    if PRODUCER_STATE.of(state.settings.release):
        after_recovery(state, walk.map_end, walk.states)
    return cut


def _is_preallocated(state: LoadState, segment: Segment, rest: SegmentScan) -> bool:
    """Whether what is cut off was never written: the zeros of `FileRecords.open(preallocate)`."""
    tail = rest.tail
    zeros = tail is not None and tail.kind == "zero-tail" and tail.position == rest.start
    return zeros and segment.size == state.settings.segment_bytes


def _note_transactions(state: LoadState, segment: Segment) -> None:
    """An index of aborted transactions that a swap has condemned is written anew."""
    name = f"{file_prefix(segment.base_offset)}.txnindex"
    if any(each.effect == "file-deleted" and each.file == state.path(name) for each in state.effects):
        state.note("index-rebuilt", name, offset=segment.base_offset)


def _check_replay(state: LoadState, segment: Segment) -> None:
    """Raise what old releases throw when the log start offset lies in a segment behind this one."""
    below = [each.base_offset for each in state.segments if each.base_offset <= state.settings.log_start]
    if REPLAYS_UNGUARDED.of(state.settings.release) and max(below, default=-1) > segment.base_offset:
        raise fatal("IllegalArgumentException", "inconsistent range", state.path(segment.name))


def check_index_files(state: LoadState, segment: Segment) -> None:
    """A folder in the place of an index that is opened to be written is an IOException; a closed one too.

    One that no buffer can hold ends the start.
    """
    stem = file_prefix(segment.base_offset)
    for suffix in (".index", ".timeindex"):
        check_writable(state, stem + suffix)
        check_made(state, stem + suffix)
        if state.partition.entries.get(stem + suffix) in FOLDERS:
            says = f"{state.path(stem + suffix)} (Is a directory)"
            raise io_failure(state.settings.release, says, state.path(stem + suffix))
        entry = state.file(stem + suffix)
        if entry is not None and (words := unmapped(entry.stat().size)):
            raise too_long(words, state.path(stem + suffix))


def check_room(state: LoadState, active: Segment) -> None:
    """Raise what `LogSegment.resizeIndexes` throws over an index that was not rebuilt and is too long."""
    if active.log is None or active.recovered:
        return
    for kind, entry_size in (("index", offset_index.ENTRY_SIZE), ("timeindex", time_index.ENTRY_SIZE)):
        if kind == "timeindex" and not TIME_INDEX.of(state.settings.release):
            continue
        name = f"{file_prefix(active.base_offset)}.{kind}"
        entry = state.file(name)
        words = (
            None if entry is None else outgrown(entry.stat().size, entry_size, state.settings.longest_index)
        )
        if words is not None:
            state.note("index-trimmed", name, says=words)  # to that length, before it dies
            raise too_long(words, state.path(name))


def _recovered(state: LoadState, segment: Segment, states: States) -> _Walk:
    if segment.log is None or segment.size == 0:
        known = segment.base_offset if segment.next_offset is None else segment.next_offset
        return _Walk(valid=segment.size, next_offset=known, map_end=known, states=states)
    with look_again(segment.log) as reader:
        prefix = Prefix(reader, segment.size)
        scan = _scanned(segment, prefix, reader, states)
        batches = scan.batches if scan.sound is None else scan.sound.batches
        state.scanned_batches += batches
        if (
            not _fits(state, segment, batches)
            or not is_plain(state, states, scan)
            or not _WALKED.isdisjoint(_kinds(scan))
            or state.epochs.asks_each_batch(segment.base_offset)
            or len({magic < _PRODUCERS_SINCE for magic, _ in scan.magics}) > 1
        ):
            walk = _walk(state, segment, reader, states)
        else:
            walk = _by_scan(segment, prefix, scan)
        check_size(segment, prefix, walk.valid, state.settings.release)
        return walk


def _room(state: LoadState, segment: Segment) -> IndexRoom:
    path = state.path(segment.name).removesuffix(".log")
    return IndexRoom(release=state.settings.release, longest=state.settings.longest_index, path=path)


def _fits(state: LoadState, segment: Segment, batches: int) -> bool:
    """Whether the rebuilt indexes surely have room: a batch gets one entry, an interval of bytes, too."""
    room = _room(state, segment)
    return room.surely_has(batches) or room.surely_has(segment.size // (index_interval(state) + 1))


def _scanned(segment: Segment, prefix: Prefix, reader: OpenFile, states: States) -> SegmentScan:
    producers = tuple(states.values())
    if segment.log is not None and prefix.size == reader.size:
        return first_part(segment.log, base_offset=segment.base_offset, producers=producers)
    return scan_log(prefix, ScanTask(base_offset=segment.base_offset, producers=producers), until_damage=True)


def _kinds(scan: SegmentScan) -> set[str]:
    """The kinds of problems up to the first damage."""
    if scan.sound is None or "problems" in scan.bounded:
        return {kind for kind, _ in scan.problem_counts}
    before = {problem.kind for problem in scan.problems if problem.position < scan.sound.end}
    return {*before, scan.sound.kind}


def _by_scan(segment: Segment, reader: Prefix, scan: SegmentScan) -> _Walk:
    """The answer of the kernel, up to the first bytes that are no sound batch."""
    sound = scan.sound
    part = scan if sound is None else sound
    invalid = sound is not None and (
        sound.kind == "crc-mismatch"
        or next_offset_from(reader, sound.end, segment.base_offset).failure == "size-too-small"
    )
    end = segment.base_offset if part.last_offset is None else part.last_offset + 1
    knows = any(magic >= _PRODUCERS_SINCE for magic, _ in scan.magics)
    return _Walk(
        valid=scan.valid_bytes,
        sure=sound is None,
        in_order=True,
        newest=part.max_timestamp,
        next_offset=end,
        map_end=end if knows else segment.base_offset,
        invalid=invalid,
        epochs=list(part.epochs),
        states={each.producer_id: each for each in part.producers},
        aborted=tuple(row for row in scan.aborted if row.last_offset < end),
    )


def _walk(state: LoadState, segment: Segment, reader: OpenFile, states: States) -> _Walk:
    """`LogSegment.recover`, batch by batch."""
    walk = _Walk(next_offset=segment.base_offset, map_end=segment.base_offset)
    known = Transactions(state, states, state.path(segment.name))
    reader = Near(reader)
    prefix = Prefix(reader, segment.size)
    interval, first = index_interval(state), ENTRIES_NAME_FIRST_OFFSETS.of(state.settings.release)
    room = _room(state, segment)
    for batch in iter_batches(prefix):
        if not _is_valid(batch, reader):
            walk.invalid = True
            break
        _check_range(state, segment, batch, prefix)
        if batch.max_timestamp > walk.max_timestamp:
            walk.max_timestamp, walk.offset_of_max = batch.max_timestamp, batch.last_offset
        if walk.valid - walk.last_entry > interval:
            _index(walk, batch.base_offset if first else batch.last_offset, room)
        walk.since.append(batch)
        walk.valid = batch.end
        if batch.magic >= _PRODUCERS_SINCE:
            walk.epochs.append((batch.partition_leader_epoch, batch.base_offset))
            if batch.producer_id >= 0 and not _producers(state, segment, batch, reader, known):
                walk.invalid = True
                break
            walk.map_end = batch.last_offset + 1
    else:
        end = next_offset_from(prefix, walk.valid, segment.base_offset)
        walk.invalid = end.failure == "size-too-small"
        if end.failure == "header-past-end":
            check_end(segment, prefix, walk.valid, state.settings.release)
    _index_time(walk)
    walk.states, walk.aborted = known.fold.states, tuple(known.fold.aborted)
    target = segment.base_offset if walk.index_offset is None else walk.index_offset
    if search(walk.since, target, state.how) is not None:
        walk.next_offset = walk.since[-1].last_offset + 1
    return walk


def _is_valid(batch: RecordBatch, reader: OpenFile) -> bool:
    """`RecordBatch.ensureValid`: the size and the checksum; the magic is not looked at."""
    if batch.size < (HEADER_SIZE_V2 if batch.magic >= 2 else header_size(batch.magic)):
        return False
    return compute_crc(reader.read(batch.size, batch.position), batch.magic) == batch.crc


def _check_range(state: LoadState, segment: Segment, batch: RecordBatch, reader: Prefix) -> None:
    """`ensureOffsetInRange`; a segment that does not really overflow cannot be split either."""
    if 0 <= batch.last_offset - segment.base_offset <= _SPAN or not SPLIT_ON_OVERFLOW.of(
        state.settings.release
    ):
        return
    last = next_offset_from(reader, 0, segment.base_offset).next_offset
    if last > segment.base_offset and last - 1 - segment.base_offset > _SPAN:
        raise Overflow
    path = state.path(segment.name)
    raise fatal("IllegalArgumentException", SPLIT_REFUSED.say(state.settings.release, path), path)


def _index(walk: _Walk, entry_offset: int, room: IndexRoom) -> None:
    """An entry that the rebuilt indexes get; raises `InvalidOffset` and `LoadFailure` as they do."""
    room.check(walk.entries)
    if walk.index_offset is not None and entry_offset <= walk.index_offset:
        raise InvalidOffset
    walk.index_offset = entry_offset
    walk.entries += 1
    walk.since = []
    room.check_times(walk.time_entries)
    _index_time(walk)
    walk.last_entry = walk.valid


def _index_time(walk: _Walk) -> None:
    """`TimeIndex.maybeAppend` of the largest timestamp so far; of all of them once the segment is read."""
    entry = walk.time_entry
    if entry is not None and walk.offset_of_max < entry[1]:
        raise InvalidOffset
    if entry is None or walk.max_timestamp > entry[0]:
        walk.time_entries += walk.max_timestamp >= 0
        walk.time_entry = (walk.max_timestamp, walk.offset_of_max)


def _producers(
    state: LoadState, segment: Segment, batch: RecordBatch, reader: OpenFile, known: Transactions
) -> bool:
    """`LogSegment.updateProducerState`; False for a control record that ends the valid bytes."""
    release = state.settings.release
    marker = None
    if batch.is_control and batch.records_count:
        data = reader.read(batch.size, batch.position)[HEADER_SIZE_V2:]
        try:
            data = decompress(batch.codec, data, limit=DECODE_LIMIT) if batch.codec else data
        except CodecError:
            return False
        marker = end_txn_marker(batch, data)
        if marker is None:
            if control_type(data) not in (None, ABORT, COMMIT):
                raise fatal("IllegalArgumentException", UNKNOWN_MARKER.say(release), segment.name)
            return False
    known.recover(batch, marker)
    return True


def emptied(state: LoadState, segment: Segment, says: str) -> Lost:
    """`segment.truncateTo(base)`: all of it goes."""
    lost = lost_from(segment, 0)
    state.note("segment-emptied", segment.name, offset=segment.base_offset, says=says, lost=lost)
    segment.size, segment.next_offset = 0, segment.base_offset
    segment.index, segment.recovered = None, True
    return lost


def split(state: LoadState, segment: Segment) -> list[Segment]:
    """`UnifiedLog.splitOverflowedSegment`: new segments, each within 31 bits of its first batch."""
    made: list[Segment] = []
    if segment.log is None:
        return made
    with look_again(segment.log) as reader:
        for batch in iter_batches(Prefix(reader, segment.size)):
            if not made or not 0 <= batch.last_offset - made[-1].base_offset <= _SPAN:
                made.append(Segment(base_offset=batch.base_offset, log=None, size=0))
            made[-1].size += batch.size
            made[-1].next_offset = batch.last_offset + 1
    state.segments = [each for each in state.segments if each is not segment]
    for each in made:
        state.add(each)
        if each.base_offset != segment.base_offset:
            state.note("index-created", f"{file_prefix(each.base_offset)}.index", offset=each.base_offset)
    return made
