"""Repair reads each log once, and `apply` not at all unless the log is another one by then."""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.data import KIB, MARKER, log_dir
from tests.cli.run import Ran, run
from tests.faults.on_disk import flip_at_share, overwrite

from segmend.loading.reads import Budget
from segmend.logdir.disk import FileReader

SIZE = 2 << 20
Reads = Callable[[], int]


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


def plan(disk: Path) -> dict[str, Any]:
    file = disk.with_name("plan.json")
    assert run("plan", "repair", disk, "-o", file).code == 0
    made: dict[str, Any] = json.loads(file.read_text())
    return made


def apply(disk: Path) -> Ran:
    return run("apply", disk.with_name("plan.json"), "--yes", "--state-dir", disk.with_name("state"))


def size_of(disk: Path) -> int:
    return sum(path.stat().st_size for path in disk.rglob("*.log"))


def test_the_plan_reads_each_log_once(disk: Path, of_logs: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of small disks a forecast also tells what consumers meet after the start: 256 MiB, records and all.
    monkeypatch.setattr(Budget, "takes", lambda *_: False)
    made = plan(disk)
    assert len(made["steps"]) == 8
    assert made["forecast"]["after"]
    assert size_of(disk) <= of_logs() < 1.1 * size_of(disk)


@pytest.mark.slow
def test_apply_reads_no_log_that_is_the_same(disk: Path, of_logs: Reads) -> None:
    made = plan(disk)
    of_logs()
    assert apply(disk).code == 1
    assert of_logs() == 0
    assert all(step["recipe"] and step["content"] and step["made_of"] for step in made["steps"])
    assert run("check", "--deep", disk).code == 0


def test_a_log_under_another_inode_is_read_again(disk: Path, of_logs: Reads) -> None:
    made = plan(disk)
    log = next(disk.rglob("*.log"))
    shutil.copy2(log, log.with_suffix(".tmp"))
    os.replace(log.with_suffix(".tmp"), log)
    of_logs()
    assert apply(disk).code == 1
    assert log.stat().st_size <= of_logs() < size_of(disk)
    assert run("check", "--deep", disk).code == 0
    assert made["steps"]


def test_a_log_that_changed_since_the_plan_is_refused(disk: Path) -> None:
    plan(disk)
    log = sorted(disk.rglob("*.log"))[1]
    status = log.stat()
    overwrite(log, 5000, b"x" * 16)
    overwrite(log, 100_000, b"x" * 16)
    os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns))
    ran = apply(disk)
    assert ran.code == 8
    assert "gives other bytes than it did for the plan" in ran.err


def test_only_so_much_is_carried_by_a_plan(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segmend.surgery.planning.assembly.MOST_CARRIED", 600)
    made = plan(disk)
    carried = [step["after"]["size"] for step in made["steps"] if "content" in step]
    assert carried
    assert sum(carried) <= 600
    assert len(carried) < len(made["steps"])
    assert apply(disk).code == 1
    assert run("check", "--deep", disk).code == 0


def test_a_graft_reads_its_source_twice_for_the_plan_and_once_for_the_copy(
    disk: Path, of_logs: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Budget, "takes", lambda *_: False)
    other = disk.with_name("other")
    other.mkdir()
    for path in (path for path in disk.iterdir() if path.is_file()):
        shutil.copy2(path, other)
    for path in other.glob("*-checkpoint"):
        path.write_text("0\n0\n")
    file, source = disk.with_name("plan.json"), disk / "bench-0"
    told = ("--kafka", "4.3")  # else it is read once more for each release that these dirs may be of
    run("plan", "graft", other, "--partition", "bench-0", "--from", source, "-o", file, *told, code=0)
    # A third time the first 4096 batches of four segments, which here is all, for index.interval.bytes.
    assert of_logs() < 3.1 * size_of(disk), "compared with what is there, and taken apart"
    pieces = [step["content"] for step in json.loads(file.read_text())["steps"] if "content" in step]
    logs = [piece for piece in pieces if piece.get("source", "").endswith(".log")]
    assert len(logs) == 4
    for piece in logs:
        assert piece["sha256"] == hashlib.sha256(Path(piece["source"]).read_bytes()).hexdigest()
    assert apply(disk).code == 1
    # The indexes are made out of the copy, in a pass of their own.
    assert of_logs() < 3.1 * size_of(disk), "copied, read back, and read for its indexes"
    for path in source.glob("*.log"):
        assert (other / "bench-0" / path.name).read_bytes() == path.read_bytes()


def test_a_merge_reads_what_stays_as_often_however_many_segments_there_are(
    tmp_path: Path, of_logs: Reads
) -> None:
    """Of segments that are only synced the producers were replayed from the first one on, for each."""
    read = {}
    for segments in (4, 8):
        hurt, sound = (tmp_path / f"{name}{segments}" for name in ("hurt", "sound"))
        for path in (hurt, sound):
            log_dir(path, KIB, total_bytes=10 * SIZE, segments=segments)
        (hurt / MARKER).unlink()
        (hurt / "recovery-point-offset-checkpoint").write_text("0\n0\n")
        flip_at_share(min((hurt / "bench-0").glob("*.log")), 0.5)
        identity = sound / "meta.properties"
        identity.write_text(identity.read_text().replace("node.id=1", "node.id=2"))
        time.sleep(0.03)
        of_logs()
        told = ("--partition", "bench-0", "--from", sound, "--kafka", "4.3", "-o", tmp_path / "plan.json")
        run("plan", "merge", hurt, *told, code=0)
        read[segments] = of_logs()
    assert read[8] < read[4], read
