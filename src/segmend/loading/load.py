"""The load of one partition, from its names to its log end offset.

Follows `UnifiedLog.create` and `LogLoader.load`.
"""

from __future__ import annotations

from collections.abc import Iterator
from errno import EFBIG
from itertools import permutations
from typing import Final

from segmend.broker.checkpoints import (
    EPOCHS_AGREE,
    EPOCHS_ASSIGNED,
    EPOCHS_BEGIN_AT_FIRST_SEGMENT,
    EPOCHS_DELETED,
    LEADER_EPOCHS,
    TOPIC_IDS,
    epoch_file_failure,
    topic_id_failure,
)
from segmend.broker.failures import IO_EXCEPTION, NO_FILE, NOT_A_NUMBER, LoadFailure, failed_read, fatal
from segmend.broker.recovery import (
    BY_LISTING,
    CORRUPTION,
    DELETE_IF_START_ABOVE_END,
    INVALID_OFFSET,
    IO_ERROR_EMPTIES_SEGMENT,
    LISTED_BY_PATH,
    PRODUCER_STATE,
    RECOVERED_OF,
    SNAPSHOT_MAP,
    START_ABOVE_END,
    STRAY_SNAPSHOTS,
    SWAP,
    SWAP_ORDER,
    SwapHandling,
    first_recovered,
)
from segmend.broker.remote_storage import NOT_USED, RemoteStorage
from segmend.formats import epoch_checkpoint
from segmend.formats.java_number import parse_long
from segmend.formats.names import file_prefix, is_found, parse_file_name
from segmend.formats.partition_metadata import PartitionMetadata
from segmend.frozen import frozen, replace
from segmend.loading.epochs import EarlyEpochCache, EpochCache
from segmend.loading.leftovers import pass_leftovers
from segmend.loading.old_swaps import complete
from segmend.loading.opening import judge_indexes, open_segments
from segmend.loading.producers import note_snapshots, rebuild, remove_strays
from segmend.loading.recovery import (
    InvalidOffset,
    Overflow,
    check_index_files,
    check_room,
    emptied,
    recover_segment,
    split,
)
from segmend.loading.segment import (
    INVISIBLE,
    End,
    Lost,
    Segment,
    end_of,
    lost_from,
    start_of_offset,
    true_end,
)
from segmend.loading.state import LoadState, Settings, Snapshots
from segmend.loading.usable import check_folder, check_made, enter, leave, unreadable_text
from segmend.loading.values import Extent
from segmend.logdir.file_system import FILES, Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release

_FEW_SWAPS: Final = 4
DANGLING = "a symbolic link to nothing; what it led to is not counted, and the start may fail over it"


@frozen
class LoadedLog:
    """What the load gives: `failure` is the exception that ended it, `after` is None then.

    `unknown` is what this process may not read and the broker perhaps may: nothing is known of the load then.
    `by_listing` is what would come out otherwise in another order of snapshots or swap files. `opened`: all
    of it was loaded, and the log made, before its topic id was read.
    """

    state: LoadState
    before: Extent
    after: Extent | None
    failure: LoadFailure | None = None
    topic_id: str | None = None
    unknown: str | None = None
    by_listing: str | None = None
    opened: bool = True

    @property
    def outcome(self) -> tuple[object, ...]:
        """All that the start comes to, but for the snapshots that it leaves."""
        effects = frozenset(e for e in self.state.effects if not e.effect.startswith("snapshot-"))
        failure = self.failure and (self.failure.fate, self.failure.marks_dir)
        return self.after, failure, self.unknown, effects, self.state.states, self.state.ongoing

    def harm(self) -> tuple[bool, int, int]:
        """How bad it is: that it fails, then the records and bytes that it loses."""
        effects = self.state.effects
        records = sum(each.records_lost for each in effects)
        return self.failure is not None, records, sum(each.bytes_lost for each in effects)

    @property
    def dangling(self) -> str | None:
        """What its links to nothing had, and what the start does over what is no file, is not known."""
        partition = self.state.partition
        names = partition.layout.dangling
        if not names:
            return None
        more = f" (and {len(names) - 1} more)" if names[1:] else ""
        words = DANGLING if partition.entries[min(names)] == "link-broken" else NO_FILE
        return f"{partition.path}/{min(names)}{more}: {words}"

    @property
    def open_transactions(self) -> bool:
        """Whether one is looked up as the log is made, before its topic id is read."""
        states = self.state.states.values() if self.opened else ()
        return any(state.current_txn_first_offset >= 0 for state in states)


