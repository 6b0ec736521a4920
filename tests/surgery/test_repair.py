"""`plan repair`, `apply` and `undo` over every damage of the checks' tables that derived data can mend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.checks.build_partition import topic_id
from tests.checks.damage_epochs import second_partition
from tests.checks.damages import Row, all_rows, zookeeper
from tests.cli.run import Ran, run
from tests.surgery.picture import Tree, picture

from segmend.checks import Level
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


def tree(patient: Patient) -> Tree:
    """All of its files; a directory's time is its content's."""
    return picture(patient.disks, folder_times=False)


class Patient:
    """The dirs of a row, and commands on them."""

    def __init__(
        self, row: Row, root: Path, capsys: pytest.CaptureFixture[str], *, siblings: bool = False
    ) -> None:
        self.row = row
        self.disks = root / "disks"
        self.dirs = row.base(self.disks)
        if siblings:
            second_partition(topic_id("u"))(self.dirs)
        row.hurt(self.dirs)
        self.root = root
        self._capsys = capsys

    def run(self, *argv: object) -> Ran:
        return run(self._capsys, *argv)

    def codes(self) -> set[str]:
        """What checks find, at the level of the row too."""
        levels = {Level.STARTUP: ("--startup",), Level.DEEP: ("--deep",)}
        runs = [
            self.run("check", *self.dirs, "--kafka", self.row.release, "--json", "--max", 0, *options)
            for options in {(), levels.get(self.row.level, ())}
        ]
        return {line["code"] for found in runs for line in found.of("finding")}

    def plan(self, *options: object) -> Ran:
        where = ("--kafka", self.row.release, "-o", self.root / "plan.json")
        options = (*options, *(["--deep"] if self.row.level == Level.DEEP else []))
        return self.run("plan", "repair", *self.dirs, *where, *options)

    def apply(self) -> Ran:
        return self.run("apply", self.root / "plan.json", "--yes", "--state-dir", self.root / "state")

    def undo(self) -> Ran:
        return self.run("undo", "--yes", "--state-dir", self.root / "state")


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
def test_plan_apply_check_undo(row: Row, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patient = Patient(row, tmp_path, capsys, siblings=any(code.startswith("M") for code in row.codes))
    before, found = tree(patient), patient.codes()
    planned = patient.plan()
    assert planned.code == (4 if "\nleft as it is: " in planned.out else 0), planned.err
    assert tree(patient) == before
    done = patient.apply()
    assert done.code == 1 + planned.code, done.err
    after = patient.codes()
    assert after & MENDED == set()
    assert after <= found | STAYS | {TURNS.get(code, code) for code in found}
    assert {path for path, value in tree(patient).items() if before.get(path) != value}
    if not row.codes & log_repair.ALWAYS:
        logs = {path: value for path, value in before.items() if path.endswith(".log")}
        assert logs.items() <= tree(patient).items()
    assert patient.plan().out.count("nothing to do") == 1
    assert patient.undo().code == 0
    assert tree(patient) == before


def test_every_code_that_is_mended_has_its_row() -> None:
    """A mend nobody saw work does not exist."""
    assert frozenset().union(*(row.codes for row in ROWS)) >= MENDED


def row_called(name: str, code: str) -> Row:
    return next(row for row in ROWS if row.name == name and code in row.codes)


def test_a_topic_id_that_nobody_knows_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patient = Patient(row_called("id-missing", "M01"), tmp_path, capsys)
    planned = patient.plan()
    assert planned.code == 4
    assert "nothing to do" in planned.out
    assert "the id of topic u is not on these disks" in planned.out
    assert "kafka-topics --describe --topic u" in planned.out
    assert "ZooKeeper" not in planned.out


def test_zookeeper_s_broker_can_do_without_the_file_of_the_topic_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = row_called("id-empty", "M02")
    patient = Patient(replace(row, base=zookeeper(row.base), release="3.6"), tmp_path, capsys)
    planned = patient.plan()
    assert planned.code == 4
    assert "starts without the file: move it out of the log dirs" in " ".join(planned.out.split())


def test_what_derived_data_cannot_mend_is_left_with_the_next_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = next(row for row in all_rows() if row.name == "hole")
    patient = Patient(row, tmp_path, capsys)
    planned = patient.plan()
    assert planned.code == 4
    assert "left as it is" in planned.out
    assert "L04" in planned.out
    applied = patient.apply()
    assert (applied.code, "nothing to do" in applied.out) == (4, True)


def test_what_the_plan_mends_is_not_left_by_another_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A note is graver if a start sets its directory aside; after this plan none does."""
    patient = Patient(row_called("id-missing", "M01"), tmp_path, capsys, siblings=True)
    (patient.dirs[0] / "u-0" / "00000000000000000000.log.deleted").write_bytes(b"")
    shown = patient.plan()
    assert (shown.code, "left as it is" in shown.out) == (0, False), shown.out
    assert patient.apply().code == 1
    assert "N12" in patient.codes()


def test_a_healthy_dir_needs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = next(row for row in all_rows() if not row.codes)
    patient = Patient(row, tmp_path, capsys)
    planned = patient.plan()
    assert (planned.code, planned.err) == (0, "")
    assert "nothing to do" in planned.out
    assert "note: not looked at: CRCs, records (--deep does)" in planned.out
    assert "not looked at" not in patient.plan("--deep").out
