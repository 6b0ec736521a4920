"""The records of a range of a `.log` file, as columns in plain buffers.

What cannot be decoded is skipped and reported, never raised: bytes that are no batch,
batches with a wrong checksum, payloads that do not decompress, records that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from segmend.formats.batch import HEADER_SIZE_UP_TO_MAGIC, RecordBatch, read_header
from segmend.formats.record import decode as decode_records
from segmend.kernel import native_decoder
from segmend.kernel.columns import Allocate, RecordBuilder, RecordColumns, WantedRecords
from segmend.kernel.decoder import CODEC, DAMAGE, END, FULL, LEGACY, MORE, PAYLOAD, RECORDS, RecordDecoder
from segmend.kernel.diagnosis import diagnose
from segmend.kernel.engine import ENGINE, engine_named
from segmend.kernel.native_decoder import NativeDecoder, memory
from segmend.kernel.records import check_wrapper, problem_of, signed64, unpack_payload
from segmend.kernel.reference_decoder import ReferenceDecoder, run_of
from segmend.kernel.salvage import Salvage
from segmend.kernel.types import (
    TAIL_KINDS,
    WINDOW,
    WINDOW_LIMIT,
    BatchRange,
    NoProblem,
    Problem,
    ProblemKind,
    Reader,
)
from segmend.kernel.walker import Stop
from segmend.kernel.window import Window

TARGET = 4 << 20
"""About so many bytes of keys or values make one set of columns."""

_LEAST: Final = 1 << 12
"""Bytes of a window for few batches: of many small pieces none costs what a whole window does."""

Report = Callable[[Problem], None]


def record_columns(
    reader: Reader,
    wanted: WantedRecords,
    batches: BatchRange,
    report: Report,
    *,
    engine: str = ENGINE.name,
    allocate: Allocate = memory,
    target: int = TARGET,
    window: int = WINDOW,
) -> Iterator[RecordColumns]:
    """The wanted records of these batches; `report` is called with every problem that cost records.

    A batch whose checksum is computed, and fails, is skipped.
    """
    if batches.stop is not None:
        window = min(window, max(batches.stop - batches.start, _LEAST))
    with Window(reader, size=window) as opened:
        limits = batches.limits(opened.end)
        decoder = decoder_class(engine)(wanted, limits, crc=batches.crc, target=target, allocate=allocate)
        salvage = Salvage(engine_named(engine), opened, batches.base_offset)
        driver = _Driver(decoder, opened, wanted, report, salvage)
        yield from driver.run(batches.base_offset, limits[1])


def decoder_class(name: str) -> type[NativeDecoder] | type[ReferenceDecoder]:
    return NativeDecoder if name == "native" and native_decoder.available() else ReferenceDecoder


class _Driver:
    """Moves the window, and does what the decoder cannot."""

    def __init__(
        self, decoder: RecordDecoder, window: Window, wanted: WantedRecords, report: Report, salvage: Salvage
    ) -> None:
        self._decoder = decoder
        self._window = window
        self._wanted = wanted
        self._report = report
        self._salvage = salvage
        self._wrapped = RecordBuilder(wanted)

    def run(self, base_offset: int, end: int) -> Iterator[RecordColumns]:
        """All columns; batches beginning before `end`, of offsets from `base_offset`, may follow damage."""
        decoder, window = self._decoder, self._window
        while True:
            step = decoder.decode(window.view, window.start)
            if step.status == END:
                break
            if step.status == FULL:
                yield from self._flush()
            elif step.status == LEGACY:
                if decoder.rows or self._wrapped.size >= TARGET:
                    yield from self._flush()
                self._take_wrapper()
            elif step.status == PAYLOAD:
                yield from self._take_payload()
            elif not self._handle(step, base_offset, end):
                break
        yield from self._flush()

    def _flush(self) -> Iterator[RecordColumns]:
        """All records so far; those of wrappers are always the older ones."""
        if self._wrapped.rows:
            yield self._wrapped.finish()
            self._wrapped = RecordBuilder(self._wanted)
        taken = self._decoder.take()
        if taken is not None:
            yield taken

    def _handle(self, step: Stop, low: int, end: int) -> bool:
        """Bring bytes, or pass what is no batch; False if nothing follows."""
        if step.status == MORE:
            self._load(step.need)
        elif step.status == DAMAGE:
            return self._pass_damage(step, low, min(end, self._decoder.end))
        elif step.status == RECORDS:
            self._skip_batch(step.kind, step.detail)
        elif step.status == CODEC:
            self._skip_batch("bad-codec", (("codec", self._batch().codec),))
        return True

    def _load(self, need: int) -> None:
        decoder, window = self._decoder, self._window
        if need > WINDOW_LIMIT:
            window.at(decoder.position, HEADER_SIZE_UP_TO_MAGIC)
            self._report(
                Problem(
                    kind="too-large",
                    position=decoder.position,
                    end=decoder.position + need,
                    detail=(("size", need),),
                )
            )
            decoder.skip(decoder.position + need)
            return
        window.load(decoder.position, need)
        decoder.end = min(decoder.end, window.end)

    def _pass_damage(self, step: Stop, low: int, limit: int) -> bool:
        decoder = self._decoder
        diagnosis = diagnose(self._salvage, self._window, step, decoder.position, limit, low)
        self._report(diagnosis.problem)
        decoder.skip(diagnosis.problem.end)
        return diagnosis.problem.kind not in TAIL_KINDS

    def _bytes(self) -> memoryview:
        return self._window.view[self._decoder.position - self._window.start :]

    def _batch(self) -> RecordBatch:
        batch = read_header(self._bytes(), 0, self._decoder.position)
        return batch._replace(last_offset=signed64(batch.last_offset))

    def _skip_batch(self, kind: ProblemKind | NoProblem, detail: tuple[tuple[str, int | str], ...]) -> None:
        assert kind, "a batch that does not decode has a fault"
        batch = self._batch()
        self._report(problem_of(batch, kind, detail))
        self._decoder.skip(batch.end)

    def _take_payload(self) -> Iterator[RecordColumns]:
        batch = self._batch()
        payload, problem = unpack_payload(batch, bytes(self._bytes()[: batch.size]))
        if problem is not None:
            self._report(problem)
            self._decoder.skip(batch.end)
            return
        step = self._decoder.decode_payload(batch, payload)
        if step.status == FULL:
            yield from self._flush()
            step = self._decoder.decode_payload(batch, payload)
            if step.status == FULL:
                # The buffers were empty and too small; they have grown to fit this batch.
                step = self._decoder.decode_payload(batch, payload)
        if step.status == RECORDS:
            self._skip_batch(step.kind, step.detail)

    def _take_wrapper(self) -> None:
        """The inner messages of a compressed magic 0/1 wrapper, and on to the next batch."""
        batch = self._batch()
        data = bytes(self._bytes()[: batch.size])
        problem, _, _ = check_wrapper(batch, data)
        if problem is not None:
            self._report(problem)
        if problem is None or problem.kind == "legacy-inner":
            records, _ = decode_records(data, batch)
            taken = [record for record in records if self._wanted.takes(record.offset, record.timestamp)]
            for record in taken:
                self._wrapped.append((record.offset, record.timestamp, -1), record.key, record.value, ())
            self._wrapped.end_run(run_of(batch, len(taken)))
        self._decoder.skip(batch.end)
