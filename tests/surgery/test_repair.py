"""`plan repair`, `apply` and `undo` over every damage of the checks' tables that derived data can mend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.checks.damages import Row, all_rows, zookeeper
from tests.surgery.patient import PatientOf

from segmend.surgery.ops.repair import logs as log_repair
from segmend.surgery.ops.repair.mends import mends

STAYS = {"C12", "C13"}
"""Codes that tell how a broker stopped, by what its files look like."""
TURNS = {"L06": "L05"}
"""With its index back, a segment with a bad batch is not cut any more."""
FAST = {"I09", "I17", "P06", "E07", "M01", "C01", "L10"}
"""Codes of which one row is run each time; CI runs all."""


MENDED = mends().keys() | log_repair.ALWAYS


def mendable(rows: Sequence[Row]) -> Iterator[Row]:
    """Rows in which something is to be mended."""
    return (row for row in rows if row.codes & MENDED)


def params(rows: Sequence[Row]) -> Iterator[Any]:
    """All rows, one of each fast code at once."""
    fast = set(FAST)
    for row in rows:
        quick = row.codes & fast
        fast -= quick
        name = f"{'-'.join(sorted(row.codes))}-{row.name}"
        yield pytest.param(row, id=name, marks=() if quick else pytest.mark.slow)


ROWS = list(mendable(all_rows()))


@pytest.mark.parametrize("row", list(params(ROWS)))
def test_plan_apply_check_undo(row: Row, patient_of: PatientOf) -> None:
    patient = patient_of(row, siblings=any(code.startswith("M") for code in row.codes))
    before, found = patient.tree(), patient.codes()
    planned = patient.mend()
    assert planned.code == (4 if "\nleft as it is: " in planned.out else 0), planned.err
    assert patient.tree() == before
    patient.apply()
    after = patient.codes()
    assert after & MENDED == set()
    assert after <= found | STAYS | {TURNS.get(code, code) for code in found}
    assert {path for path, value in patient.tree().items() if before.get(path) != value}
    if not row.codes & log_repair.ALWAYS:
        logs = {path: value for path, value in before.items() if path.endswith(".log")}
        assert logs.items() <= patient.tree().items()
    assert patient.mend().out.count("nothing to do") == 1
    patient.undo()


def test_every_code_that_is_mended_has_its_row() -> None:
    """A mend nobody saw work does not exist."""
    assert frozenset().union(*(row.codes for row in ROWS)) >= MENDED


def row_called(name: str, code: str) -> Row:
    return next(row for row in ROWS if row.name == name and code in row.codes)


def test_a_topic_id_that_nobody_knows_is_left(patient_of: PatientOf) -> None:
    patient = patient_of(row_called("id-missing", "M01"))
    planned = patient.mend()
    assert planned.code == 4
    assert "nothing to do" in planned.out
    assert "the id of topic u is not on these disks" in planned.out
    assert "kafka-topics --describe --topic u" in planned.out
    assert "ZooKeeper" not in planned.out


def test_zookeeper_s_broker_can_do_without_the_file_of_the_topic_id(patient_of: PatientOf) -> None:
    row = row_called("id-empty", "M02")
    patient = patient_of(replace(row, base=zookeeper(row.base), release="3.6"))
    planned = patient.mend()
    assert planned.code == 4
    assert "starts without the file: move it out of the log dirs" in " ".join(planned.out.split())


def test_what_derived_data_cannot_mend_is_left_with_the_next_command(patient_of: PatientOf) -> None:
    row = next(row for row in all_rows() if row.name == "hole")
    patient = patient_of(row)
    planned = patient.mend()
    assert planned.code == 4
    assert "left as it is" in planned.out
    assert "L04" in planned.out
    applied = patient.run("apply", patient.plan_file, "--yes", "--state-dir", patient.state)
    assert (applied.code, "nothing to do" in applied.out) == (4, True)


def test_what_the_plan_mends_is_not_left_by_another_name(patient_of: PatientOf) -> None:
    """A note is graver if a start sets its directory aside; after this plan none does."""
    patient = patient_of(row_called("id-missing", "M01"), siblings=True)
    (patient.dirs[0] / "u-0" / "00000000000000000000.log.deleted").write_bytes(b"")
    shown = patient.mend()
    assert (shown.code, "left as it is" in shown.out) == (0, False), shown.out
    patient.apply()
    assert "N12" in patient.codes()


def test_a_healthy_dir_needs_nothing(patient_of: PatientOf) -> None:
    row = next(row for row in all_rows() if not row.codes)
    patient = patient_of(row)
    planned = patient.mend()
    assert (planned.code, planned.err) == (0, "")
    assert "nothing to do" in planned.out
    assert "note: not looked at: CRCs, records (--deep does)" in planned.out
    assert "not looked at" not in patient.mend("--deep").out
