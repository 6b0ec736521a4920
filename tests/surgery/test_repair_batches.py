"""Damaged batches: out of another replica (`--from`), or made empty (`--blank`), never guessed."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from crc32c import crc32c
from tests.checks import build_partition as build
from tests.checks.damages import Row, all_rows, clean_dir, in_place
from tests.checks.surgery import ACTIVE, ROLLED, flipped, one, positions
from tests.cli.run import Ran, run
from tests.surgery.recovery_rule import batches_of

HEADER = struct.Struct(">qiibIhiqqqhii")


def row_called(name: str) -> Row:
    return next(row for row in all_rows() if row.name == name)


class Pair:
    """The dirs of a row after its damage, and `other`, the same before it."""

    def __init__(self, row: Row, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self._capsys = root, capsys
        self.dirs = row.base(root / "disks")
        self.other = root / "other" / "a"
        shutil.copytree(root / "disks", root / "other", symlinks=True)
        row.hurt(self.dirs)

    def run(self, *argv: object) -> Ran:
        return run(self._capsys, *argv)

    def plan(self, *options: object) -> Ran:
        return self.run("plan", "repair", *self.dirs, *options, "-o", self.root / "plan.json")

    def apply(self) -> Ran:
        return self.run("apply", self.root / "plan.json", "--yes", "--state-dir", self.root / "state")

    def undo(self) -> Ran:
        return self.run("undo", "--yes", "--state-dir", self.root / "state")

    def codes(self) -> set[str]:
        return {line["code"] for line in self.run("check", "--deep", *self.dirs, "--json").of("finding")}


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
def test_a_replica_gives_the_very_bytes_back(
    row: Row, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = Pair(row, tmp_path, capsys)
    hurt = content(pair.dirs[0])
    planned = pair.plan("--from", pair.other)
    assert planned.code == 0, planned.out
    assert "lost: nothing" in planned.out
    assert pair.apply().code == 1
    assert content(pair.dirs[0]) == content(pair.other)
    assert pair.undo().code == 0
    assert content(pair.dirs[0]) == hurt


def test_a_replica_that_went_on_gives_the_last_batch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = Pair(custom("behind", in_place(f"{ACTIVE}.log", flipped(-1))), tmp_path, capsys)
    whole = (pair.other / f"{ACTIVE}.log").read_bytes()
    with (pair.other / f"{ACTIVE}.log").open("ab") as log:
        last = batches_of(pair.other / f"{ACTIVE}.log")[-1]
        for offset in (last.last_offset + 1, last.last_offset + 2):
            epoch = last.partition_leader_epoch
            log.write(build.batch(offset, [build.record(0, b"k", b"more")], epoch=epoch))
    assert pair.plan("--from", pair.other).code == 0
    assert pair.apply().code == 1
    assert (pair.dirs[0] / f"{ACTIVE}.log").read_bytes() == whole


def lone() -> build.PartitionWriter:
    """Three segments, a batch in each."""
    writer = build.PartitionWriter("t")
    writer.append(3)
    for _ in range(2):
        writer.roll()
        writer.append(3)
    return writer


@pytest.mark.parametrize("segment", ["t-0/00000000000000000003", "t-0/00000000000000000006"])
def test_a_batch_alone_in_its_segment_is_known_by_its_checksum(
    segment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hurt = in_place(f"{segment}.log", flipped(0))
    row = Row(name="lone", codes=frozenset(), hurt=hurt, base=one(lone))
    pair = Pair(row, tmp_path, capsys)
    assert pair.plan("--from", pair.other).code == 0
    assert pair.apply().code == 1
    assert content(pair.dirs[0]) == content(pair.other)


def test_a_batch_alone_is_not_that_of_a_replica_with_another_checksum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "t-0/00000000000000000003.log"
    row = Row(name="lone", codes=frozenset(), hurt=in_place(name, flipped(0)), base=one(lone))
    pair = Pair(row, tmp_path, capsys)
    other = bytearray((pair.other / name).read_bytes())
    other[-1] ^= 1
    (pair.other / name).write_bytes(build.seal(bytes(other)))
    planned = pair.plan("--from", pair.other)
    assert planned.code == 4
    assert "between the same batches" in planned.out


def test_a_replica_that_is_another_one_gives_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = Pair(row_called("crc-rolled"), tmp_path, capsys)
    other = pair.other / f"{ROLLED}.log"
    data = bytearray(other.read_bytes())
    at = positions(bytes(data))[7]
    size = 12 + struct.unpack_from(">i", data, at + 8)[0]
    data[at + size - 1] ^= 1
    data[at : at + size] = build.seal(bytes(data[at : at + size]))
    other.write_bytes(data)
    planned = pair.plan("--from", pair.other)
    assert planned.code == 4
    assert "does not have 121 bytes between the same batches" in planned.out
    assert "nothing to do" in planned.out


def test_from_the_same_dir_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = Pair(row_called("crc-rolled"), tmp_path, capsys)
    planned = pair.plan("--from", pair.dirs[0])
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
def test_blanks(row: Row, lost: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = Pair(row, tmp_path, capsys)
    hurt = content(pair.dirs[0])
    asked = pair.plan("--blank")
    assert asked.code == 4
    assert f"--accept-loss {lost}-records" in asked.out
    assert pair.plan("--blank", "--accept-loss", f"{lost + 1}-records").code == 16
    planned = pair.plan("--blank", "--accept-loss", f"{lost}-records")
    assert planned.code == 0, planned.out
    losses = json.loads((pair.root / "plan.json").read_text())["losses"]
    assert sum(loss["records"] for loss in losses) == lost
    assert pair.apply().code == 1
    assert pair.codes() == set()
    assert pair.undo().code == 0
    assert content(pair.dirs[0]) == hurt


def test_an_empty_batch_keeps_offsets_epoch_and_producer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = Pair(row_called("crc-rolled"), tmp_path, capsys)
    whole = batches_of(pair.other / f"{ROLLED}.log")[8]
    pair.plan("--blank", "--accept-loss", "2-records")
    pair.apply()
    log = pair.dirs[0] / f"{ROLLED}.log"
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
        batch.crc for batch in batches_of(pair.other / f"{ROLLED}.log") if batch.position != whole.position
    ]


def a_marker(dirs: Sequence[Path]) -> None:
    """The CRC of a transaction's end is hurt."""
    path = dirs[0] / f"{ROLLED}.log"
    number = next(n for n, batch in enumerate(batches_of(path)) if batch.is_control)
    path.write_bytes(flipped(number)(path.read_bytes()))


