"""The plain engine: slow, obviously right, always there. The C is tested against it."""

from __future__ import annotations

import re
from collections import Counter

from segmend.formats.batch import (
    HEADER_SIZE_UP_TO_MAGIC,
    HEADER_SIZE_V2,
    LOG_OVERHEAD,
    MIN_SIZE,
    PREFIX,
    RecordBatch,
    compute_crc,
    header_size,
    read_header,
)
from segmend.formats.java_number import INT_MAX
from segmend.kernel.index_build import IndexBuilder
from segmend.kernel.indexes import PlainIndexes, Walked
from segmend.kernel.producers import ProducerFold
from segmend.kernel.records import check_payload, end_txn_marker, legacy_parts, problem_of, signed64
from segmend.kernel.types import MAX_EPOCHS, NoProblem, Problem, ProblemKind, SoundFacts
from segmend.kernel.walker import CONTROL_LIMIT, DAMAGE, END, MORE, Deferred, ScanTask, SoFar, Sought, Stop

name = "reference"

_CANDIDATE = b"(?s)(?=(?:%s).{4}(?!\x00\x00\x00[\x00-\x0d])[\x00-\x7f].{7}[\x00-\x02])"


class ReferenceWalker:
    """See `walker.Walker`."""

    def __init__(self, task: ScanTask) -> None:
        self._task = task
        self.position = task.start
        self.end = task.end
        self.last_offset = task.base_offset - 1
        self._previous_last = task.base_offset - 1
        self._previous_epoch = -1
        self._epochs: list[tuple[int, int]] = []
        self._bounded: set[str] = set()
        self._fold = ProducerFold(task.producers)
        self._indexes = PlainIndexes(task.base_offset, task.offset_index, task.time_index)
        self._indexes.holes.append((0, task.start))
        self._builder = IndexBuilder(task.build, task.base_offset)
        self._after_hole = task.start > 0
        self._deferred: list[Deferred] = []
        self._problems: list[Problem] = []
        self._quiet: Counter[str] | None = None
        self._batches = self._records = self._null_keys = 0
        self._records_exact = True
        self._first_offset: int | None = None
        self._next_offset = task.base_offset
        self._min_timestamp: int | None = None
        self._max_timestamp = self._offset_of_max = -1
        self._magics: Counter[int] = Counter()
        self._codecs: Counter[int] = Counter()

    def walk(self, window: memoryview, window_start: int) -> Stop:
        data = bytes(window)
        while self.position < self._task.stop:
            stop = self._step(data, self.position - window_start, None)
            if stop is not None:
                return stop
        return Stop(END)

    def admit(self, window: memoryview, window_start: int, crc: int) -> Stop:
        return self._step(bytes(window), self.position - window_start, crc) or Stop(END)

    def _step(self, data: bytes, at: int, crc: int | None) -> Stop | None:
        """Take the batch at `data[at:]`; None if it was sound, else why not."""
        stop = cannot_begin(data, at, self.end - self.position)
        if stop is not None:
            return stop
        _, size, _, magic = PREFIX.unpack_from(data, at)
        need = self._needed(data, at, size, magic) if crc is None else header_size(magic)
        if len(data) - at < need:
            return Stop(MORE, need=need)
        batch = read_header(data, at, self.position)
        batch = batch._replace(last_offset=signed64(batch.last_offset))
        body = data[at : at + batch.size] if crc is None else b""
        if self._task.crc:
            computed = compute_crc(body, magic) if crc is None else crc
            if computed != batch.crc:
                return Stop(DAMAGE, kind="crc-mismatch", computed=computed)
        assert self.position < batch.end <= self.end, "a sound batch is no bytes, or goes past the file"
        self._accept(batch, body, whole=crc is None)
        self.position = batch.end
        return None

    def _needed(self, data: bytes, at: int, size: int, magic: int) -> int:
        """Bytes to be seen of a batch: all of it only if they are looked at."""
        if self._task.crc or self._task.records:
            return LOG_OVERHEAD + size
        is_marker = magic == 2 and len(data) - at > 22 and data[at + 22] & 0x20
        if is_marker and size <= CONTROL_LIMIT - LOG_OVERHEAD:
            return LOG_OVERHEAD + size
        return header_size(magic)

    def _accept(self, batch: RecordBatch, body: bytes, *, whole: bool) -> None:
        in_order = self._check_order(batch)
        self._indexes.batches.append(
            Walked(
                position=batch.position,
                base=self._previous_last + 1 if batch.magic < 2 and batch.codec else batch.base_offset,
                last=batch.last_offset, max_timestamp=batch.max_timestamp, before=self._previous_last,
                largest=self._max_timestamp, after_hole=self._after_hole, in_order=in_order,
            )
        )  # fmt: skip
        self._count(batch)
        if self._task.stretches is not None:
            self._task.stretches.add(batch)
        if in_order or self._is_backwards(batch):
            self._previous_last = batch.last_offset
            self.last_offset = max(self.last_offset, batch.last_offset)
        if in_order:
            self._after_hole = False
            self._builder.add(batch)
        if batch.magic == 2:
            self._accept_v2(batch, body, whole=whole)
        else:
            self._accept_legacy(batch, body, whole=whole)

    def _is_backwards(self, batch: RecordBatch) -> bool:
        """In the segment's range, but not after the batch before it."""
        base = self._task.base_offset
        return batch.base_offset >= base and base <= batch.last_offset <= base + INT_MAX

    def _check_order(self, batch: RecordBatch) -> bool:
        """Report an offset that cannot be here; True if there is nothing to report."""
        if batch.base_offset < self._task.base_offset:
            self._problem(batch, "offset-before-base")
        elif not 0 <= batch.last_offset - self._task.base_offset <= INT_MAX:
            self._problem(batch, "offset-overflow", (("last_offset", batch.last_offset),))
        elif batch.base_offset <= self._previous_last:
            self._problem(batch, "offset-backwards", (("previous_last_offset", self._previous_last),))
        else:
            return True
        return False

    def _count(self, batch: RecordBatch) -> None:
        self._batches += 1
        self._magics[batch.magic] += 1
        self._codecs[batch.codec] += 1
        if self._first_offset is None:
            self._first_offset = batch.base_offset
        self._next_offset = signed64(batch.last_offset + 1)
        if batch.max_timestamp > self._max_timestamp:
            self._max_timestamp, self._offset_of_max = batch.max_timestamp, batch.last_offset
        first = batch.max_timestamp
        if batch.timestamp_type == 0 and not batch.has_delete_horizon and batch.base_timestamp >= 0:
            first = batch.base_timestamp
        if first >= 0:
            self._min_timestamp = first if self._min_timestamp is None else min(self._min_timestamp, first)

    def _accept_v2(self, batch: RecordBatch, body: bytes, *, whole: bool) -> None:
        if batch.last_offset_delta < 0 or batch.records_count < 0:
            detail = (("last_offset_delta", batch.last_offset_delta), ("records_count", batch.records_count))
            self._problem(batch, "header-field", detail)
        if batch.codec > 4:
            self._problem(batch, "bad-codec", (("codec", batch.codec),))
        self._fold_epoch(batch)
        marker = None
        if batch.is_control and batch.codec == 0 and batch.size <= CONTROL_LIMIT and batch.records_count > 0:
            marker = end_txn_marker(batch, body[HEADER_SIZE_V2:])
        self._fold.fold(batch, marker)
        self._report(self._fold.problems)
        self._fold.problems.clear()
        self._records += batch.records_held
        if self._task.records and batch.codec <= 4:
            self._look_inside(batch, body, whole=whole)

    def _look_inside(self, batch: RecordBatch, body: bytes, *, whole: bool) -> None:
        if not whole:
            self._problem(batch, "too-large", (("size", batch.size),))
        elif batch.codec == 0 or batch.size == HEADER_SIZE_V2:
            self.check_records(batch, body[HEADER_SIZE_V2:])
        else:
            self._deferred.append(Deferred(batch.position, batch.size))

    def _fold_epoch(self, batch: RecordBatch) -> None:
        epoch = batch.partition_leader_epoch
        if epoch < 0:
            return
        if epoch < self._previous_epoch:
            self._problem(batch, "epoch-backwards", (("epoch", epoch), ("previous", self._previous_epoch)))
        self._previous_epoch = epoch
        if not self._epochs or epoch > self._epochs[-1][0]:
            if len(self._epochs) < MAX_EPOCHS:
                self._epochs.append((epoch, batch.base_offset))
            else:
                self._bounded.add("epochs")

    def _accept_legacy(self, batch: RecordBatch, body: bytes, *, whole: bool) -> None:
        if batch.codec > 3:
            self._problem(batch, "bad-codec", (("codec", batch.codec),))
        elif batch.codec and not self._task.records:
            self._records_exact = False
        elif batch.codec and not whole:
            self._records_exact = False
            self._problem(batch, "too-large", (("size", batch.size),))
        elif batch.codec:
            self._deferred.append(Deferred(batch.position, batch.size))
        else:
            self._records += 1
            if self._task.records and whole:
                self._check_message(batch, body)

    def _check_message(self, batch: RecordBatch, body: bytes) -> None:
        parts = legacy_parts(body, 0, len(body), batch.magic)
        if parts is None:
            self._problem(batch, "record-structure", (("record", 0), ("field", "lengths")))
        else:
            self._null_keys += parts[1] < 0

    def skip(self, end: int, next_offset: int | None) -> None:
        assert end >= self.position, "damage is passed forwards"
        self._indexes.holes.append((self.position, end))
        self._after_hole = True
        self.position = end
        if next_offset is not None:
            self._next_offset = next_offset

    def check_records(self, batch: RecordBatch, payload: bytes | memoryview) -> None:
        problem, nulls = check_payload(batch, bytes(payload))
        if not batch.is_control:
            self._null_keys += nulls
        if problem is not None:
            self._report([problem])

    def count_inner(self, records: int, null_keys: int) -> None:
        self._records += records
        self._null_keys += null_keys

    def _problem(
        self, batch: RecordBatch, kind: ProblemKind, detail: tuple[tuple[str, int | str], ...] = ()
    ) -> None:
        self._report([problem_of(batch, kind, detail)])

    def _report(self, problems: list[Problem]) -> None:
        if self._quiet is None:
            self._problems.extend(problems)
        else:
            self._quiet.update(problem.kind for problem in problems)

    def take_problems(self) -> list[Problem]:
        taken, self._problems = self._problems, []
        return taken

    def take_deferred(self) -> list[Deferred]:
        taken, self._deferred = self._deferred, []
        return taken

    def quiet(self) -> dict[str, int]:
        self._quiet = Counter()
        return self._quiet

    def so_far(self) -> SoFar:
        states = self._fold.states
        producers = tuple(states[each] for each in sorted(states))
        return SoFar(self._batches, self._max_timestamp, tuple(self._epochs), producers)

    def facts(self, *, whole: bool) -> SoundFacts:
        batches, newest, epochs, producers = self.so_far()
        if not whole:
            self._indexes.holes.append((self.position, self.end))
        fold = self._fold
        return SoundFacts(
            batches=batches,
            records=self._records,
            records_exact=self._records_exact,
            first_offset=self._first_offset,
            last_offset=self.last_offset if self.last_offset >= self._task.base_offset else None,
            next_offset=self._next_offset,
            min_timestamp=-1 if self._min_timestamp is None else self._min_timestamp,
            max_timestamp=newest,
            offset_of_max_timestamp=self._offset_of_max,
            epochs=epochs,
            magics=tuple(sorted(self._magics.items())),
            codecs=tuple(sorted(self._codecs.items())),
            null_keys=self._null_keys,
            control=fold.facts,
            producers=producers,
            aborted=tuple(fold.aborted),
            offset_index=self._indexes.match_offsets(self.last_offset, self.position if whole else self.end),
            time_index=self._indexes.match_times(self.last_offset, whole=whole and not self._after_hole),
            built=self._builder.built(),
            bounded=tuple(sorted(self._bounded | fold.bounded | self._builder.bounded)),
        )


