"""Faults in producer snapshots and transactions (catalogue 6.3)."""

import os
import struct
from collections.abc import Callable

from tests.checks import build_partition as build
from tests.checks.build_partition import PartitionWriter, seal
from tests.faults.hands import Change, cut, emptied, longer, positions, without
from tests.faults.hurts import Hurt, left, segment_removed, unhurt
from tests.faults.on_disk import rewrite
from tests.faults.patient import Patient
from tests.faults.table import alone, fault, killed, written
from tests.faults.written import one

EMPTY = struct.pack(">hIi", 1, 0x48674BC7, 0)
"""A snapshot of no producer."""


def newest(change: Change) -> Hurt:
    """The newest snapshot rewritten."""
    return lambda patient: rewrite(patient.snapshots[-1], change)


def flipped(data: bytes) -> bytes:
    """One bit in the body."""
    return data[:-3] + bytes([data[-3] ^ 4]) + data[-2:]


def all_flipped(patient: Patient) -> None:
    """No snapshot can be read."""
    for path in patient.snapshots:
        rewrite(path, flipped)


def none_left(patient: Patient) -> None:
    """No snapshot is there."""
    for path in patient.snapshots:
        path.unlink()


def only_newest(patient: Patient) -> None:
    """All but the newest are gone."""
    for path in patient.snapshots[:-1]:
        path.unlink()


def stale(patient: Patient) -> None:
    """An old snapshot under the newest one's name."""
    patient.snapshots[-1].write_bytes(patient.snapshots[0].read_bytes())


def control(data: bytes) -> int:
    """The number of the first control batch behind the first batch."""
    return next(
        n for n, at in enumerate(positions(data)) if n and struct.unpack_from(">h", data, at + 21)[0] & 0x20
    )


def marker_removed(patient: Patient) -> None:
    """A marker of the rolled segment cut out; its `.index` too, so that it is made anew."""
    data = patient.file("rolled").read_bytes()
    patient.file("rolled").write_bytes(without(control(data))(data))
    patient.remove("rolled", "index")


def marker_unknown(patient: Patient) -> None:
    """A marker of a type that nobody knows, with a right CRC."""
    data = patient.file("rolled").read_bytes()
    at = positions(data)[control(data)]
    one = bytearray(data[at : at + 78])
    struct.pack_into(">hh", one, 61 + 5, 0, 9)
    patient.file("rolled").write_bytes(data[:at] + seal(bytes(one)) + data[at + 78 :])


def not_transactional(patient: Patient) -> None:
    """The last batch of the open transaction lost its transactional bit, with a right CRC."""
    data = patient.file("active").read_bytes()
    at = positions(data)[-1]
    one = bytearray(data[at:])
    one[22] &= 0xEF
    patient.file("active").write_bytes(data[:at] + seal(bytes(one)))


def name(offset: int) -> str:
    """A snapshot's name."""
    return f"{offset:020d}.snapshot"


V2 = (0, 11)
HOUR_MS = 3_600_000


def without_open_transaction(data: bytes) -> bytes:
    """The snapshot with all transactions closed and its CRC right."""
    rows = [bytearray(data[at : at + 46]) for at in range(10, len(data), 46)]
    for row in rows:
        row[38:46] = struct.pack(">q", -1)
    body = data[6:10] + b"".join(rows)
    return data[:2] + struct.pack(">I", build.crc32c(body)) + body


def hanging() -> PartitionWriter:
    """Producer 11's transaction stays open and the log goes on for an hour."""
    return still_open(HOUR_MS)


def still_open(duration_ms: int) -> PartitionWriter:
    writer = build.story("t")
    for _ in range(2):
        writer.append(2, producer=9, transactional=True)
        writer.commit(9)
        writer.clock += duration_ms
    return writer


def backdated() -> PartitionWriter:
    """An open transaction of which the producer wrote timestamps of long ago."""
    writer = build.story("t")
    writer.clock += 24 * HOUR_MS
    writer.append(2, producer=9, transactional=True)
    writer.commit(9)
    return writer


