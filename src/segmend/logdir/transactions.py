"""What `read_committed` leaves out: transactions that were aborted, that are open, or of which nobody knows.

The markers in the log tell it; the `.txnindex` beside it, which a broker asks, may be lost or
lie (`aborted_indexes.py`). Follows `ProducerStateManager`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal

from segmend.formats.batch import (
    HEADER_SIZE_UP_TO_MAGIC,
    HEADER_SIZE_V2,
    RecordBatch,
    compute_crc,
    read_header,
)
from segmend.formats.byte_columns import nonzero_size
from segmend.formats.control import ABORT
from segmend.formats.txn_index import AbortedTxn
from segmend.frozen import dataclass
from segmend.kernel.batch_rows import batch_rows, transactional
from segmend.kernel.batches import checksum
from segmend.kernel.records import end_txn_marker
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import WINDOW, BatchRange
from segmend.kernel.window import Window
from segmend.logdir.aborted_indexes import AbortedIndexes, AbortsTold
from segmend.logdir.file_system import OpenFile, Unreadable
from segmend.logdir.files import FileEntry

ELSEWHERE: Final = -1
"""A position in none of the bytes that are looked at."""
MARKER_LIMIT: Final = 256
"""Bytes that no marker has; it has 78 in every release so far."""
Fate = Literal["aborted", "unknown", "open"]


@dataclass(slots=True)
class Uncommitted:
    """The records of a producer's transaction in the batches at these bytes of a log, both included.

    Bytes, for no checksum covers an offset.
    """

    producer_id: int
    first_position: int
    last_position: int
    first_offset: int
    last_offset: int
    fate: Fate = "open"
    is_doubtful: bool = False
    """Whether batches behind it are lost for sure."""


def uncommitted_in(
    log: FileEntry,
    reader: OpenFile,
    start: int,
    stop: int,
    later: Iterable[FileEntry],
    told: Callable[[], AbortedIndexes],
    *,
    compacted: bool | None,
) -> list[Uncommitted]:
    """The transactions that have batches in bytes [start, stop) of a log and were not committed for sure.

    Where a transaction ends behind these bytes, the rest of the log and the logs `later` are walked
    until all markers are found. What is broken there, cannot be read or is not there may have held any:
    of what was open before only the `.txnindex` files have `told`. Offsets that no batch has are such a hole
    if the topic is not `compacted`; where nothing tells that, between two logs that no cleaner was at.
    """
    fold = Fold(told=told, gaps_are_holes=None if compacted is None else not compacted)
    if fold.walk(log, reader, start, stop):
        return fold.finished()
    for following in later:
        try:
            with following.reader() as opened:
                if fold.walk(following, opened, 0, 0):
                    break
        except Unreadable:
            fold.lost()
    return fold.finished()


class Fold:
    """Transactions that are open, by producer, and those that were not committed.

    A header that would open or end one is believed only if its checksum is right. One that is wrong may have
    been a marker's, unless its batch is too large for that.
    """

    def __init__(
        self,
        opened: dict[int, Uncommitted] | None = None,
        told: Callable[[], AbortsTold] | None = None,
        *,
        gaps_are_holes: bool | None,
        begin: int = -1,
    ) -> None:
        self.open = opened or {}
        self._uncommitted: list[Uncommitted] = []
        self._before: dict[int, list[Uncommitted]] = {}
        """By producer what was open before offsets that are gone, in which no index has its end."""
        self._told = told
        self._gaps_are_holes = gaps_are_holes
        self._next = begin
        """The offset behind the last batch; -1 if nothing tells."""
        self._lost = False
        """Whether something is broken there that may have been a marker."""
        self._claimed = -1
        """The offset behind the broken batches that follow there by their headers, which may lie; else -1."""
        self._small: list[tuple[int, int]] = []
        """The offsets of those of them that may be markers."""
        self.is_cut = False
        """Whether that is more than the zeros and crumbs of a broker that was killed."""
        self.ends_in_records = False
        """Whether it is a batch too large for a marker, of which a part was written."""
        self.ended: dict[int, int] = {}
        """By producer the offset of its last marker."""

    def take(self, reader: OpenFile, start: int, stop: int) -> None:
        """Batches that lie there and are known to be sound, and in their place."""
        with Window(reader) as window:
            batches = BatchRange(base_offset=0, start=start, stop=stop, crc=False)
            for rows in batch_rows(reader, batches, lambda _: None):
                for batch in transactional(rows):
                    self._take(batch, window, begins=True)

    def walk(self, log: FileEntry, reader: OpenFile, start: int, stop: int, *, since: int = -1) -> bool:
        """Take the batches from `start` on, beyond `stop` only markers; whether nothing is open then.

        None of the offsets below `since`.
        """
        base, end = log.parsed.base_offset or 0, start
        if start == 0:
            self._begin(base)
        with Window(reader) as window:
            for batch, is_sound, behind in _as_read(reader, start, base):
                self._lost |= batch.position != end
                end = batch.end
                begins = batch.position < stop
                if not begins and not self._is_any_open:
                    return True
                if not is_sound or self._is_broken(batch, reader, window, begins=begins):
                    self._lost |= batch.size <= MARKER_LIMIT
                    if batch.base_offset == max(self._next, self._claimed):
                        self._claimed = batch.last_offset + 1
                        if batch.size <= MARKER_LIMIT:
                            self._small.append((batch.base_offset, batch.last_offset))
                    continue
                if batch.last_offset < since:
                    self._forget()
                    continue
                self._pass(batch, behind)
                if batch.is_transactional:
                    self._take(batch, window, begins=begins)
            if reader.size == 0:
                self._reach(base)
            crumbs = reader.size - end <= HEADER_SIZE_UP_TO_MAGIC
            self.is_cut = self._lost or not (
                crumbs or all(nonzero_size(each) == 0 for each in window.written(end))
            )
            self.ends_in_records = not self._lost and not crumbs and self._is_torn_off(window, end)
        self._lost |= end != reader.size
        return not self._is_any_open

    def _is_torn_off(self, window: Window, at: int) -> bool:
        """Whether records begin there, by a header that no checksum vouches for any more."""
        view = window.at(at, HEADER_SIZE_V2)
        if len(view) < HEADER_SIZE_V2:
            return False
        batch = read_header(view)
        return (batch.magic, batch.base_offset, batch.is_control) == (
            2,
            self._next,
            False,
        ) and batch.size > MARKER_LIMIT

    def lost(self) -> None:
        """Whatever comes next, up to where batches go on."""
        self._lost = self.is_cut = True
        self.ends_in_records = False

    @property
    def next_offset(self) -> int:
        """The offset behind the last batch; -1 if nothing tells."""
        return self._next

    def finished(self) -> list[Uncommitted]:
        """What was not committed for sure; behind the last batch there is no marker any more."""
        for each in self.open.values():
            self._note(each, "unknown" if self.is_cut else "open")
        for each in self._earlier():
            self._note(each, "unknown")
        return self._uncommitted

    @property
    def _is_any_open(self) -> bool:
        return bool(self.open or self._before)

    @property
    def held(self) -> int:
        """How many transactions a hole would have to look at."""
        return len(self.open) + sum(map(len, self._before.values()))

    def _earlier(self) -> list[Uncommitted]:
        return [each for parts in self._before.values() for each in parts]

    def _is_broken(self, batch: RecordBatch, reader: OpenFile, window: Window, *, begins: bool) -> bool:
        """Whether its header may lie of a transaction: that it begins one, or was the marker of another."""
        begins = begins and batch.is_transactional and batch.producer_id not in self.open
        if not begins and not (self._is_any_open and (batch.is_control or batch.size <= MARKER_LIMIT)):
            return False
        if batch.size > WINDOW:
            return checksum(reader, batch) != batch.crc
        return compute_crc(_bytes_of(batch, window), batch.magic) != batch.crc

    def _take(self, batch: RecordBatch, window: Window, *, begins: bool) -> None:
        """A batch of a transaction."""
        producer = batch.producer_id
        if batch.is_control:
            self._end(batch, window)
        elif producer in self.open:
            if begins:
                self.open[producer].last_position = batch.position
                self.open[producer].last_offset = batch.last_offset
        elif begins or producer in self._before:
            position = batch.position if begins else ELSEWHERE
            self.open[producer] = Uncommitted(
                producer, position, position, batch.base_offset, batch.last_offset
            )

    def _pass(self, batch: RecordBatch, behind: int | None) -> None:
        """No checksum covers an offset: one that does not fit between its neighbours is that of nothing."""
        fits = self._next <= batch.base_offset and (behind is None or batch.base_offset < behind)
        if fits or self._next < 0 or self._lost:
            self._reach(batch.base_offset)
            self._next = batch.last_offset + 1
        else:
            self._next += batch.last_offset_delta + 1

    def _begin(self, base: int) -> None:
        """A log begins there: offsets before it may be lost, and those that its first sound batch lacks."""
        if 0 <= self._next < base != self._claimed and self._is_any_open:
            holes = self._gaps_are_holes
            if holes is None:
                holes = self._told is not None and self._told().are_gaps_lost()
            self._lost |= holes

    def _reach(self, offset: int) -> None:
        """Batches go on there: what comes before it may be lost."""
        gap = 0 <= self._next < offset != self._claimed
        if (self._lost or gap) and self._is_any_open:
            small = self._small if self._claimed == offset else None
            is_certain = self._lost or self._gaps_are_holes is True
            self.hole(self._next, offset, small, is_certain=is_certain)
        self._forget()

    def _forget(self) -> None:
        self._lost, self._claimed, self._small = False, -1, []

    def hole(
        self, begin: int, end: int, small: Sequence[tuple[int, int]] | None = None, *, is_certain: bool = True
    ) -> None:
        """What is open may have ended in the offsets [begin, end), if that is known in the `small` ones."""
        told = self._told() if self._told else None
        said = told.ended_in(begin, end) if told else []
        ended = [each for each in said if told and told.is_borne_out(each)]
        # Of an index that lies of one nobody knows whose end it has.
        waits = len(ended) == len(said) and (
            not is_certain or (told is not None and told.goes_on_behind(begin, end))
        )
        # One offset is that of one marker: where all are known, nothing else ended there.
        places = [(begin, end - 1)] if small is None else small
        if ended and _are_at(places, {each.last_offset for each in ended}):
            self._end_those(ended)
            return
        earlier = [*self._earlier(), *self.open.values()]
        self.open, self._before = {}, {}
        for each in earlier:
            if _is_in(each, ended):
                self._note(each, "aborted")
            elif waits:
                each.is_doubtful |= is_certain
                self._before.setdefault(each.producer_id, []).append(each)
            else:
                self._note(each, "unknown")

    def _end_those(self, ended: Sequence[AbortedTxn]) -> None:
        for each in [*self._earlier(), *self.open.values()]:
            if _is_in(each, ended):
                self._note(each, "aborted")
        self.open = {who: each for who, each in self.open.items() if not _is_in(each, ended)}
        parts = ((who, [e for e in several if not _is_in(e, ended)]) for who, several in self._before.items())
        self._before = {who: left for who, left in parts if left}

    def _end(self, batch: RecordBatch, window: Window) -> None:
        """Sound, but no checksum covers its offset."""
        if batch.size > WINDOW:
            return
        marker = end_txn_marker(batch, _bytes_of(batch, window)[batch.header_size :])
        if marker is None:
            return
        self.ended[batch.producer_id] = batch.base_offset
        here, earlier = self.open.pop(batch.producer_id, None), self._before.pop(batch.producer_id, [])
        is_abort = marker[0] == ABORT
        if is_abort and here is not None:
            self._note(here, "aborted")
        for each in earlier:
            told: AbortsTold = self._told() if self._told else AbortedIndexes(None)
            fate = self._fate_before(each, told, batch.base_offset if is_abort else None, here)
            if fate is not None:
                self._note(each, fate)

    @staticmethod
    def _fate_before(
        each: Uncommitted, told: AbortsTold, abort: int | None, here: Uncommitted | None
    ) -> Fate | None:
        """How one ended that was open before a hole, by its producer's next marker; None if committed.

        `abort` is the marker's offset if it is one, `here` what was open at it.
        """
        ended = told.ended_in(abort, abort + 1) if abort is not None else []
        first = next((entry.first_offset for entry in ended if entry.producer_id == each.producer_id), None)
        if first is not None and first <= each.first_offset:
            return "aborted"
        if abort is not None and first is None:
            return "unknown" if each.is_doubtful else "aborted"
        # One that by the index began where its producer went on behind the hole is not what was before.
        is_next = abort is None or (here is not None and here.first_offset == first)
        return None if is_next and not told.has(each.producer_id, each.first_offset) else "unknown"

    def _note(self, each: Uncommitted, fate: Fate) -> None:
        if each.first_position != ELSEWHERE:
            each.fate = fate
            self._uncommitted.append(each)


def _are_at(places: Iterable[tuple[int, int]], markers: set[int]) -> bool:
    """Whether there is a marker at each of these offsets."""
    return all(
        last - first < len(markers) and markers.issuperset(range(first, last + 1)) for first, last in places
    )


def _is_in(each: Uncommitted, ended: Iterable[AbortedTxn]) -> bool:
    """Whether it is of one of these transactions."""
    return any(
        entry.producer_id == each.producer_id and entry.first_offset <= each.first_offset <= entry.last_offset
        for entry in ended
    )


def _bytes_of(batch: RecordBatch, window: Window) -> bytes:
    return bytes(window.at(batch.position, batch.size)[: batch.size])


def _as_read(reader: OpenFile, start: int, base: int) -> Iterator[tuple[RecordBatch, bool, int | None]]:
    """The batches that whoever checks each of them finds, whether they may be sound, and the next offset.

    A size that claims the next batches, too, leaves a gap behind it, of bytes or of offsets: only there is a
    checksum taken, and if it is wrong what lies within is looked at.
    """
    position: int | None = start
    while position is not None:
        broken = None
        for batch, behind in _pairs(iter_batches(reader, start=position, resync=True, base_offset=base)):
            follows = behind and (behind.position, behind.base_offset) == (batch.end, batch.last_offset + 1)
            if not follows and checksum(reader, batch) != batch.crc:
                broken = batch
                break
            yield batch, True, behind and behind.base_offset
        position = None
        if broken is not None:
            yield broken, False, None
            checked = iter_batches(reader, start=broken.position, crc=True, resync=True, base_offset=base)
            position = next((each.position for each in checked), None)


def _pairs(batches: Iterator[RecordBatch]) -> Iterator[tuple[RecordBatch, RecordBatch | None]]:
    """Each with the one behind it, if there is one."""
    here = next(batches, None)
    while here is not None:
        behind = next(batches, None)
        yield here, behind
        here = behind
