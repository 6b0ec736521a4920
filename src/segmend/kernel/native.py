"""The C engine, called once per window through ctypes. The C is in the folder `c`.

ctypes checks nothing: every pointer that goes down is made in this module and in
`decode`, from a buffer whose length goes with it.
"""

from __future__ import annotations

import ctypes
import os
from array import array
from collections.abc import Iterator
from ctypes import c_int64, c_void_p
from itertools import chain
from struct import Struct
from typing import Final, NamedTuple

from segmend.crc32c import LIBRARY
from segmend.formats.batch import RecordBatch, render_header
from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.formats.txn_index import VERSION, AbortedTxn
from segmend.kernel.indexes import OFFSET_ENTRY, TIME_ENTRY
from segmend.kernel.layout import CType, Library, fits, warn
from segmend.kernel.native_index import NativeIndex
from segmend.kernel.types import DECODE_LIMIT, BuiltIndexes, ControlFacts, Problem, ProblemKind, SoundFacts
from segmend.kernel.walker import DAMAGE, MORE, Deferred, ScanTask, SoFar, Sought, Stop

name: Final = "native"

ABI: Final = 5

KINDS: Final[tuple[tuple[ProblemKind, tuple[str, ...]], ...]] = (
    ("size-too-small", ()),
    ("size-past-end", ()),
    ("header-fragment", ()),
    ("bad-magic", ()),
    ("crc-mismatch", ()),
    ("bad-codec", ("codec",)),
    ("header-field", ("last_offset_delta", "records_count")),
    ("offset-before-base", ()),
    ("offset-overflow", ("last_offset",)),
    ("offset-backwards", ("previous_last_offset",)),
    ("epoch-backwards", ("epoch", "previous")),
    ("control-record", ()),
    ("transaction-state", ("producer_id", "first_offset")),
    ("producer-epoch-backwards", ("producer_id", "epoch", "last")),
    ("too-large", ("size",)),
    ("record-structure", ("record", "field=lengths")),
    ("record-structure", ("record", "field=offset")),
    ("count-mismatch", ("declared", "found", "bytes_left")),
    ("timestamp-mismatch", ("stored", "largest")),
)
"""The numbers of kernel.h: kind and the names of its numbers; `a=b` is a constant."""

_PROBLEM = Struct("7q")
_PRODUCER = Struct("9q")
_STATE = Struct("8q8x")
"""Of these, what a `ProducerStateEntry` has."""
_ABORTED = Struct("4q")
_EPOCH = Struct("2q")
_DEFERRED = Struct("2q")
_STRETCH = Struct("5q")
_PROBLEM_ROOM: Final = 4096
_DEFERRED_ROOM: Final = 8192
_SEED: Final = int.from_bytes(os.urandom(7), "big")

_NUMBERS: Final = (
    "base_offset stop end check_crc check_records decode_limit seed "
    "position last_offset previous_last previous_epoch after_hole quiet "
    "need damage computed "
    "batches records records_exact first_offset next_offset "
    "min_timestamp max_timestamp offset_of_max null_keys"
)
_COUNTERS: Final = (
    "control_batches transactional commits aborts unmatched_markers unmatched_aborts other_control"
)
_LISTS: Final = (
    "problems problem_count problem_room deferred deferred_count deferred_room "
    "epochs epoch_count epoch_room aborted aborted_count aborted_room "
    "producers producer_count producer_room slots slot_count heap heap_count heap_room scratch scratch_room "
)
_BUILD: Final = (
    "build_interval build_first_offsets build_last_position build_last_offset "
    "build_newest build_offset_of_newest build_last_timestamp bounded_index"
)
_BUILT: Final = (
    "build_offsets build_offset_count build_offset_room build_times build_time_count build_time_room"
)
_STRETCHES: Final = "stretch_offsets stretch_holes stretch_bounded stretch_rows stretch_count stretch_room"
_BOUNDED: Final = tuple((word, f"bounded_{word}") for word in ("aborted", "epochs", "index", "producers"))
_INDEX: Final = "{0}_entries {0}_verdicts {0}_expected {0}_count {0}_next "


