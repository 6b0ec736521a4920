"""A few of `python -m tests.outside.drawn`; that damage is seen is shown of the judges themselves."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.outside import drawn
from tests.outside.contract import amiss
from tests.outside.held import of_check, of_forecast
from tests.seeds import SEED, sampled

LAST = {"type": "broker", "outcome": "starts", "lost": {"partitions": 0}, "unserved": 0, "unknown": []}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_what_commands_say_of_any_damage_agrees(tmp_path: Path) -> None:
    """In a process of its own: it forks, which the tables' library refuses where a test used it before."""
    command = [sys.executable, "-m", drawn.__name__, "--seed", str(SEED), "--count", str(sampled(300, 4))]
    told = subprocess.run(
        command, env=os.environ | {"TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stdout + told.stderr


def test_the_worst_statement_decides_the_exit_code() -> None:
    assert of_forecast([LAST]) == 0
    assert of_forecast([{**LAST, "unknown": ["a dir"]}]) == 4
    assert of_forecast([{"type": "partition", "outcome": "offline"}, LAST]) == 4
    clean = {"type": "summary", "errors": 0, "warnings": 0, "surgery": [], "unknown": []}
    assert of_check([clean]) == 0
    assert of_check([{**clean, "unknown": ["a dir"]}]) == 4
    assert of_check([{"type": "finding", "severity": "warning"}, {**clean, "warnings": 1}]) == 4


def test_what_is_not_documented_is_named() -> None:
    assert "broker.unserved is missing" in amiss("forecast", [{"type": "broker"}])
    assert amiss(
        "forecast", [{"type": "dir", "dir": "d", "outcome": "?", "clean_shutdown": 1, "reason": None}]
    ) == [
        "dir.outcome is '?'",
        "dir.clean_shutdown is 1",
    ]