def test_the_end_of_a_transaction_is_never_blanked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = Pair(custom("marker", a_marker), tmp_path, capsys)
    planned = pair.plan("--blank")
    assert planned.code == 4
    assert "never blanked" in planned.out
    assert "nothing to do" in planned.out
    assert pair.plan("--from", pair.other).code == 0


def a_marker_of_no_attributes(dirs: Sequence[Path]) -> None:
    """The end of a transaction whose checksum and attributes are zeros."""
    path = dirs[0] / f"{ROLLED}.log"
    data = bytearray(path.read_bytes())
    marker = next(batch for batch in batches_of(path) if batch.is_control)
    data[marker.position + 17 : marker.position + 23] = bytes(6)
    path.write_bytes(data)


def test_what_has_the_size_of_a_marker_is_never_blanked_among_transactions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planned = Pair(custom("bare-marker", a_marker_of_no_attributes), tmp_path, capsys).plan("--blank")
    assert planned.code == 4
    assert "never blanked" in planned.out


def test_a_hole_among_transactions_is_never_blanked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planned = Pair(row_called("hole"), tmp_path, capsys).plan("--blank")
    assert "it may hold the end of a transaction" in planned.out


def plain_hole(dirs: Sequence[Path]) -> None:
    path = dirs[0] / "u-0" / "00000000000000000018.log"
    data = bytearray(path.read_bytes())
    start, end = positions(bytes(data))[2:5:2]
    data[start:end] = bytes(end - start)
    path.write_bytes(data)


def test_a_hole_becomes_one_empty_batch_over_its_offsets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = Pair(custom("plain-hole", plain_hole), tmp_path, capsys)
    assert pair.plan("--blank", "--accept-loss", "6-records").code == 0
    assert pair.apply().code == 1
    assert pair.codes() == set()
    empty = batches_of(pair.dirs[0] / "u-0" / "00000000000000000018.log")[2]
    assert (empty.base_offset, empty.last_offset, empty.records_count, empty.producer_id) == (24, 29, 0, -1)


def old_messages() -> build.PartitionWriter:
    writer = build.PartitionWriter("t")
    for _ in range(6):
        writer.write(build.legacy_message(writer.next_offset, b"v" * 30, magic=1), 1, writer.clock)
    writer.epochs.clear()
    return writer


def test_old_formats_have_no_empty_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = Row(
        name="old", codes=frozenset(), base=one(old_messages),
        hurt=in_place("t-0/00000000000000000000.log", flipped(2, at=40)),
    )  # fmt: skip
    planned = Pair(row, tmp_path, capsys).plan("--blank", "--kafka", "1.1")
    assert "a message of format 0 or 1 has no empty form" in planned.out
    assert "another replica may have it: --from" in planned.out
    assert "to cut the segment off there: segmend plan trim" in planned.out


def test_a_loss_needs_blank_and_a_figure_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = Pair(row_called("crc-rolled"), tmp_path, capsys)
    assert pair.plan("--accept-loss", "2-records").code == 16
    assert pair.plan("--blank", "--accept-loss", "2").code == 16


def test_damage_that_a_mended_header_brings_to_light_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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

    pair = Pair(custom("count behind a size", hurt), tmp_path, capsys)
    ran = pair.plan("--blank")
    assert (ran.code, "apply this plan first, then plan again" in ran.out) == (4, True)
    assert pair.apply().code == 5
    assert pair.plan("--blank").code == 4
    assert "--accept-loss" in pair.plan("--blank").out
