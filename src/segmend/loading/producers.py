"""The producer state while a log is loaded: which snapshot is taken, and what is replayed.

Follows `UnifiedLog.rebuildProducerState` and `ProducerStateManager` (`truncateAndReload`,
`loadFromSnapshot`, `removeStraySnapshots`).
"""

from __future__ import annotations

from collections.abc import Sequence
from errno import EFBIG

from segmend.broker.failures import fatal, io_failure
from segmend.broker.producer_state import (
    FAILED_SNAPSHOT,
    LOADING_STATE,
    NO_ARRAY,
    REPLAYS_TO_A_POSITION,
    UNREAD_SNAPSHOT,
)
from segmend.broker.recovery import MAX_FILE_BYTES, REBUILDS_ALIKE, REPLAYS_UNGUARDED
from segmend.broker.search import search
from segmend.formats import producer_snapshot
from segmend.formats.names import file_prefix, is_found
from segmend.kernel.scan import ScanTask, iter_batches, scan_log
from segmend.kernel.types import CHAIN_KINDS, SegmentScan
from segmend.loading.ongoing import is_plain, replay
from segmend.loading.segment import Prefix, Segment, check_end, position_of, searched
from segmend.loading.state import LoadState, States
from segmend.loading.usable import check_folder, check_gone
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.second_looks import look_again

_LIMIT = 64 << 20


def rebuild(
    state: LoadState, last_offset: int, *, clean: bool, log_start: int, final: bool = False,
    opening: bool = False,
) -> States:  # fmt: skip
    """The producers as of (exclusive) `last_offset`; changes `state.snapshots`. Raises `LoadFailure`.

    `final`: for the loaded log; otherwise for the recovery of a segment, `opening` while it is opened.
    """
    snapshots, state.ongoing = state.snapshots, None
    if not final:
        snapshots.list_again()
    state.forgets_producers = state.settings.drops_epochs or (not snapshots.known and clean)
    if state.forgets_producers:
        _assume_empty(state, last_offset)
        return {}
    for offset in [o for o in snapshots.known if o > last_offset or o <= log_start]:
        check_folder(state, f"{file_prefix(offset)}.snapshot")
        snapshots.delete(offset)
    if last_offset == 0:
        return {}
    states, map_end = _load(state, log_start)
    if last_offset > map_end:
        states = _replay(state, states, map_end, last_offset, final=final)
    elif opening and REPLAYS_UNGUARDED.of(state.settings.release):
        _look_below(state, last_offset)
    if final and not REBUILDS_ALIKE.of(state.settings.release):
        return states
    _take(state, last_offset, states, map_end)
    return states


def after_recovery(state: LoadState, end: int, states: States) -> None:
    """The snapshot that is taken after each recovered segment."""
    _take(state, end, states, state.settings.log_start)


def remove_strays(state: LoadState) -> None:
    """`removeStraySnapshots`: keep those at a base offset, and the last one if it is above all of them."""
    state.snapshots.list_again()
    bases = {segment.base_offset for segment in state.segments}
    others = [offset for offset in sorted(state.snapshots.known) if offset not in bases]
    if others and not (bases and others[-1] < max(bases)):
        others.pop()
    for offset in others:
        check_gone(state, f"{file_prefix(offset)}.snapshot")
        state.snapshots.discard(offset)


def note_snapshots(state: LoadState, before: Sequence[tuple[int, FileEntry]]) -> None:
    for offset, file in before:
        if file.name in state.snapshot_faults:
            release, why = state.settings.release, state.snapshot_faults[file.name]
            says = FAILED_SNAPSHOT.say(release, state.path(file.name), why)
            state.note("snapshot-deleted", file.name, offset=offset, says=says)
        elif file.name in state.names and not state.snapshots.is_there(offset, file.name):
            state.note("snapshot-deleted", file.name, offset=offset)


def _take(state: LoadState, offset: int, states: States, start: int) -> None:
    """`takeSnapshot`: only above the newest; without any, above `start`, where the producers were loaded."""
    if offset > max(state.snapshots.known, default=start):
        _write(state, offset, states)


def _write(state: LoadState, offset: int, states: States) -> None:
    check_folder(state, f"{file_prefix(offset)}.snapshot")
    state.snapshots.write(offset, states)


def _assume_empty(state: LoadState, last_offset: int) -> None:
    """An old format, or no snapshot and a clean stop: taken for the upgrade of an old broker (KAFKA-5431),
    state empty, whatever snapshots there are."""
    taken = 0
    for offset in (*(segment.base_offset for segment in state.segments[-2:]), last_offset):
        if offset > taken:
            _write(state, offset, {})
            taken = offset
    if any(segment.size for segment in state.segments):
        says = LOADING_STATE.say(state.settings.release, last_offset)
        state.note("snapshot-rebuilt", f"{file_prefix(last_offset)}.snapshot", offset=last_offset, says=says)


