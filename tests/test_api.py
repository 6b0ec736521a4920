"""`import segmend`: the same without a process."""

from __future__ import annotations

from pathlib import Path

import pytest

import segmend
from segmend.formats.build import NewRecord, build_batch
from tests.cli.run import python


def data(tmp_path: Path) -> Path:
    (tmp_path / "t-0").mkdir()
    content = build_batch([NewRecord(b"v", key=b"k", timestamp=1_761_955_200_000 + n) for n in range(4)])
    (tmp_path / "t-0" / f"{0:020d}.log").write_bytes(content)
    return tmp_path


def test_from_a_path_to_segments(tmp_path: Path) -> None:
    log_dir = segmend.open(data(tmp_path))
    (partition,) = log_dir.partitions
    (segment,) = partition.segments
    assert isinstance(log_dir, segmend.LogDir)
    assert isinstance(segment, segmend.LogSegment)
    assert (partition.topic, partition.partition) == ("t", 0)
    assert segmend.log_end_offset(partition) == 4


def test_checking(tmp_path: Path) -> None:
    run = segmend.check(segmend.open(data(tmp_path)), kafka="2.2", level=segmend.Level.DEEP)
    codes = [finding.code for finding in run]
    assert all(codes)
    assert run.summary.batches == 1


def test_errors_are_segmends_own(tmp_path: Path) -> None:
    with pytest.raises(segmend.SegmendError, match="no such file"):
        segmend.open(tmp_path / "gone")
    with pytest.raises(segmend.UsageError):
        segmend.check(kafka="7.0")
    with pytest.raises(AttributeError, match="no attribute 'close'"):
        _ = segmend.close


def test_every_public_name_is_there_and_importing_is_light() -> None:
    for name in segmend.__all__:
        assert getattr(segmend, name).__doc__
        assert name in dir(segmend)
    ran = python("-c", "import sys, segmend; print(*sys.modules)")
    assert not [module for module in ran.stdout.split() if module.startswith("segmend.")]
