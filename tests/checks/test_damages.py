"""Every code is seen to fire, alone, on a directory that is otherwise silent."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks import damage_identity
from tests.checks.damages import Row, all_rows, clean_dir, killed_dir, metadata_dir, two_dirs
from tests.traffic import counted

from segmend.checks import CheckRun, Level, known_codes
from segmend.findings import Finding
from segmend.logdir.tree import LogDir

ROWS = all_rows()
# Codes whose fault cannot be made on any file system by any user; test_environment.py fakes them.
ELSEWHERE = {"K13", "K14", "K14b", "K15", "K20"}


def findings(dirs: Sequence[Path], level: Level, release: str = "4.3", jobs: int = 1) -> Iterator[Finding]:
    opened = [LogDir.open(str(path)) for path in dirs]
    return iter(CheckRun(broker_of(opened, release), level=level, jobs=jobs))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{'+'.join(sorted(row.codes)) or 'none'}-{row.name}")
def test_a_damage_fires_exactly_its_codes(row: Row, tmp_path: Path) -> None:
    dirs = row.base(tmp_path)
    row.hurt(dirs)
    with counted() as traffic:
        found = list(findings(dirs, row.level, row.release))
    assert {finding.code for finding in found} == row.codes, [f.to_json() for f in found]
    for finding in found:
        assert finding.dir in map(str, dirs)
        assert finding.message
    for log in traffic.logs():
        assert traffic.times_read(log) <= 2, log
        assert traffic.opens[log] <= 5, log


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("base", [clean_dir, killed_dir, two_dirs, metadata_dir])
def test_healthy_directories_are_silent(base, level: Level, tmp_path: Path) -> None:
    assert not list(findings(base(tmp_path), level))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("row", damage_identity.AS_ROOT, ids=lambda row: row.name)
def test_files_of_another_user(row: Row, tmp_path: Path) -> None:
    test_a_damage_fires_exactly_its_codes(row, tmp_path)


def test_every_code_has_a_damage() -> None:
    fired = {code for row in ROWS for code in row.codes} | ELSEWHERE
    assert sorted(known_codes().keys() - fired) == []
