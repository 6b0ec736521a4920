"""Damaged batches: out of another replica (`--from`), or made empty (`--blank`), never guessed."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from crc32c import crc32c
from tests.checks import build_partition as build
from tests.checks.damages import Row, all_rows, clean_dir, in_place
from tests.checks.surgery import ACTIVE, ROLLED, flipped, one, positions
from tests.surgery.patient import PatientOf
from tests.surgery.recovery_rule import batches_of

HEADER = struct.Struct(">qiibIhiqqqhii")


def row_called(name: str) -> Row:
    return next(row for row in all_rows() if row.name == name)


def content(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()
    }


def custom(name: str, hurt: Callable[[Sequence[Path]], None]) -> Row:
    return Row(name=name, codes=frozenset(), hurt=hurt, base=clean_dir)


FIRST = custom("first", in_place(f"{ROLLED}.log", flipped(0)))
LAST = custom("last", in_place(f"{ACTIVE}.log", flipped(-1)))
TWO = custom("two", in_place(f"{ROLLED}.log", lambda data: flipped(8)(flipped(3)(data))))


@pytest.mark.parametrize(
    "row", [row_called("crc-rolled"), row_called("hole"), FIRST, LAST, TWO], ids=lambda row: row.name
)
def test_a_replica_gives_the_very_bytes_back(row: Row, patient_of: PatientOf) -> None:
    patient = patient_of(row)
    planned = patient.mend("--from", patient.other)
    assert planned.code == 0, planned.out
    assert "lost: nothing" in planned.out
    patient.apply()
    assert content(patient.dirs[0]) == content(patient.other)
    patient.undo()


def test_a_replica_that_went_on_gives_the_last_batch(patient_of: PatientOf) -> None:
    patient = patient_of(custom("behind", in_place(f"{ACTIVE}.log", flipped(-1))))
    whole = (patient.other / f"{ACTIVE}.log").read_bytes()
    with (patient.other / f"{ACTIVE}.log").open("ab") as log:
        last = batches_of(patient.other / f"{ACTIVE}.log")[-1]
        for offset in (last.last_offset + 1, last.last_offset + 2):
            epoch = last.partition_leader_epoch
            log.write(build.batch(offset, [build.record(0, b"k", b"more")], epoch=epoch))
    assert patient.mend("--from", patient.other).code == 0
    patient.apply()
    assert (patient.dirs[0] / f"{ACTIVE}.log").read_bytes() == whole


def lone() -> build.PartitionWriter:
    """Three segments, a batch in each."""
    writer = build.PartitionWriter("t")
    writer.append(3)
    for _ in range(2):
        writer.roll()
        writer.append(3)
    return writer


@pytest.mark.parametrize("segment", ["t-0/00000000000000000003", "t-0/00000000000000000006"])
def test_a_batch_alone_in_its_segment_is_known_by_its_checksum(segment: str, patient_of: PatientOf) -> None:
    hurt = in_place(f"{segment}.log", flipped(0))
    row = Row(name="lone", codes=frozenset(), hurt=hurt, base=one(lone))
    patient = patient_of(row)
    assert patient.mend("--from", patient.other).code == 0
    patient.apply()
    assert content(patient.dirs[0]) == content(patient.other)


def test_a_batch_alone_is_not_that_of_a_replica_with_another_checksum(patient_of: PatientOf) -> None:
    name = "t-0/00000000000000000003.log"
    row = Row(name="lone", codes=frozenset(), hurt=in_place(name, flipped(0)), base=one(lone))
    patient = patient_of(row)
    other = bytearray((patient.other / name).read_bytes())
    other[-1] ^= 1
    (patient.other / name).write_bytes(build.seal(bytes(other)))
    planned = patient.mend("--from", patient.other)
    assert planned.code == 4
    assert "between the same batches" in planned.out


def test_a_replica_that_is_another_one_gives_nothing(patient_of: PatientOf) -> None:
    patient = patient_of(row_called("crc-rolled"))
    other = patient.other / f"{ROLLED}.log"
    data = bytearray(other.read_bytes())
    at = positions(bytes(data))[7]
    size = 12 + struct.unpack_from(">i", data, at + 8)[0]
    data[at + size - 1] ^= 1
    data[at : at + size] = build.seal(bytes(data[at : at + size]))
    other.write_bytes(data)
    planned = patient.mend("--from", patient.other)
    assert planned.code == 4
    assert "does not have 121 bytes between the same batches" in planned.out
    assert "nothing to do" in planned.out


def test_from_the_same_dir_is_refused(patient_of: PatientOf) -> None:
    patient = patient_of(row_called("crc-rolled"))
    planned = patient.mend("--from", patient.dirs[0])
    assert "is the directory that is to be repaired" in planned.out + planned.err


@pytest.mark.parametrize(
    ("row", "lost"),
    [
        (row_called("crc-rolled"), 2),
        (row_called("codec-7"), 3),
        (row_called("not-gzip"), 3),
        (row_called("record-count"), 3),
        (TWO, 4),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_blanks(row: Row, lost: int, patient_of: PatientOf) -> None:
    patient = patient_of(row)
    asked = patient.mend("--blank")
    assert asked.code == 4
    assert f"--accept-loss {lost}-records" in asked.out
    assert patient.mend("--blank", "--accept-loss", f"{lost + 1}-records").code == 16
    planned = patient.mend("--blank", "--accept-loss", f"{lost}-records")
    assert planned.code == 0, planned.out
    losses = patient.planned()["losses"]
    assert sum(loss["records"] for loss in losses) == lost
    patient.apply()
    assert patient.codes("--deep") == set()
    patient.undo()


def test_an_empty_batch_keeps_offsets_epoch_and_producer(patient_of: PatientOf) -> None:
    patient = patient_of(row_called("crc-rolled"))
    whole = batches_of(patient.other / f"{ROLLED}.log")[8]
    patient.mend("--blank", "--accept-loss", "2-records")
    patient.apply()
    log = patient.dirs[0] / f"{ROLLED}.log"
    empty = batches_of(log)[8]
    data = log.read_bytes()[empty.position : empty.end]
    offset, size, epoch, magic, crc, attributes, delta, first, newest, *rest = HEADER.unpack(data)
    assert (offset, epoch, magic, size) == (whole.base_offset, whole.partition_leader_epoch, 2, 49)
    assert (delta, first, newest) == (whole.last_offset_delta, -1, -1)
    assert attributes == whole.attributes & 0x10
    assert rest == [whole.producer_id, whole.producer_epoch, whole.base_sequence, 0]
    assert crc == crc32c(data[21:])
    others = [batch for batch in batches_of(log) if batch.position != empty.position]
    assert [batch.crc for batch in others] == [
        batch.crc for batch in batches_of(patient.other / f"{ROLLED}.log") if batch.position != whole.position
    ]


def a_marker(dirs: Sequence[Path]) -> None:
    """The CRC of a transaction's end is hurt."""
    path = dirs[0] / f"{ROLLED}.log"
    number = next(n for n, batch in enumerate(batches_of(path)) if batch.is_control)
    path.write_bytes(flipped(number)(path.read_bytes()))


