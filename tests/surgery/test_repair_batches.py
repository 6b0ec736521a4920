"""Damaged batches: out of another replica (`--from`), or made empty (`--blank`), never guessed."""

import random
import shlex
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from crc32c import crc32c
from tests.checks import build_partition as build
from tests.conftest import one_in
from tests.copies import copy_tree
from tests.faults.hands import Change, cut, flipped, in_batch, positions, resealed, with_number, zeroed
from tests.faults.hurts import Hurt, on
from tests.faults.on_disk import move_away, rewrite
from tests.faults.patient import Patient
from tests.faults.table import fault_called
from tests.faults.written import ACTIVE, ROLLED, one
from tests.files import contents
from tests.golden.shared import golden
from tests.surgery.desk import Desk
from tests.surgery.patient import PatientOf, Treated
from tests.surgery.recovery_rule import batches_of

HEADER = struct.Struct(">qiibIhiqqqhii")


CRC, HOLE = on("rolled", flipped(8)), on("rolled", zeroed(6, 9))
FIRST, LAST = on("rolled", flipped(0)), on("active", flipped(-1))
TWO = on("rolled", lambda data: flipped(8)(flipped(3)(data)))


@pytest.mark.parametrize("hurt", [CRC, HOLE, FIRST, LAST, TWO], ids=["crc", "hole", "first", "last", "two"])
def test_a_replica_gives_the_very_bytes_back(hurt: Hurt, patient_of: PatientOf) -> None:
    comes_back(patient_of(hurt))


def comes_back(patient: Treated) -> None:
    planned = patient.mend("--from", patient.other)
    assert planned.code == 0, planned.out
    assert "lost: nothing" in planned.out
    patient.apply()
    assert contents(patient.dirs[0]) == contents(patient.other)
    patient.undo()


def run_of(seed: int) -> Hurt:
    """Any run of damaged bytes between two sound batches: flips, zeros or noise, headers too."""
    draw = random.Random(seed)

    def changed(data: bytes) -> bytes:
        ends = positions(data)
        first, last = sorted(draw.sample(range(ends[1], ends[-1]), 2))
        step = draw.choice([1, 1, 50, 200])
        hurt = bytearray(data)
        for at in range(first, last, step):
            hurt[at] = {1: 0, 50: hurt[at] ^ 1}.get(step, draw.randrange(256))
        return bytes(hurt)

    return on("rolled", changed)


BESIDE = on("rolled", lambda data: flipped(9)(flipped(8)(data)))
THREE = on("rolled", lambda data: flipped(8, at=8)(flipped(9)(flipped(7)(data))))


@pytest.mark.parametrize("hurt", [BESIDE, THREE], ids=["two", "three"])
def test_damage_side_by_side_comes_from_a_replica_whole(hurt: Hurt, patient_of: PatientOf) -> None:
    test_a_replica_gives_the_very_bytes_back(hurt, patient_of)


@pytest.mark.parametrize("seed", one_in(6, range(24)))
def test_any_run_of_damage_comes_from_a_replica_whole(seed: int, patient_of: PatientOf) -> None:
    """Where it hit a header that can be proven, a second plan is asked for."""
    patient = patient_of(run_of(seed))
    while (code := patient.mend("--from", patient.other).code) == 4:
        assert "apply this plan first, then plan again" in patient.mend("--from", patient.other).out
        patient.apply()
    assert code == 0
    patient.apply()
    assert contents(patient.dirs[0]) == contents(patient.other)


def test_damage_side_by_side_becomes_empty_batches(patient_of: PatientOf) -> None:
    blanks(patient_of(BESIDE), 4)


def test_a_replica_that_went_on_gives_the_last_batch(patient_of: PatientOf) -> None:
    patient = patient_of(LAST)
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


@pytest.mark.parametrize("role", ["last-rolled", "active"])
def test_a_batch_alone_in_its_segment_is_known_by_its_checksum(role: str, patient_of: PatientOf) -> None:
    patient = patient_of(on(role, flipped(0)), base=one(lone))
    assert patient.mend("--from", patient.other).code == 0
    patient.apply()
    assert contents(patient.dirs[0]) == contents(patient.other)


def test_a_batch_alone_is_not_that_of_a_replica_with_another_checksum(patient_of: PatientOf) -> None:
    name = "t-0/00000000000000000003.log"
    patient = patient_of(on("last-rolled", flipped(0)), base=one(lone))
    other = bytearray((patient.other / name).read_bytes())
    other[-1] ^= 1
    (patient.other / name).write_bytes(build.seal(bytes(other)))
    planned = patient.mend("--from", patient.other)
    assert planned.code == 4
    assert "between the same batches" in planned.out


