"""`fleet audit --since-run`: what did not change is not read again, and nothing else differs by that."""

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.checks.build_partition import story
from tests.cli.run import run as command
from tests.faults.on_disk import flip, lengthen
from tests.fleet.build import plain, three_brokers, write_broker
from tests.seeds import some_of
from tests.traffic import counted as traffic

from segmend.checks import Level
from segmend.errors import UsageError
from segmend.fleet import carried, delta, plain_values
from segmend.fleet.audit import AuditOutcome, AuditRequest, audit
from segmend.fleet.driver import LocalDriver
from segmend.fleet.publish import finding_objects
from segmend.fleet.schemas import AUDIT_TABLES
from segmend.kernel.scan import ScanTask
from segmend.kernel.types import BytesReader, SegmentScan
from segmend.logdir import disk, scans
from segmend.logdir.file_system import FileStat

_OWN = {"run_id", "carried_from", "disk_free_bytes"}


def run(fleet: Path, out: Path, since: str | None = None, level: Level = Level.DEEP) -> AuditOutcome:
    # A file that was changed within a tick of the clock is read again, whatever its times.
    time.sleep(0.03)
    request = AuditRequest(paths=(str(fleet),), out=str(out), level=level, since=since)
    return audit(request, LocalDriver(1))


def tables(out: Path, outcome: AuditOutcome) -> dict[str, list[str]]:
    """Every table of a run but its own row, without what differs between any two runs."""
    found = {}
    for name in AUDIT_TABLES:
        if name != "runs":
            rows = delta.read(str(out), name, run_id=outcome.run.run_id).to_pylist()
            found[name] = sorted(str({k: v for k, v in row.items() if k not in _OWN}) for row in rows)
    return found


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the logs that are scanned for checks."""
    sizes: list[int] = []
    plainly = scans.scan_log

    def counted(reader: Any, task: ScanTask, **more: Any) -> SegmentScan:
        sizes.append(reader.size)
        return plainly(reader, task, **more)

    monkeypatch.setattr(scans, "scan_log", counted)
    return sizes


def flip_unseen(log: Path, position: int) -> None:
    """One bit of a file; its modification time stays."""
    before = log.stat()
    flip(log, position)
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))


def sealed(fleet: Path) -> list[Path]:
    """The logs that are no partition's last one."""
    folders: dict[Path, list[Path]] = {}
    for log in sorted(fleet.rglob("*.log")):
        folders.setdefault(log.parent, []).append(log)
    return [log for logs in folders.values() for log in logs[:-1]]


@pytest.mark.slow
def test_an_unchanged_fleet_is_not_read_again_and_its_tables_are_the_same(
    tmp_path: Path, read: list[int]
) -> None:
    fleet, out = three_brokers(tmp_path / "fleet"), tmp_path / "out"
    flip_unseen(sealed(fleet)[4], 300)
    first = run(fleet, out)
    whole = sum(read)
    assert (first.row["since_run"], first.row["carried_segments"]) == (None, 0)
    read.clear()
    second = run(fleet, out, first.run.run_id[:20])
    assert tables(out, second) == tables(out, first)
    assert second.exit_code == first.exit_code == 4
    # Of four segments each partition's last one is read, and for the damage what its start will meet.
    assert sum(read) < 0.3 * whole
    assert (second.row["carried_segments"], second.row["since_run"]) == (36, first.run.run_id)
    assert f"36 by {first.run.run_id}" in second.row["skipped"][-1]
    rows = delta.read(str(out), "segments", run_id=second.run.run_id).to_pylist()
    assert {(r["is_active"], r["carried_from"]) for r in rows} == {(False, first.run.run_id), (True, None)}
    told = {f["code"]: f["carried_from"] for f in finding_objects(str(out), second.run.run_id)}
    assert told["L05"] == first.run.run_id
    # The third knows who read, not who carried.
    third = run(fleet, out, carried.LAST)
    assert tables(out, third) == tables(out, first)
    assert f"36 by {first.run.run_id}" in third.row["skipped"][-1]


def _append(fleet: Path, chance: random.Random) -> None:
    log = max(chance.choice([p for p in fleet.rglob("orders-*") if p.is_dir()]).glob("*.log"))
    lengthen(log, log.read_bytes()[:100])