def load(partition: PartitionDir, settings: Settings) -> LoadedLog:
    """Load a partition; never raises on what is in its files."""
    loaded = _loaded(partition, settings)
    for offset, names in loaded.state.snapshots.contested.items():
        if _loaded(partition, replace(settings, turned=offset)).outcome != loaded.outcome:
            words = BY_LISTING.format(f"{partition.path}/{' and '.join(names)}")
            return replace(loaded, by_listing=words)
    swaps = sorted(name for name in partition.layout.swap if name.endswith(".log.swap"))
    bases = (parse_file_name(name).base_offset for name in swaps)
    numbers = {base for base in bases if base is not None}  # of one, the padded name is opened first
    if settings.swap_order or len(numbers) < 2 or SWAP.of(settings.release) == SwapHandling.RENAME:
        return loaded
    tried = [_loaded(partition, replace(settings, swap_order=order)) for order in _orders(sorted(numbers))]
    if all(each.outcome == loaded.outcome for each in tried):
        return loaded
    words = SWAP_ORDER.format(f"{partition.path}/{' and '.join(swaps)}")
    return replace(max(tried, key=LoadedLog.harm), by_listing=words)


def _orders(numbers: list[int]) -> Iterator[tuple[int, ...]]:
    """All of up to four swap files; of more each of them first, and last, with the others up and down."""
    if len(numbers) <= _FEW_SWAPS:
        yield from permutations(numbers)
        return
    for each, rest in ((each, [other for other in numbers if other != each]) for each in numbers):
        yield from ((each, *rest), (*rest, each), (each, *reversed(rest)), (*reversed(rest), each))


def _loaded(partition: PartitionDir, settings: Settings) -> LoadedLog:
    snapshots = Snapshots(mapped=SNAPSHOT_MAP.of(settings.release), turned=settings.turned)
    state = LoadState(partition=partition, settings=settings, names=_names(partition), snapshots=snapshots)
    topic_id, unknown, opened = None, None, False
    after, failure = None, None
    try:
        enter(state)
        after = _load(state)
        leave(state)
        opened = True
        topic_id = _topic_id(state)
    except LoadFailure as raised:
        after, failure = None, raised
    except Unreadable as error:
        after = None
        if error.forbidden or error.errno == EFBIG:
            unknown = str(error)
        else:
            failure = failed_read(settings.release, error.path, str(error), opened=error.opened)
    before = Extent() if unknown else _before(state)
    return LoadedLog(
        state=state, before=before, after=after, failure=failure, topic_id=topic_id, unknown=unknown,
        opened=opened,
    )  # fmt: skip


def _load(state: LoadState) -> Extent:
    _read_epochs(state)
    listed = _list_snapshots(state)
    pass_leftovers(state)
    state.snapshots.keep(state.names)
    state.snapshots.list_again()
    open_segments(state)
    complete(state)
    next_offset = _recover_log(state) if state.settings.recover else 0
    if not state.segments:
        _add_empty(state, 0)
    if not state.settings.recover:
        state.snapshots.clear()  # a log that waits for its deletion ends at 0 to its loader
        state.epochs.clear()
        return _extent(state, state.segments[0].base_offset, 0)
    check_index_files(state, state.segments[-1])
    check_room(state, state.segments[-1])
    judge_indexes(state)
    _trim_epochs(state, next_offset)
    log_start = _log_start(state)
    if log_start > next_offset:
        lost = sum((lost_from(each, 0) for each in state.segments), Lost())
        state.note("log-start-moved", offset=log_start, lost=lost)
    if log_start > next_offset:
        state.note("reads-fail", state.segments[-1].name, offset=next_offset)  # every offset is out of range
    if PRODUCER_STATE.of(state.settings.release):
        if STRAY_SNAPSHOTS.of(state.settings.release):
            remove_strays(state)
        clean = state.settings.clean
        state.states = rebuild(state, next_offset, clean=clean, log_start=log_start, final=True)
        note_snapshots(state, listed)
    return _extent(state, log_start, next_offset)


def _log_start(state: LoadState) -> int:
    """Where a reader begins: with the first segment on the disk, or before it in remote storage."""
    settings, first = state.settings, state.segments[0].base_offset
    if settings.remote is RemoteStorage.UNUSED and settings.log_start < first:
        says = NOT_USED.say(settings.release)
        lost = Lost(records=first - settings.log_start)
        state.note("log-start-moved", offset=first, says=says, lost=lost)
    return settings.log_start if settings.remote is RemoteStorage.USED else max(settings.log_start, first)


def _names(partition: PartitionDir) -> dict[str, str]:
    return {name: name for name, type in partition.entries.items() if type in FILES and is_found(name)}


