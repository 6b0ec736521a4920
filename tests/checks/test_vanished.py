"""A partition whose directory is gone or renamed: told apart from one that never was here; the way back."""

import shutil
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.faults.on_disk import put_lines
from tests.faults.table import Case, all_cases
from tests.faults.written import two_dirs, with_zookeeper

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


RP, HW = "recovery-point-offset-checkpoint", "replication-offset-checkpoint"


@pytest.mark.parametrize(
    ("release", "lines", "severities"),
    [
        ("1.1", {RP: ["d 0 0"], HW: ["d 0 5"]}, {Severity.INFO}),
        ("2.8", {RP: [], HW: ["b 0 5", "d 0 5", "f 0 5"]}, {Severity.INFO}),
        ("1.1", {RP: ["b 0 0", "e 0 0"], HW: ["b 0 5", "e 0 5"]}, {Severity.WARNING}),
        ("2.8", {RP: ["c 0 0", "e 0 0"], HW: ["c 0 5", "e 0 5"]}, {Severity.ERROR}),
    ],
    ids=["1.1 deleted", "2.8 deleted", "1.1 removed", "2.8 removed"],
)
def test_what_a_broker_leaves_of_the_last_topics_of_a_dir(
    release: str, lines: dict[str, list[str]], severities: set[Severity], tmp_path: Path
) -> None:
    """As Kafka 1.1.0 and 2.8.2 left a dir, three of whose topics were deleted; and after `rm -rf` of both."""
    dirs = two_dirs(tmp_path)
    with_zookeeper(dirs)
    shutil.rmtree(dirs[1] / "v-0")
    for name, rows in lines.items():
        put_lines(dirs[1] / name, rows)
    findings = list(CheckRun(broker_of(dirs, release)))
    assert {finding.code for finding in findings} == {"N27"}
    assert {finding.severity for finding in findings} == severities
