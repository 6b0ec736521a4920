"""A log is read once for all who ask, and again when it may be another one."""

import os
import time
from pathlib import Path

import pytest
from tests.faults.on_disk import flip

from segmend.formats.build import NewRecord, build_batch
from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.kernel.types import IndexRule
from segmend.logdir import scans
from segmend.logdir.files import FileEntry

NAME = "00000000000000000000.log"
START = 1_761_955_200_000


def batch(base: int, value: bytes = b"v") -> bytes:
    return build_batch([NewRecord(value, timestamp=START + base)], base_offset=base)


@pytest.fixture
def log(tmp_path: Path) -> FileEntry:
    """A log of three batches that was written a while ago."""
    (tmp_path / NAME).write_bytes(b"".join(map(batch, range(3))))
    time.sleep(0.03)
    return FileEntry.at(f"{tmp_path}/{NAME}")


def test_the_second_who_asks_reads_nothing(log: FileEntry, reads: list[int]) -> None:
    assert scans.known_scan(log, base_offset=0) is None
    first = scans.whole_scan(log, base_offset=0)
    assert sum(reads) == log.size
    assert first.crc_checked
    reads.clear()
    assert scans.whole_scan(log, base_offset=0) is first
    assert scans.known_scan(log, base_offset=0) is first
    plain = scans.known_scan(log, base_offset=0, crc=False)
    assert plain is not None
    assert not plain.crc_checked
    assert plain.batches == 3
    assert reads == []


def test_indexes_are_built_for_who_wants_them(log: FileEntry, reads: list[int]) -> None:
    rule = IndexRule(interval=0)
    assert scans.whole_scan(log, base_offset=0).built is None
    built = scans.whole_scan(log, base_offset=0, build=rule).built
    assert built is not None
    assert len(built.offset_index) == 16
    reads.clear()
    assert scans.whole_scan(log, base_offset=0, build=rule).built == built
    assert scans.whole_scan(log, base_offset=0).batches == 3
    assert reads == []
    other = scans.whole_scan(log, base_offset=0, build=IndexRule(interval=1 << 20)).built
    assert other is not None
    assert other.offset_index == b""


def test_a_log_that_changed_is_read_again(log: FileEntry) -> None:
    scans.whole_scan(log, base_offset=0)
    before = os.stat(log.path)
    flip(Path(log.path), -1)
    os.utime(log.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    time.sleep(0.03)
    assert scans.known_scan(log, base_offset=0) is None
    assert dict(scans.whole_scan(log, base_offset=0).problem_counts) == {"crc-mismatch": 1}
    assert scans.known_scan(log, base_offset=0, crc=False) is None, "without checksums nothing is wrong"


def test_a_log_that_changed_just_now_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = FileEntry.at(f"{tmp_path}/{NAME}")
    Path(log.path).write_bytes(batch(0))
    changed = os.stat(log.path).st_ctime_ns
    for later, remembered in ((1_000_000, False), (1_000_000_000, True)):
        monkeypatch.setattr(scans.time, "time_ns", lambda later=later: changed + later)
        scans.whole_scan(log, base_offset=0)
        assert (scans.known_scan(log, base_offset=0) is not None) == remembered


def test_other_producers_are_another_scan(log: FileEntry) -> None:
    state = ProducerStateEntry(producer_id=7, producer_epoch=1, last_offset=5)
    scans.whole_scan(log, base_offset=0)
    found = scans.whole_scan(log, base_offset=0, producers=(state,))
    assert found.producers == (state,)
    assert found.crc_checked
    assert scans.whole_scan(log, base_offset=0).producers == ()


def test_the_oldest_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "LIMIT", 3 * 5000)
    logs = []
    for number in range(4):
        (tmp_path / str(number)).mkdir()
        logs.append(FileEntry.at(f"{tmp_path}/{number}/{NAME}"))
        Path(logs[-1].path).write_bytes(batch(0, b"%d" % number))
    time.sleep(0.03)
    for log in logs:
        scans.whole_scan(log, base_offset=0)
    assert [scans.known_scan(log, base_offset=0) is not None for log in logs] == [False, True, True, True]
