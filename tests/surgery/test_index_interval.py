"""index.interval.bytes read off the indexes that are sound."""

from pathlib import Path

import pytest
from tests.checks.build_partition import PartitionWriter, write_log_dir
from tests.faults.written import plain

from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.derive.index_interval import interval_of


def written(root: Path, writer: PartitionWriter) -> PartitionDir:
    write_log_dir(root / "a", [writer])
    found = LogDir.open(str(root / "a")).partition(f"{writer.topic}-0")
    assert found is not None
    return found


def many(interval: int) -> PartitionWriter:
    writer = PartitionWriter("t", interval=interval)
    for _ in range(3):
        for number in range(60):
            writer.append(1 + number % 4, size=20 + 17 * (number % 7))
        writer.roll()
    writer.append(1)
    return writer


@pytest.mark.parametrize("interval", [256, 512, 1024, 4096])
def test_the_interval_that_explains_the_entries(interval: int, tmp_path: Path) -> None:
    partition = written(tmp_path, many(interval))
    assert interval_of(partition, partition.base_offsets, None) == interval


def test_what_the_cluster_says_wins_where_nothing_contradicts_it(tmp_path: Path) -> None:
    partition = written(tmp_path, plain("u"))
    assert interval_of(partition, [], 777) == 777
    assert interval_of(partition, [], None) == 4096


def test_what_the_cluster_says_now_was_not_always_so(tmp_path: Path) -> None:
    partition = written(tmp_path, many(512))
    assert interval_of(partition, partition.base_offsets, 65_536) == 512


def test_segments_without_entries_say_nothing(tmp_path: Path) -> None:
    partition = written(tmp_path, many(1 << 20))
    assert interval_of(partition, partition.base_offsets, None) == 4096


def test_another_partition_of_the_topic_tells_it(tmp_path: Path) -> None:
    partition, other = written(tmp_path, many(1 << 20)), written(tmp_path / "other", many(512))
    siblings = [*other.segments]
    assert interval_of(partition, partition.base_offsets, None, siblings) == 512
    assert interval_of(other, other.base_offsets, None, [*partition.segments]) == 512
