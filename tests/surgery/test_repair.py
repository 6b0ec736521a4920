"""`plan`, `apply` and `undo` over every fault on written log dirs for which the table names a mend."""

import itertools
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import Ran, run
from tests.faults.table import Case, all_cases, fault_called
from tests.seeds import SWEEP
from tests.surgery.desk import left_code
from tests.surgery.patient import PatientOf

from segmend.formats.offset_checkpoint import HIGH_WATERMARK, RECOVERY_POINT
from segmend.surgery.ops.repair import logs as log_repair
from segmend.surgery.ops.repair.mends import mends

STAYS = {"C12", "C13"}
"""Codes that tell how a broker stopped, by what its files look like."""
FAST = {"I09", "I17", "P06", "E07", "M01", "C01", "L10"}
"""Codes of which one fault is mended each time."""
OTHERS = 3
"""Of the faults whose codes another one has shown already CI takes one in so many."""
CASES = [case for case in all_cases() if case.scene.mend]


def params() -> Iterator[Any]:
    """The first of each code, that of a fast one at once; of the others CI takes some, a sweep all."""
    seen: set[str] = set()
    others = itertools.count()
    for case in CASES:
        new = {code.rstrip("+-=") for code in case.scene.codes.split()} - seen
        seen |= new
        quick = new & FAST
        if new or SWEEP or next(others) % OTHERS == 0:
            yield pytest.param(case, id=str(case), marks=() if quick else pytest.mark.slow)


@pytest.mark.parametrize("case", list(params()))
def test_plan_apply_check_undo(case: Case, patient_of: PatientOf) -> None:
    mend, _, left = case.scene.mend.partition(":")
    operation, *options = mend.split()
    patient = patient_of(case, siblings="M0" in case.scene.codes)
    before = patient.tree()
    of_log = case.fault.family == "log"
    loss = accepted(patient.mend(*options, operation=operation)) if of_log else []
    planned = patient.mend(*options, *loss, operation=operation)
    assert planned.code == left_code(patient.planned()), planned.err
    assert patient.tree() == before
    patient.apply()
    assert patient.codes() - STAYS == set(left.split())
    after = patient.tree()
    assert {path for path, value in after.items() if before.get(path) != value}
    if not of_log:
        logs = {path: value for path, value in before.items() if path.endswith(".log")}
        assert logs.items() <= after.items()
    assert patient.mend(*options, operation=operation).out.count("nothing to do") == 1
    patient.undo()


def accepted(planned: Ran) -> list[str]:
    """What gives up the records that a plan asks to give up."""
    figure = re.search(r"--accept-loss \d+-records", planned.out)
    return figure[0].split() if figure else []


def test_every_code_that_is_mended_has_its_fault() -> None:
    """A mend nobody saw work does not exist."""
    gone = set()
    for case in CASES:
        fired = {code.rstrip("+-=") for code in case.scene.codes.split()}
        gone |= fired - set(case.scene.mend.partition(":")[2].split())
    assert gone >= mends().keys() | log_repair.ALWAYS


def test_the_records_of_a_recreated_topic_are_taken_up_by_the_command_that_is_named(
    patient_of: PatientOf,
) -> None:
    patient = patient_of(case_called("topic-recreated"))
    found = patient.run("check", *patient.dirs, "--kafka", patient.scene.release, "--json").of("finding")
    (command,) = (row["remedy"]["command"] for row in found if row["code"] == "M05")
    *argv, _, _ = shlex.split(command)[1:]
    assert patient.run(*argv, "-o", patient.plan_file).code == 0
    patient.apply()
    assert "M05" not in patient.codes()
    patient.undo()


def case_called(name: str) -> Case:
    fault = fault_called(name)
    return Case(fault, fault.scenes[0], 0)


def test_a_topic_id_that_nobody_knows_is_left(patient_of: PatientOf) -> None:
    planned = patient_of(case_called("topic-id-missing")).mend()
    assert planned.code == 4
    assert "nothing to do" in planned.out
    assert "the id of topic t is not on these disks" in planned.out
    assert "kafka-topics --describe --topic t" in planned.out
    assert "ZooKeeper" not in planned.out


def test_zookeeper_s_broker_can_do_without_the_file_of_the_topic_id(patient_of: PatientOf) -> None:
    case = case_called("topic-id-empty")
    planned = patient_of(replace(case, scene=replace(case.scene, zookeeper=True, release="3.6"))).mend()
    assert planned.code == 4
    assert "starts without the file: move it out of the log dirs" in " ".join(planned.out.split())


def test_what_derived_data_cannot_mend_is_left_with_the_next_command(patient_of: PatientOf) -> None:
    patient = patient_of(case_called("log-hole-rolled"))
    planned = patient.mend()
    assert planned.code == 4
    assert "left as it is" in planned.out
    assert "L04" in planned.out
    applied = patient.run("apply", patient.plan_file, "--yes", "--state-dir", patient.state)
    assert (applied.code, "nothing to do" in applied.out) == (4, True)


def test_what_is_left_is_told_as_a_start_after_the_plan_does_it(tmp_path: Path) -> None:
    """Beside the mended log the old index, which no start meets, would have all of it cut off."""
    dirs = fault_called("log-offset-far-away").scenes[0].base(tmp_path, True)
    for name in (RECOVERY_POINT, HIGH_WATERMARK):
        path = dirs[0] / name
        head, rows = path.read_text().splitlines()[:2], path.read_text().splitlines()[2:]
        path.write_text("\n".join([*head, *(f"{row.rpartition(' ')[0]} 0" for row in rows), ""]))
    planned = run("plan", "repair", *dirs, "--kafka", "4.3.1", "-o", tmp_path / "plan.json", code=4)
    (line,) = [each for each in planned.out.splitlines() if each.startswith("left as it is: C15")]
    assert "the broker: nothing at this start" in line


def test_what_the_plan_mends_is_not_left_by_another_name(patient_of: PatientOf) -> None:
    """A note is graver if a start sets its directory aside; after this plan none does."""
    treated = patient_of(case_called("topic-id-missing"), siblings=True)
    treated.patient.write("00000000000000000000.log.deleted", b"")
    shown = treated.mend()
    assert (shown.code, "left as it is" in shown.out) == (0, False), shown.out
    treated.apply()
    assert "N12" in treated.codes()


def test_a_healthy_dir_needs_nothing(patient_of: PatientOf) -> None:
    patient = patient_of(case_called("metadata-healthy"))
    planned = patient.mend()
    assert (planned.code, planned.err) == (0, "")
    assert "nothing to do" in planned.out
    assert "note: not looked at: CRCs, records (--deep does)" in planned.out
    assert "not looked at" not in patient.mend("--deep").out


def test_the_command_of_what_is_left_can_be_pasted(tmp_path: Path) -> None:
    """A name that is no UTF-8 is written as a shell reads it. No second snapshot of that offset is made."""
    (case,) = (each for each in all_cases() if str(each) == "snapshot-unfound")
    hurt = case.hurt(tmp_path)
    asked = ("plan", "repair", "--kafka", case.scene.release, *hurt.dirs, "-o", tmp_path / "plan.json")
    left = [line for line in run(*asked).out.splitlines() if line.startswith("left as it is: N22")]
    assert run(*asked, "--json").of("plan")[0]["steps"] == 0
    subprocess.run(["bash", "-c", left[0].partition("; next: ")[2]], check=True)
    again = run(*asked)
    assert "N22" not in again.out
    assert "repair: 1 step" in again.out