def _hurt(fleet: Path, chance: random.Random) -> None:
    log = chance.choice(sealed(fleet))
    flip_unseen(log, chance.randrange(log.stat().st_size))


def _cut(fleet: Path, chance: random.Random) -> None:
    log = chance.choice(sealed(fleet))
    os.truncate(log, chance.randrange(log.stat().st_size))


def _index(fleet: Path, chance: random.Random) -> None:
    index = chance.choice(sorted(fleet.rglob("*.*index")))
    if chance.random() < 0.5:
        index.unlink()
    else:
        lengthen(index, b"\0\0\0\1")


def _gone(fleet: Path, chance: random.Random) -> None:
    for file in (log := chance.choice(sealed(fleet))).parent.glob(f"{log.stem}.*"):
        file.unlink()


def _swap(fleet: Path, chance: random.Random) -> None:
    """A segment in the place of another, with its times: another inode."""
    one, other = chance.sample(sealed(fleet), 2)
    new = one.with_suffix(".new")
    new.write_bytes(other.read_bytes())
    os.utime(new, ns=(one.stat().st_atime_ns, one.stat().st_mtime_ns))
    new.rename(one)


def _come(fleet: Path, chance: random.Random) -> None:
    number = 10 + len(list(fleet.iterdir()))
    write_broker(fleet, number, [plain("orders", chance.randrange(2))], clean=chance.random() < 0.5)


Change = Callable[[Path, random.Random], None]
CHANGES: tuple[Change, ...] = (_append, _hurt, _cut, _index, _gone, _swap, _come)


