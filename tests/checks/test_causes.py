"""One cause, one finding: what a fault brings along names it, and has its next command."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks.build_metadata import cluster
from tests.cli.run import run
from tests.faults.hands import positions
from tests.faults.identity import key, meta
from tests.faults.on_disk import flip
from tests.faults.patient import Patient
from tests.faults.table import Case, all_cases, fault_called
from tests.faults.written import clean_dir, node_dirs, two_dirs, with_metadata
from tests.surgery.patient import custom

from segmend.checks import CheckRun, Level
from segmend.findings import Finding, Severity
from segmend.formats.names import CLUSTER_METADATA

SEVERAL = {
    "cleaned-below-swap": "N13 N14",
    "partition-of-long-topic": "N25 N27",
    "segment-missing-active": "I01 N10",
    "segment-missing-first": "I01 I22",
    "segment-missing-first killed": "I01 I22",
    "segment-missing-old": "I01 N08",
    "segment-missing-rolled": "I01 N08",
    "transaction-marker-removed": "I01 P09",
    "txnindex-version-but-rebuilt": "I01 I18",
    "txnindex-version-doomed": "I18 N19",
}
"""Faults that hurt two things (`segment-missing`: a log, and the indexes of the next segment), or of which
nothing on the disk proves that it is one. None may come to it.
"""
MOST = 10
CASES = [case for case in all_cases() if len(case.scene.codes.split()) > 1 and not case.scene.vast]


def found(dirs: Sequence[Path], release: str = "4.3", level: Level = Level.DEEP) -> list[Finding]:
    return list(CheckRun(broker_of(filter(Path.is_dir, dirs), release), level=level))


def causes(findings: Sequence[Finding]) -> set[str]:
    """The codes of those that nothing explains; each cause that is named is one of them."""
    heads = {(f.code, f.dir, f.file): f for f in findings if f.cause is None}
    for finding in findings:
        if finding.cause is not None:
            cause = heads[finding.cause.code, finding.cause.dir, finding.cause.file]
            assert finding.remedy == cause.remedy
    return {code for code, _, _ in heads}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_fault_is_one_finding(case: Case, tmp_path: Path) -> None:
    told = causes(found(case.hurt(tmp_path).dirs, case.scene.release))
    if str(case) in SEVERAL:
        assert told == set(SEVERAL[str(case)].split())
    else:
        assert len(told) == 1


def test_no_more_than_these_are_told_as_two() -> None:
    assert len(SEVERAL) <= MOST


def test_an_error_is_no_footnote_of_what_needs_no_hand(tmp_path: Path) -> None:
    """A damaged `.swap` heads the note that the next start takes it, with its own next command."""
    case = next(c for c in all_cases() if c.fault.name == "swap-absurd-offset")
    (head,) = [each for each in found(case.hurt(tmp_path).dirs) if each.cause is None]
    assert head.code == "N15"
    assert head.remedy is not None
    assert ".aside/" in head.remedy.command


def test_what_is_left_of_one_segment_is_one_finding(tmp_path: Path) -> None:
    case = next(c for c in all_cases() if c.fault.name == "log-missing-rolled")
    findings = found(case.hurt(tmp_path).dirs, level=Level.STARTUP)
    assert len(findings) > 1
    (head,) = [each for each in findings if each.cause is None]
    assert head.remedy is not None
    assert all(str(each.file) in head.remedy.command for each in findings)


def of_two_brokers(tmp_path: Path) -> list[Path]:
    """The dirs of node 1, and those of node 2, which has replicas of the same partitions."""
    ours, theirs = (list(node_dirs(tmp_path / name)) for name in ("1", "2"))
    for number in range(2):
        meta(number, key("node.id", "2"))(Patient(tuple(theirs), theirs[0] / "t-0", theirs[1]))
    return [*ours, *theirs]


@pytest.mark.slow
def test_the_dirs_of_two_brokers_are_no_twelve_errors(tmp_path: Path) -> None:
    dirs = of_two_brokers(tmp_path)
    findings = found(dirs)
    assert len(findings) > 4
    assert causes(findings) == {"K03"}
    (head,) = [finding for finding in findings if finding.cause is None]
    assert "these are dirs of 2 brokers" in head.message
    one, other = (" ".join(map(str, pair)) for pair in (dirs[:2], dirs[2:]))
    assert head.remedy is not None
    assert head.remedy.command == f"segmend check {one}; segmend check {other}"
    out = run("check", *dirs).out
    assert out.count("next:") == 1
    assert " mv " not in out
    assert run("check", "--all", *dirs).out.count("because of K03: ") == len(findings) - 1


def test_a_dir_with_a_wrong_node_id_is_still_the_brokers(tmp_path: Path) -> None:
    case = next(c for c in all_cases() if c.fault.name == "meta-node-id-second")
    (finding,) = [f for f in found(case.hurt(tmp_path).dirs) if f.code == "K03"]
    assert finding.remedy is not None
    assert "plan identity" in finding.remedy.command


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_one_chown_is_one_finding(tmp_path: Path) -> None:
    dirs = two_dirs(tmp_path)
    (dirs[0] / ".lock").touch()
    for path in [dirs[0], *dirs[0].rglob("*")]:
        os.chown(path, 1234, 1234)
    for path in [dirs[0] / "t-0", *(dirs[0] / "t-0").iterdir(), dirs[0] / ".lock"]:
        os.chown(path, 0, 0)
    findings = found(dirs[:1])
    assert len(findings) > 10
    heads = [finding for finding in findings if finding.cause is None]
    assert [each.remedy and each.remedy.command for each in heads] == [f"chown -hR 1234:1234 {dirs[0]}"]
    assert f"explains: {len(findings) - 1} x K13" in run("check", dirs[0]).out


def test_a_loss_is_told_once(tmp_path: Path) -> None:
    """A stray is one because of its topic id, not because of what else is wrong with it."""
    dirs = with_metadata(cluster(["t", "u", "v"]), two_dirs)(tmp_path, True)
    (dirs[0] / "t-0" / "partition.metadata").unlink()
    fault_called("log-last-batch-lost").hurt(Patient(tuple(dirs), dirs[0] / "t-0", dirs[0] / "u-0"))
    findings = found(dirs)
    assert {finding.code for finding in findings} > {"C10b", "M01"}
    assert causes(findings) == {"M01"}


def test_one_dir_of_two_is_said_to_be(tmp_path: Path) -> None:
    dirs = two_dirs(tmp_path)
    ids = [
        path.read_text().rpartition("directory.id=")[2].strip()
        for path in (d / "meta.properties" for d in dirs)
    ]
    shutil.rmtree(tmp_path)
    dirs = with_metadata(cluster(["t", "u", "v"], directory_ids=ids), two_dirs)(tmp_path, True)
    alone = run("check", dirs[0])
    assert "not given: 1 more log dir of this broker" in alone.out
    assert "nothing wrong" in alone.out
    assert run("check", "--json", dirs[0]).of("summary")[0]["dirs_not_given"] == 1
    assert run("check", "--json", *dirs).of("summary")[0]["dirs_not_given"] == 0


@pytest.mark.parametrize("damaged", [False, True])
def test_a_swap_that_is_all_that_is_left_is_not_moved_away(damaged: bool, tmp_path: Path) -> None:
    """The next start gives it its name; a graft is refused beside it, and without it the records are gone."""

    def hurt(patient: Patient) -> None:
        log = patient.file("active")
        if damaged:
            flip(log, 70)
        log.rename(f"{log}.swap")

    findings = found(custom(hurt, clean_dir).hurt(tmp_path).dirs)
    assert causes(findings) == {"N10", *(["N15"] if damaged else ["N14"])}
    commands = [each.remedy.command for each in findings if each.remedy is not None]
    assert not any(word in command for command in commands for word in ("mv ", "graft")), commands
    assert {each.severity for each in findings if each.code == "N10"} == {Severity.WARNING}


@pytest.mark.parametrize("other", ["{} .log", "{}.", "{}.foo", "{}-copy.log"])
def test_a_file_named_nearly_like_a_missing_segment_is_none_of_it(other: str, tmp_path: Path) -> None:
    def hurt(patient: Patient) -> None:
        log = patient.file("active")
        log.rename(log.with_name(other.format(log.stem)))

    findings = found(custom(hurt, clean_dir).hurt(tmp_path).dirs)
    (missing,) = (each for each in findings if each.code == "N10")
    assert missing.severity == Severity.ERROR
    stem = missing.message[:20]
    remain = [f"{stem}.{kind}" for kind in ("index", "snapshot", "timeindex", "txnindex")]
    assert missing.message.startswith(f"{stem}.log is gone, but {', '.join(remain)} remain")


def test_the_copy_of_the_metadata_that_has_more_is_not_moved_away(tmp_path: Path) -> None:
    """Which of two a node goes by is not told by the order in which its dirs are given."""
    dirs = with_metadata(cluster(["t", "u", "v"]), two_dirs)(tmp_path, True)
    shutil.copytree(dirs[0] / CLUSTER_METADATA, dirs[1] / CLUSTER_METADATA)
    for older in (None, dirs[1]):
        if older is not None:
            log = max((older / CLUSTER_METADATA).glob("*.log"))
            log.write_bytes(log.read_bytes()[: positions(log.read_bytes())[-1]])
        for given in (dirs, dirs[::-1]):
            (finding,) = [each for each in found(given) if each.code == "K06"]
            assert finding.remedy is not None
            asks = older is not None and finding.dir == str(dirs[0])
            assert ("has more" in finding.message) == asks
            assert finding.remedy.command.startswith("segmend show " if asks else "mkdir ")
