"""What every command costs before it looks at a disk: imports, nearly all of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.checks.build_partition import PartitionWriter, write_log_dir
from tests.cli.run import SOURCE, python

LIKE_IT = "import asyncio, http.client, unittest, xmlrpc.client, multiprocessing.pool, tarfile"
"""Takes Python about 0.1 s where it is quiet."""


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


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A healthy log dir with one partition."""
    log_dir = tmp_path / "data"
    orders = PartitionWriter("orders")
    orders.append(3)
    write_log_dir(log_dir, [orders])
    return log_dir


@pytest.mark.slow
@pytest.mark.parametrize(("command", "bar"), [("--help", 0.75), ("check", 1.7)])
def test_a_command_starts_in_a_moment(tmp_path: Path, tiny: Path, command: str, bar: float) -> None:
    """Aimed at 0.08 s for --help and 0.12 s for a check; measured beside imports of Python's own."""
    ours = ["-m", "segmend", command, *([str(tiny)] if command == "check" else [])]
    spent(tmp_path, *ours), spent(tmp_path, "-c", LIKE_IT)  # compiles
    runs = [(spent(tmp_path, *ours), spent(tmp_path, "-c", LIKE_IT)) for _ in range(5)]
    least, other = map(min, zip(*runs, strict=True))
    assert least <= bar * other


def test_a_healthy_dir_asks_for_no_start(tiny: Path) -> None:
    """What plays a start, and threads, are loaded where there is something wrong, or much to look at."""
    script = (
        "import sys; from segmend.cli.main import main; print(main(['check', *sys.argv[1:]]), *sys.modules)"
    )
    code, *loaded = python("-c", script, tiny).stdout.splitlines()[-1].split()
    assert code == "0"
    assert "segmend.checks.runner" in loaded
    heavy = ("segmend.loading", "segmend.explain", "segmend.surgery", "concurrent.futures", "numpy")
    assert not [name for name in loaded if name.startswith(heavy)]
