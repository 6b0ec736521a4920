"""One segment as checks see it: its files' bytes and its one scan, each read on first use.

Reading errors are let through, as in `context`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from segmend.formats import offset_index, time_index
from segmend.formats.names import file_prefix
from segmend.frozen import dataclass, field, replace
from segmend.kernel.scan import ScanTask, iter_batches, next_offset_from, scan_log
from segmend.kernel.types import BrokerEnd
from segmend.logdir.file_system import OpenFile, Unreadable, or_none
from segmend.logdir.files import FileEntry
from segmend.logdir.index_file import LIMIT_BYTES, LastEntry, last_entry, read_index
from segmend.logdir.scans import checked_scan, first_part, known_scan
from segmend.logdir.second_looks import SMALL, look_again
from segmend.logdir.tail import indexed_start

from .manual import Level

if TYPE_CHECKING:
    from segmend.kernel.types import SegmentScan
    from segmend.logdir.log_segment import LogSegment

    from .context import PartitionContext


T = TypeVar("T")

# At --startup so many bytes, and as many at its end, stand for the whole rest of a file.
_LOOK = 64 * 1024


@dataclass(slots=True, eq=False)
class SegmentView:
    """One segment: its files' bytes and its one scan, each read on first use and then kept.

    `next_base` is the base offset of the following segment, None for the active one.
    """

    context: PartitionContext
    segment: LogSegment
    log: FileEntry
    next_base: int | None
    _kept: dict[str, Any] = field(default_factory=dict)
    """What was asked for, by what `once` calls it."""
    _files: dict[str, FileEntry | None] = field(default_factory=dict)
    index_unread: bool = False
    """Whether an index could not be read: then the scan was not compared with it."""

    @property
    def base_offset(self) -> int:
        return self.segment.base_offset

    @property
    def is_active(self) -> bool:
        """Whether this is the last segment, the one a broker appends to."""
        return self.next_base is None

    @property
    def offset_index(self) -> bytes | None:
        """The bytes of `.index` without most of its zero tail; None when the file is missing."""
        return self._index("index", offset_index.ENTRY_SIZE)[0]

    @property
    def txn_index(self) -> bytes | None:
        def read() -> bytes | None:
            entry = self.file("txnindex")
            return None if entry is None else entry.read(LIMIT_BYTES)

        return self.once("txnindex", read)

    def named(self, kind: str) -> str:
        """What its file of that kind is called, whether it is there or not."""
        return f"{file_prefix(self.base_offset)}.{kind}"

    def file(self, name: str) -> FileEntry | None:
        """The file `log`, `index`, `timeindex` or `txnindex`; None when it is missing."""
        if name == "log":
            return self.log
        if name not in self._files:
            self._files[name] = getattr(self.segment, name)
        return self._files[name]

    def length(self, name: str) -> int | None:
        """Size in bytes of the file `log`, `index` or `timeindex`, asked once; None when it is missing."""

        key = f"{name}.length"
        if key not in self._kept:
            entry = self.file(name)
            self._kept[key] = entry and entry.stat().size
        length: int | None = self._kept[key]
        return length

    @property
    def size(self) -> int:
        return self.length("log") or 0

    def _index(self, name: str, entry_size: int) -> tuple[bytes | None, int]:
        """(bytes, zero entries left out at their end)."""

        if name not in self._kept:
            entry = self.file(name)
            exact = self.context.level >= Level.DEEP
            self._kept[name] = (None, 0) if entry is None else read_index(entry, entry_size, exact=exact)
        kept: tuple[bytes | None, int] = self._kept[name]
        return kept

    def _given_index(self, name: str, entry_size: int) -> tuple[bytes | None, int]:
        """The same; of one that cannot be read that is noted, for the log is there all the same."""
        try:
            return self._index(name, entry_size)
        except Unreadable as error:
            self.context.dir.note(error)
            self.index_unread = True
            return None, 0

    @property
    def readable_offset_index(self) -> bytes | None:
        """`offset_index`; None where it cannot be read, too, which is noted."""
        return self._given_index("index", offset_index.ENTRY_SIZE)[0]

    @property
    def _readable_time_index(self) -> bytes | None:
        return self._given_index("timeindex", time_index.ENTRY_SIZE)[0]

    def is_hidden(self, name: str, entry_size: int) -> bool:
        """Whether levels below DEEP do not see all entries of an index: zeros in its middle hide some."""
        entry = self.file(name)
        if entry is None or self.context.level < Level.DEEP:
            return False
        return read_index(entry, entry_size, exact=False)[1] > self._index(name, entry_size)[1]

    @property
    def scan(self) -> SegmentScan:
        """The scan of the whole `.log`, with the depth of the level; made once.

        At STARTUP that of its end, which is asked for only where a broker does not get to the end.
        """
        scan: SegmentScan | None = self._kept.get("scan")
        if scan is None and self.context.level == Level.STARTUP:
            scan = self._kept["scan"] = self._scan_of_end()
        if scan is None:
            scan = self._given() or self._known() or self._with_padding(self._read())
            self._kept["scan"] = scan
        return scan

    def last_index_entry(self) -> LastEntry | None:
        """The last entry of `.index` before its zeros, which every start looks at. Raises `Unreadable`."""
        return self.once("last entry", lambda: last_entry(self.segment.index, offset_index.ENTRY_SIZE))

    def _indexed_start(self) -> int:
        return indexed_start(
            self.reader, self.base_offset, self.segment.index, or_none(self.last_index_entry)
        )

    def _scan_of_end(self) -> SegmentScan:
        """From the batch at the last sensible index entry on; of all where none that is sound is there."""
        start = self._indexed_start()
        batch = next(iter_batches(self.reader, start=start, crc=True), None)
        stop = self.tail.position if self.meets_zeros else self.size
        task = ScanTask(base_offset=self.base_offset, start=start if batch else 0, stop=stop, crc=False)
        return scan_log(self.reader, task)

    @property
    def meets_zeros(self) -> bool:
        """Whether a broker meets zeros behind its last batch: of a preallocated log they may be very many."""
        return self.tail.failure is not None and self.is_zero_from(self.tail.position)

    def is_zero_from(self, position: int) -> bool:
        """Whether the log has nothing but zeros from byte `position` on."""
        if self.context.level == Level.STARTUP:
            places = position, max(position, self.size - _LOOK)
            return not any(any(self.reader.read(_LOOK, place)) for place in places)
        tail = self.scan.tail
        return tail is not None and tail.kind == "zero-tail" and tail.position <= position

    def _given(self) -> SegmentScan | None:
        ask = self.context.dir.broker.keeper.scanned
        return None if ask is None else ask(self)

    def _known(self) -> SegmentScan | None:
        """What somebody else has read: only without indexes to compare, and nothing asked of records."""
        if self.context.level >= Level.DEEP:
            return None
        if self.readable_offset_index is not None or self._readable_time_index is not None:
            return None
        return known_scan(self.log, base_offset=self.base_offset, crc=False)

    def _read(self) -> SegmentScan:
        ask = self.context.dir.broker.keeper.stretches
        return checked_scan(
            self.log,
            base_offset=self.base_offset,
            deep=self.context.level >= Level.DEEP,
            offset_index=self.readable_offset_index,
            time_index=self._readable_time_index,
            stretches=None if ask is None else ask(self),
        )

    def _with_padding(self, scan: SegmentScan) -> SegmentScan:
        """The scan, with the zero entries counted that were not read."""
        offsets, times = scan.offset_index, scan.time_index
        more_offsets = self._given_index("index", offset_index.ENTRY_SIZE)[1]
        more_times = self._given_index("timeindex", time_index.ENTRY_SIZE)[1]
        if more_offsets and offsets:
            offsets = replace(offsets, padding=offsets.padding + more_offsets)
        if more_times and times:
            times = replace(times, padding=times.padding + more_times)
        return replace(scan, offset_index=offsets, time_index=times) if more_offsets or more_times else scan

    @property
    def misnamed(self) -> bool:
        """Whether the batches are in order but begin before the name says (N05; a lone batch is L13)."""
        scan = self.scan
        first = scan.first_offset
        if first is None or first >= self.base_offset or scan.damaged_batches:
            return False
        kinds = dict(scan.problem_counts)
        before = kinds.get("offset-before-base", 0)
        in_order = "offset-backwards" not in kinds and scan.problems[0].position == 0
        return in_order and (2 * before >= scan.batches or self._goes_on)

    @property
    def _goes_on(self) -> bool:
        """Whether the second batch begins where the first one ends: then its offset is not a damaged one."""
        first, second = islice(chain(iter_batches(self.reader), (None, None)), 2)
        return first is not None and second is not None and second.base_offset == first.last_offset + 1

    @property
    def tail(self) -> BrokerEnd:
        """Where a broker ends that iterates from the last sensible index entry."""
        return self.once("tail", self._tail)

    def _tail(self) -> BrokerEnd:
        start = self._indexed_start()
        if not start and self.size > SMALL:
            # No index spares the way through all of it: by the scan that is kept for the play of the start.
            scan = first_part(self.log, base_offset=self.base_offset)
            if not scan.problem_counts and not scan.bounded and scan.end == self.size:
                return BrokerEnd(
                    next_offset=scan.next_offset, position=scan.end, batches=scan.batches, ignored=0
                )
        return next_offset_from(self.reader, start, self.base_offset)

    @property
    def has_problems(self) -> bool:
        """Whether the scan has any; at STARTUP whether a broker gets to the end of the active segment."""
        if self.context.level > Level.STARTUP:
            return bool(self.scan.problems)
        return self.is_active and bool(self.tail.ignored or self.tail.failure)

    @property
    def reader(self) -> OpenFile:
        """The log, for second looks at it; open until `forget`."""
        return self.once("reader", lambda: look_again(self.log))

    def once(self, what: str, make: Callable[[], T]) -> T:
        """What `make` gives, made for the first who asks for `what` and then kept."""
        if what not in self._kept:
            self._kept[what] = make()
        kept: T = self._kept[what]
        return kept

    def forget(self) -> None:
        if "reader" in self._kept:
            self.reader.close()
        tail = self._kept.get("tail")  # the partition asks for it once more, and it may have cost a long walk
        self._kept.clear()
        self._files.clear()
        if tail is not None:
            self._kept["tail"] = tail