def ongoing() -> PartitionWriter:
    """The same for ten minutes: a transaction that goes on."""
    return still_open(HOUR_MS // 6)


def open_across_segments() -> PartitionWriter:
    writer = PartitionWriter("t")
    writer.append(2, producer=9, transactional=True)
    for _ in range(3):
        for _ in range(4):
            writer.append(3)
        writer.roll()
    writer.append(3)
    return writer


def not_written(writer: PartitionWriter, end: Callable[[int], object]) -> None:
    """End the transaction of producer 9, and take the marker away again: the offset is used up."""
    segment = writer.segments[-1]
    before, places = len(segment.log), list(segment.positions)
    end(9)
    del segment.log[before:]
    segment.positions = places


def lost(end: str) -> Callable[[], PartitionWriter]:
    """A log of which the end marker of the second transaction is gone, with everything else right."""

    def made() -> PartitionWriter:
        writer = PartitionWriter("t")
        for turn in range(4):
            writer.append(2, producer=9, transactional=True)
            writer.append(3)
            ends = writer.abort if end == "abort" or turn % 2 else writer.commit
            not_written(writer, ends) if turn == 1 else ends(9)
            writer.append(3)
        writer.roll()
        writer.append(2, producer=9, transactional=True)
        writer.commit(9)
        return writer

    return made


def lost_at(place: str) -> Callable[[], PartitionWriter]:
    """A log of which the ABORT at the end or the begin of a segment is gone, with everything else right."""

    def made() -> PartitionWriter:
        writer = PartitionWriter("t")
        writer.append(3)
        writer.append(2, producer=9, transactional=True)
        if place == "begin":
            writer.roll()
        not_written(writer, writer.abort)
        if place == "end":
            writer.roll()
        writer.append(2, producer=9, transactional=True)
        writer.commit(9)
        writer.append(3)
        return writer

    return made


def lost_before_the_next() -> PartitionWriter:
    """A log of which an ABORT is gone, and the next transaction of its producer is in the next segment."""
    writer = PartitionWriter("t")
    writer.append(2, producer=9, transactional=True)
    not_written(writer, writer.abort)
    writer.append(3)
    writer.roll()
    writer.append(2, producer=9, transactional=True)
    writer.commit(9)
    return writer


def outside_its_transaction() -> PartitionWriter:
    writer = build.story("t")
    writer.append(1, producer=11)
    return writer


def outside_its_transaction_later() -> PartitionWriter:
    writer = build.story("t")
    writer.roll()
    writer.append(1, producer=11)
    return writer


def unknown_marker() -> PartitionWriter:
    writer = build.story("t")
    writer.write(
        build.marker_batch(writer.next_offset, 11, 9, epoch=6, timestamp=writer.clock), 1, writer.clock
    )
    return writer


def epoch_back() -> PartitionWriter:
    writer = build.story("t")
    for epoch in (5, 3):
        writer.producers[7].epoch = epoch
        writer.append(2, producer=7)
    return writer


def epoch_back_later() -> PartitionWriter:
    writer = build.story("t")
    for epoch in (5, 3):
        writer.roll()
        writer.producers[7].epoch = epoch
        writer.append(2, producer=7)
    return writer


def coordinator_back_later() -> PartitionWriter:
    writer = build.story("t")
    writer.commit(11, coordinator=8)
    writer.roll()
    writer.append(2, producer=11, transactional=True)
    writer.commit(11, coordinator=6)
    return writer


FAULTS = [
    fault("snapshot-crc", newest(flipped),
        "P01", "snapshot-deleted 0..220", since=V2, says="CRC is no longer valid", mend="repair"),
    fault("snapshot-cut", newest(cut(5)), "P01", "snapshot-deleted 0..220", since=V2, mend="repair"),
    fault("snapshot-longer", newest(longer(b"\0")),
        "P01", "snapshot-deleted 0..220", since=V2, mend="repair"),
    fault("snapshot-empty-file", newest(emptied), "P01", "snapshot-deleted 0..220", since=V2, mend="repair"),
    written("snapshot-empty-of-a-roll", left("00000000000000000054.snapshot"),
        "P01+", "0..220", mend="repair"),
    fault("snapshot-version", newest(lambda data: b"\0\7" + data[2:]),
        "P01", "snapshot-deleted 0..220", since=V2, mend="repair"),
    fault("snapshots-all-crc", all_flipped, "P01", "snapshot-deleted 0..220", since=V2, mend="repair"),
    fault("snapshots-all-missing", none_left,
        "P02+", "reads-fail snapshot-rebuilt 0..220", killed("", "recovery-scan 0..220"), since=V2,
        mend="repair"),
    fault("snapshot-newest-missing", lambda p: p.snapshots[-1].unlink(),
        "P03+", "0..220", since=V2, mend="repair"),
    fault("snapshot-only-newest", only_newest, "", "0..220", since=V2),
    alone("snapshot-name", left("foo.snapshot"), "P04", "refuses", since=V2, says='For input string: "foo"'),
    written("snapshot-too-large", lambda p: os.truncate(p.snapshots[-1], 2**31), "P04", "refuses",
        vast=True),
    fault("snapshot-beyond", lambda p: p.write(name(p.end + 500), EMPTY),
        "P05", "snapshot-deleted 0..220", since=V2),
    fault("snapshot-between", lambda p: p.write(name(p.base("rolled") + 3), EMPTY),
        "", "snapshot-deleted 0..220", since=V2),
    fault("snapshot-between-active", lambda p: p.write(name(p.base("active") + 2), EMPTY),
        "", "snapshot-deleted 0..220", since=V2),
    fault("snapshot-stale", stale, "P06+", "0..220", since=V2, mend="repair"),
    written("snapshot-forgets-transaction", newest(without_open_transaction),
        "P06+", "0..220", mend="repair"),
    fault("transaction-marker-removed", marker_removed,
        "I01 P09+", "index-rebuilt 0..220", since=V2, mend="repair: P09"),
    fault("transaction-bit-lost", not_transactional, "", "0..220", alone="killed", since=V2),
    fault("transaction-marker-unknown", marker_unknown, "I21+ P11+", "reads-fail 0..220",
        alone="killed", since=V2),
    written("transaction-hanging", unhurt, "P07+", "0..226", base=one(hanging)),
    written("transaction-beginning-gone", segment_removed("first"),
        "P08+", "snapshot-deleted 14..41", base=one(open_across_segments)),
    written("transaction-commit-lost", unhurt, "P09+", "reads-fail 0..39", base=one(lost("commit"))),
    written("transaction-abort-lost", unhurt, "P09+", "0..39", base=one(lost("abort"))),
    written("transaction-abort-lost-begin", unhurt, "P09+", "reads-fail 0..12", base=one(lost_at("begin"))),
    written("transaction-abort-lost-next", unhurt, "P09+", "0..9", base=one(lost_before_the_next)),
    written("transaction-left", unhurt, "P10+", "0..221", base=one(outside_its_transaction)),
    written("transaction-left-later", unhurt, "P10+", "0..221", base=one(outside_its_transaction_later)),
    written("transaction-marker-9", unhurt, "P11+", "0..221", base=one(unknown_marker)),
    written("producer-epoch-back", unhurt, "P12+", "0..224", base=one(epoch_back)),
    written("producer-epoch-back-later", unhurt, "P12+", "0..224", base=one(epoch_back_later)),
    written("coordinator-back-later", unhurt, "P12+", "0..224", base=one(coordinator_back_later)),
    written("transaction-open", unhurt, "", "0..226", base=one(ongoing)),
    written("transaction-open-backdated", unhurt, "", "0..223", base=one(backdated)),
]  # fmt: skip
