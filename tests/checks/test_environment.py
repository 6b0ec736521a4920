"""What only another process, another disk or another machine can bring about."""

import errno
import fcntl
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from tests.beside import broker_on
from tests.brokers import broker_of
from tests.faults.on_disk import lengthen
from tests.faults.written import clean_dir, killed_dir, metadata_dir, with_zookeeper

from segmend.checks import CheckRun, Level, Scope, environment
from segmend.findings import Finding, Severity
from segmend.formats.build import NewRecord, build_batch
from segmend.loading.places import FULL
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_dir import LogDir


def found(
    dirs: Sequence[Path], level: Level = Level.DEFAULT, release: str = "4.3", **options
) -> list[Finding]:
    opened = [LogDir.open(str(path)) for path in dirs]
    return list(CheckRun(broker_of(opened, release), level=level, **options))


def test_a_held_lock_is_told_and_the_torn_tail_is_not(tmp_path: Path) -> None:
    dirs = killed_dir(tmp_path)
    log = sorted((dirs[0] / "u-0").glob("*.log"))[-1]
    lengthen(log, b"\0\0\0\0\0\0\1\0\0\0\1\0\0\0\0\0\2\0\0\0\0")
    with broker_on(dirs[0]):
        assert [f.code for f in found(dirs, Level.DEEP)] == ["K15"]
    assert [f.code for f in found(dirs, Level.DEEP) if f.severity != Severity.INFO] == ["L01"]


def test_the_preallocated_indexes_of_a_running_broker_are_no_fault(tmp_path: Path) -> None:
    """An old broker trims them when it stops; one that was killed has to make them anew."""
    dirs = killed_dir(tmp_path)
    with_zookeeper(dirs)
    index = sorted((dirs[0] / "u-0").glob("*.index"))[-1]
    index.write_bytes(index.read_bytes().ljust(8192, b"\0"))
    with broker_on(dirs[0]):
        assert [f.code for f in found(dirs, Level.STARTUP, "1.1")] == ["K15"]
    assert "I25" in {f.code for f in found(dirs, Level.STARTUP, "1.1")}


def test_a_topic_id_that_a_running_broker_is_about_to_write(tmp_path: Path) -> None:
    dirs = metadata_dir(tmp_path)
    (dirs[0] / "t-0" / "partition.metadata").unlink()
    with broker_on(dirs[0]):
        assert "M01" in {f.code for f in found(dirs)}
        for log in (dirs[0] / "t-0").glob("*.log"):
            log.write_bytes(b"")
        assert "M01" not in {f.code for f in found(dirs)}
    assert "M01" in {f.code for f in found(dirs)}


def test_looking_takes_no_lock(tmp_path: Path) -> None:
    """Closing a descriptor drops a process's own locks on the file, so ours must be another process's."""
    dirs = clean_dir(tmp_path)
    (dirs[0] / ".lock").touch()
    assert found(dirs) == []
    with (dirs[0] / ".lock").open("r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize(
    ("space", "word"),
    [
        ({"read_only": True}, "read-only"),
        ({"available": 0}, "full"),
        ({"available": 28_672}, "full"),
        ({"files": 9_000, "files_left": 0}, "inodes"),
    ],
)
def test_a_disk_that_cannot_be_written(space, word: str, tmp_path: Path, monkeypatch) -> None:
    dirs = clean_dir(tmp_path)
    real = disk.space(str(tmp_path))
    monkeypatch.setattr(disk, "space", lambda path: replace(real, **space))
    (finding,) = found(dirs)
    assert finding.code == "K14"
    assert word in finding.message


def test_what_fills_a_disk_is_named(tmp_path: Path, monkeypatch) -> None:
    dirs = clean_dir(tmp_path)
    (dirs[0] / "heap.hprof").write_bytes(bytes(10_000_000))
    real = disk.space(str(tmp_path))
    monkeypatch.setattr(disk, "space", lambda path: replace(real, available=0))
    full = {finding.code: finding for finding in found(dirs)}
    assert full.keys() == {"K14", "N28"}
    assert (
        "10,000,000 bytes are in files that Kafka did not make (the largest: heap.hprof)"
        in full["K14"].message
    )
    assert full["K14"].remedy is not None
    assert "plan free" in full["K14"].remedy.command


