"""Faults in producer snapshots and transactions (catalogue 6.3)."""

from __future__ import annotations

import struct

from tests.checks.build_partition import seal
from tests.checks.surgery import positions
from tests.lab.faults.bytes_of_log import without
from tests.lab.faults.patient import Patient
from tests.lab.faults.table import alone, fault

EMPTY = struct.pack(">hIi", 1, 0x48674BC7, 0)
"""A snapshot of no producer."""


def newest(patient: Patient, change: object) -> None:
    """The newest snapshot rewritten."""
    patient.edit(patient.snapshots[-1], change)  # type: ignore[arg-type]


def flipped(data: bytes) -> bytes:
    """One bit in the body."""
    return data[:-3] + bytes([data[-3] ^ 4]) + data[-2:]


def all_flipped(patient: Patient) -> None:
    """No snapshot can be read."""
    for path in patient.snapshots:
        patient.edit(path, flipped)


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


def name(patient: Patient, offset: int) -> str:
    """A snapshot's name."""
    return f"{offset:020d}.snapshot"


V2 = (0, 11)
FAULTS = [
    fault("snapshot-crc", "P01", lambda p: newest(p, flipped), since=V2),
    fault("snapshot-cut", "P01", lambda p: newest(p, lambda data: data[:-5]), since=V2),
    fault("snapshot-longer", "P01", lambda p: newest(p, lambda data: data + b"\0"), since=V2),
    fault("snapshot-empty-file", "P01", lambda p: newest(p, lambda _: b""), since=V2),
    fault("snapshot-version", "P01", lambda p: newest(p, lambda data: b"\0\7" + data[2:]), since=V2),
    fault("snapshots-all-crc", "P01", all_flipped, since=V2),
    fault("snapshots-all-missing", "P02", none_left, since=V2),
    fault("snapshot-newest-missing", "P03", lambda p: p.snapshots[-1].unlink(), since=V2),
    fault("snapshot-only-newest", "P03", only_newest, since=V2),
    alone("snapshot-name", "P04", lambda p: p.write("foo.snapshot", b""), since=V2),
    fault("snapshot-beyond", "P05", lambda p: p.write(name(p, p.end + 500), EMPTY), since=V2),
    fault("snapshot-between", "P05", lambda p: p.write(name(p, p.base("rolled") + 3), EMPTY), since=V2),
    fault(
        "snapshot-between-active", "P05", lambda p: p.write(name(p, p.base("active") + 2), EMPTY), since=V2
    ),
    fault("snapshot-stale", "P06", stale, since=V2),
    fault("transaction-marker-removed", "P09", marker_removed, since=V2),
    fault("transaction-bit-lost", "P10", not_transactional, alone="killed", since=V2),
    fault("transaction-marker-unknown", "P11", marker_unknown, alone="killed", since=V2),
]