class WalkStruct(ctypes.Structure):
    """`walk_t` of kernel.h."""

    _fields_ = (
        *((field, c_int64) for field in _NUMBERS.split()),
        ("magics", c_int64 * 3),
        ("codecs", c_int64 * 8),
        *((field, c_int64) for field in _COUNTERS.split()),
        ("quiet_counts", c_int64 * len(KINDS)),
        *((field, c_int64) for field in ("bounded_epochs", "bounded_producers", "bounded_aborted")),
        *(
            (field, c_int64 if field.endswith(("_count", "_room", "_next")) else c_void_p)
            for field in (_LISTS + _INDEX.format("offset_index") + _INDEX.format("time_index")).split()
        ),
        *((field, c_int64) for field in _BUILD.split()),
        *((field, c_int64 if field.endswith(("_count", "_room")) else c_void_p) for field in _BUILT.split()),
        *((field, c_void_p if field.endswith("_rows") else c_int64) for field in _STRETCHES.split()),
    )


_SEEN_AT: Final = WalkStruct.batches.offset
_SEEN: Final = Struct(f"{(WalkStruct.quiet_counts.offset - _SEEN_AT) // 8}q")
"""Of `walk_t` what it saw, read at once: a look at one field costs as much as this."""
_NO_CONTROL: Final = ControlFacts()

_SIZES: Final = {
    "walk_t": ctypes.sizeof(WalkStruct),
    "problem_t": _PROBLEM.size,
    "epoch_t": _EPOCH.size,
    "aborted_t": _ABORTED.size,
    "producer_t": _PRODUCER.size,
    "stretch_t": _STRETCH.size,
}
_SIGNATURES: Final[dict[str, tuple[CType | None, tuple[CType, ...]]]] = {
    "segmend_abi": (c_int64, ()),
    "segmend_walk": (c_int64, (c_void_p, c_void_p, c_int64, c_int64)),
    "segmend_admit": (c_int64, (c_void_p, c_void_p, c_int64, c_int64)),
    "segmend_skip": (None, (c_void_p, c_int64)),
    "segmend_finish": (None, (c_void_p, c_int64)),
    "segmend_finish_index": (c_int64, (c_void_p,)),
    "segmend_free": (None, (c_void_p,)),
    "segmend_check_records": (None, (c_void_p, c_void_p, c_int64, c_void_p, c_int64)),
    "segmend_load_producers": (c_int64, (c_void_p, c_void_p, c_int64)),
    "segmend_find": (c_int64, (c_void_p, c_int64, c_int64, c_int64, c_int64, c_int64)),
    "segmend_used_size": (c_int64, (c_void_p, c_int64)),
    "segmend_offset_faults": (c_int64, (c_void_p, c_int64, c_void_p)),
    "segmend_time_faults": (c_int64, (c_void_p, c_int64, c_void_p)),
}


def _bind(library: ctypes.CDLL | None) -> Library:
    """The library with its signatures declared; None if there is none, or one of another version."""
    if library is None or not fits(library, "segmend_walk_places", WalkStruct, _SIZES):
        return None
    for function, (result, arguments) in _SIGNATURES.items():
        bound = getattr(library, function)
        bound.restype, bound.argtypes = result, arguments
    there = library.segmend_abi() // 1_000_000
    if there != ABI:
        warn(f"version {there} there, {ABI} here")
    return library if there == ABI else None


_C: Final = _bind(LIBRARY)
_spare_lists: list[_Lists] = []


def available() -> bool:
    """Whether the compiled kernel is there, and is of this version."""
    return _C is not None


def address(view: memoryview | bytearray) -> int:
    """Where the bytes of a writable, non-empty buffer are. Keep the buffer while the number is used."""
    return ctypes.addressof(ctypes.c_char.from_buffer(view))


class _Lists(NamedTuple):
    """Room for problems and for deferred batches, never resized, and where each of them is."""

    problems: bytearray
    deferred: bytearray
    problems_at: int
    deferred_at: int


