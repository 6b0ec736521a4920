"""A replica whose segments several threads read says what one thread reads."""

from pathlib import Path

import pytest
from tests.merge.test_diff import batch, broker
from tests.merge.test_put_back import flipped, hurt

from segmend import threads
from segmend.logdir.log_dir import LogDir
from segmend.merge.replicas import read_replicas
from segmend.threads import slices


def segment(base: int) -> list[bytes]:
    return [batch(first, 5) for first in range(base, base + 50, 10)]


def test_segments_in_several_threads_are_as_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of two batches at the beginning of a file is wrong, the epoch of the files before tells."""
    dirs = []
    for node in range(3):
        log_dir = broker(tmp_path, node, segment(0), epochs="5 0", mark=1000)
        for base in range(50, 1000, 50):
            batches = segment(base)
            batches[1] = flipped(batches[1], 1) if base % 100 else hurt(batches[1])
            (log_dir / "t-0" / f"{base:020d}.log").write_bytes(b"".join(batches))
        dirs.append(LogDir.open(log_dir).partitions[0])
    alone = list(read_replicas(dirs, compacted=False, threads=1))
    monkeypatch.setattr(threads, "SLICE_BYTES", 1)
    for _ in range(5):
        assert list(read_replicas(dirs, compacted=False, threads=4)) == alone
    assert {(each.first_offset, each.last_offset) for each in alone[0].damaged} == {
        (base + 10, base + 19) for base in range(50, 1000, 50)
    }


def test_a_file_is_in_one_slice_and_a_slice_is_large_or_the_last() -> None:
    mib = 1 << 20
    assert list(slices([])) == []
    assert list(slices([100 * mib, 1, 20 * mib, 20 * mib, 3])) == [(0, 1), (1, 4), (4, 5)]
    assert list(slices([0] * 600)) == [(0, 256), (256, 512), (512, 600)]
