"""Every command that a finding names exists and can be run as it stands there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.conftest import one_in
from tests.faults.table import Case, all_cases

PLACEHOLDERS = ("LEADER_PARTITION_DIR",)
"""What a human must fill in."""
CASES = [case for case in all_cases() if case.scene.codes and case.number == 0 and not case.scene.vast]


@pytest.mark.parametrize("case", one_in(24, CASES), ids=str)
def test_the_next_command_works(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dirs, release = case.hurt(tmp_path / "disks").dirs, case.scene.release
    monkeypatch.chdir(tmp_path)
    levels = {"--deep", "--startup"} if "-" in case.scene.codes else {"--deep"}
    found = [
        line
        for level in levels
        for line in run(capsys, "check", *dirs, "--kafka", release, "--json", level).of("finding")
    ]
    remedies = {(line["remedy"]["command"], line["remedy"]["safety"]) for line in found if line["remedy"]}
    for command, safety in sorted(remedies):
        words = shlex.split(command)
        if words[0] != "segmend":
            continue
        words = [str(tmp_path) if word in PLACEHOLDERS else word for word in words]
        ran = run(capsys, *words[1:], *(["--kafka", release] if words[1] == "plan" else []))
        # Advice may need a word that only a human knows; the usage error then says which.
        assert ran.code in ((0, 4, 16) if safety == "advice" else (0, 4)), (command, ran.err)
        assert "is no command" not in ran.err
        assert "invalid choice" not in ran.err
