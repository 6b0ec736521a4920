"""What every command costs before it looks at a disk: imports, nearly all of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.run import SOURCE

USUAL = 0.013
"""Seconds in which Python itself starts where the bars were measured; they stretch where it takes longer."""


def spent(folder: Path, *arguments: str) -> float:
    """Seconds of processor time of one process, which other processes lengthen less than they do its day."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        [sys.executable, *arguments], stdout=quiet, stderr=quiet, env=environment
    ) as process:
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize(("arguments", "bar"), [(["--help"], 0.080)])
def test_a_command_starts_in_a_moment(tmp_path: Path, arguments: list[str], bar: float) -> None:
    spent(tmp_path, "-m", "segmend", *arguments)  # compiles
    runs = [(spent(tmp_path, "-m", "segmend", *arguments), spent(tmp_path, "-c", "pass")) for _ in range(7)]
    ours, python = map(min, zip(*runs, strict=True))
    assert ours <= bar * max(1.0, python / USUAL)
