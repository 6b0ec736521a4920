"""The plain decoder of records, one after the other."""

from __future__ import annotations

from segmend.formats.batch import (
    HEADER_SIZE_V2,
    PREFIX,
    RecordBatch,
    compute_crc,
    increment_sequence,
    read_header,
)
from segmend.kernel.columns import Allocate, BatchRun, RecordBuilder, RecordColumns, WantedRecords
from segmend.kernel.decoder import CODEC, DAMAGE, END, FULL, LEGACY, MORE, PAYLOAD, RECORDS
from segmend.kernel.records import (
    RecordFields,
    check_payload,
    legacy_parts,
    problem_of,
    read_record,
    signed64,
)
from segmend.kernel.reference import cannot_begin
from segmend.kernel.types import Problem
from segmend.kernel.walker import Stop


class ReferenceDecoder:
    """See `decoder.RecordDecoder`."""

    def __init__(
        self,
        wanted: WantedRecords,
        limits: tuple[int, int, int],
        *,
        crc: bool,
        target: int,
        allocate: Allocate,
    ) -> None:
        self.position, self._stop, self.end = limits
        self._wanted = wanted
        self._crc = crc
        self._target = target
        del allocate
        self._builder = RecordBuilder(wanted)

    @property
    def rows(self) -> int:
        return self._builder.rows

    def decode(self, window: memoryview, window_start: int) -> Stop:
        data = bytes(window)
        while self.position < self._stop:
            step = self._step(data, self.position - window_start)
            if step is not None:
                return step
            if self._builder.size >= self._target:
                return Stop(FULL)
        return Stop(END)

    def _step(self, data: bytes, at: int) -> Stop | None:
        stop = cannot_begin(data, at, self.end - self.position, DAMAGE)
        if stop is not None:
            return stop
        _, size, _, magic = PREFIX.unpack_from(data, at)
        if len(data) - at < 12 + size:
            return Stop(MORE, need=12 + size)
        batch = read_header(data, at, self.position)
        batch = batch._replace(last_offset=signed64(batch.last_offset))
        body = data[at : at + batch.size]
        if self._crc and (computed := compute_crc(body, magic)) != batch.crc:
            return Stop(DAMAGE, kind="crc-mismatch", computed=computed)
        return self._take_batch(batch, body)

    def _take_batch(self, batch: RecordBatch, body: bytes) -> Stop | None:
        step = None
        if not self._unwanted(batch):
            step = self._take_message(batch, body) if batch.magic < 2 else self._take_v2(batch, body)
        if step is None:
            self.position = batch.end
        return step

    def _unwanted(self, batch: RecordBatch) -> bool:
        wanted = self._wanted
        if batch.is_control and not wanted.control:
            return True
        if batch.last_offset < wanted.first_offset or batch.max_timestamp < wanted.since:
            return True
        return batch.magic == 2 and batch.base_offset > wanted.last_offset

    def _take_message(self, batch: RecordBatch, body: bytes) -> Stop | None:
        if batch.codec:
            return Stop(LEGACY)
        if not self._wanted.takes(batch.base_offset, batch.max_timestamp):
            return None
        parts = legacy_parts(body, 0, len(body), batch.magic)
        if parts is None:
            problem = problem_of(batch, "record-structure", (("record", 0), ("field", "lengths")))
            return _bad_records(problem)
        key, value = _cut(body, *parts[:2]), _cut(body, *parts[2:])
        self._builder.append((batch.base_offset, batch.max_timestamp, -1), key, value, ())
        self._builder.end_run(run_of(batch, 1))
        return None

    def _take_v2(self, batch: RecordBatch, body: bytes) -> Stop | None:
        if batch.codec > 4:
            return Stop(CODEC)
        if batch.codec and batch.size > HEADER_SIZE_V2:
            return Stop(PAYLOAD)
        return self._take_records(batch, body[HEADER_SIZE_V2:])

    def _take_records(self, batch: RecordBatch, data: bytes) -> Stop | None:
        problem, _ = check_payload(batch, data)
        if problem is not None and problem.kind != "timestamp-mismatch":
            return _bad_records(problem)
        at = rows = 0
        while at < len(data):
            record = read_record(data, at, len(data))
            rows += self._take_record(batch, data, record)
            at = record.end
        self._builder.end_run(run_of(batch, rows))
        return None

    def _take_record(self, batch: RecordBatch, data: bytes, record: RecordFields) -> bool:
        offset = signed64(batch.base_offset + record.offset_delta)
        timestamp = batch.max_timestamp
        if batch.timestamp_type == 0:
            timestamp = signed64(batch.base_timestamp + record.timestamp_delta)
        if not self._wanted.takes(offset, timestamp):
            return False
        headers = tuple(
            (data[key_at : key_at + key_size], _cut(data, value_at, value_size))
            for key_at, key_size, value_at, value_size in record.headers
        )
        numbers = (offset, timestamp, increment_sequence(batch.base_sequence, record.offset_delta))
        key = _cut(data, record.key_at, record.key_size)
        value = _cut(data, record.value_at, record.value_size)
        self._builder.append(numbers, key, value, headers)
        return True

    def decode_payload(self, batch: RecordBatch, payload: bytes) -> Stop:
        step = self._take_records(batch, payload)
        if step is None:
            self.position = batch.end
        return step or Stop(END)

    def skip(self, end: int) -> None:
        self.position = end

    def take(self) -> RecordColumns | None:
        if not self._builder.rows:
            return None
        taken, self._builder = self._builder, RecordBuilder(self._wanted)
        return taken.finish()


def _cut(data: bytes, at: int, size: int) -> bytes | None:
    return None if size < 0 else data[at : at + size]


def _bad_records(problem: Problem) -> Stop:
    return Stop(RECORDS, kind=problem.kind, detail=problem.detail)


def run_of(batch: RecordBatch, rows: int) -> BatchRun:
    return BatchRun(
        rows=rows,
        position=batch.position,
        magic=batch.magic,
        attributes=batch.attributes,
        leader_epoch=batch.partition_leader_epoch if batch.magic == 2 else -1,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
    )
