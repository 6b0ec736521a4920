"""Repair reads each log once, and `apply` not at all unless the log is another one by then."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.data import KIB, log_dir
from tests.cli.run import Ran, run

from segmend.loading.reads import Budget
from segmend.logdir.disk import FileReader

SIZE = 2 << 20
Reads = Callable[[], int]
Cap = pytest.CaptureFixture[str]


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A log dir of 2 MiB in four segments without any index."""
    log_dir(tmp_path / "d", KIB, total_bytes=SIZE)
    for path in (tmp_path / "d" / "bench-0").glob("*index"):
        path.unlink()
    time.sleep(0.03)
    return tmp_path / "d"


@pytest.fixture
def of_logs(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """How many bytes of logs were read since it was last asked."""
    found: list[int] = []
    read_into = FileReader.read_into

    def counted(self: FileReader, buffer: memoryview, position: int) -> int:
        got = read_into(self, buffer, position)
        found.append(got if self.path.endswith(".log") else 0)
        return got

    monkeypatch.setattr(FileReader, "read_into", counted)

    def taken() -> int:
        total = sum(found)
        found.clear()
        return total

    return taken


def plan(capsys: Cap, disk: Path) -> dict[str, Any]:
    file = disk.with_name("plan.json")
    assert run(capsys, "plan", "repair", disk, "-o", file).code == 0
    made: dict[str, Any] = json.loads(file.read_text())
    return made


def apply(capsys: Cap, disk: Path) -> Ran:
    return run(capsys, "apply", disk.with_name("plan.json"), "--yes", "--state-dir", disk.with_name("state"))


def size_of(disk: Path) -> int:
    return sum(path.stat().st_size for path in disk.rglob("*.log"))


def test_the_plan_reads_each_log_once(
    capsys: Cap, disk: Path, of_logs: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of small disks a forecast also tells what consumers meet after the start: 256 MiB, records and all.
    monkeypatch.setattr(Budget, "takes", lambda *_: False)
    made = plan(capsys, disk)
    assert len(made["steps"]) == 8
    assert made["forecast"]["after"]
    assert size_of(disk) <= of_logs() < 1.1 * size_of(disk)


def test_apply_reads_no_log_that_is_the_same(capsys: Cap, disk: Path, of_logs: Reads) -> None:
    made = plan(capsys, disk)
    of_logs()
    assert apply(capsys, disk).code == 1
    assert of_logs() == 0
    assert all(step["recipe"] and step["content"] and step["made_of"] for step in made["steps"])
    assert run(capsys, "check", "--deep", disk).code == 0


def test_a_log_under_another_inode_is_read_again(capsys: Cap, disk: Path, of_logs: Reads) -> None:
    made = plan(capsys, disk)
    log = next(disk.rglob("*.log"))
    shutil.copy2(log, log.with_suffix(".tmp"))
    os.replace(log.with_suffix(".tmp"), log)
    of_logs()
    assert apply(capsys, disk).code == 1
    assert log.stat().st_size <= of_logs() < size_of(disk)
    assert run(capsys, "check", "--deep", disk).code == 0
    assert made["steps"]


def test_a_log_that_changed_since_the_plan_is_refused(capsys: Cap, disk: Path) -> None:
    plan(capsys, disk)
    log = sorted(disk.rglob("*.log"))[1]
    status = log.stat()
    with open(log, "r+b") as file:
        file.seek(5000)
        file.write(b"x" * 16)
        file.seek(100_000)
        file.write(b"x" * 16)
    os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns))
    ran = apply(capsys, disk)
    assert ran.code == 8
    assert "gives other bytes than it did for the plan" in ran.err


def test_only_so_much_is_carried_by_a_plan(capsys: Cap, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segmend.surgery.planning.MOST_CARRIED", 600)
    made = plan(capsys, disk)
    carried = [step["after"]["size"] for step in made["steps"] if "content" in step]
    assert carried
    assert sum(carried) <= 600
    assert len(carried) < len(made["steps"])
    assert apply(capsys, disk).code == 1
    assert run(capsys, "check", "--deep", disk).code == 0
