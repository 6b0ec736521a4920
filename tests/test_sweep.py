"""The sweep draws by a seed that it tells, and takes all."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests import sweep
from tests.conftest import GOLDEN

ROOT = GOLDEN.parents[1]
SAMPLES = {"SWEEP", "sampled", "some_of"}
BY_COMMAND = {"tests/surgery/test_drawn.py", "tests/surgery/test_shows.py"}
"""Of these a sweep runs what they take samples of: a module of its own."""


def test_it_tells_its_seed_and_goes_through_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[tuple[tuple[str, ...], str]] = []

    def call(command: tuple[str, ...], env: dict[str, str]) -> int:
        ran.append((command, env["SEGMEND_LAB_SEED"]))
        assert env["SEGMEND_SWEEP"] == "whole"
        return int(command == sweep.SWEEPS["crash"])

    monkeypatch.setattr(subprocess, "call", call)
    assert sweep.main(["--seed", "17"]) == 1
    assert ran == [(command, "17") for command in sweep.SWEEPS.values()]
    told = capsys.readouterr().out.splitlines()
    assert (
        told[0]
        == told[1]
        == "sweep: the same again: python -m tests.sweep --seed 17 " + " ".join(sweep.SWEEPS)
    )
    assert told[2:] == ["sweep: crash found something"]
    assert sweep.main(["live"]) == 0
    assert int(ran[-1][1]) > 20_000  # days since 1970: another one each day


def test_what_it_runs_is_there() -> None:
    for command in sweep.SWEEPS.values():
        files = [word for word in command if word.endswith(".py")]
        assert files or command[:2] == (sys.executable, "-m") or (ROOT / command[0]).exists()
        assert all((ROOT / file).exists() for file in files)


def test_whatever_ci_takes_a_sample_of_is_in_it() -> None:
    swept = {word for command in sweep.SWEEPS.values() for word in command} | BY_COMMAND
    sampling = {str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py") if _samples(file)}
    assert sampling - swept == set()
    assert sampling >= BY_COMMAND


def _samples(file: Path) -> bool:
    text = file.read_text()
    if "tests.seeds" not in text:  # most are not parsed, which takes a second in all
        return False
    imports = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.ImportFrom)]
    return any(
        SAMPLES & {name.name for name in each.names} for each in imports if each.module == "tests.seeds"
    )
