"""Every command that a finding names exists and can be run as it stands there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.checks.damages import Row, all_rows
from tests.cli.run import run

PLACEHOLDERS = ("LEADER_PARTITION_DIR",)
"""What a human must fill in."""
SLOW = pytest.mark.slow
ROWS = [row for row in all_rows() if row.codes]


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row.name, marks=() if number % 12 == 0 else SLOW)
        for number, row in enumerate(ROWS)
    ],
)
def test_the_next_command_works(
    row: Row, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dirs = row.base(tmp_path / "disks")
    row.hurt(dirs)
    monkeypatch.chdir(tmp_path)
    level = {0: ["--startup"], 2: ["--deep"]}.get(int(row.level), [])
    found = run(capsys, "check", *dirs, "--kafka", row.release, "--json", *level).of("finding")
    remedies = {(line["remedy"]["command"], line["remedy"]["safety"]) for line in found if line["remedy"]}
    for command, safety in sorted(remedies):
        words = shlex.split(command)
        if words[0] != "segmend":
            continue
        words = [str(tmp_path) if word in PLACEHOLDERS else word for word in words]
        ran = run(capsys, *words[1:], *(["--kafka", row.release] if words[1] == "plan" else []))
        # Advice may need a word that only a human knows; the usage error then says which.
        assert ran.code in ((0, 4, 16) if safety == "advice" else (0, 4)), (command, ran.err)
        assert "is no command" not in ran.err
        assert "invalid choice" not in ran.err