def test_a_replica_that_is_another_one_gives_nothing(patient_of: PatientOf) -> None:
    patient = patient_of(CRC)
    other = patient.other / f"{ROLLED}.log"
    change = in_batch(7, lambda batch: build.seal(batch[:-1] + bytes([batch[-1] ^ 1])))
    rewrite(other, change)
    planned = patient.mend("--from", patient.other)
    assert planned.code == 4
    assert "does not have 121 bytes between the same batches" in planned.out
    assert "nothing to do" in planned.out


def test_from_the_same_dir_is_refused(patient_of: PatientOf) -> None:
    patient = patient_of(CRC)
    planned = patient.mend("--from", patient.dirs[0])
    assert "is the directory that is to be repaired" in planned.out + planned.err


@pytest.mark.parametrize(
    ("fault", "lost"),
    [("log-flip-rolled", 2), ("log-codec-7", 3), ("log-not-gzip", 3), ("log-count-wrong", 3)],
)
def test_blanks(fault: str, lost: int, patient_of: PatientOf) -> None:
    blanks(patient_of(fault_called(fault).hurt, base=fault_called(fault).scenes[0].base), lost)


def test_two_blanks(patient_of: PatientOf) -> None:
    blanks(patient_of(TWO), 4)


def blanks(patient: Treated, lost: int) -> None:
    """Damaged batches become empty once the loss is accepted."""
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
    patient = patient_of(CRC)
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


def marker_of(data: bytes) -> int:
    """The number of the first end of a transaction."""
    return next(n for n, at in enumerate(positions(data)) if data[at + 22] & 0x20)


MARKER = on("rolled", lambda data: flipped(marker_of(data))(data))
"""The CRC of a transaction's end is hurt."""
BARE = on("rolled", lambda data: in_batch(marker_of(data), lambda one: one[:17] + bytes(6) + one[23:])(data))
"""The end of a transaction whose checksum and attributes are zeros."""


def test_the_end_of_a_transaction_is_never_blanked(patient_of: PatientOf) -> None:
    patient = patient_of(MARKER)
    planned = patient.mend("--blank")
    assert planned.code == 4
    assert "never blanked" in planned.out
    assert "nothing to do" in planned.out
    assert patient.mend("--from", patient.other).code == 0


def test_what_has_the_size_of_a_marker_is_never_blanked_among_transactions(patient_of: PatientOf) -> None:
    planned = patient_of(BARE).mend("--blank")
    assert planned.code == 4
    assert "never blanked" in planned.out


def test_a_hole_among_transactions_is_never_blanked(patient_of: PatientOf) -> None:
    planned = patient_of(HOLE).mend("--blank")
    assert "it may hold the end of a transaction" in planned.out


def plain_hole(patient: Patient) -> None:
    rewrite(patient.other / "00000000000000000018.log", zeroed(2, 4))


def test_a_hole_becomes_one_empty_batch_over_its_offsets(patient_of: PatientOf) -> None:
    patient = patient_of(plain_hole)
    assert patient.mend("--blank", "--accept-loss", "6-records").code == 0
    patient.apply()
    assert patient.codes("--deep") == set()
    empty = batches_of(patient.dirs[0] / "u-0" / "00000000000000000018.log")[2]
    assert (empty.base_offset, empty.last_offset, empty.records_count, empty.producer_id) == (24, 29, 0, -1)


def noise(data: bytes) -> bytes:
    """The last two batches are bytes that no batch begins with."""
    end = positions(data)[-2]
    return data[:end] + random.Random(1).randbytes(len(data) - end)


def test_a_hole_at_the_end_of_a_rolled_segment_is_blanked_up_to_the_next_one(patient_of: PatientOf) -> None:
    """Nothing sound follows it in the file, but the name of the next segment tells which offsets it had."""
    log = "00000000000000000000.log"
    patient = patient_of(lambda patient: rewrite(patient.other / log, noise))
    last = batches_of(patient.other / "u-0" / log)[-2:]
    blanks(patient, last[1].last_offset - last[0].base_offset + 1)


def old_messages() -> build.PartitionWriter:
    writer = build.PartitionWriter("t")
    for _ in range(6):
        writer.write(build.legacy_message(writer.next_offset, b"v" * 30, magic=1), 1, writer.clock)
    writer.epochs.clear()
    return writer


def test_old_formats_have_no_empty_message(patient_of: PatientOf) -> None:
    patient = patient_of(on("first", flipped(2, at=40)), base=one(old_messages))
    planned = patient.mend("--blank", "--kafka", "1.1")
    assert "a message of format 0 or 1 has no empty form" in planned.out
    assert "another replica may have it: --from" in planned.out
    assert "to cut the segment off there: segmend plan trim" in planned.out