def _load(state: LoadState, log_start: int) -> tuple[States, int]:
    """(states, offset) of the newest snapshot that can be read; damaged ones are deleted."""
    while state.snapshots.known:
        newest = max(state.snapshots.known)
        kept = state.snapshots.known[newest]
        if not isinstance(kept, FileEntry):
            return dict(kept), newest
        if not is_found(kept.name):
            path = state.path(kept.name)
            raise io_failure(state.settings.release, f"NoSuchFileException: {path}", path)
        size = kept.stat().size
        if size >= MAX_FILE_BYTES:
            raise fatal("OutOfMemoryError", NO_ARRAY, state.path(kept.name))
        if size > _LIMIT:
            raise Unreadable(state.path(kept.name), UNREAD_SNAPSHOT.format(size), EFBIG)
        snapshot, damages = producer_snapshot.parse(kept.read(_LIMIT))
        if not damages:
            return {row.producer_id: row for row in snapshot.entries}, newest
        state.snapshot_faults[kept.name] = damages[0].reason
        state.snapshots.discard(newest)
    return {}, log_start


def _kept(state: LoadState, final: bool) -> set[int]:
    """Base offsets of the segments at which a replay takes snapshots."""
    bases = [segment.base_offset for segment in state.segments]
    if REBUILDS_ALIKE.of(state.settings.release):
        return set(bases[-2:])
    return set(bases) if final else set()


def _replay(state: LoadState, states: States, start: int, last_offset: int, *, final: bool) -> States:
    """Read the batches from `start` to `last_offset` again; snapshots are taken on the way."""
    kept, to_the_end = _kept(state, final), not (final or REBUILDS_ALIKE.of(state.settings.release))
    for number, segment in enumerate(state.segments):
        following = state.segments[number + 1 : number + 2]
        below = following and following[0].base_offset <= start
        if below or segment.base_offset >= last_offset or segment.log is None or not segment.size:
            continue
        first = max(segment.base_offset, start, state.settings.log_start)
        if segment.base_offset in kept:
            _take(state, first, states, start)
        # A batch of a segment before the last reaches the offset only if it overlaps the next one.
        is_last = not following or following[0].base_offset > last_offset
        last = last_offset if is_last and not to_the_end else None
        states = _replay_segment(state, segment, states, first, last)
    return states


def _look_below(state: LoadState, offset: int) -> None:
    """`Log.logSegments` begins with the segment below, as long as the one at the offset is not open yet."""
    below = [segment for segment in state.segments if segment.base_offset < offset]
    if below and below[-1].log is not None and below[-1].size:
        with look_again(below[-1].log) as reader:
            _translate(state, below[-1], Prefix(reader, below[-1].size), offset)


def _replay_segment(
    state: LoadState, segment: Segment, states: States, first: int, last: int | None
) -> States:
    if segment.log is None:
        return states
    with look_again(segment.log) as reader:
        prefix = Prefix(reader, segment.size)
        begin = _translate(state, segment, prefix, first)
        if begin is None:
            return states
        stop = prefix.size if last is None else _stop(state, segment, prefix, begin, last)
        state.replayed_bytes += stop - begin
        scan = _scan(segment, prefix, states, begin, stop)
        if not is_plain(state, states, scan):
            return replay(state, segment, prefix, states, begin, stop)
        damage = next((p for p in scan.problems if p.kind in CHAIN_KINDS), None)
        if damage is not None:
            check_end(segment, prefix, damage.position, state.settings.release)
            scan = _scan(segment, prefix, states, begin, damage.position)
    state.replayed_batches += scan.batches
    return {each.producer_id: each for each in scan.producers}


def _scan(segment: Segment, reader: Prefix, states: States, start: int, stop: int) -> SegmentScan:
    return scan_log(
        reader,
        ScanTask(
            base_offset=segment.base_offset,
            crc=False,
            start=start,
            stop=stop,
            producers=tuple(states.values()),
        ),
    )


def _translate(state: LoadState, segment: Segment, reader: Prefix, offset: int) -> int | None:
    """`LogSegment.translateOffset`: the first batch from the index's position on that reaches `offset`."""
    start = position_of(segment, offset) if segment.index is not None else 0
    reached = search(searched(reader, start, state.how), offset, state.how)
    if reached is not None:
        return reached.position
    end = start
    for batch in iter_batches(reader, start=start) if start < reader.size else ():
        end = batch.end
    check_end(segment, reader, end, state.settings.release)
    return None


def _stop(state: LoadState, segment: Segment, reader: Prefix, begin: int, last: int) -> int:
    """The position of the first batch that reaches `last`; the end of the log if none does."""
    start = position_of(segment, last) if segment.index is not None else 0
    by_position = REPLAYS_TO_A_POSITION.of(state.settings.release)
    start = start if by_position else max(start, begin)
    batch = search(searched(reader, start, state.how), last, state.how)
    stop = reader.size if batch is None else batch.position
    if stop < begin:
        says = f"Invalid size: {stop - begin} in read from {state.path(segment.name)}"
        raise fatal("IllegalArgumentException", says, state.path(segment.name))
    return stop
