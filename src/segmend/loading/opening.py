"""The fourth pass: every log is opened, its indexes pass their sanity check or the segment is recovered.

Follows `LogLoader.loadSegmentFiles` and `LogSegment.sanityCheck`.
"""

from __future__ import annotations

from segmend.broker.failures import LoadFailure, fatal, io_failure
from segmend.broker.index_room import unmapped
from segmend.broker.recovery import (
    CORRUPT_INDEX,
    MAX_FILE_BYTES,
    NO_INDEX,
    ORPHAN,
    SIZE_IS_CUT,
    TOO_LARGE,
)
from segmend.broker.sanity import (
    INDEX_SANITY,
    INDEXES_JUDGED_LAST,
    OPENS_EVERY_INDEX,
    REBUILDS_MISSING_INDEX,
    TIME_INDEX,
    TXN_INDEX,
    IndexSanity,
    offset_index_fault,
    time_index_fault,
    txn_index_fault,
)
from segmend.formats import offset_index, time_index, txn_index
from segmend.formats.java_number import wrap_int
from segmend.formats.names import INDEX_SUFFIXES, file_prefix
from segmend.kernel.scan import iter_batches
from segmend.loading.recovery import InvalidOffset, Overflow, check_index_files, recover_segment, split
from segmend.loading.segment import Lost, Segment, lost_from, offset_of
from segmend.loading.state import LoadState
from segmend.loading.usable import check_made, check_writable, note_lazy
from segmend.logdir.file_system import FOLDERS
from segmend.logdir.files import FileEntry
from segmend.logdir.index_file import ends
from segmend.logdir.second_looks import look_again


def open_segments(state: LoadState) -> None:
    """Fill `state.segments` from the names; raises `LoadFailure`."""
    layout = state.partition.layout
    if not (layout.swap or layout.shadowed or layout.unpadded or layout.unparsable or layout.orphans):
        # Nothing but padded names, and every index has its log.
        folders = any(type in FOLDERS for type in state.partition.entries.values())
        unseen = INDEX_SANITY.of(state.settings.release) == IndexSanity.NONE and not folders
        for base in sorted(layout.logs):
            if unseen and base in layout.index and base in layout.timeindex and base not in layout.txnindex:
                _add(state, layout.logs[base], layout.index[base], base)
            else:
                _open(state, layout.logs[base], base)
        return
    for name in sorted(state.names):
        if name.endswith(INDEX_SUFFIXES):
            _check_orphan(state, name)
        elif name.endswith(".log"):
            _open(state, name, offset_of(name))


def _add(state: LoadState, log: str, index: str, base: int) -> None:
    """`_open` of a segment whose files are all there, where the release looks into none of them."""
    partition = state.partition
    entry = partition.entry(log)
    if state.held_back.unwritable:
        check_writable(state, log)
        note_lazy(state, index, f"{file_prefix(base)}.timeindex")
    size = _size(state, log, base, entry)
    state.add(Segment(base_offset=base, log=entry, size=size, index=partition.entry(index)))


def _size(state: LoadState, name: str, base: int, log: FileEntry) -> int:
    """How much of a log the release takes it for; raises `LoadFailure`."""
    size, release = log.stat().size, state.settings.release
    if size <= MAX_FILE_BYTES:
        return size
    if not SIZE_IS_CUT.of(release):
        raise fatal("KafkaException", TOO_LARGE.say(release, state.path(name), size), state.path(name))
    if wrap_int(size) < 0:
        raise fatal("IllegalArgumentException", f"a size of {wrap_int(size)}", state.path(name))
    says = f"takes it for {wrap_int(size)} of its {size} bytes"
    state.note("reads-fail", name, offset=base, says=says, lost=Lost(bytes=size - wrap_int(size)))
    return wrap_int(size)


def _check_orphan(state: LoadState, name: str) -> None:
    log = f"{file_prefix(offset_of(name))}.log"
    if log not in state.names and state.partition.entries.get(log) in (None, "link-broken"):
        # A folder of that name counts, a link to nothing does not: `File.exists`.
        del state.names[name]
        state.note("file-deleted", name, says=ORPHAN.say(state.settings.release, state.path(name)))


def _open(state: LoadState, name: str, base: int) -> None:
    stem = file_prefix(base)
    entry = state.file(f"{stem}.log")
    if name != f"{stem}.log":
        check_made(state, f"{stem}.log")
        hidden = state.file(name)
        lost = _hidden(state, Segment(base_offset=base, log=hidden, size=hidden.size if hidden else 0))
        state.note("segment-skipped", name, offset=base, lost=lost)
    check_writable(state, f"{stem}.log")
    check_writable(state, f"{stem}.txnindex")
    if state.partition.entries.get(f"{stem}.txnindex") in FOLDERS and TXN_INDEX.of(state.settings.release):
        path = state.path(f"{stem}.txnindex")  # `TransactionIndex` opens what is there
        raise io_failure(state.settings.release, f"{path}: Is a directory", path)
    size = 0 if entry is None else _size(state, f"{stem}.log", base, entry)
    segment = Segment(base_offset=base, log=entry, size=size, index=state.file(f"{stem}.index"))
    try:
        _sanity_check(state, segment, stem)
    except Overflow:
        if all(each.base_offset != base for each in split(state, segment)):
            state.add(
                segment
            )  # Not among the segments yet, it is not deleted: opened again, now with an index.
    except InvalidOffset as error:
        # Only the recovery of an unclean start catches this one.
        words = "Attempt to append an offset no larger than the last offset appended"
        raise fatal("InvalidOffsetException", words, state.path(segment.name)) from error
    else:
        state.add(segment)


