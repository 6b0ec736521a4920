"""Faults in `.index`, `.timeindex` and `.txnindex` (catalogue 6.2)."""

import shutil

from tests.checks import build_partition as build
from tests.checks.build_partition import INDEX_BYTES, PartitionWriter
from tests.faults.hands import Change, cut, emptied, longer, offset, position, time_entry, txn_entry
from tests.faults.hurts import HEX, Hurt, both, copied, index, left, removed, renamed, unhurt
from tests.faults.on_disk import put_folder, rewrite
from tests.faults.patient import Patient
from tests.faults.table import fault, killed, under, unflushed, written
from tests.faults.written import one, two_dirs

FULL = {"index": 32768, "timeindex": 32760}
"""What the lab's brokers preallocate."""
DAY_MS = 86_400_000


def shifted(by: int) -> Change:
    """Every position moved."""

    def changed(data: bytes) -> bytes:
        for row in range(len(data) // 8):
            data = position(row, lambda at: at + by)(data)
        return data

    return changed


def one_further(data: bytes) -> bytes:
    """Each entry points to where the next one points."""
    out = bytearray(data)
    for at in range(0, len(data) - 8, 8):
        out[at + 4 : at + 8] = data[at + 12 : at + 16]
    return bytes(out[:-8])


def stale(patient: Patient) -> None:
    """The index of another segment."""
    shutil.copyfile(patient.file("old", "index"), patient.file("rolled", "index"))


def every_gone(*kinds: str) -> Hurt:
    """No segment has one of that kind."""

    def hurt(patient: Patient) -> None:
        for path in list(patient.partition.iterdir()):
            if path.suffix in kinds:
                path.unlink()

    return hurt


def orphan(kind: str) -> Hurt:
    """An index above the log end without its log."""
    return lambda patient: patient.write(f"{patient.end + 100:020d}.{kind}", bytes(24))


def txn(change: Change, role: str = "rolled") -> Hurt:
    """The transaction index of a segment rewritten."""
    return lambda patient: rewrite(patient.file(role, "txnindex"), change)


def is_a_folder(kind: str, role: str) -> Hurt:
    """A directory where a file should be."""

    def hurt(patient: Patient) -> None:
        path = patient.file(role, kind)
        put_folder(path)

    return hurt


def snapshot_folder(role: str) -> Hurt:
    """A directory in place of the producer snapshot at the beginning of a segment."""

    def hurt(patient: Patient) -> None:
        path = patient.file(role, "snapshot")
        put_folder(path)

    return hurt


def snapshot_folder_at_end(patient: Patient) -> None:
    """A directory where the next stop writes the snapshot of the log end, in place of one that is there."""
    path = patient.partition / f"{patient.end:020d}.snapshot"
    put_folder(path)


def zero_tail(kind: str, role: str) -> Hurt:
    """As preallocated and never trimmed."""
    return index(role, lambda data: data.ljust(FULL[kind], b"\0"), kind)


def large() -> PartitionWriter:
    """A rolled segment of 3 MiB."""
    writer = PartitionWriter("t", interval=4096)
    for _ in range(30):
        writer.append(1, size=100_000)
    writer.roll()
    writer.append(1)
    return writer


def without_entries() -> PartitionWriter:
    """A log whose offset index has no entry yet, as most of a killed 1.1 broker have."""
    writer = PartitionWriter("t", interval=1 << 30)
    for _ in range(6):
        writer.append(3)
    return writer


def times_of_magic_0() -> PartitionWriter:
    """As 0.10 with message.format.version 0.9: the time index knows timestamps that were not stored."""
    writer = PartitionWriter("t", interval=100)
    for _ in range(12):
        writer.write(build.legacy_message(writer.next_offset, b"v" * 30, magic=0), 1, writer.clock)
    writer.epochs.clear()
    return writer


def gap_at_the_start() -> PartitionWriter:
    """A compacted log whose first batch is gone."""
    writer = PartitionWriter("t", base=10)
    writer.next_offset = 25
    for _ in range(6):
        writer.append(3)
    writer.compacted = True
    return writer


SECOND_VERSION = txn(txn_entry(1, ">h", 0, lambda _: 1))
FAULTS = [
    fault("index-missing-first", removed("index", role="first"),
        "I01", "index-rebuilt 0..220", mend="repair"),
    fault("index-missing-old", removed("index", role="old"), "I01", "index-rebuilt 0..220", mend="repair"),
    fault("index-missing-rolled", removed("index"),
        "I01", "index-rebuilt 0..220", under("1.1.0", "I01", "index-created 0..220", mend="repair"),
        under("1.0.2", "I01", "index-rebuilt snapshot-deleted 0..220", mend="repair"),
        says="Could not find offset index file", mend="repair"),
    fault("index-missing-active", removed("index", role="active"),
        "I01", "index-rebuilt 0..220", mend="repair"),
    fault("index-missing-all", every_gone(".index"), "I01", "index-rebuilt 0..220", mend="repair"),
    fault("all-indexes-missing", every_gone(".index", ".timeindex", ".txnindex"),
        "I01 I17+", "index-created index-rebuilt 0..220", mend="repair"),
    written("both-indexes-missing", removed("index", "timeindex"),
        "I01", "index-created index-rebuilt 0..220", mend="repair"),
    fault("index-empty-old", index("old", emptied), "", "0..220"),
    fault("index-empty-active", index("active", emptied), "", "0..220"),
    written("index-empty-of-large", index("first", emptied), "I02+", "0..31", base=one(large), mend="repair"),
    fault("index-odd-old", index("old", longer(b"\1")),
        "I03+", "0..220", under("2.2", "I03+ I25-", "index-rebuilt 0..220", mend="repair"), mend="repair"),
    fault("index-odd-active", index("active", cut(3)), "I03+", "0..220", mend="repair"),
    fault("index-last-offset-high", index("active", offset(-1, lambda _: 100000)),
        "I04", "epochs-rewritten high-watermark-reset snapshot-deleted tail-truncated 0..164 -51",
        killed("I04", "recovery-scan 0..220", mend="repair"), mend="repair"),
    fault("index-last-offset-low", index("active", offset(-1, lambda _: -3)), "", "0..220"),
    fault("index-last-position-far", index("active", position(-1, lambda _: 1 << 20)),
        "I05",
            "epochs-rewritten high-watermark-reset reads-fail snapshot-deleted tail-truncated 0..164 -51",
        mend="repair"),
    fault("index-last-position-off-by-16", index("active", position(-1, lambda at: at + 16)),
        "I06", "refuses", alone="clean", says="smaller than minimum record overhead (14)", mend="repair"),
    fault("index-last-position-off-by-5", index("active", position(-1, lambda at: at + 5)),
        "I06",
            "epochs-rewritten high-watermark-reset reads-fail snapshot-deleted tail-truncated 0..164 -51",
        alone="clean", mend="repair"),
    fault("index-last-position-negative", index("active", position(-1, lambda _: -9)),
        "I07+", "0..220", mend="repair"),
    fault("index-last-position-zero", index("active", position(-1, lambda _: 0)), "", "reads-fail 0..220"),
    fault("index-positions-far-rolled", index("rolled", shifted(1 << 20)),
        "I08+", "reads-fail 0..220", mend="repair"),
    fault("index-positions-shifted-rolled", index("rolled", shifted(300)),
        "I10+", "reads-fail 0..220", mend="repair"),
    written("index-positions-of-the-next", index("rolled", one_further),
        "I09+", "reads-fail 0..220", mend="repair"),
    fault("index-stale", stale,
        "I10+", "reads-fail 0..275", base=one(lambda: build.story(rounds=4)), mend="repair"),
    written("index-of-the-active", copied("t-0/00000000000000000164.index", "t-0/00000000000000000054.index"),
        "I10+", "reads-fail 0..220", mend="repair"),
    fault("index-middle-wrong", index("rolled", offset(0, lambda _: 99)),
        "I11+", "reads-fail 0..220", mend="repair"),
    written("index-one-bit", index("rolled", position(3, lambda at: at ^ 1)),
        "I11+", "reads-fail 0..220", mend="repair"),
    written("index-offsets-back", index("rolled", offset(3, lambda _: 1)),
        "I11+", "reads-fail 0..220", mend="repair"),
    written("index-one-offset-high-active", index("active", offset(-2, lambda o: o + 2**30)),
        "I11+", "reads-fail 0..220", mend="repair"),
    written("index-entry-negative-active", index("active", lambda data: data[:8] + b"\xff" * 8 + data[16:]),
        "I07+", "0..220", killed("I07+", "recovery-scan 0..220", mend="repair"), mend="repair"),
    fault("index-below-base-old", index("old", offset(-1, lambda _: -7)), "I11+", "0..220", mend="repair"),
    fault("index-zero-tail-old", zero_tail("index", "old"), "I12+", "0..220", mend="repair"),
    fault("index-zero-tail-active", zero_tail("index", "active"),
        "C12 I12+", "0..220", marks="clean", mend="repair"),
    written("index-full-of-zeros-active", index("active", lambda data: data.ljust(INDEX_BYTES, b"\0")),
        "C12 I12+", "0..220", mend="repair"),
    fault("timeindex-missing-old", removed("timeindex", role="old"),
        "I13 K18+", "index-created 0..220", mend="repair"),
    fault("timeindex-missing-rolled", removed("timeindex"),
        "I13 K18+", "index-created 0..220", under("0.10.0", "K19+", "0..220"), mend="repair"),
    fault("timeindex-missing-active", removed("timeindex", role="active"),
        "I13 K18+", "index-created 0..220", mend="repair"),
    fault("timeindex-zero-tail-old", zero_tail("timeindex", "old"), "I14+", "0..220", mend="repair"),
    fault("timeindex-zero-tail-active", zero_tail("timeindex", "active"),
        "I14+", "0..220", marks="clean", mend="repair"),
    fault("timeindex-future", index("rolled", time_entry(-1, ">q", 0, lambda _: 4102444800000), "timeindex"),
        "I15+", "0..220", mend="repair"),
    fault("timeindex-decreasing", index("rolled", time_entry(-1, ">q", 0, lambda _: 5), "timeindex"),
        "I16+", "0..220", mend="repair"),
    written("timeindex-back", index("rolled", time_entry(3, ">q", 0, lambda t: t - DAY_MS), "timeindex"),
        "I16+", "0..220", mend="repair"),
    fault("timeindex-offset-high", index("active", time_entry(-1, ">i", 8, lambda _: 1 << 30), "timeindex"),
        "I16+", "0..220", mend="repair"),
    fault("timeindex-offset-below", index("old", time_entry(-1, ">i", 8, lambda _: -2), "timeindex"),
        "I16+", "0..220", mend="repair"),
    fault("timeindex-odd-old", index("old", longer(b"\1"), "timeindex"), "I03+", "0..220", mend="repair"),
    fault("timeindex-empty-old", index("old", emptied, "timeindex"), "", "0..220"),
    fault("txnindex-missing-old", removed("txnindex", role="old"), "I17+", "reads-fail 0..220",
        mend="repair"),
    fault("txnindex-missing-rolled", removed("txnindex"), "I17+", "reads-fail 0..220", mend="repair"),
    fault("txnindex-empty-rolled", txn(emptied), "I17+", "reads-fail 0..220", mend="repair"),
    written("txnindex-short", txn(lambda data: data[34:]), "I17+", "reads-fail 0..220", mend="repair"),
    written("txnindex-turned", txn(lambda data: data[34:68] + data[:34]), "I17+", "reads-fail 0..220",
        mend="repair"),
    fault("txnindex-version", txn(txn_entry(0, ">h", 0, lambda _: 0x101)),
        "I18", "refuses", killed("I18", "refuses", mend="repair"), alone="clean killed",
        says="Unexpected aborted transaction version 1", mend="repair"),
    fault("txnindex-version-low-byte", txn(txn_entry(0, ">h", 0, lambda _: 1)),
        "I18", "0..220",
        under("4.4", "I18", "refuses", says="Unexpected aborted transaction version 1", mend="repair"),
        alone="clean killed", mend="repair"),
    written("txnindex-version-second", SECOND_VERSION, "I18", "0..220", mend="repair"),
    written("txnindex-version-doomed", both(SECOND_VERSION, renamed(f".{HEX}-delete")),
        "I18 N19", "", mend="repair: N19"),
    written("txnindex-version-but-rebuilt", both(txn(txn_entry(0, ">h", 0, lambda _: 257)), removed("index")),
        "I01 I18", "index-rebuilt 0..220", mend="repair"),
    fault("txnindex-below-base", txn(txn_entry(0, ">q", 18, lambda _: 0)),
        "I19", "index-rebuilt 0..220", says="is less than start offset", mend="repair"),
    fault("txnindex-below-base-old", txn(txn_entry(0, ">q", 18, lambda _: 0), "old"),
        "I19", "index-rebuilt 0..220", mend="repair"),
    fault("txnindex-partial", txn(longer(bytes(11))), "I20", "0..220", mend="repair"),
    fault("txnindex-repeated", txn(lambda data: data + data), "", "0..220"),
    fault("txnindex-foreign", txn(txn_entry(0, ">q", 2, lambda _: 4711)), "I21+", "reads-fail 0..220",
        mend="repair"),
    written("txnindex-empty", left("00000000000000000000.txnindex"), "", "0..54", on="u-0"),
    fault("index-orphan", orphan("index"), "I22", "file-deleted 0..220"),
    fault("timeindex-orphan", orphan("timeindex"), "I22", "file-deleted 0..220"),
    fault("txnindex-orphan", orphan("txnindex"), "I22", "file-deleted 0..220"),
    written("index-orphan-inside", left("00000000000000000030.index"), "I22", "file-deleted 0..220"),
    fault("index-is-a-folder", is_a_folder("index", "rolled"),
        "I23", "reads-fail 0..220", alone="clean killed"),
    fault("log-is-a-folder", is_a_folder("log", "rolled"),
        "I23 N08+", "reads-fail snapshot-deleted 0..220", alone="clean killed"),
    written("index-is-a-folder-active", is_a_folder("index", "active"), "I23", "offline reads-fail"),
    fault("index-folder-of-no-log", lambda p: (p.partition / f"{p.base('rolled') + 6:020d}.index").mkdir(),
        "I23", "0..220", alone="clean killed"),
    fault("snapshot-folder", lambda p: (p.partition / f"{p.base('rolled') + 6:020d}.snapshot").mkdir(),
        "I23", "0..220", alone="clean killed"),
    fault("snapshot-folder-of-a-segment", snapshot_folder("last-rolled"), "I23", "0..220",
        unflushed("I23",
            "epochs-rewritten high-watermark-reset recovery-scan segment-emptied segments-deleted "
            "snapshot-deleted 0..54 -151"),
        unflushed("I23", "offline recovery-scan", release="3.9"),
        alone="clean killed"),
    fault("snapshot-folder-at-the-end", snapshot_folder_at_end, "I23 P03+", "offline",
        unflushed("I23", "epochs-rewritten high-watermark-reset recovery-scan segment-emptied 0..164 -107"),
        alone="clean killed"),
    written("indexes-after-a-kill", unhurt,
        "", "recovery-scan 0..220",
        under("1.1.0", "I25-", "index-rebuilt recovery-scan 0..220", mend="repair"), clean=False),
    written("indexes-after-a-stop", unhurt, "", "0..220", base=two_dirs, release="1.1.0"),
    written("index-without-entries", unhurt,
        "", "recovery-scan 0..18", under("2.0", "", "recovery-scan 0..18"), base=one(without_entries),
        clean=False),
    written("timeindex-of-magic-0", unhurt, "", "0..12", base=one(times_of_magic_0), release="0.10.2"),
    written("index-name-below-first-batch", unhurt, "", "10..43", base=one(gap_at_the_start)),
]  # fmt: skip
