"""What goes with a joined log: indexes and aborted transactions.

All of it is computed from the batches as they will be, in one pass over each segment that
changes. The leader's own index of a segment that is copied whole is taken if it agrees with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from segmend.errors import PartitionError
from segmend.formats import time_index, txn_index
from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.formats.txn_index import TransactionIndex
from segmend.frozen import frozen
from segmend.kernel.scan import ScanTask, scan_log
from segmend.kernel.types import BuiltIndexes, IndexMatch, IndexRule, SegmentScan
from segmend.surgery.derive.segment_indexes import indexes_in
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.replicas.joined_log import JoinedReader, JoinedSegment


@frozen
class Indexes:
    """The indexes a segment has beside it: their bytes."""

    offset: bytes
    time: bytes


@frozen
class Derived:
    """A segment that changes. `sound` says which of the indexes it came with are right as they are.

    `copied` are the bytes that it gets, None if they have to be read once more to know their hash.
    """

    segment: JoinedSegment
    scan: SegmentScan
    built: BuiltIndexes
    txn_index: bytes
    sound: tuple[bool, bool]
    copied: NewBytes | None = None


def derive(
    segments: Iterable[tuple[JoinedSegment, Indexes | None]],
    producers: Sequence[ProducerStateEntry],
    rule: IndexRule,
) -> Iterator[Derived]:
    """Each segment with what goes with it; `producers` are those before the first.

    Raises `Unreadable`, and `PartitionError` for damage, or past the kernel's bounds.
    """
    states = tuple(producers)
    for segment, theirs in segments:
        with JoinedReader(segment) as reader:
            scan = scan_log(
                reader,
                ScanTask(
                    base_offset=segment.base,
                    producers=states,
                    build=rule,
                    offset_index=None if theirs is None else theirs.offset,
                    time_index=None if theirs is None else theirs.time,
                ),
            )
            built = indexes_in(scan, rule, reader, segment.parts[-1].path)
        _refuse(segment, scan)
        yield Derived(
            segment=segment, scan=scan, built=built,
            txn_index=txn_index.render(TransactionIndex(entries=scan.aborted)),
            sound=(_agrees(scan.offset_index, built.offset_index), _agrees_in_time(scan, theirs)),
            copied=reader.copied(),
        )  # fmt: skip
        states = scan.producers


def _refuse(segment: JoinedSegment, scan: SegmentScan) -> None:
    path = segment.parts[-1].path
    if scan.unreplayable:
        raise PartitionError(f"{path} holds more {scan.unreplayable[0]} than can be replayed")
    if scan.valid_bytes != segment.size:
        what = scan.problems[0].kind if scan.problems else "it became shorter"
        raise PartitionError(
            f"{path}: is damaged at byte {scan.valid_bytes} ({what}); copy from another replica"
        )


def _agrees(match: IndexMatch | None, built: bytes) -> bool:
    if match is None or match.mismatched or match.unverifiable or match.padding or match.surplus_bytes:
        return False
    return match.entries > 0 or not built


def _agrees_in_time(scan: SegmentScan, theirs: Indexes | None) -> bool:
    """Retention reads the last entry, so it must be the largest timestamp there is."""
    if theirs is None or not _agrees(scan.time_index, b"" if scan.max_timestamp < 0 else b"?"):
        return False
    entries, _ = time_index.parse(theirs.time)
    return not entries or entries[-1].timestamp == scan.max_timestamp
