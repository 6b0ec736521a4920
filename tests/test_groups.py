"""Tests of one group run in one worker, which starts once what they share."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_a_group_runs_in_one_worker() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-n", "2", "-m", "", "-v", "-p", "no:cacheprovider"]
    chosen = ["tests/test_tidy.py", "-k", "the_net_for_changes"]
    told = subprocess.run(
        [*command, *chosen], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    ).stdout
    ran = re.findall(r"\[(gw\d)\].* PASSED ", told)
    assert len(ran) > 3, told
    assert len(set(ran)) == 1, told