def test_room_is_made_on_the_full_disk_with_all_dirs_of_the_broker_in_sight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the dir of the metadata left out, the plan took every partition for a stray."""
    dirs = [path for name in ("o'ne", "two") for path in clean_dir(tmp_path / name)]
    real = disk.space(str(tmp_path))
    monkeypatch.setattr(disk, "space", lambda path: replace(real, available=0 if "two" in path else 1 << 40))
    (full,) = [finding for finding in found(dirs) if finding.code == "K14"]
    assert full.remedy is not None
    words = shlex.split(full.remedy.command)
    assert words[2:] == ["free", *map(str, dirs), "--on", str(dirs[1]), "--bytes", "1GB", "-o", "plan.json"]


def test_an_input_output_error(tmp_path: Path, monkeypatch) -> None:
    """Whatever file fails, the other checks and partitions are still looked at."""
    dirs = clean_dir(tmp_path)
    (dirs[0] / "t-0" / "partition.metadata").write_bytes(b"")
    bad = str(sorted((dirs[0] / "u-0").glob("*.log"))[1])
    real = disk.FileReader.read_into

    def failing(self, buffer, position):
        if self.path == bad:
            raise Unreadable(bad, "input/output error", 5)
        return real(self, buffer, position)

    monkeypatch.setattr(disk.FileReader, "read_into", failing)
    codes = {finding.code: finding for finding in found(dirs, Level.DEEP)}
    assert {"M02", "K14b"} <= set(codes)
    assert f"{dirs[0]}/{codes['K14b'].file}" == bad


@pytest.mark.parametrize("number", range(6))
def test_a_bad_sector_among_records_that_are_not_looked_at(number: int, tmp_path: Path, monkeypatch) -> None:
    dirs = clean_dir(tmp_path)
    log = sorted((dirs[0] / "u-0").glob("*.log"))[-1]
    record = NewRecord(bytes(300_000), timestamp=1_760_000_000_000)
    batches = [build_batch([record], base_offset=int(log.stem) + each) for each in range(6)]
    log.write_bytes(b"".join(batches))
    bad = sum(map(len, batches[: number + 1])) - 1
    real = os.preadv

    def failing(fd: int, buffers: list[memoryview], position: int) -> int:
        if os.readlink(f"/proc/self/fd/{fd}") == str(log) and position <= bad < position + len(buffers[0]):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(fd, buffers, position)

    monkeypatch.setattr(os, "preadv", failing)
    assert {f"{dirs[0]}/{each.file}" for each in found(dirs) if each.code == "K14b"} == {str(log)}


@pytest.mark.parametrize("name", [".lock", "meta.properties", "meta.properties.tmp", "bootstrap.checkpoint"])
def test_what_is_no_file_at_the_top_of_a_dir_is_told_once(name: str, tmp_path: Path) -> None:
    """A socket as `.lock` took the dir offline (1.1.0) or ended the start (4.3.1)."""
    dirs = clean_dir(tmp_path)
    (dirs[0] / name).unlink(missing_ok=True)
    os.mkfifo(dirs[0] / name)
    told = [finding for finding in found(dirs, Level.STARTUP) if finding.file == name]
    assert [(each.code, each.severity) for each in told] == [("K14b", Severity.ERROR)]


def test_a_start_that_makes_an_index_anew_mends_no_disk(tmp_path: Path, monkeypatch) -> None:
    dirs = clean_dir(tmp_path)
    (dirs[0] / ".kafka_cleanshutdown").unlink()
    (dirs[0] / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    real = disk.FileReader.read_into

    def failing(self, buffer, position):
        if self.path.endswith(".index"):
            raise Unreadable(self.path, "input/output error", 5)
        return real(self, buffer, position)

    monkeypatch.setattr(disk.FileReader, "read_into", failing)
    told = [finding.severity for finding in found(dirs, Level.DEFAULT) if finding.code == "K14b"]
    assert told
    assert set(told) == {Severity.ERROR}


def test_too_many_segments_for_the_kernel(tmp_path: Path) -> None:
    dirs = clean_dir(tmp_path)
    (finding,) = found(dirs, Level.STARTUP, max_map_count=2_001)
    assert (finding.code, finding.severity) == ("K20", Severity.WARNING)
    old = clean_dir(tmp_path / "old")
    with_zookeeper(old)
    (eager,) = found(old, Level.STARTUP, release="2.2", max_map_count=2_001)
    assert eager.severity == Severity.ERROR
    assert not found(dirs, Level.STARTUP, max_map_count=2_014)


def test_the_lock_of_this_test_is_a_record_lock(tmp_path: Path) -> None:
    with broker_on(tmp_path):
        assert disk.lock_state(str(tmp_path / ".lock")).held
    assert not disk.lock_state(str(tmp_path / ".lock")).held
    assert os.path.exists(tmp_path / ".lock")


@pytest.mark.parametrize("live", [False, True])
def test_what_a_running_broker_puts_right_by_itself_is_looked_at_again(live: bool, tmp_path: Path) -> None:
    """A compaction takes the log away, and puts another one in its place."""
    dirs = clean_dir(tmp_path)
    log = sorted((dirs[0] / "t-0").glob("*.log"))[0]
    data = log.read_bytes()
    log.unlink()

    def back(*_: object) -> Iterator[Finding]:
        """In the middle of it, once."""
        log.write_bytes(data)
        yield from ()

    with broker_on(dirs[0]) if live else nullcontext():
        broker = broker_of([LogDir.open(str(path)) for path in dirs], "4.3")
        run = CheckRun(broker)
        (first, *_) = [each for each in run._checks[Scope.PARTITION]]
        run._checks[Scope.PARTITION].append(replace(first, run=back))
        said = [f.code for f in run if f.severity != Severity.INFO]
    assert bool(said) != live


def test_the_manual_and_the_forecast_say_the_same_of_a_full_disk() -> None:
    """4.3.1 ended over one full disk of two: the forecast spoke of the last dir only."""
    said = (" ".join(environment.PAGE.own["K14"].split()), FULL)
    assert all(
        "takes the log dir offline, at the start or after it, or ends the broker" in each for each in said
    )
