"""Replicas of a broker that runs: it rolls, deletes and writes its checkpoints while they are read."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.beside import broker_on
from tests.merge.test_diff import batch, broker, told

from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.merge import compared, replicas
from segmend.merge.replicas import read_replica
from segmend.merge.values import Replica


def written(tmp_path: Path, *, mark: int, epochs: str = "5 0") -> Path:
    """Three files of fifty offsets each."""
    log_dir = broker(tmp_path, 1, [batch(first, 5) for first in range(0, 50, 10)], epochs=epochs, mark=mark)
    for base in (50, 100):
        batches = [batch(first, 5) for first in range(base, base + 50, 10)]
        (log_dir / "t-0" / f"{base:020d}.log").write_bytes(b"".join(batches))
    return log_dir


def read(log_dir: Path, *, live: bool, goes: str | None = None) -> Replica:
    """After a file that was listed went."""
    with broker_on(log_dir) if live else nullcontext():
        partition = LogDir.open(log_dir).partitions[0]
        assert partition.segments
        if goes is not None:
            (log_dir / "t-0" / goes).unlink()
        return read_replica(partition, compacted=False)


@pytest.mark.parametrize("live", [False, True])
def test_a_high_watermark_written_after_the_log_was_read(live: bool, tmp_path: Path) -> None:
    log_dir = written(tmp_path, mark=170)
    with broker_on(log_dir) if live else nullcontext():
        code, _, partition = told(log_dir)
    assert (code, partition["missing"]) == ((0, []) if live else (4, [[150, 169]]))


@pytest.mark.parametrize("live", [False, True])
def test_a_file_that_retention_takes_away_before_it_is_read(live: bool, tmp_path: Path) -> None:
    replica = read(written(tmp_path, mark=150), live=live, goes=f"{0:020d}.log")
    assert bool(replica.unreadable) != live
    assert bool(replica.damaged) != live


@pytest.mark.parametrize("left", [None, 0, 100])
def test_an_epoch_file_that_is_behind_the_files_that_are_being_deleted(
    left: int | None, tmp_path: Path
) -> None:
    """What a cleaner left further behind tells nothing of the beginning."""
    log_dir = written(tmp_path, mark=150)
    (log_dir / "t-0" / f"{0:020d}.log").unlink()
    if left is not None:
        (log_dir / "t-0" / f"{left:020d}.log.deleted").touch()
    assert bool(read(log_dir, live=False).damaged) == (left != 0)


def test_a_file_that_goes_between_the_first_and_the_second_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_dir = written(tmp_path, mark=150)
    real = compared.merge

    def merge(*given: Any, **more: Any) -> Any:
        monkeypatch.setattr(compared, "merge", real)
        (log_dir / "t-0" / f"{0:020d}.log").unlink()
        raise Unreadable.nothing_at("the file")

    monkeypatch.setattr(compared, "merge", merge)
    with broker_on(log_dir):
        code, replicas, _ = told(log_dir)
    assert (code, replicas[1]["log_start_offset"]) == (0, 50)


def test_a_file_that_was_rolled_meanwhile_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was listed first does not know it."""
    log_dir, begin = written(tmp_path, mark=150), replicas.begin_runs

    def changing(partition: PartitionDir, **given: Any) -> Any:
        assert partition.segments
        monkeypatch.setattr(replicas, "begin_runs", begin)
        (log_dir / "t-0" / f"{0:020d}.log").unlink()
        (log_dir / "t-0" / f"{150:020d}.log").write_bytes(batch(150, 5))
        return begin(partition, **given)

    monkeypatch.setattr(replicas, "begin_runs", changing)
    with broker_on(log_dir):
        partition = LogDir.open(log_dir).partitions[0]
        replica = replicas.read_replica(partition, compacted=False)
    assert (replica.runs[0].first_offset, replica.runs[-1].last_offset) == (50, 159)
    assert partition.entry(replica.runs[-1].file).size
