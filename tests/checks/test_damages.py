"""Every code is seen to fire, alone, on a directory that is otherwise silent; and what each finding says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.faults.table import Case, all_cases
from tests.faults.written import clean_dir, killed_dir, metadata_dir, two_dirs
from tests.traffic import counted

from segmend.checks import CheckRun, Level, known_codes
from segmend.findings import Finding, Severity
from segmend.loading.values import EFFECTS

CASES = list(all_cases())
ELSEWHERE = {"K14", "K14b", "K15", "K20"}
"""Codes whose fault cannot be made on any file system by any user; test_environment.py fakes them."""
LEVELS = {
    (True, True, True): "", (False, True, True): "+", (False, False, True): "++",
    (True, False, False): "-", (False, True, False): "=",
}  # fmt: skip
"""How the table writes at which levels a code fires."""
CLOSED = EFFECTS.keys() | {"broker-refuses", "dir-offline", "none", None}
"""The values of `effect`."""


def findings(dirs: Sequence[Path], level: Level, release: str = "4.3") -> list[Finding]:
    return list(CheckRun(broker_of(filter(Path.is_dir, dirs), release), level=level, jobs=1))


def quickly_found(dirs: Sequence[Path], level: Level, release: str) -> list[Finding]:
    """The findings; each log is read twice at the most, whatever is wrong with it."""
    with counted() as traffic:
        found = findings(dirs, level, release)
    for log in traffic.logs():
        assert traffic.times_read(log) <= 2, log
        assert traffic.opens[log] <= 5, log
    return found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_fault_fires_exactly_its_codes(case: Case, tmp_path: Path) -> None:
    if case.fault.root and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    dirs = case.hurt(tmp_path).dirs
    levels = [Level.STARTUP] * len(Level) if case.scene.vast else list(Level)
    found = [quickly_found(dirs, level, case.scene.release) for level in levels]
    fired = [{finding.code for finding in each} for each in found]
    marks = {code: LEVELS.get(tuple(code in each for each in fired), "?") for code in set().union(*fired)}
    assert " ".join(f"{code}{marks[code]}" for code in sorted(marks)) == case.scene.codes
    for finding in (finding for each in found for finding in each):
        assert finding.dir in map(str, dirs)
        assert finding.message
        effect = finding.broker_effect
        assert effect is not None
        assert effect.text
        assert effect.effect in CLOSED
        assert not (effect.records_lost and finding.severity == Severity.INFO)


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("base", [clean_dir, killed_dir, two_dirs, metadata_dir])
def test_healthy_directories_are_silent(base, level: Level, tmp_path: Path) -> None:
    assert not findings(base(tmp_path), level)


def test_every_code_has_a_fault() -> None:
    fired = {code.rstrip("+-=") for case in CASES for code in case.scene.codes.split()}
    assert known_codes().keys() - fired == ELSEWHERE
