"""Every code is seen to fire, alone, on a directory that is otherwise silent; and what each finding says."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.faults.table import Case, all_cases
from tests.faults.written import clean_dir, killed_dir, metadata_dir, two_dirs
from tests.seeds import some_of
from tests.traffic import counted

from segmend.checks import CheckRun, Level, known_codes
from segmend.findings import Finding, Severity
from segmend.loading.values import EFFECTS

CASES = list(all_cases())
ELSEWHERE = {"K14", "K14b", "K15", "K20", "K28"}
"""Codes whose fault cannot be made on any file system by any user; test_environment.py fakes them. K28 needs
dirs in another order; test_misplaced_metadata.py has it."""
SEEN = {
    "": frozenset(Level),
    "+": frozenset({Level.DEFAULT, Level.DEEP}),
    "++": frozenset({Level.DEEP}),
    "-": frozenset({Level.STARTUP}),
    "=": frozenset({Level.DEFAULT}),
}
"""The levels at which a code fires, by what the table writes behind it."""
CLOSED = EFFECTS.keys() | {"broker-refuses", "dir-offline", "none", None}
"""The values of `effect`."""

STOPS = {"broker-refuses", "dir-offline", "partition-unserved"}
"""What of these a start does over a fault, whatever else it does, is an error."""


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


def fires_exactly_its_codes(case: Case, dirs: Sequence[Path], level: Level) -> None:
    found = quickly_found(dirs, level, case.scene.release)
    words = {word.rstrip("+-="): word for word in case.scene.codes.split()}
    wanted = {code for code, word in words.items() if level in SEEN[word.removeprefix(code)]}
    assert {finding.code for finding in found} == wanted, [each.to_json() for each in found]
    for finding in found:
        assert finding.dir in map(str, dirs)
        assert finding.message
        effect = finding.broker_effect
        assert effect is not None
        assert effect.text
        assert effect.effect in CLOSED
        assert not (effect.records_lost and finding.severity == Severity.INFO)
        assert finding.severity == Severity.ERROR or effect.effect not in STOPS, finding.to_json()


@pytest.mark.parametrize(
    "case",
    [each if each.number == 0 else pytest.param(each, marks=pytest.mark.slow) for each in CASES],
    ids=str,
)
def test_a_fault_fires_exactly_its_codes(case: Case, tmp_path: Path) -> None:
    fires_exactly_its_codes(case, case.hurt(tmp_path).dirs, Level.STARTUP if case.scene.vast else Level.DEEP)


def at_other_levels() -> list[Case]:
    """Those with codes that do not fire at every level, and some of those that fire at all, of which a sweep
    takes each."""
    read = [case for case in CASES if not case.scene.vast]
    told = [case for case in read if any(word[-1] in "+-=" for word in case.scene.codes.split())]
    return told + some_of([case for case in read if case not in told], 3)


@pytest.mark.slow
@pytest.mark.parametrize("case", at_other_levels(), ids=str)
def test_a_fault_fires_exactly_its_codes_at_other_levels(case: Case, tmp_path: Path) -> None:
    dirs = case.hurt(tmp_path).dirs
    for level in (Level.STARTUP, Level.DEFAULT):
        fires_exactly_its_codes(case, dirs, level)


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("base", [clean_dir, killed_dir, two_dirs, metadata_dir])
def test_healthy_directories_are_silent(base, level: Level, tmp_path: Path) -> None:
    assert not findings(base(tmp_path), level)


def test_every_code_has_a_fault() -> None:
    fired = {code.rstrip("+-=") for case in CASES for code in case.scene.codes.split()}
    assert known_codes().keys() - fired == ELSEWHERE
