"""Damaged files: what `repair` makes anew, blanks or takes from a replica, and what `trim` cuts off."""

from pathlib import Path

from tests.faults.on_disk import flip, lengthen
from tests.surgery.recovery_rule import batches_of
from tests.surgery.shows.bed import Asked, Bed, Case

from segmend.formats.offset_checkpoint import CLEANER_OFFSET, HIGH_WATERMARK, LOG_START_OFFSET, RECOVERY_POINT

OLD_FORMAT = "a message of format 0 or 1 has no empty form"
AFTER_A_KILL = frozenset({"C13", "I25"})
"""Notes up to 2.2: indexes are as after a clean stop but no marker is there; or the other way round."""


def rolled(partition: Path, number: int, suffix: str = ".log") -> Path:
    """A file of a segment that is not the active one; the second is the first that no start found active."""
    return sorted(partition.glob("*.log"))[:-1][number].with_suffix(suffix)


def active(partition: Path) -> Path:
    """The log that is written to."""
    return max(partition.glob("*.log"))


def repair(bed: Bed, *codes: str) -> Asked:
    """All log dirs repaired."""
    return Asked(argv=("repair", *bed.dirs), codes=frozenset(codes), returning=AFTER_A_KILL)


def indexes(bed: Bed) -> Asked:
    """A bit in an offset index, a time index of zeros, and no index at all."""
    home = bed.where("codec-none-0")
    every = sorted(home.glob("*.index"))[:-1]
    first = [path for path in every if path.stat().st_size][-1]
    second = [path for path in every if path != first][-1]
    flip(first, 6, 0x40)
    second.unlink()
    codes = {"I01", "I08"}
    if bed.release >= (0, 10, 1):
        times = first.with_suffix(".timeindex")
        times.write_bytes(times.read_bytes()[:-12] + bytes(1200))
        codes.add("I14")
    return repair(bed, *codes)


def transactions(bed: Bed) -> Asked:
    """Producer snapshots and aborted transactions."""
    home = bed.where("txn-0")
    flip(max(home.glob("*.snapshot")), 30, 0x40)
    next(path for path in sorted(home.glob("*.txnindex")) if path.stat().st_size).unlink()
    return repair(bed, "P01", "I17")


def epochs(bed: Bed) -> Asked:
    """A leader epoch that is no number."""
    (bed.where("codec-gzip-0") / "leader-epoch-checkpoint").write_text("0\nseven\n")
    return repair(bed, "E01")


def checkpoints(bed: Bed) -> Asked:
    """A line that the logs can prove is lost from two checkpoints; the others have half a line more."""
    home, codes = bed.dirs[0], {"C01"}
    for name, code in {RECOVERY_POINT: "C01", HIGH_WATERMARK: "C10"}.items():
        lines = (home / name).read_text().splitlines()
        (home / name).write_text("\n".join([*lines[:2], "torn", *lines[3:], ""]))
        codes.add(code)
    for name, code in {LOG_START_OFFSET: "C07", CLEANER_OFFSET: "C11"}.items():
        if (home / name).exists():
            with open(home / name, "a") as file:
                file.write("orders")
            codes.add(code)
    return repair(bed, *codes)


def topic_id(bed: Bed) -> Asked:
    """No topic id; the metadata has it, or (with ZooKeeper) another partition of the topic."""
    (bed.where("orders.eu-west_1-0") / "partition.metadata").write_text("")
    return repair(bed, "M02")


def damaged_batch(log: Path, number: int) -> frozenset[int]:
    """Change the last bit of a batch; its offsets."""
    batch = batches_of(log)[number]
    flip(log, batch.end - 1, 0x40)
    return frozenset(range(batch.base_offset, batch.last_offset + 1))


def from_replica(bed: Bed) -> Asked:
    """A damaged batch that another replica has."""
    home = bed.where("codec-snappy-0")
    damaged_batch(rolled(home, 1), 1)
    return Asked(argv=("repair", home, "--from", bed.other(home.name)), codes=frozenset({"L05"}))


def blanked(bed: Bed) -> Asked:
    """A damaged batch that nobody has."""
    home = bed.where("idem-0" if bed.release >= (0, 11) else "codec-none-0")
    gone = damaged_batch(rolled(home, 1), 2)
    accepted = ("--accept-loss", f"{len(gone)}-records") if bed.release >= (0, 11) else ()
    return Asked(
        argv=("repair", home, "--blank", *accepted),
        codes=frozenset({"L05"}), lost=len(gone), gone={home.name: gone},
    )  # fmt: skip


def torn(bed: Bed) -> Asked:
    """Half a batch at the end of a log, as a power cut leaves it."""
    log = active(bed.where("codec-lz4-0"))
    donor = rolled(log.parent, 1)
    lengthen(log, donor.read_bytes()[: batches_of(donor)[0].size * 2 // 3])
    return Asked(argv=("trim", *bed.dirs), codes=frozenset({"L01"}))


def cut(bed: Bed) -> Asked:
    """A damaged batch in an active segment, with whole ones behind it."""
    log = active(bed.where("codec-none-0"))
    batches = batches_of(log)
    first = damaged_batch(log, len(batches) // 2)
    gone = first | frozenset(range(max(first), batches[-1].last_offset + 1))
    return Asked(
        argv=("trim", log.parent, "--accept-loss", f"{len(gone)}-records"), codes=frozenset({"L07"}),
        lost=len(gone), gone={log.parent.name: gone},
        returning=frozenset({"C13"}),  # the marker goes, so that the broker looks at the log itself
    )  # fmt: skip


CASES = [
    Case(name="repair-indexes", ask=indexes),
    Case(name="repair-transactions", ask=transactions, since=(0, 11), because="came with 0.11"),
    Case(name="repair-epochs", ask=epochs, since=(0, 11), because="came with 0.11"),
    Case(name="repair-checkpoints", ask=checkpoints, killed=True),
    Case(name="repair-topic-id", ask=topic_id, since=(3,), because="no partition.metadata there"),
    Case(name="repair-from", ask=from_replica),
    Case(
        name="repair-blank", ask=blanked,
        refusals={"0.8.2.2": OLD_FORMAT, "0.10.2.2": OLD_FORMAT},
    ),
    Case(name="trim", ask=torn, killed=True),
    Case(name="trim-loss", ask=cut, killed=True),
]  # fmt: skip
