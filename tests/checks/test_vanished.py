"""A partition whose directory is gone or renamed: told apart from one that never was here; the way back."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.faults.table import Case, all_cases

from segmend.checks import CheckRun
from segmend.findings import Finding, Severity


def found(name: str, scene: int, tmp_path: Path) -> Finding:
    case: Case = next(c for c in all_cases() if (c.fault.name, c.number) == (name, scene))
    dirs = case.hurt(tmp_path).dirs
    (finding,) = CheckRun(broker_of(dirs, case.scene.release))
    return finding


@pytest.mark.parametrize(
    ("fault", "scene", "severity", "operation"),
    [
        ("partition-missing", 0, Severity.ERROR, "graft"),
        ("partition-missing", 1, Severity.ERROR, "graft"),
        ("partition-missing", 3, Severity.ERROR, "graft"),
        ("partition-vanished-empty", 0, Severity.INFO, "graft"),
        ("partition-stray-but-expected", 0, Severity.ERROR, "adopt"),
        ("partition-stray-and-empty", 0, Severity.ERROR, "adopt"),
        ("partition-stray", 0, Severity.INFO, "adopt"),
        ("partition-deleted-but-expected", 0, Severity.ERROR, "adopt"),
        ("partition-delete", 0, Severity.INFO, "show"),
    ],
)  # fmt: skip
def test_how_bad_it_is_and_what_comes_next(
    fault: str, scene: int, severity: Severity, operation: str, tmp_path: Path
) -> None:
    finding = found(fault, scene, tmp_path)
    assert finding.severity == severity
    assert finding.remedy is not None
    assert f" {operation} " in finding.remedy.command


def test_the_last_partition_of_a_dir_may_have_gone_by_itself(tmp_path: Path) -> None:
    case = next(c for c in all_cases() if (c.fault.name, c.number) == ("partitions-all-vanished", 1))
    findings = list(CheckRun(broker_of(case.hurt(tmp_path).dirs, "2.6")))
    assert {finding.severity for finding in findings} == {Severity.WARNING}