def test_a_loss_needs_blank_and_a_figure_in_words(patient_of: PatientOf) -> None:
    patient = patient_of(CRC)
    assert patient.mend("--accept-loss", "2-records").code == 16
    assert patient.mend("--blank", "--accept-loss", "2").code == 16


def test_damage_that_a_mended_header_brings_to_light_is_named(patient_of: PatientOf) -> None:
    """Behind a wrong batch size lies a batch whose header counts one record too many."""
    count = resealed(1, 57, ">i", lambda number: number + 1)
    size = in_batch(1, lambda one: with_number(one, ">i", 8, lambda number: number + 3))
    patient = patient_of(on("rolled", lambda data: size(count(data))))
    ran = patient.mend("--blank")
    assert (ran.code, "apply this plan first, then plan again" in ran.out) == (4, True)
    patient.apply()
    assert patient.mend("--blank").code == 4
    assert "--accept-loss" in patient.mend("--blank").out


def test_what_a_mended_header_proves_is_told_once(patient_of: PatientOf) -> None:
    """The base offset of a batch, which follows from the one before it, whose magic byte is wrong."""
    magic = in_batch(1, lambda one: with_number(one, ">b", 16, lambda _: -1))
    offset = in_batch(2, lambda one: with_number(one, ">q", 0, lambda number: number + 99))
    patient = patient_of(on("rolled", lambda data: offset(magic(data))))
    left = [line for line in patient.mend().out.splitlines() if line.startswith("left as it is: L14")]
    assert [line.rpartition("; ")[2] for line in left] == ["apply this plan first, then plan again"]
    patient.apply()
    assert patient.mend().code == 0


def wiped(data: bytes) -> bytes:
    return bytes(len(data))


def zeroed_from(number: int) -> Change:
    """The log with all from this batch on turned to zeros."""
    return lambda data: data[: positions(data)[number]] + bytes(len(data) - positions(data)[number])


@pytest.mark.parametrize("hurt", [on("first", wiped), on("rolled", wiped), on("rolled", zeroed_from(3))])
def test_zeros_to_the_end_of_a_rolled_segment_come_from_a_replica(hurt: Hurt, patient_of: PatientOf) -> None:
    """All of a segment, too: the batches beside it lie in other segments."""
    patient = patient_of(hurt)
    (finding,) = (
        row
        for row in patient.run("check", *patient.dirs, "--kafka", patient.scene.release, "--json").of(
            "finding"
        )
        if row["code"] == "L03"
    )
    assert "repair" in finding["remedy"]["command"]
    rules = f"--kafka {patient.scene.release}"
    assert finding["remedy"]["command"].endswith(f"--from REPLICA_PARTITION_DIR {rules} -o plan.json")
    comes_back(patient)


@pytest.mark.parametrize(
    ("hurt", "code"),
    [
        (on("first", lambda data: data[:-10]), "L01"),
        (on("rolled", lambda data: data[: positions(data)[2] + 30]), "L01"),
        (on("rolled", lambda data: data[: positions(data)[3] + 9]), "L02"),
    ],
)
def test_the_end_that_a_rolled_segment_lost_comes_from_a_replica(
    hurt: Hurt, code: str, patient_of: PatientOf
) -> None:
    patient = patient_of(hurt)
    found = patient.run("check", *patient.dirs, "--kafka", patient.scene.release, "--json").of("finding")
    (finding,) = (row for row in found if row["code"] == code)
    rules = f"--kafka {patient.scene.release}"
    assert finding["remedy"]["command"].endswith(f"--from REPLICA_PARTITION_DIR {rules} -o plan.json")
    comes_back(patient)


def test_a_replica_that_does_not_go_on_as_the_torn_batch_began_gives_nothing(patient_of: PatientOf) -> None:
    patient = patient_of(on("rolled", lambda data: data[: positions(data)[3] + 70]))
    log = patient.other / f"{ROLLED}.log"
    log.write_bytes(in_batch(3, lambda batch: build.seal(batch[:65] + b"x" + batch[66:]))(log.read_bytes()))
    planned = patient.mend("--from", patient.other)
    assert (planned.code, "does not go on from there" in planned.out) == (4, True)
    log.write_bytes(log.read_bytes()[:-10])
    assert "in one run; next: segmend plan merge" in patient.mend("--from", patient.other).out


