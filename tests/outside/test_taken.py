"""A few of `python -m tests.outside.taken`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.outside import taken
from tests.seeds import SEED, sampled


@pytest.mark.slow
def test_what_is_taken_away_meanwhile_is_told_of(tmp_path: Path) -> None:
    """In a process of its own: it forks, which the tables' library refuses where a test used it before."""
    command = [sys.executable, "-m", taken.__name__, "--seed", str(SEED), "--count", str(sampled(100, 12))]
    told = subprocess.run(
        command, env=os.environ | {"TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stdout + told.stderr