def _hidden(state: LoadState, segment: Segment) -> Lost:
    """What is in a log that is not loaded, unless it is a copy of one of which is told."""
    if segment.log is None:
        return Lost()
    with look_again(segment.log) as reader:
        first = next(iter_batches(reader), None)
    if first is not None and f"{file_prefix(first.base_offset)}.log" in state.partition.entries:
        return Lost()
    return lost_from(segment, 0)


def _sanity_check(state: LoadState, segment: Segment, stem: str) -> None:
    """Recover the segment if an index is missing or fails; what recovery cuts off is ignored here."""
    index_name, time_name = f"{stem}.index", f"{stem}.timeindex"
    release = state.settings.release
    if _missing(state, index_name) and REBUILDS_MISSING_INDEX.of(release):
        trusted = state.settings.clean or segment.base_offset < state.settings.recovery_point
        says = NO_INDEX.say(release, state.path(segment.name)) if trusted else None
        _rebuild(state, segment, index_name, says)
        if TIME_INDEX.of(release) and _missing(state, time_name):
            state.note("index-created", time_name)
        return
    if _missing(state, index_name):
        state.note("index-created", index_name, offset=segment.base_offset)
    if OPENS_EVERY_INDEX.of(release):
        check_index_files(state, segment)
    # Only the active segment's indexes are opened now.
    index = state.file(index_name)
    says = None if index is None else unmapped(index.stat().size)
    if says is not None:
        state.note("reads-fail", index_name, offset=segment.base_offset, says=says)
    else:
        note_lazy(state, index_name, time_name, offset=segment.base_offset)
    fault = None if INDEXES_JUDGED_LAST.of(release) else _fault(state, segment, stem)
    if fault is not None:
        times = f"{state.path(time_name)}, " if TIME_INDEX.of(release) else ""
        says = CORRUPT_INDEX.of(release).format(
            log=state.path(segment.name), why=fault, files=f"{times}{state.path(index_name)}"
        )
        _rebuild(state, segment, index_name, says)
    elif TIME_INDEX.of(release) and _missing(state, time_name):
        check_made(state, time_name)
        state.note("index-created", time_name)


def _missing(state: LoadState, name: str) -> bool:
    """Whether there is no file of that name any more, nor a folder; no link to nothing (`File.exists`)."""
    return name not in state.names and state.partition.entries.get(name) not in (*FOLDERS, "other")


def judge_indexes(state: LoadState) -> None:
    """What 0.8 does at last: a corrupt index of a segment that was not recovered ends the start."""
    if not INDEXES_JUDGED_LAST.of(state.settings.release):
        return
    for segment in state.segments:
        fault = None if segment.recovered else _fault(state, segment, file_prefix(segment.base_offset))
        if fault is not None:
            raise fatal("IllegalArgumentException", fault, state.path(segment.name))


def _rebuild(state: LoadState, segment: Segment, index_name: str, says: str | None) -> None:
    state.note("index-rebuilt", index_name, offset=segment.base_offset, says=says)
    recover_segment(state, segment)


def _fault(state: LoadState, segment: Segment, stem: str) -> str | None:
    if INDEX_SANITY.of(state.settings.release) != IndexSanity.NONE:
        refused = _old_fault(state, segment, stem)
        if refused is not None:
            return refused
    txn = state.file(f"{stem}.txnindex") if f"{stem}.txnindex" in state.names else None
    if txn is None or not TXN_INDEX.of(state.settings.release):
        return None
    entries = txn_index.parse(txn.read())[0].entries
    fault = txn_index_fault(state.settings.release, state.path(txn.name), segment.base_offset, entries)
    if isinstance(fault, LoadFailure):
        raise fault
    return fault


def _old_fault(state: LoadState, segment: Segment, stem: str) -> str | None:
    """What brokers up to 2.2 looked at."""
    base, release = segment.base_offset, state.settings.release
    index, times = state.file(f"{stem}.index"), state.file(f"{stem}.timeindex")
    fault = None
    if index is not None:
        index_ends = ends(index, offset_index.ENTRY_SIZE)
        fault = offset_index_fault(release, state.path(index.name), base, index_ends)
    if fault is not None or times is None or not TIME_INDEX.of(release):
        return fault
    return time_index_fault(state.path(times.name), base, ends(times, time_index.ENTRY_SIZE))
