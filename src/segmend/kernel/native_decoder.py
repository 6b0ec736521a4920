"""The C decoder of records, with the caller's memory as its columns."""

from __future__ import annotations

import ctypes
from ctypes import c_int64, c_void_p
from typing import TYPE_CHECKING, Final

from segmend.crc32c import LIBRARY
from segmend.formats.batch import HEADER_SIZE_V0, RecordBatch, render_header
from segmend.kernel.columns import Allocate, BatchRun, Binary, Headers, RecordColumns, WantedRecords
from segmend.kernel.decoder import DAMAGE, FULL, MORE, NO_MEMORY, RECORDS
from segmend.kernel.layout import CType, Library, fits
from segmend.kernel.native import KINDS, address
from segmend.kernel.types import DECODE_LIMIT
from segmend.kernel.walker import Stop

if TYPE_CHECKING:
    from typing_extensions import Buffer

ROWS: Final = 1 << 16
"""Records in one set of columns, at most, as long as one batch has fewer."""

_RUNS: Final = 1 << 14
_LEAST: Final = 1 << 10
_SLACK: Final = 128
_LARGE: Final = 1 << 20
_UNTOUCHED: Final = ctypes.pythonapi.PyByteArray_FromStringAndSize
_UNTOUCHED.argtypes, _UNTOUCHED.restype = (ctypes.c_char_p, ctypes.c_ssize_t), ctypes.py_object
_BINARY: Final = "{0}_offsets {0}_bytes {0}_valid {0}_size {0}_room {0}_nulls "
_NUMBERS: Final = {
    "offset": ("offsets", 8), "timestamp": ("timestamps", 8), "sequence": ("sequences", 4),
    "key_size": ("key_sizes", 4), "value_size": ("value_sizes", 4),
}  # fmt: skip
"""The field and the width of each column of numbers."""
_POINTERS: Final = frozenset(field for field, _ in _NUMBERS.values()) | {"header_starts", "runs", "scratch"}
_FIELDS: Final = (
    "position stop end check_crc want_control decode_limit low_offset high_offset low_time high_time "
    "need need_bytes fault computed found rows row_room header_count header_room "
    "offsets timestamps sequences key_sizes value_sizes "
    + _BINARY.format("key")
    + _BINARY.format("value")
    + "header_starts "
    + _BINARY.format("header_key")
    + _BINARY.format("header_value")
    + "runs run_count run_room scratch scratch_room"
)


def _type_of(field: str) -> CType:
    pointer = field in _POINTERS or field.endswith(("_offsets", "_bytes", "_valid"))
    return c_void_p if pointer and field != "need_bytes" else c_int64


class Columns(ctypes.Structure):
    """`columns_t` of columns.c."""

    _fields_ = tuple((field, _type_of(field)) for field in _FIELDS.split())


def _bind(library: ctypes.CDLL | None) -> Library:
    sizes = {"columns_t": ctypes.sizeof(Columns)}
    if library is None or not fits(library, "segmend_columns_places", Columns, sizes):
        return None
    signatures = {
        "segmend_decode": (c_void_p, c_void_p, c_int64, c_int64),
        "segmend_decode_payload": (c_void_p, c_void_p, c_void_p, c_int64),
        "segmend_headers": (c_void_p, c_void_p, c_int64, c_int64, c_void_p),
    }
    for function, arguments in signatures.items():
        bound = getattr(library, function)
        bound.restype, bound.argtypes = c_int64, arguments
    library.segmend_free_columns.restype = None
    library.segmend_free_columns.argtypes = (c_void_p,)
    return library


LIBRARY_OF_COLUMNS: Final = _bind(LIBRARY)


def available() -> bool:
    """Whether the compiled decoder is there, and is of this version."""
    return LIBRARY_OF_COLUMNS is not None