@pytest.mark.slow
def test_where_it_does_not_fit_the_merge_that_is_named_helps(
    patient_of: PatientOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replica was rolled elsewhere, and another one, which is given first, is damaged."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    patient = patient_of(on("rolled", lambda data: data[: positions(data)[3] + 70]))
    log = patient.other / f"{ROLLED}.log"
    data, sixth = log.read_bytes(), batches_of(log)[6]
    for index in log.parent.glob(f"{log.stem}.*index"):
        index.unlink()
    log.write_bytes(data[: sixth.position])
    (log.parent / f"{sixth.base_offset:020}.log").write_bytes(data[sixth.position :])
    damaged = shutil.copytree(patient.other, tmp_path / "damaged")
    (damaged / log.name).write_bytes(flipped(2)(log.read_bytes()))
    said = patient.mend("--from", damaged, "--from", patient.other).out
    patient.run(*shlex.split(said[said.index("plan merge ") :].splitlines()[0]))
    assert patient.run("apply", "plan.json", "--yes").code == 1
    assert patient.run("check", *patient.dirs, "--kafka", patient.scene.release, "--deep").code == 0


def test_each_batch_comes_from_a_replica_that_has_it(patient_of: PatientOf, tmp_path: Path) -> None:
    """Three batches side by side are damaged; one replica has two of them, another one the third."""
    patient = patient_of(THREE)
    whole = contents(patient.other)
    second = tmp_path / "second"
    shutil.copytree(patient.other, second)
    for home, bad in ((patient.other, 8), (second, 9)):
        log = home / f"{ROLLED}.log"
        rewrite(log, flipped(bad))
    for alone in (patient.other, second):
        assert patient.mend("--from", alone).code == 4
    planned = patient.mend("--from", patient.other, "--from", second)
    assert planned.code == 0, planned.out
    patient.apply()
    assert contents(patient.dirs[0]) == whole
    patient.undo()


def test_replicas_that_differ_give_nothing_together(patient_of: PatientOf, tmp_path: Path) -> None:
    patient = patient_of(THREE)
    second = tmp_path / "second"
    shutil.copytree(patient.other, second)
    log = patient.other / f"{ROLLED}.log"
    rewrite(log, flipped(8))
    log = second / f"{ROLLED}.log"
    other = in_batch(7, lambda batch: build.seal(batch[:-1] + bytes([batch[-1] ^ 1])))
    log.write_bytes(flipped(9)(other(log.read_bytes())))
    planned = patient.mend("--from", patient.other, "--from", second)
    assert planned.code == 4
    assert "differ at offset" in planned.out
    assert "nothing to do" in planned.out


@pytest.mark.slow
@pytest.mark.parametrize("how", ["zeros to the end", "a size beside it"])
def test_faults_that_touch_are_mended_once(tmp_path: Path, how: str) -> None:
    """Each had the region written anew, the second over what was right by then: there the plan stopped."""
    desk = Desk(golden("2.8.2-clean") / "b1", tmp_path)
    home = next(path for log_dir in desk.dirs for path in log_dir.glob("codec-snappy-0"))
    replica = tmp_path / "replica" / home.name
    copy_tree(home, replica)
    log = sorted(home.glob("*.log"))[1]
    sound = log.read_bytes()
    hurt, places = bytearray(sound), [batch.position for batch in batches_of(log)]
    if how == "zeros to the end":
        hurt[places[-3] + 100 :] = bytes(len(sound) - places[-3] - 100)
    else:
        hurt[places[2] + 11] ^= 2
        hurt[places[3] + 70] ^= 4
    log.write_bytes(hurt)
    desk.plan("repair", "--from", replica, "--deep")
    desk.apply()
    assert log.read_bytes() == sound
    desk.undo()


TORN_END = on("active", cut(7))


@pytest.mark.parametrize("hurt", [CRC, TORN_END], ids=["crc", "torn"])
def test_a_log_that_is_a_link_is_put_in_its_place_first(hurt: Hurt, patient_of: PatientOf) -> None:
    """No plan writes through a link: what a check names, and what plans leave, is to end that."""
    patient = patient_of(hurt)
    log = patient.patient.file("rolled" if hurt is CRC else "active")
    away = patient.root / log.name
    move_away(log, away)
    rules = ("--kafka", patient.scene.release)
    found = patient.run("check", "--deep", *patient.dirs, *rules, "--json", "--max", 0).of("finding")
    assert found
    command = {line["remedy"]["command"] for line in found}
    assert command == {f'cp -a --remove-destination "$(readlink -f {log})" {log}'}
    for operation, options in (("repair", ("--from", patient.other)), ("repair", ("--blank",)), ("trim", ())):
        planned = patient.mend(*options, operation=operation)
        assert planned.code == 4, planned
        assert command == {
            line.partition("next: ")[2] for line in planned.out.splitlines() if "next: " in line
        }
    subprocess.run(command.pop(), shell=True, check=True)
    assert not log.is_symlink()
    if hurt is CRC:
        patient.mend("--from", patient.other)
    else:
        patient.mend(operation="trim")
    patient.apply()
    assert not patient.codes() & {"L01", "L05"}