def test_the_end_of_a_transaction_is_never_blanked(patient_of: PatientOf) -> None:
    patient = patient_of(custom("marker", a_marker))
    planned = patient.mend("--blank")
    assert planned.code == 4
    assert "never blanked" in planned.out
    assert "nothing to do" in planned.out
    assert patient.mend("--from", patient.other).code == 0


def a_marker_of_no_attributes(dirs: Sequence[Path]) -> None:
    """The end of a transaction whose checksum and attributes are zeros."""
    path = dirs[0] / f"{ROLLED}.log"
    data = bytearray(path.read_bytes())
    marker = next(batch for batch in batches_of(path) if batch.is_control)
    data[marker.position + 17 : marker.position + 23] = bytes(6)
    path.write_bytes(data)


def test_what_has_the_size_of_a_marker_is_never_blanked_among_transactions(patient_of: PatientOf) -> None:
    planned = patient_of(custom("bare-marker", a_marker_of_no_attributes)).mend("--blank")
    assert planned.code == 4
    assert "never blanked" in planned.out


def test_a_hole_among_transactions_is_never_blanked(patient_of: PatientOf) -> None:
    planned = patient_of(row_called("hole")).mend("--blank")
    assert "it may hold the end of a transaction" in planned.out


def plain_hole(dirs: Sequence[Path]) -> None:
    path = dirs[0] / "u-0" / "00000000000000000018.log"
    data = bytearray(path.read_bytes())
    start, end = positions(bytes(data))[2:5:2]
    data[start:end] = bytes(end - start)
    path.write_bytes(data)


def test_a_hole_becomes_one_empty_batch_over_its_offsets(patient_of: PatientOf) -> None:
    patient = patient_of(custom("plain-hole", plain_hole))
    assert patient.mend("--blank", "--accept-loss", "6-records").code == 0
    patient.apply()
    assert patient.codes("--deep") == set()
    empty = batches_of(patient.dirs[0] / "u-0" / "00000000000000000018.log")[2]
    assert (empty.base_offset, empty.last_offset, empty.records_count, empty.producer_id) == (24, 29, 0, -1)


def old_messages() -> build.PartitionWriter:
    writer = build.PartitionWriter("t")
    for _ in range(6):
        writer.write(build.legacy_message(writer.next_offset, b"v" * 30, magic=1), 1, writer.clock)
    writer.epochs.clear()
    return writer


def test_old_formats_have_no_empty_message(patient_of: PatientOf) -> None:
    row = Row(
        name="old", codes=frozenset(), base=one(old_messages),
        hurt=in_place("t-0/00000000000000000000.log", flipped(2, at=40)),
    )  # fmt: skip
    planned = patient_of(row).mend("--blank", "--kafka", "1.1")
    assert "a message of format 0 or 1 has no empty form" in planned.out
    assert "another replica may have it: --from" in planned.out
    assert "to cut the segment off there: segmend plan trim" in planned.out


def test_a_loss_needs_blank_and_a_figure_in_words(patient_of: PatientOf) -> None:
    patient = patient_of(row_called("crc-rolled"))
    assert patient.mend("--accept-loss", "2-records").code == 16
    assert patient.mend("--blank", "--accept-loss", "2").code == 16


def test_damage_that_a_mended_header_brings_to_light_is_named(patient_of: PatientOf) -> None:
    """Behind a wrong batch size lies a batch whose header counts one record too many."""

    def hurt(dirs: Sequence[Path]) -> None:
        path = dirs[0] / f"{ROLLED}.log"
        data = bytearray(path.read_bytes())
        at, after = positions(bytes(data))[1:3]
        batch = bytearray(data[at:after])
        struct.pack_into(">i", batch, 57, struct.unpack_from(">i", batch, 57)[0] + 1)
        data[at:after] = build.seal(bytes(batch))
        struct.pack_into(">i", data, at + 8, after - at - 12 + 3)
        path.write_bytes(data)

    patient = patient_of(custom("count behind a size", hurt))
    ran = patient.mend("--blank")
    assert (ran.code, "apply this plan first, then plan again" in ran.out) == (4, True)
    patient.apply()
    assert patient.mend("--blank").code == 4
    assert "--accept-loss" in patient.mend("--blank").out
