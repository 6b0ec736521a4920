"""What a read leaves out for damage is seen where it was asked for."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults.on_disk import flip
from tests.fleet.build import plain, write_broker
from tests.spark.standalone import SECONDS

from segmend.cli.commands.fleet.caching import cache_folder

pytestmark = [pytest.mark.spark, pytest.mark.timeout(500)]

READ = '{"records": 234, "_damage": 2, "damage": 2}\n'
TOLD = (
    "kafka-log: 2 damaged places cost records (crc-mismatch 2) in orders-0, orders-1; "
    "the table damage names them"
)


def damaged_fleet(root: Path) -> Path:
    """A broker that lost three records of each of two partitions, and no other has them."""
    folder = write_broker(root, 1, [plain("orders", 0), plain("orders", 1)])
    for partition in (0, 1):
        log = folder / f"orders-{partition}" / f"{30:020}.log"
        flip(log, 70)
    return root


def told_of(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if "cost records" in line]


def test_local(tmp_path: Path) -> None:
    fleet = damaged_fleet(tmp_path / "fleet")
    command = [
        sys.executable,
        "-m",
        "tests.spark.damaged_read",
        "local[2]",
        str(cache_folder() or tmp_path / "cache"),
        str(fleet),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stdout) == (0, READ), done.stderr
    # Of the three reads the last is of the table that names them.
    assert told_of(done.stderr) == [TOLD, TOLD]
