"""Batch headers as rows of 16 numbers: the table `batches`, before it is one of Arrow."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from segmend.formats.batch import (
    HEADER_SIZE_V0,
    HEADER_SIZE_V2,
    LOG_OVERHEAD,
    PREFIX,
    TRANSACTIONAL,
    RecordBatch,
    compute_crc,
    header_size,
    read_header,
)
from segmend.kernel import native_decoder
from segmend.kernel.decoder import DAMAGE, END, FULL, MORE
from segmend.kernel.diagnosis import diagnose
from segmend.kernel.engine import ENGINE, engine_named
from segmend.kernel.records import signed64
from segmend.kernel.reference import cannot_begin
from segmend.kernel.salvage import Salvage
from segmend.kernel.types import TAIL_KINDS, WINDOW, WINDOW_LIMIT, BatchRange, Problem, Reader
from segmend.kernel.walker import Stop
from segmend.kernel.window import Window

CRC_OK: Final = 15
"""The last of the numbers: 1 right, 0 wrong, -1 not computed. The others are `RecordBatch`'s."""

WIDTH: Final = CRC_OK + 1
_ATTRIBUTES: Final = RecordBatch._fields.index("attributes")
ROOM: Final = 1 << 14


class HeaderWalker(Protocol):
    """Reads headers one after the other into rows of `WIDTH` int64."""

    @property
    def position(self) -> int:
        """Where the next batch begins."""

    def fill(self, window: memoryview, window_start: int, end: int) -> Stop:
        """Read the headers of `window`; `end` is the readable size of the file."""

    def skip(self, end: int) -> None:
        """Go on at `end`."""

    def take(self) -> bytes:
        """The rows so far."""


class PlainHeaders:
    """See `HeaderWalker`."""

    def __init__(self, limits: tuple[int, int, int], *, crc: bool) -> None:
        self.position, self._stop, _ = limits
        self._crc = crc
        self._rows = array("q")

    def fill(self, window: memoryview, window_start: int, end: int) -> Stop:
        data = bytes(window)
        while self.position < self._stop:
            if len(self._rows) >= WIDTH * ROOM:
                return Stop(FULL)
            step = self._step(data, self.position - window_start, end - self.position)
            if step is not None:
                return step
        return Stop(END)

    def _step(self, data: bytes, at: int, left: int) -> Stop | None:
        stop = cannot_begin(data, at, left, DAMAGE)
        if stop is not None:
            return stop
        _, size, _, magic = PREFIX.unpack_from(data, at)
        need = LOG_OVERHEAD + size if self._crc else header_size(magic)
        if len(data) - at < need:
            return Stop(MORE, need=need)
        computed = compute_crc(data[at : at + need], magic) if self._crc else 0
        if self._crc and computed != read_header(data, at).crc:
            return Stop(DAMAGE, kind="crc-mismatch", computed=computed)
        self._rows.frombytes(_row(data[at : at + HEADER_SIZE_V2], self.position, 1 if self._crc else -1))
        self.position += LOG_OVERHEAD + size
        return None

    def skip(self, end: int) -> None:
        self.position = end

    def take(self) -> bytes:
        taken, self._rows = self._rows, array("q")
        return taken.tobytes()


def _row(head: bytes, position: int, crc_ok: int) -> bytes:
    batch = read_header(head, 0, position)
    return array("q", (*batch._replace(last_offset=signed64(batch.last_offset)), crc_ok)).tobytes()


def batch_rows(
    reader: Reader, batches: BatchRange, report: Callable[[Problem], None], *, engine: str = ENGINE.name
) -> Iterator[bytes]:
    """Rows of int64 of these batches, some thousands at a time."""
    base_offset, crc = batches.base_offset, batches.crc
    with Window(reader, size=WINDOW) as opened:
        limits = batches.limits(opened.end)
        walker = _walker(engine, limits, crc=crc)
        salvage = Salvage(engine_named(engine), opened, base_offset)
        while (step := walker.fill(opened.view, opened.start, opened.end)).status != END:
            if step.status == FULL:
                yield walker.take()
            elif step.status == MORE:
                _load(opened, walker, step.need, crc=crc)
            else:
                limit = min(limits[1], opened.end)
                damage = diagnose(salvage, opened, step, walker.position, limit, base_offset).problem
                if damage.kind == "crc-mismatch" and damage.facts["next"] == "boundary":
                    yield walker.take() + _row(_head(opened, walker.position), walker.position, 0)
                else:
                    report(damage)
                walker.skip(damage.end)
                if damage.kind in TAIL_KINDS:
                    break
        rows = walker.take()
        if rows:
            yield rows


def transactional(rows: bytes) -> Iterator[RecordBatch]:
    """Of such rows the batches of transactions, markers among them; the others cost next to nothing."""
    numbers = memoryview(rows).cast("q")
    for at, attributes in enumerate(numbers[_ATTRIBUTES::WIDTH]):
        if attributes & TRANSACTIONAL:
            batch = RecordBatch._make(numbers[at * WIDTH : at * WIDTH + CRC_OK])
            if batch.is_transactional:
                yield batch


def _walker(engine: str, limits: tuple[int, int, int], *, crc: bool) -> HeaderWalker:
    if engine == "native" and native_decoder.available():
        # No more room than there may be headers: it is filled with zeros first.
        room = min(ROOM, (limits[1] - limits[0]) // HEADER_SIZE_V0 + 1)
        return native_decoder.NativeHeaders(limits, crc=crc, room=room, width=WIDTH)
    return PlainHeaders(limits, crc=crc)


def _head(window: Window, position: int) -> bytes:
    return bytes(window.at(position, min(HEADER_SIZE_V2, window.end - position))[:HEADER_SIZE_V2])


def _load(window: Window, walker: HeaderWalker, need: int, *, crc: bool) -> None:
    """Bring bytes; a batch too large for any window passes with its checksum not computed."""
    if not crc or need <= WINDOW_LIMIT:
        window.load(walker.position, need)
        return
    walker.skip(walker.position + need)
