"""Batches of a log from some offset on: those before it are passed, whatever lies between them."""

from pathlib import Path

import pytest

from segmend.formats.build import NewRecord, build_batch
from segmend.logdir.log_dir import LogDir
from segmend.merge.rows import iter_rows


@pytest.mark.parametrize("junk", [b"", bytes(100), b"\xff" * 77], ids=["sound", "zeros", "junk"])
@pytest.mark.parametrize("low", [-1, 0, 5, 19, 20, 21, 39, 40])
def test_batches_below_an_offset_are_passed_and_all_others_come(
    tmp_path: Path, junk: bytes, low: int
) -> None:
    batches = [
        build_batch([NewRecord(value=b"v%d" % at) for at in range(first, first + 10)], base_offset=first)
        for first in range(0, 40, 10)
    ]
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(batches[0] + batches[1] + junk + batches[2] + batches[3])
    (partition,) = LogDir.open(str(tmp_path)).partitions
    (segment,) = partition.segments
    assert segment.log is not None
    every = list(iter_rows(segment.log, base_offset=0))
    some = list(iter_rows(segment.log, base_offset=0, low=low))
    assert len(every) == 4
    assert [row for row in some if row.batch.last_offset >= low] == [
        row for row in every if row.batch.last_offset >= low
    ]
    if not junk:
        assert all(row.batch.last_offset >= low for row in some)
