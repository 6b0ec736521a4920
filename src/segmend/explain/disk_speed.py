"""How fast these disks read: measured on some of the very files that a start reads.

Only reading, at most 64 MiB and one second for a stream, as long again for single blocks. What lies
in the page cache is passed over where the kernel tells (`RWF_NOWAIT`, Linux): memory says nothing of
the disk. If everything is in it, the figure is that of memory, and so said.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from segmend.frozen import frozen
from segmend.kernel.scan import ScanTask, scan_log
from segmend.loading.segment import Prefix
from segmend.logdir.file_system import OpenFile, Unreadable
from segmend.logdir.files import FileEntry

_PIECE: Final = 1 << 20
"""One read; smaller files say how long it takes to open a file, not how fast a disk is."""
_RUN: Final = 16 << 20
_STREAM: Final = 64 << 20
_SECONDS: Final = 1.0
_BLOCK: Final = 4096
_BLOCKS: Final = 64
_ENOUGH: Final = 4
_SAMPLE: Final = 256 << 10
_SAMPLES: Final = 16
BATCH_BYTES: Final = 16384
"""`batch.size` of a producer, for logs of which nothing could be read."""


@frozen
class Speed:
    """Bytes a second (`seconds_a_read` for single blocks) over what was read; `cached`: all from memory."""

    bytes_per_second: float | None = None
    bytes_read: int = 0
    cached: bool = False
    seconds_a_read: float | None = None
    reads: int = 0
    given: bool = False


def measure(logs: Sequence[FileEntry], indexes: Sequence[FileEntry]) -> Speed:
    """Read pieces of `logs` in a row and single blocks of `indexes`; what cannot be read is passed over."""
    size, seconds, cached = _stream(_spread(logs, 256))
    reads, waited = _blocks(_spread(indexes, 1024))
    return Speed(
        bytes_per_second=size / seconds if size and seconds > 0 else None,
        bytes_read=size,
        cached=cached,
        seconds_a_read=waited / reads if reads >= _ENOUGH else None,
        reads=reads,
    )


def batch_bytes(logs: Sequence[FileEntry]) -> float:
    """The mean size of a batch, from the beginnings of some of the logs."""
    batches = size = 0
    for entry in _spread(logs, _SAMPLES):
        try:
            with entry.reader() as reader:
                scan = scan_log(
                    Prefix(reader, _SAMPLE), ScanTask(base_offset=entry.parsed.base_offset or 0, crc=False)
                )
        except Unreadable:
            continue
        batches, size = batches + scan.batches, size + scan.valid_bytes
    return size / batches if batches else float(BATCH_BYTES)


def _spread(files: Sequence[FileEntry], most: int) -> Sequence[FileEntry]:
    return files[:: max(1, -(-len(files) // most))]


def _stream(logs: Sequence[FileEntry]) -> tuple[int, float, bool]:
    """(bytes, seconds, whether it was memory): runs that are not cached, else cached ones."""
    sizes, seconds = {False: 0, True: 0}, {False: 0.0, True: 0.0}
    end = time.perf_counter() + _SECONDS
    for entry in logs:
        try:
            with entry.reader() as reader:
                start, cached = _run(reader)
                if reader.size >= _PIECE and sizes[cached] < _STREAM:
                    size, took = _read_run(reader, start, end)
                    sizes[cached], seconds[cached] = sizes[cached] + size, seconds[cached] + took
        except Unreadable:
            continue
        if sizes[False] >= _STREAM or time.perf_counter() > end:
            break
    cached = not sizes[False]
    return sizes[cached], seconds[cached], cached and bool(sizes[True])


def _run(reader: OpenFile) -> tuple[int, bool]:
    """Where to read a file, and whether it is cached there.

    Asked before anything is read: the kernel reads far ahead (8 MiB on some disks).
    """
    for start in (0, reader.size // 2):
        if reader.is_cached(start) is not True:
            return start, False
    return 0, True


def _read_run(reader: OpenFile, start: int, end: float) -> tuple[int, float]:
    """(bytes, seconds) of one run of pieces."""
    buffer = memoryview(bytearray(_PIECE))
    began, size = time.perf_counter(), 0
    for position in range(start, min(start + _RUN, reader.size), _PIECE):
        size += reader.read_into(buffer, position)
        if time.perf_counter() > end:
            break
    return size, time.perf_counter() - began


def _blocks(indexes: Sequence[FileEntry]) -> tuple[int, float]:
    """(reads, seconds) of the last blocks of index files that are not cached."""
    count, seconds = 0, 0.0
    for entry in indexes:
        try:
            with entry.reader() as reader:
                position = max(reader.size - 1, 0) // _BLOCK * _BLOCK
                if reader.size == 0 or reader.is_cached(position) is not False:
                    continue
                began = time.perf_counter()
                reader.read(_BLOCK, position)
                count, seconds = count + 1, seconds + time.perf_counter() - began
        except Unreadable:
            continue
        if count >= _BLOCKS or seconds > _SECONDS:
            break
    return count, seconds