class NativeWalker:
    """See `walker.Walker`."""

    def __init__(self, task: ScanTask) -> None:
        self._task = task
        self._lists = _spare_lists.pop() if _spare_lists else _new_lists()
        self._offsets = NativeIndex.of(_C, OFFSET_ENTRY, task.offset_index, task.base_offset)
        self._times = NativeIndex.of(_C, TIME_ENTRY, task.time_index, task.base_offset)
        self._quiet: dict[str, int] | None = None
        self._walk = walk = WalkStruct(
            base_offset=task.base_offset, stop=task.stop, end=task.end, check_crc=task.crc,
            check_records=task.records, decode_limit=DECODE_LIMIT, seed=_SEED, position=0,
            last_offset=task.base_offset - 1, previous_last=task.base_offset - 1, previous_epoch=-1,
            records_exact=1, next_offset=task.base_offset, min_timestamp=-1, max_timestamp=-1,
            offset_of_max=-1, problems=self._lists.problems_at, problem_room=_PROBLEM_ROOM,
            deferred=self._lists.deferred_at, deferred_room=_DEFERRED_ROOM,
            build_interval=-1 if task.build is None else task.build.interval,
            build_first_offsets=task.build is not None and task.build.first_offsets,
            build_last_offset=task.base_offset - 1, build_newest=-1, build_offset_of_newest=task.base_offset,
            build_last_timestamp=-1, stretch_offsets=0 if task.stretches is None else task.stretches.offsets,
        )  # fmt: skip
        self._at = ctypes.addressof(walk)
        for field, index in (("offset_index", self._offsets), ("time_index", self._times)):
            if index is not None and index.count:
                for part, number in index.fields():
                    setattr(walk, f"{field}_{part}", number)
        if task.start > 0:
            _C.segmend_skip(self._at, task.start)
        self._load_producers()

    def __del__(self) -> None:
        if hasattr(self, "_at"):  # a Ctrl-C may come before
            _C.segmend_free(self._at)

    def _load_producers(self) -> None:
        states = self._task.producers
        if states:
            packed = array("q", chain.from_iterable(states))
            _enough(_C.segmend_load_producers(self._at, packed.buffer_info()[0], len(states)))

    @property
    def position(self) -> int:
        position: int = self._walk.position
        return position

    @property
    def last_offset(self) -> int:
        last_offset: int = self._walk.last_offset
        return last_offset

    @property
    def end(self) -> int:
        end: int = self._walk.end
        return end

    @end.setter
    def end(self, end: int) -> None:
        self._walk.end = end

    def walk(self, window: memoryview, window_start: int) -> Stop:
        size = len(window)
        status = _C.segmend_walk(self._at, address(window) if size else None, size, window_start)
        return self._stop(status)

    def admit(self, window: memoryview, window_start: int, crc: int) -> Stop:
        head = window[self.position - window_start :]
        return self._stop(_C.segmend_admit(self._at, address(head) if head else None, len(head), crc))

    def _stop(self, status: int) -> Stop:
        walk = self._walk
        if status == MORE:
            return Stop(status, need=walk.need)
        if status == DAMAGE:
            return Stop(status, kind=KINDS[walk.damage][0], computed=walk.computed)
        return Stop(_enough(status))

    def skip(self, end: int, next_offset: int | None) -> None:
        _C.segmend_skip(self._at, end)
        if next_offset is not None:
            self._walk.next_offset = next_offset

    def take_problems(self) -> list[Problem]:
        count = self._walk.problem_count
        if not count:
            return []
        self._walk.problem_count = 0
        view = memoryview(self._lists.problems)[: count * _PROBLEM.size]
        return [_problem(row) for row in _PROBLEM.iter_unpack(view)]

    def take_deferred(self) -> list[Deferred]:
        count = self._walk.deferred_count
        if not count:
            return []
        self._walk.deferred_count = 0
        view = memoryview(self._lists.deferred)[: count * _DEFERRED.size]
        return [Deferred(*row) for row in _DEFERRED.iter_unpack(view)]

    def check_records(self, batch: RecordBatch, payload: bytes | memoryview) -> None:
        data = bytes(payload)
        _C.segmend_check_records(self._at, render_header(batch), batch.position, data, len(data))

    def count_inner(self, records: int, null_keys: int) -> None:
        self._walk.records += records
        self._walk.null_keys += null_keys

    def quiet(self) -> dict[str, int]:
        self._walk.quiet = 1
        self._quiet = {}
        return self._quiet

    def so_far(self) -> SoFar:
        walk = self._walk
        return SoFar(
            batches=walk.batches,
            max_timestamp=walk.max_timestamp,
            epochs=tuple((row[0], row[1]) for row in _rows(_EPOCH, walk.epochs, walk.epoch_count)),
            producers=tuple(sorted(_states(walk.producers, walk.producer_count))),
        )

    def facts(self, *, whole: bool) -> SoundFacts:
        walk, so_far = self._walk, self.so_far()
        _C.segmend_finish(self._at, whole)
        self._count_quietly()
        self._fill_stretches()
        _spare_lists.append(self._lists)
        seen = _SEEN.unpack_from(walk, _SEEN_AT)
        batches, records, exact, first, following, oldest, newest, offset_of_newest, null_keys = seen[:9]
        last, aborted = walk.last_offset, _rows(_ABORTED, walk.aborted, walk.aborted_count)
        return SoundFacts(
            batches=batches,
            records=records,
            records_exact=bool(exact),
            first_offset=first if batches else None,
            last_offset=last if last >= walk.base_offset else None,
            next_offset=following,
            min_timestamp=oldest,
            max_timestamp=newest,
            offset_of_max_timestamp=offset_of_newest,
            epochs=so_far.epochs,
            magics=tuple([(magic, number) for magic, number in enumerate(seen[9:12]) if number]),
            codecs=tuple([(codec, number) for codec, number in enumerate(seen[12:20]) if number]),
            null_keys=null_keys,
            control=_control(seen[20:]),
            producers=so_far.producers,
            aborted=tuple([AbortedTxn(VERSION, *each) for each in aborted]),
            offset_index=None if self._offsets is None else self._offsets.match(),
            time_index=None if self._times is None else self._times.match(),
            built=self._built(),
            bounded=tuple([word for word, field in _BOUNDED if getattr(walk, field)]),
        )  # fmt: skip

    def _fill_stretches(self) -> None:
        walk, wanted = self._walk, self._task.stretches
        if wanted is not None:
            wanted.rows = [[*row] for row in _rows(_STRETCH, walk.stretch_rows, walk.stretch_count)]
            wanted.has_holes, wanted.bounded = bool(walk.stretch_holes), bool(walk.stretch_bounded)

    def _built(self) -> BuiltIndexes | None:
        if self._task.build is None:
            return None
        _enough(_C.segmend_finish_index(self._at))
        walk = self._walk
        return BuiltIndexes(
            offset_index=_bytes(walk.build_offsets, walk.build_offset_count * OFFSET_ENTRY.size),
            time_index=_bytes(walk.build_times, walk.build_time_count * TIME_ENTRY.size),
        )

    def _count_quietly(self) -> None:
        if self._quiet is None:
            return
        for (kind, _), count in zip(KINDS, self._walk.quiet_counts, strict=True):
            if count:
                self._quiet[kind] = self._quiet.get(kind, 0) + count


