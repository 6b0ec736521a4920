"""Faults in `.index`, `.timeindex` and `.txnindex` (catalogue 6.2)."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from tests.checks.surgery import entry, time_entry, txn_entry
from tests.lab.faults.patient import Change, Patient
from tests.lab.faults.table import fault

FULL = {"index": 32768, "timeindex": 32760}
"""What the lab's brokers preallocate."""


def index(role: str, change: Change, kind: str = "index") -> Callable[[Patient], None]:
    """The change applied to an index whose zeros were taken off."""
    return lambda patient: patient.index(role, kind, change)


def offset(row: int, change: Callable[[int], int]) -> Change:
    """The relative offset of an entry."""
    return entry(row, ">i", 0, change)


def position(row: int, change: Callable[[int], int]) -> Change:
    """The position of an entry."""
    return entry(row, ">i", 4, change)


def removed(*kinds: str, role: str = "rolled") -> Callable[[Patient], None]:
    """Files of a segment removed."""
    return lambda patient: patient.remove(role, *kinds)


def shifted(by: int) -> Change:
    """Every position moved."""

    def changed(data: bytes) -> bytes:
        for row in range(len(data) // 8):
            data = position(row, lambda at: at + by)(data)
        return data

    return changed


def stale(patient: Patient) -> None:
    """The index of another segment."""
    shutil.copyfile(patient.file("old", "index"), patient.file("rolled", "index"))


def every_index_gone(patient: Patient, *kinds: str) -> None:
    """No segment has one of that kind."""
    for path in list(patient.partition.iterdir()):
        if path.suffix in kinds:
            path.unlink()


def orphan(kind: str) -> Callable[[Patient], None]:
    """An index above the log end without its log."""
    return lambda patient: patient.write(f"{patient.end + 100:020d}.{kind}", bytes(24))


def txn(change: Change, role: str = "rolled") -> Callable[[Patient], None]:
    """The transaction index of a segment rewritten."""
    return lambda patient: patient.edit(patient.file(role, "txnindex"), change)


def folder(kind: str, role: str) -> Callable[[Patient], None]:
    """A directory where a file should be."""

    def hurt(patient: Patient) -> None:
        path = patient.file(role, kind)
        path.unlink()
        path.mkdir()

    return hurt


def zero_tail(kind: str, role: str) -> Callable[[Patient], None]:
    """As preallocated and never trimmed."""
    return index(role, lambda data: data + bytes(FULL[kind] - len(data)), kind)


FAULTS = [
    fault("index-missing-first", "I01", removed("index", role="first")),
    fault("index-missing-old", "I01", removed("index", role="old")),
    fault("index-missing-rolled", "I01", removed("index")),
    fault("index-missing-active", "I01", removed("index", role="active")),
    fault("index-missing-all", "I01", lambda patient: every_index_gone(patient, ".index")),
    fault(
        "all-indexes-missing",
        "I01",
        lambda patient: every_index_gone(patient, ".index", ".timeindex", ".txnindex"),
    ),
    fault("index-empty-old", "I02", index("old", lambda _: b"")),
    fault("index-empty-active", "I02", index("active", lambda _: b"")),
    fault("index-odd-old", "I03", index("old", lambda data: data + b"\1")),
    fault("index-odd-active", "I03", index("active", lambda data: data[:-3])),
    fault("index-last-offset-high", "I04", index("active", offset(-1, lambda _: 100000))),
    fault("index-last-offset-low", "I11", index("active", offset(-1, lambda _: -3))),
    fault("index-last-position-far", "I05", index("active", position(-1, lambda _: 1 << 20))),
    fault(
        "index-last-position-off-by-16",
        "I06",
        index("active", position(-1, lambda at: at + 16)),
        alone="clean",
    ),
    fault(
        "index-last-position-off-by-5", "I06", index("active", position(-1, lambda at: at + 5)), alone="clean"
    ),
    fault("index-last-position-negative", "I07", index("active", position(-1, lambda _: -9))),
    fault("index-last-position-zero", "I11", index("active", position(-1, lambda _: 0))),
    fault("index-positions-far-rolled", "I08", index("rolled", shifted(1 << 20))),
    fault("index-positions-shifted-rolled", "I09", index("rolled", shifted(300))),
    fault("index-stale", "I10", stale),
    fault("index-middle-wrong", "I11", index("rolled", offset(0, lambda _: 99))),
    fault("index-below-base-old", "I11", index("old", offset(-1, lambda _: -7))),
    fault("index-zero-tail-old", "I12", zero_tail("index", "old")),
    fault("index-zero-tail-active", "I12", zero_tail("index", "active"), marks="clean"),
    fault("timeindex-missing-old", "I13", removed("timeindex", role="old")),
    fault("timeindex-missing-rolled", "I13", removed("timeindex")),
    fault("timeindex-missing-active", "I13", removed("timeindex", role="active")),
    fault("timeindex-zero-tail-old", "I14", zero_tail("timeindex", "old")),
    fault("timeindex-zero-tail-active", "I14", zero_tail("timeindex", "active"), marks="clean"),
    fault(
        "timeindex-future",
        "I15",
        index("rolled", time_entry(-1, ">q", 0, lambda _: 4102444800000), "timeindex"),
    ),
    fault("timeindex-decreasing", "I16", index("rolled", time_entry(-1, ">q", 0, lambda _: 5), "timeindex")),
    fault(
        "timeindex-offset-high",
        "I16",
        index("active", time_entry(-1, ">i", 8, lambda _: 1 << 30), "timeindex"),
    ),
    fault("timeindex-offset-below", "I16", index("old", time_entry(-1, ">i", 8, lambda _: -2), "timeindex")),
    fault("timeindex-odd-old", "I03", index("old", lambda data: data + b"\1", "timeindex")),
    fault("timeindex-empty-old", "I02", index("old", lambda _: b"", "timeindex")),
    fault("txnindex-missing-old", "I17", removed("txnindex", role="old")),
    fault("txnindex-missing-rolled", "I17", removed("txnindex")),
    fault("txnindex-empty-rolled", "I17", txn(lambda _: b"")),
    fault("txnindex-version", "I18", txn(txn_entry(0, ">h", 0, lambda _: 0x101)), alone="clean killed"),
    fault("txnindex-version-low-byte", "I18", txn(txn_entry(0, ">h", 0, lambda _: 1)), alone="clean killed"),
    fault("txnindex-below-base", "I19", txn(txn_entry(0, ">q", 18, lambda _: 0))),
    fault("txnindex-below-base-old", "I19", txn(txn_entry(0, ">q", 18, lambda _: 0), "old")),
    fault("txnindex-partial", "I20", txn(lambda data: data + bytes(11))),
    fault("txnindex-repeated", "I21", txn(lambda data: data + data)),
    fault("txnindex-foreign", "I21", txn(txn_entry(0, ">q", 2, lambda _: 4711))),
    fault("index-orphan", "I22", orphan("index")),
    fault("timeindex-orphan", "I22", orphan("timeindex")),
    fault("txnindex-orphan", "I22", orphan("txnindex")),
    fault("index-is-a-folder", "I23", folder("index", "rolled"), alone="clean killed"),
    fault("log-is-a-folder", "I23", folder("log", "rolled"), alone="clean killed"),
]
