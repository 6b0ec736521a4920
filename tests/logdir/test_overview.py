"""Log end offsets, times and flags from the ends of segments, by the broker's own rule."""

import os
import struct
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.batch import read_header
from segmend.formats.build import NewRecord, build_batch, render
from segmend.formats.record import iter_records
from segmend.logdir.index_file import last_entry
from segmend.logdir.log_dir import LogDir
from segmend.logdir.overview import dir_overview, log_end_offset, partition_overview, segment_overview
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.tail import last_timestamp, tail

ZERO = "00000000000000000000"
NOW = 1_761_955_200_000


def batches(first: int, last: int, size: int = 5) -> list[bytes]:
    return [
        build_batch(
            [NewRecord(b"v", timestamp=NOW + offset) for offset in range(base, min(base + size, last))],
            base_offset=base,
            leader_epoch=base // 10,
        )
        for base in range(first, last, size)
    ]


def partition(tmp_path: Path, segments: dict[int, bytes], name: str = "t-0") -> PartitionDir:
    root = tmp_path / name
    root.mkdir(exist_ok=True)
    for base, content in segments.items():
        (root / f"{base:020d}.log").write_bytes(content)
    found = LogDir.open(str(tmp_path)).partition(name)
    assert found is not None
    return found


def index(tmp_path: Path, base: int, *entries: tuple[int, int], zeros: int = 0) -> None:
    content = b"".join(struct.pack(">ii", *entry) for entry in entries) + bytes(zeros)
    (tmp_path / "t-0" / f"{base:020d}.index").write_bytes(content)


def test_the_log_end_offset_follows_the_last_batch(tmp_path: Path) -> None:
    found = partition(tmp_path, {0: b"".join(batches(0, 20)), 20: b"".join(batches(20, 33))})
    assert log_end_offset(found) == 33
    overview = partition_overview(found)
    assert (overview.log_start_offset, overview.log_end_offset, overview.segments) == (0, 33, 2)
    assert (overview.oldest_timestamp, overview.newest_timestamp) == (NOW, NOW + 32)
    assert overview.flags == ()
    first, last = (segment_overview(segment) for segment in found.segments)
    assert (first.next_offset, last.next_offset) == (20, 33)
    assert first.flags == ("no-index", "no-timeindex")
    assert last.flags == ("active", "no-index", "no-timeindex")


@pytest.mark.parametrize(
    ("entries", "walked"), [([], 4), ([(9, 1)], 3), ([(9, 1), (14, 2)], 2), ([(9, 1), (19, 3)], 1)]
)
def test_the_walk_begins_at_the_last_index_entry(
    entries: list[tuple[int, int]], walked: int, tmp_path: Path
) -> None:
    parts = batches(0, 20)
    partition(tmp_path, {0: b"".join(parts)})
    index(tmp_path, 0, *((offset, sum(map(len, parts[:number]))) for offset, number in entries), zeros=4000)
    (segment,) = LogDir.open(str(tmp_path)).partitions[0].segments
    end = tail(segment)
    assert (end.next_offset, end.batches, end.unread_bytes) == (20, walked, 0)


@pytest.mark.parametrize("entry", [(5, -3), (-5, 100), (5, 7), (5, 10**9), (2**31 - 1, 2**31 - 1)])
def test_a_senseless_index_entry_sends_the_walk_to_the_beginning(
    entry: tuple[int, int], tmp_path: Path
) -> None:
    found = partition(tmp_path, {0: b"".join(batches(0, 20))})
    index(tmp_path, 0, entry)
    (segment,) = LogDir.open(str(tmp_path)).partitions[0].segments
    assert tail(segment).next_offset == 20
    assert tail(segment).batches == 4
    assert found.segments


def test_bytes_after_the_last_batch_are_told(tmp_path: Path) -> None:
    found = partition(tmp_path, {0: b"".join(batches(0, 10)) + bytes(500)})
    assert partition_overview(found).flags == ("tail?",)
    assert tail(found.segments[0]).unread_bytes == 500


def test_an_empty_active_segment_takes_the_time_of_the_one_before(tmp_path: Path) -> None:
    found = partition(tmp_path, {0: b"".join(batches(0, 10)), 10: b""})
    (tmp_path / "t-0" / f"{ZERO}.timeindex").write_bytes(struct.pack(">qi", NOW + 9, 9) + bytes(120))
    found = LogDir.open(str(tmp_path)).partitions[0]
    overview = partition_overview(found)
    assert (overview.log_end_offset, overview.newest_timestamp) == (10, NOW + 9)