class NativeDecoder:
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
        self._wanted = wanted
        self._allocate = allocate
        # Few bytes take tiny buffers; what is compressed in them may need more, and gets it.
        size = max(limits[1] - limits[0], _LEAST)
        rows = min(ROWS, size)
        self._room = {"rows": rows, "bytes": min(target, 8 * size) + _SLACK, "headers": rows}
        self._columns = Columns(
            position=limits[0],
            stop=limits[1],
            end=limits[2],
            check_crc=crc,
            want_control=wanted.control,
            decode_limit=DECODE_LIMIT,
            low_offset=wanted.first_offset,
            high_offset=wanted.last_offset,
            low_time=wanted.since,
            high_time=wanted.until,
            run_room=min(_RUNS, size // HEADER_SIZE_V0 + 1),
        )
        self._at = ctypes.addressof(self._columns)
        self._buffers: dict[str, Buffer] = {}

    def __del__(self) -> None:
        if LIBRARY_OF_COLUMNS is not None:
            LIBRARY_OF_COLUMNS.segmend_free_columns(self._at)

    def _make_room(self) -> None:
        """Only where something is decoded: behind the last records nothing is."""
        if not self._buffers:
            self._renew()

    def _renew(self) -> None:
        """Fresh buffers: the old ones belong to whoever took them."""
        rows, size = self._room["rows"], self._room["bytes"]
        sizes = {"runs": self._columns.run_room * len(BatchRun._fields) * 8}
        for column, (field, width) in _NUMBERS.items():
            if column in self._wanted.columns:
                sizes[field] = rows * width
        for column in ("key", "value"):
            if column in self._wanted.columns:
                sizes.update(_binary_sizes(column, rows, size))
        if "headers" in self._wanted.columns:
            headers = self._room["headers"]
            sizes["header_starts"] = 4 * (rows + 1)
            sizes.update(_binary_sizes("header_key", headers, size))
            sizes.update(_binary_sizes("header_value", headers, size))
        self._buffers = {field: self._allocate(needed) for field, needed in sizes.items()}
        self._point(size)

    def _point(self, size: int) -> None:
        columns = self._columns
        columns.rows = columns.header_count = columns.run_count = 0
        columns.row_room, columns.header_room = self._room["rows"], self._room["headers"]
        for field, buffer in self._buffers.items():
            view = memoryview(buffer).cast("B")
            if field.endswith(("_offsets", "_starts")):
                view[:4] = bytes(4)
            setattr(columns, field, address(view))
        for field in ("key", "value", "header_key", "header_value"):
            setattr(columns, f"{field}_size", 0)
            setattr(columns, f"{field}_nulls", 0)
            setattr(columns, f"{field}_room", size)

    @property
    def rows(self) -> int:
        rows: int = self._columns.rows
        return rows

    @property
    def position(self) -> int:
        position: int = self._columns.position
        return position

    @property
    def end(self) -> int:
        end: int = self._columns.end
        return end

    @end.setter
    def end(self, end: int) -> None:
        self._columns.end = end

    def decode(self, window: memoryview, window_start: int) -> Stop:
        self._make_room()
        size = len(window)
        at = address(window) if size else None
        return self._step(LIBRARY_OF_COLUMNS.segmend_decode(self._at, at, size, window_start))

    def decode_payload(self, batch: RecordBatch, payload: bytes) -> Stop:
        self._make_room()
        header = render_header(batch)
        status = LIBRARY_OF_COLUMNS.segmend_decode_payload(self._at, header, payload, len(payload))
        return self._step(status)

    def _step(self, status: int) -> Stop:
        columns = self._columns
        if status == MORE:
            return Stop(status, need=columns.need)
        if status == DAMAGE:
            return Stop(status, kind=KINDS[columns.fault][0], computed=columns.computed)
        if status == RECORDS:
            return self._bad_records()
        if status == NO_MEMORY:
            raise MemoryError("the kernel got no memory")
        if status == FULL and not columns.rows:
            self._grow()
        return Stop(status)

    def _bad_records(self) -> Stop:
        columns = self._columns
        kind, names = KINDS[columns.fault]
        if kind == "count-mismatch":
            counts = (("found", columns.found), ("bytes_left", columns.need))
            return Stop(RECORDS, kind=kind, detail=(("declared", columns.need_bytes), *counts))
        return Stop(
            RECORDS, kind=kind, detail=(("record", columns.found), ("field", names[1].partition("=")[2]))
        )

    def _grow(self) -> None:
        """The buffers are empty and yet too small for the next batch."""
        room = self._room
        room["rows"] = max(room["rows"], self._columns.need)
        room["bytes"] = max(room["bytes"], self._columns.need_bytes + _SLACK)
        room["headers"] = max(room["headers"], self._columns.need_bytes // 2 + 1)
        self._renew()

    def skip(self, end: int) -> None:
        self._columns.position = end

    def take(self) -> RecordColumns | None:
        columns, buffers = self._columns, self._buffers
        if not columns.rows:
            return None
        headers = None
        if "headers" in self._wanted.columns:
            keys, values = self._binary("header_key"), self._binary("header_value")
            headers = Headers(buffers["header_starts"], columns.header_count, keys, values)
        taken = RecordColumns(
            rows=columns.rows,
            offsets=buffers.get("offsets"),
            timestamps=buffers.get("timestamps"),
            sequences=buffers.get("sequences"),
            key_sizes=buffers.get("key_sizes"),
            value_sizes=buffers.get("value_sizes"),
            key=self._binary("key") if "key" in self._wanted.columns else None,
            value=self._binary("value") if "value" in self._wanted.columns else None,
            headers=headers,
            runs=buffers["runs"],
            run_count=columns.run_count,
        )
        self._buffers, columns.rows = {}, 0
        return taken

    def _binary(self, field: str) -> Binary:
        buffers = self._buffers
        nulls = getattr(self._columns, f"{field}_nulls")
        return Binary(
            buffers[f"{field}_offsets"], buffers[f"{field}_bytes"], buffers[f"{field}_valid"], nulls
        )


def _binary_sizes(field: str, count: int, size: int) -> dict[str, int]:
    return {f"{field}_offsets": 4 * (count + 1), f"{field}_bytes": size, f"{field}_valid": count // 8 + 1}


def memory(size: int) -> bytearray:
    """The plain `Allocate`. Of what is large, as the system gives it, pages that stay empty take nothing."""
    return bytearray(size) if size < _LARGE else _UNTOUCHED(None, size)


class NativeHeaders:
    """See `batch_rows.HeaderWalker`."""

    def __init__(self, limits: tuple[int, int, int], *, crc: bool, room: int, width: int) -> None:
        self._width = width
        self._rows = bytearray(8 * width * room)
        self._columns = Columns(
            position=limits[0], stop=limits[1], end=limits[2], check_crc=crc, row_room=room
        )

    @property
    def position(self) -> int:
        position: int = self._columns.position
        return position

    def fill(self, window: memoryview, window_start: int, end: int) -> Stop:
        columns, size = self._columns, len(window)
        columns.end = end
        at = address(window) if size else None
        rows = address(self._rows)
        status = LIBRARY_OF_COLUMNS.segmend_headers(ctypes.addressof(columns), at, size, window_start, rows)
        if status == DAMAGE:
            return Stop(status, kind=KINDS[columns.fault][0], computed=columns.computed)
        return Stop(status, need=columns.need)

    def skip(self, end: int) -> None:
        self._columns.position = end

    def take(self) -> bytes:
        count, self._columns.rows = self._columns.rows, 0
        return bytes(memoryview(self._rows)[: 8 * self._width * count])
