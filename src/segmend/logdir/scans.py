"""Scans of whole logs, remembered for a while: one pass serves checks, recipes and forecasts.

A log is known by its inode, size and change time, which nobody can set back, so one that was
changed meanwhile is read again; so is one that changed so lately that its time tells nothing.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Final, NamedTuple

from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.frozen import dataclass, replace
from segmend.kernel.scan import ScanTask, scan_log
from segmend.kernel.stretches import Stretches
from segmend.kernel.types import RECORD_KINDS, IndexRule, SegmentScan
from segmend.logdir.file_system import FileStat, Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.second_looks import SMALL, TICK_NS, look_again, read_once

LIMIT: Final = 32 << 20
"""Bytes that all remembered scans may take, by a rough count; the oldest go first."""

Producers = tuple[ProducerStateEntry, ...]


class _Key(NamedTuple):
    """A log as it was when it was read, and what was asked of the scan.

    A file that a plan leaves alone is the same one in a view of the plan, under another path.
    """

    device: int
    inode: int
    size: int
    changed_ns: int
    base_offset: int
    producers: Producers = ()
    crc: bool = True
    records: bool = False
    until_damage: bool = False


class _KnownScan(NamedTuple):
    """A scan, and what it was given besides the log: how indexes were made, a hash of the one compared."""

    scan: SegmentScan
    build: IndexRule | None = None
    index_hash: int | None = None


_lock = threading.Lock()
_scans: OrderedDict[_Key, _KnownScan] = OrderedDict()


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
    known = _recalled(key)
    if known is not None and build in (None, known.build):
        return known.scan
    return _scanned(log, key, base_offset, producers, build=build)


def first_part(log: FileEntry, *, base_offset: int, producers: Producers = ()) -> SegmentScan:
    """The same as far as a recovery comes: to the first damage (`SegmentScan.sound`), or further."""
    key = _key(log, base_offset, producers)
    known = _recalled(key) or _recalled(key and key._replace(until_damage=True))
    if known is None and not producers:
        known = _recalled(key and key._replace(records=True))
    return known.scan if known else _scanned(log, key, base_offset, producers, until_damage=True)


def plain_scan(log: FileEntry, *, base_offset: int) -> SegmentScan:
    """The scan of a log without checksums: headers, offsets, times; raises `Unreadable`."""
    key = _key(log, base_offset)
    if key is not None:
        known = _recalled(key._replace(crc=False))
        scan = known.scan if known is not None else _without_checksums(_recalled(key))
        scan = scan or _without_checksums(_recalled(key._replace(records=True)))
        if scan is not None:
            return scan
    with look_again(log) as reader:
        scan = scan_log(reader, ScanTask(base_offset=base_offset, crc=False))
    _remember(key and key._replace(crc=False), _KnownScan(scan))
    return scan


def checked_scan(
    log: FileEntry,
    *,
    base_offset: int,
    deep: bool,
    offset_index: bytes | None,
    time_index: bytes | None,
    stretches: Stretches | None,
) -> SegmentScan:
    """The scan that checks judge a segment by, `deep` with checksums and records; raises `Unreadable`.

    It is made anew, in one pass over the file, for it also compares the indexes of this moment.
    Of a small log it is not remembered: `second_looks` has its bytes for whoever looks again.
    """
    stat = log.stat()
    key = _key_of(stat, base_offset)
    with read_once(log, stat) as reader:
        scan = scan_log(
            reader,
            ScanTask(
                base_offset=base_offset,
                crc=deep,
                records=deep,
                offset_index=offset_index,
                time_index=time_index,
                stretches=stretches,
            ),
        )
    if key is not None and key.size > SMALL:
        _remember(key._replace(crc=deep, records=deep), _KnownScan(scan, index_hash=hash(offset_index)))
    return scan


def deep_scan(log: FileEntry, *, base_offset: int, offset_index: bytes | None) -> SegmentScan:
    """The scan of a log with checksums, records and its offset index, unless it is known."""
    key = _key(log, base_offset)
    known = _recalled(key and key._replace(records=True))
    if known is not None and offset_index is None:
        return replace(known.scan, offset_index=None)
    if known is not None and known.index_hash == hash(offset_index):
        return known.scan
    with look_again(log) as reader:
        scan = scan_log(reader, ScanTask(base_offset=base_offset, records=True, offset_index=offset_index))
    _remember(key and key._replace(records=True), _KnownScan(scan, index_hash=hash(offset_index)))
    return scan


def _scanned(
    log: FileEntry,
    key: _Key | None,
    base_offset: int,
    producers: Producers,
    *,
    build: IndexRule | None = None,
    until_damage: bool = False,
) -> SegmentScan:
    # Checksums that were right before other producers are right now; the bytes are the same.
    proven = key is not None and producers != () and _is_sound(_recalled(key._replace(producers=())))
    with look_again(log) as reader:
        scan = scan_log(
            reader,
            ScanTask(base_offset=base_offset, producers=producers, build=build, crc=not proven),
            until_damage=until_damage,
        )
    if proven:
        scan = replace(scan, crc_checked=True)
    whole = not until_damage or scan.sound is None
    _remember(key if whole else key and key._replace(until_damage=True), _KnownScan(scan, build))
    return scan


def known_deep_scan(log: FileEntry, *, base_offset: int) -> SegmentScan | None:
    """The deep scan if it is known, whatever index it was compared with."""
    key = _key(log, base_offset)
    known = _recalled(key and key._replace(records=True))
    return None if known is None else replace(known.scan, offset_index=None)


def known_scan(log: FileEntry, *, base_offset: int, crc: bool = True) -> SegmentScan | None:
    """The scan if it is known, without reading the log.

    Without `crc` only one that a scan without checksums would equal. It may have built indexes.
    """
    if not _scans:
        return None
    try:
        key = _key(log, base_offset)
    except Unreadable:
        return None
    known = _recalled(key)
    if known is None or crc:
        return known and known.scan
    return _without_checksums(known)


def _key(log: FileEntry, base_offset: int, producers: Producers = ()) -> _Key | None:
    return _key_of(log.files.file_stat(log.path), base_offset, producers)


def _key_of(stat: FileStat, base_offset: int, producers: Producers = ()) -> _Key | None:
    if stat.changed_ns is None:
        return None
    return _Key(stat.device, stat.inode, stat.size, stat.changed_ns, base_offset, producers)


def _recalled(key: _Key | None) -> _KnownScan | None:
    with _lock:
        return None if key is None else _scans.get(key)


def _is_sound(known: _KnownScan | None) -> bool:
    return known is not None and not known.scan.problem_counts and not known.scan.bounded


def _without_checksums(known: _KnownScan | None) -> SegmentScan | None:
    """What a scan without checksums would have found, where one with them tells it."""
    if known is None or known.scan.sound is not None or known.scan.bounded:
        return None
    scan = known.scan
    if scan.records_checked and any(magic < 2 for magic, _ in scan.magics):
        return None  # inner messages were counted
    if scan.records_checked and any(kind in RECORD_KINDS for kind, _ in scan.problem_counts):
        return None
    return replace(scan, crc_checked=False, records_checked=False, null_keys=0, offset_index=None)


def _remember(key: _Key | None, known: _KnownScan) -> None:
    if key is None or time.time_ns() - key.changed_ns <= TICK_NS:
        return
    with _lock:
        if (before := _scans.pop(key, None)) is not None:
            _held.bytes -= _weight(before.scan)
        _scans[key] = known
        _held.bytes += _weight(known.scan)
        while _held.bytes > LIMIT:
            _held.bytes -= _weight(_scans.popitem(last=False)[1].scan)


def _weight(scan: SegmentScan) -> int:
    built = 0 if scan.built is None else len(scan.built.offset_index) + len(scan.built.time_index)
    rows = len(scan.producers) + len(scan.aborted) + len(scan.problems)
    rows += sum(len(match.mismatches) for match in (scan.offset_index, scan.time_index) if match)
    rows += 0 if scan.sound is None else len(scan.sound.producers)
    return 4096 + built + 320 * rows + 128 * len(scan.epochs)
