"""Scans of whole logs, remembered for a while: one pass serves checks, recipes and forecasts.

A log is known by its inode, size and change time, which nobody can set back, so one that was
changed meanwhile is read again; so is one that changed so lately that its time tells nothing.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from segmend.kernel.scan import scan_log
from segmend.kernel.types import IndexRule, ProducerState, SegmentScan
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry

LIMIT: Final = 32 << 20
"""Bytes that all remembered scans may take, by a rough count; the oldest go first."""
_TICK_NS: Final = 20_000_000
"""Two changes within one tick of the kernel's clock have the same time."""

Producers = tuple[ProducerState, ...]


@dataclass(frozen=True, slots=True)
class _Key:
    """A log as it was when it was read, and what was asked of the scan beside its checksums.

    A file that a plan leaves alone is the same one in a view of the plan, under another path.
    """

    device: int
    inode: int
    size: int
    changed_ns: int
    base_offset: int
    producers: Producers


_lock = threading.Lock()
_scans: OrderedDict[_Key, tuple[SegmentScan, IndexRule | None]] = OrderedDict()


@dataclass(slots=True)
class _Held:
    """What all scans take, not summed up anew for each of thousands."""

    bytes: int = 0


_held = _Held()


def whole_scan(
    log: FileEntry, *, base_offset: int, producers: Producers = (), build: IndexRule | None = None
) -> SegmentScan:
    """The scan of a log with its checksums, read unless it is known; raises `Unreadable`.

    `base_offset`, `producers` and `build` are those of `scan_log`.
    """
    key = _key(log, base_offset, producers)
    if key is not None and (found := _recalled(key, build)) is not None:
        return found
    # Checksums that were right before other producers are right now; the bytes are the same.
    proven = key is not None and producers != () and _is_sound(_known(replace(key, producers=())))
    with log.reader() as reader:
        found = scan_log(reader, base_offset=base_offset, producers=producers, build=build, crc=not proven)
    if proven:
        found = replace(found, crc_checked=True)
    if key is not None and time.time_ns() - key.changed_ns > _TICK_NS:
        _remember(key, found, build)
    return found


def known_scan(log: FileEntry, *, base_offset: int, crc: bool = True) -> SegmentScan | None:
    """The scan if it is known, without reading the log.

    Without `crc` only one that a scan without checksums would equal. It may have built indexes.
    """
    if not _scans:
        return None
    try:
        key = _key(log, base_offset, ())
    except Unreadable:
        return None
    found = None if key is None else _known(key)
    if found is None or crc:
        return found
    return replace(found, crc_checked=False) if _is_sound(found) else None


def _key(log: FileEntry, base_offset: int, producers: Producers) -> _Key | None:
    stat = log.files.file_stat(log.path)
    if stat.changed_ns is None:
        return None
    return _Key(stat.device, stat.inode, stat.size, stat.changed_ns, base_offset, producers)


def _known(key: _Key) -> SegmentScan | None:
    with _lock:
        found = _scans.get(key)
        return None if found is None else found[0]


def _recalled(key: _Key, build: IndexRule | None) -> SegmentScan | None:
    with _lock:
        found = _scans.get(key)
        return None if found is None or (build is not None and build != found[1]) else found[0]


def _is_sound(scan: SegmentScan | None) -> bool:
    return scan is not None and not scan.problem_counts and not scan.bounded


def _remember(key: _Key, scan: SegmentScan, build: IndexRule | None) -> None:
    with _lock:
        before = _scans.pop(key, None)
        _held.bytes -= 0 if before is None else _weight(before[0])
        _scans[key] = (scan, build)
        _held.bytes += _weight(scan)
        while _held.bytes > LIMIT:
            _held.bytes -= _weight(_scans.popitem(last=False)[1][0])


def _weight(scan: SegmentScan) -> int:
    """About how many bytes it takes."""
    built = 0 if scan.built is None else len(scan.built.offset_index) + len(scan.built.time_index)
    rows = len(scan.producers) + len(scan.aborted) + len(scan.problems)
    return 4096 + built + 320 * rows + 128 * len(scan.epochs)