def _read_epochs(state: LoadState) -> None:
    if not LEADER_EPOCHS.of(state.settings.release):
        return
    file = state.partition.leader_epochs
    if file.entry is None:
        return
    if file.unreadable is not None:
        raise unreadable_text(state, file.unreadable, file.entry.name)
    for damage in file.damages:
        failure = epoch_file_failure(damage, state.settings.release, state.path(file.entry.name))
        if failure is not None:
            raise failure
    entries = [(e.epoch, e.start_offset) for e in file.value.entries] if file.value else []
    if state.settings.drops_epochs:
        state.note("file-deleted", file.entry.name, says=EPOCHS_DELETED if entries else None)
        return
    kind = EpochCache if EPOCHS_AGREE.of(state.settings.release) else EarlyEpochCache
    state.epochs = kind(entries, assigned=EPOCHS_ASSIGNED.of(state.settings.release))


def _trim_epochs(state: LoadState, next_offset: int) -> None:
    if not LEADER_EPOCHS.of(state.settings.release) or state.settings.drops_epochs:
        return
    state.epochs.truncate_from_end(next_offset)
    log_start = state.settings.log_start
    if EPOCHS_BEGIN_AT_FIRST_SEGMENT.of(state.settings.release):
        log_start = max(log_start, state.segments[0].base_offset)
    state.epochs.truncate_from_start(log_start)
    epochs = state.partition.leader_epochs.value
    before = [] if epochs is None else [(e.epoch, e.start_offset) for e in epochs.entries]
    if before != state.epochs.entries:
        state.note("epochs-rewritten", epoch_checkpoint.FILE_NAME)


def _list_snapshots(state: LoadState) -> list[tuple[int, FileEntry]]:
    """Those that can be found."""
    partition, release = state.partition, state.settings.release
    if not PRODUCER_STATE.of(release):
        return []
    by_path = LISTED_BY_PATH.of(release)
    for name in partition.layout.unparsable:
        if name.endswith(".snapshot") and (is_found(name) or by_path):
            words = NOT_A_NUMBER.format(name.partition(".")[0])
            raise fatal("NumberFormatException", words, state.path(name))
    offsets = {entry.name: offset for offset, entry in partition.snapshots}
    for name in partition.entries:
        unfound = by_path and name.endswith(".snapshot") and not is_found(name)
        offset = parse_long(name.partition(".")[0]) if unfound else offsets.get(name)
        if offset is not None:
            state.snapshots.add(offset, partition.entry(name))
    return partition.snapshots


def _recover_log(state: LoadState) -> int:
    """`LogLoader.recoverLog`: the log end offset."""
    settings = state.settings
    if not settings.clean and state.segments:
        _recover_unflushed(state)
    if state.segments:
        end = end_of(state.segments[-1], state.settings.release)
        state.end = end
        if end.next_offset >= settings.log_start or not DELETE_IF_START_ABOVE_END.of(settings.release):
            _judge_end(state, end)
            return end.next_offset
        _delete_all(state, end.next_offset)
    _add_empty(state, settings.log_start)
    return settings.log_start


def _add_empty(state: LoadState, base: int) -> None:
    check_made(state, f"{file_prefix(base)}.log")
    state.add(Segment(base_offset=base, log=None, size=0))


def _recover_unflushed(state: LoadState) -> None:
    bases = [segment.base_offset for segment in state.segments]
    first = first_recovered(bases, state.settings.recovery_point)
    waiting = state.segments[first:]
    total, number = len(waiting), 0
    while waiting:
        segment = waiting.pop(0)
        release, base = state.settings.release, segment.base_offset
        says = RECOVERED_OF.say(release, base=base, number=number, total=total, log=state.partition.name)
        try:
            cut = _recover_one(state, segment, says)
        except Overflow:
            waiting[:0] = split(state, segment)
            continue
        number += 1
        if cut:
            _delete_following(state, segment, waiting)
            return


def _recover_one(state: LoadState, segment: Segment, says: str | None) -> int:
    invalid = INVALID_OFFSET.format(segment.base_offset)
    state.note("recovery-scan", segment.name, offset=segment.base_offset, says=says)
    try:
        return recover_segment(state, segment, opening=False)
    except InvalidOffset:
        return emptied(state, segment, invalid).bytes
    except (LoadFailure, Unreadable) as error:
        if not _is_io_error(error, state.settings.release):
            raise
        check_index_files(state, segment)  # `LogSegment.truncateTo` opens them before it cuts the log
        return emptied(state, segment, invalid).bytes


def _is_io_error(error: LoadFailure | Unreadable, release: Release) -> bool:
    """Whether `LogLoader.recoverLog` catches it, and empties the segment."""
    if isinstance(error, Unreadable):
        if error.forbidden:
            return False
        error = failed_read(release, error.path, str(error), opened=error.opened)
    return IO_ERROR_EMPTIES_SEGMENT.of(release) and error.kind == IO_EXCEPTION