def _compare(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    fleet, out = three_brokers(tmp_path / "fleet"), tmp_path / "out"
    level = chance.choice([Level.DEFAULT, Level.DEEP])
    since = run(fleet, out, level=level)
    for number in range(3):
        for change in chance.choices(CHANGES, k=chance.randrange(1, 4)):
            change(fleet, chance)
        since = run(fleet, out, since.run.run_id, level=level)
        plainly = run(fleet, tmp_path / f"plain{number}", level=level)
        assert tables(out, since) == tables(tmp_path / f"plain{number}", plainly), (seed, number)
        assert dict(since.codes) == dict(plainly.codes)
        names = ("partitions", "segments", "batches", "records", "bytes", "errors", "warnings", "exit_code")
        assert [since.row[name] for name in names] == [plainly.row[name] for name in names]
        assert since.row["carried_segments"] > 0


@pytest.mark.slow
def test_after_changes_the_tables_are_those_of_a_full_audit(tmp_path: Path) -> None:
    _compare(tmp_path, 7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", some_of(range(25), 3))
def test_after_many_changes_the_tables_are_those_of_a_full_audit(tmp_path: Path, seed: int) -> None:
    _compare(tmp_path, 1000 + seed)


@pytest.mark.slow
def test_damage_that_leaves_no_trace_is_found_by_full_only_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(stat: FileStat, now_ns: int) -> str:
        """A disk that loses a bit does not change the time of change; a test cannot but do so."""
        del now_ns
        return f"{stat.inode}:{stat.size}:{stat.mtime_ns}"

    monkeypatch.setattr(carried, "file_mark", forgetful)
    fleet = three_brokers(tmp_path / "fleet")
    told = ("fleet", "audit", fleet, "--out", tmp_path / "out", "--driver", "local", "--no-report", "--deep")
    first = command(*told, "--since-run", "last")
    assert first.code == 0
    assert f"--since-run last: no earlier audit is in {tmp_path / 'out'}, so all was read" in first.err
    flip_unseen(sealed(fleet)[4], 300)
    quiet = command(*told, "--since-run", "last")
    assert (quiet.code, quiet.err) == (0, "")
    assert "not read again: 36 sealed segments" in quiet.out
    loud = command(*told, "--since-run", "last", "--full")
    assert loud.code == 4
    assert "L05" in loud.out
    assert "not read again" not in loud.out
    # What was seen stays reported while nobody reads it again.
    again = command(*told, "--since-run", "last")
    assert again.code == 4
    assert "read it; not read again)" in again.out
    assert "0 new, 0 gone" in again.out


@pytest.mark.slow
def test_a_change_whose_modification_time_was_set_back_is_seen(tmp_path: Path) -> None:
    fleet, out = three_brokers(tmp_path / "fleet"), tmp_path / "out"
    run(fleet, out)
    flip_unseen(sealed(fleet)[4], 300)
    assert "L05" in run(fleet, out, carried.LAST).codes


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fleet whose audit was stopped before its first commit."""
    fleet = three_brokers(tmp_path / "fleet")
    with monkeypatch.context() as patch:

        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(delta, "commit", stop)
        with pytest.raises(KeyboardInterrupt):
            run(fleet, tmp_path / "out")
    return fleet


@pytest.mark.slow
def test_a_stopped_audit_goes_on(stopped: Path, read: list[int]) -> None:
    out = stopped.parent / "out"
    torn = out / "scans" / "part-20200101T000000Z-abcdef-00.parquet"
    torn.write_bytes(b"PAR1")
    (half,) = [each for each in carried.stopped(str(out)) if not each.startswith("2020")]
    told = ("fleet", "audit", stopped, "--out", out, "--driver", "local", "--no-report", "--deep")
    whole = sum(log.stat().st_size for log in stopped.rglob("*.log"))
    ran = command(*told, "--since-run", half)
    assert ran.code == 0
    assert sum(read) < 0.3 * whole
    assert f"36 by {half}" in ran.out
    # Who does not say so gets everything read, and is told of the other way.
    other = command(*told)
    assert "not read again" not in other.out


def test_an_audit_tells_of_one_that_was_stopped(stopped: Path) -> None:
    out = stopped.parent / "out"
    (half,) = carried.stopped(str(out))
    told = ("fleet", "audit", stopped, "--out", out, "--driver", "local", "--no-report")
    assert f"--since-run {half}" in command(*told).err
    # By now another one has read all of it.
    assert command(*told).err == ""


def test_runs_that_cannot_be_carried_over(tmp_path: Path) -> None:
    fleet, out = three_brokers(tmp_path / "fleet"), tmp_path / "out"
    assert run(fleet, out, carried.LAST).row["carried_segments"] == 0
    for since, level, words in (
        ("1999", Level.DEEP, "no run begins with 1999"),
        (carried.LAST, Level.DEFAULT, "of level deep"),
        (carried.LAST, Level.STARTUP, "reads no logs"),
    ):
        with pytest.raises(UsageError, match=words):
            run(fleet, out, since, level)


def test_a_scan_is_the_same_after_a_file_and_nothing_else_is_taken_for_one(tmp_path: Path) -> None:
    folder = write_broker(tmp_path, 1, [story("t", rounds=2)])
    for log in folder.rglob("*.log"):
        flip_unseen(log, log.stat().st_size // 2)
        with log.open("rb") as file:
            scan = scans.scan_log(BytesReader(file.read()), ScanTask(base_offset=int(log.stem), records=True))
        text = plain_values.to_text(scan)
        assert plain_values.from_text(SegmentScan, text) == scan
        for other in ("{}", "[1]", text.replace("true", "1"), text[:-1] + ",1]"):
            with pytest.raises(ValueError):  # noqa: PT011
                plain_values.from_text(SegmentScan, other)


@pytest.mark.parametrize("level", [Level.DEFAULT, Level.DEEP])
def test_a_sound_log_is_opened_and_read_once(level: Level, tmp_path: Path) -> None:
    fleet = three_brokers(tmp_path / "fleet")
    with traffic() as seen:
        run(fleet, tmp_path / "out", level=level)
    assert {(seen.opens[str(log)], seen.times_read(str(log))) for log in sealed(fleet)} == {(1, 1.0)}


def test_the_status_of_a_sealed_file_is_asked_before_it_is_read_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, asked = three_brokers(tmp_path / "fleet"), Counter[str]()
    for name in ("file_stat", "file_size"):
        plainly = getattr(disk, name)

        def counted(path: str, ask: Callable[..., Any] = plainly, **more: Any) -> Any:
            asked[path] += 1
            return ask(path, **more)

        monkeypatch.setattr(disk, name, counted)
    run(fleet, tmp_path / "out", level=Level.DEFAULT)
    # Whose a file is, is looked at where not all may be read anyway.
    times = 2 if os.geteuid() == 0 else 3
    for log in sealed(fleet):
        assert asked[str(log.with_suffix(".index"))] == times