def test_checkpoints_and_flags(tmp_path: Path) -> None:
    partition(tmp_path, {0: b"".join(batches(0, 10))})
    for name, offset in (("replication", 12), ("recovery-point", 3), ("log-start", 11), ("cleaner", 2)):
        words = f"{name}-offset-checkpoint"
        (tmp_path / words).write_text(f"0\n1\nt 0 {offset}\n")
    (tmp_path / "t-0" / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n7 4\n")
    for name in (
        "foo.log",
        "688.log",
        f"{5:020d}.index",
        f"{0:020d}.log.swap",
        "1.log.deleted",
        "1.log.cleaned",
    ):
        (tmp_path / "t-0" / name).touch()
    overview = partition_overview(LogDir.open(str(tmp_path)).partitions[0])
    assert (overview.high_watermark, overview.recovery_point, overview.first_dirty_offset) == (12, 3, 2)
    assert (overview.log_start_offset, overview.leader_epoch) == (11, 7)
    assert set(overview.flags) == {
        "HW<LEO",
        "unparsable",
        "shadowed",
        "orphans",
        "swap",
        "cleaned",
        "deleted",
    }


def test_a_log_that_ends_before_its_start(tmp_path: Path) -> None:
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 50\n")
    overview = partition_overview(partition(tmp_path, {0: b"".join(batches(0, 10))}))
    assert "LEO<start" in overview.flags


def test_partitions_without_segments(tmp_path: Path) -> None:
    overview = partition_overview(partition(tmp_path, {}))
    assert (overview.log_start_offset, overview.log_end_offset, overview.segments) == (None, None, 0)
    assert overview.oldest_timestamp == overview.newest_timestamp == -1


def test_kinds_and_damage_are_flags(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "partition.metadata").write_bytes(b"")
    (tmp_path / f"t-1.{'a' * 32}-future").mkdir()
    overviews = [partition_overview(p) for p in LogDir.open(str(tmp_path)).partitions]
    assert [o.flags for o in overviews] == [("damaged",), ("future",)]


def test_what_a_dir_is(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(
        "version=1\nnode.id=7\ncluster.id=c\ndirectory.id=bIYD0e1QR3-pRnG2ajkm3g\n"
    )
    (tmp_path / ".kafka_cleanshutdown").touch()
    (tmp_path / "lost+found").mkdir()
    overview = dir_overview(LogDir.open(str(tmp_path)))
    assert (overview.node_id, overview.cluster_id) == (7, "c")
    assert overview.directory_id == "bIYD0e1QR3-pRnG2ajkm3g"
    assert overview.clean_shutdown
    assert overview.broker_running is False
    assert overview.foreign == ("lost+found",)
    assert overview.space is not None
    os.unlink(tmp_path / ".kafka_cleanshutdown")
    assert not dir_overview(LogDir.open(str(tmp_path))).clean_shutdown


@examples(40)
@given(used=st.integers(0, 40), zeros=st.integers(0, 40), extra=st.integers(0, 11))
def test_the_last_entry_before_the_zeros_is_found(
    used: int, zeros: int, extra: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """However many entries and zeros, the entry found by halving is the last that is not zero."""
    root = tmp_path_factory.mktemp("index")
    entries = [struct.pack(">qi", NOW + n, n + 1) for n in range(used)]
    (root / "t-0").mkdir()
    (root / "t-0" / f"{ZERO}.timeindex").write_bytes(b"".join(entries) + bytes(12 * zeros + extra))
    file = LogDir.open(str(root)).partitions[0].file(f"{ZERO}.timeindex")
    assert last_entry(file, 12) == ((used - 1, entries[-1]) if entries else None)
    assert last_timestamp(file) == (NOW + used - 1 if used else -1)
    assert last_entry(None, 12) is None


@examples(40)
@given(content=st.binary(max_size=400), garbage=st.binary(max_size=64))
@example(content=b"\1", garbage=b"").via("no whole entry")
@example(content=bytes(12) + b"\1", garbage=b"").via("what makes no entry behind zeros")
def test_no_bytes_make_an_overview_fail(
    content: bytes, garbage: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the files hold, a partition has an overview."""
    root = tmp_path_factory.mktemp("any")
    for name in ("replication-offset-checkpoint", "meta.properties"):
        (root / name).write_bytes(garbage)
    (root / "t-0").mkdir()
    for name in (
        f"{ZERO}.log",
        f"{ZERO}.index",
        f"{ZERO}.timeindex",
        "leader-epoch-checkpoint",
        "quorum-state",
    ):
        (root / "t-0" / name).write_bytes(content)
    log_dir = LogDir.open(str(root))
    assert partition_overview(log_dir.partitions[0]).size == len(content)
    assert segment_overview(log_dir.partitions[0].segments[0]).size == len(content)
    assert dir_overview(log_dir).partitions == 1


@pytest.mark.parametrize(
    ("options", "oldest"),
    [
        ({}, NOW + 5),
        ({"codec": 1}, NOW + 5),
        ({"magic": 1}, NOW + 5),
        ({"magic": 1, "codec": 1}, NOW + 5),
        ({"append_time": NOW + 77}, NOW + 77),
        ({"magic": 0}, -1),
    ],
)
def test_the_oldest_time_is_the_first_records(options: dict[str, int], oldest: int, tmp_path: Path) -> None:
    """In a compressed wrapper of magic 1 too, whose header has the newest time."""
    content = build_batch([NewRecord(b"v", timestamp=NOW + n) for n in (5, 9, 7)], **options)  # type: ignore[arg-type]
    assert partition_overview(partition(tmp_path, {0: b"", 1: content})).oldest_timestamp == oldest


def test_the_oldest_time_under_a_delete_horizon(tmp_path: Path) -> None:
    """The horizon stands where the base timestamp was, and the records count from it."""
    made = build_batch([NewRecord(b"v", timestamp=NOW), NewRecord(None, b"k", timestamp=NOW + 3)])
    header = read_header(made, 0, 0)
    (first, second) = iter_records(made, header, [])
    horizon = header._replace(attributes=header.attributes | 1 << 6, base_timestamp=NOW + 10**6)
    assert render(horizon, [first, second]) != made
    found = partition(tmp_path, {0: render(horizon, [first, second])})
    assert partition_overview(found).oldest_timestamp == NOW