def _delete_following(state: LoadState, segment: Segment, waiting: list[Segment]) -> None:
    says = CORRUPTION.format(segment.base_offset, end_of(segment, state.settings.release).next_offset)
    for each in waiting:
        check_folder(state, f"{each.name}.deleted")
        state.note("segments-deleted", each.name, offset=each.base_offset, says=says, lost=lost_from(each, 0))
        if STRAY_SNAPSHOTS.of(state.settings.release):
            state.snapshots.delete(each.base_offset)
    gone = {each.base_offset for each in waiting}
    state.segments = [each for each in state.segments if each.base_offset not in gone]


def _delete_all(state: LoadState, end: int) -> None:
    says = START_ABOVE_END.say(state.settings.release, end, state.settings.log_start)
    for each in state.segments:
        state.note("segments-deleted", each.name, offset=each.base_offset, says=says, lost=lost_from(each, 0))
    state.note("log-start-moved", offset=state.settings.log_start)
    state.segments = []
    if STRAY_SNAPSHOTS.of(state.settings.release):
        # Before, those out of range go as it rebuilds the state: no log without any.
        state.snapshots.clear()
    state.epochs.clear()


def _judge_end(state: LoadState, end: End) -> None:
    """Say what the log end offset leaves out of reach, and where the next append cannot be read."""
    active = state.segments[-1]
    # Where an older batch stands last, the log ends below all that is in this segment.
    real = max(_real_end(active, end), active.base_offset)
    if end.next_offset < real:
        start = start_of_offset(active, end.next_offset)
        state.note("tail-truncated", active.name, offset=end.next_offset, lost=lost_from(active, start))
        if end.next_offset < active.base_offset:
            # Older segments go on behind the log end offset: consumers there are out of range.
            state.note("reads-fail", active.name, offset=end.next_offset)
    elif end.next_offset > real or (end.found and end.position < active.size):
        state.note("reads-fail", active.name, offset=min(end.next_offset, real))


def _real_end(active: Segment, end: End) -> int:
    if active.in_order:
        return end.next_offset
    if not active.recovered:
        unread = active.size - end.position
        if end.found and not end.sure and 0 < unread <= INVISIBLE:
            return end.next_offset
        return true_end(active, end)
    return true_end(active, None) if active.log is not None and active.size else end.next_offset


def _extent(state: LoadState, log_start: int, end: int) -> Extent:
    return Extent(
        log_start_offset=log_start,
        log_end_offset=end,
        segments=len(state.segments),
        bytes=sum(segment.size for segment in state.segments),
    )


def _before(state: LoadState) -> Extent:
    """What is on disk now, whatever indexes and checkpoints say: the records that could be read."""
    partition, settings = state.partition, state.settings
    logs = partition.layout.logs
    if not logs:
        return Extent(
            log_start_offset=settings.log_start, log_end_offset=settings.log_start, segments=0, bytes=0
        )
    first, last = min(logs), max(logs)
    end = last
    try:
        opened = {s.log.name: s for s in state.segments if s.log is not None}
        size = sum(_size(partition, name, opened) for name in logs.values())
        entry = _entry(partition, logs[last], opened)
        segment = Segment(base_offset=last, log=entry, size=entry.stat().size if entry else 0)
        end = _end_before(state, segment, opened.get(logs[last]))
    except Unreadable:
        size = 0
    start = settings.log_start if first <= settings.log_start <= end else first
    return Extent(log_start_offset=start, log_end_offset=end, segments=len(logs), bytes=size)


def _size(partition: PartitionDir, name: str, opened: dict[str, Segment]) -> int:
    entry = _entry(partition, name, opened)
    return entry.stat().size if entry is not None else 0


def _entry(partition: PartitionDir, name: str, opened: dict[str, Segment]) -> FileEntry | None:
    segment = opened.get(name)
    return partition.file(name) if segment is None else segment.log


def _end_before(state: LoadState, disk: Segment, loaded: Segment | None) -> int:
    if loaded is None or (state.end is None and not loaded.recovered):
        return true_end(disk, None)
    if loaded.end_on_disk is not None:
        return loaded.end_on_disk
    if loaded.sure and loaded.next_offset is not None:
        return loaded.next_offset
    return true_end(disk, None if loaded.recovered else state.end)


def _topic_id(state: LoadState) -> str | None:
    """partition.metadata, as the constructor of `UnifiedLog` reads it."""
    if not TOPIC_IDS.of(state.settings.release):
        return None
    file = state.partition.partition_metadata
    if file.entry is None:
        return None
    if file.unreadable is not None:
        raise unreadable_text(state, file.unreadable, file.entry.name)
    if file.damages:
        raise topic_id_failure(file.damages[0], state.settings.release, state.path(file.entry.name))
    value: PartitionMetadata | None = file.value
    return None if value is None else value.topic_id