def _new_lists() -> _Lists:
    problems, deferred = bytearray(_PROBLEM_ROOM * _PROBLEM.size), bytearray(_DEFERRED_ROOM * _DEFERRED.size)
    return _Lists(problems, deferred, address(problems), address(deferred))


def _enough(status: int) -> int:
    if status > DAMAGE:
        raise MemoryError("the kernel got no memory")
    return status


def _bytes(at: int | None, size: int) -> bytes:
    return ctypes.string_at(at, size) if at and size else b""


def _rows(row: Struct, at: int | None, count: int) -> list[tuple[int, ...]]:
    return list(row.iter_unpack(ctypes.string_at(at, count * row.size))) if at and count else []


def _states(at: int | None, count: int) -> Iterator[ProducerStateEntry]:
    """One by one: of very many no second list is held."""
    rows = _STATE.iter_unpack(ctypes.string_at(at, count * _STATE.size) if at and count else b"")
    return map(ProducerStateEntry._make, rows)


def _control(numbers: tuple[int, ...]) -> ControlFacts:
    """By the counters of `walk_t`; of most logs none has counted anything."""
    if not any(numbers):
        return _NO_CONTROL
    batches, transactional, commits, aborts, unmatched_markers, unmatched_aborts, other = numbers
    return ControlFacts(
        control_batches=batches, transactional_batches=transactional, commits=commits, aborts=aborts,
        unmatched_markers=unmatched_markers, unmatched_aborts=unmatched_aborts, other=other,
    )  # fmt: skip


def _problem(row: tuple[int, ...]) -> Problem:
    number, position, end, offset, *values = row
    kind, names = KINDS[number]
    detail = tuple(_pair(text, value) for text, value in zip(names, values, strict=False))
    return Problem(kind=kind, position=position, end=end, offset=offset, detail=detail)


def _pair(text: str, value: int) -> tuple[str, int | str]:
    field, _, constant = text.partition("=")
    return field, constant or value


walker = NativeWalker


def find_candidate(window: memoryview, start: int, sought: Sought) -> int:
    candidate: int = _C.segmend_find(address(window), len(window), start, *sought)
    return candidate