def cannot_begin(data: bytes, at: int, left: int, damage: int = DAMAGE) -> Stop | None:
    """Why no batch begins at `data[at:]`, by its first 17 bytes; None if one may."""
    if left <= HEADER_SIZE_UP_TO_MAGIC:
        return Stop(damage, kind="header-fragment") if left > 0 else Stop(END)
    if at < 0 or len(data) - at < HEADER_SIZE_UP_TO_MAGIC:
        return Stop(MORE, need=HEADER_SIZE_UP_TO_MAGIC)
    _, size, _, magic = PREFIX.unpack_from(data, at)
    fault = prefix_fault(size, magic, left)
    return Stop(damage, kind=fault) if fault else None


def prefix_fault(size: int, magic: int, left: int) -> ProblemKind | NoProblem:
    """The kind of damage the first 17 bytes show with `left` bytes to the end of the file, or ""."""
    if size < MIN_SIZE:
        return "size-too-small"
    if size > left - LOG_OVERHEAD:
        return "size-past-end"
    if not 0 <= magic <= 2:
        return "bad-magic"
    return "size-too-small" if size < header_size(magic) - LOG_OVERHEAD else ""


walker = ReferenceWalker


def find_candidate(window: memoryview, start: int, sought: Sought) -> int:
    data = bytes(window)
    words = {sought.low >> 32, sought.high >> 32}
    pattern = re.compile(_CANDIDATE % b"|".join(re.escape(word.to_bytes(4, "big")) for word in words))
    places = (match.start() for match in pattern.finditer(data, start))
    return next((at for at in places if looks_like_header(data, at, sought)), -1)


def looks_like_header(data: bytes | memoryview, at: int, sought: Sought) -> bool:
    """Whether `data[at:]` begins with a batch header as `sought`; 17 bytes must be there."""
    offset, size, _, magic = PREFIX.unpack_from(data, at)
    if not 0 <= magic <= 2 or not sought.low <= offset <= sought.high:
        return False
    smallest = max(MIN_SIZE, header_size(magic) - LOG_OVERHEAD)
    return bool(smallest <= size <= sought.left - at - LOG_OVERHEAD)
