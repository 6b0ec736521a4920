"""The reader without a JVM: every table, and the same rows however the bytes are cut."""

import os
import pickle
import re
import shutil
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from tests.conftest import examples, golden_params
from tests.faults.on_disk import flip
from tests.fleet.build import mixed, plain, three_brokers, write_broker
from tests.golden.shared import golden

from segmend.errors import SegmendError, UsageError
from segmend.fleet.options import parse_options
from segmend.fleet.schemas import DECODED, TABLES
from segmend.fleet.summary import summarize_task
from segmend.fleet.tables import open_table, read
from segmend.formats.record import Record, decode
from segmend.kernel.scan import iter_batches
from segmend.logdir.log_dir import LogDir

Rows = list[dict[str, Any]]


def rows_of(path: Path, **given: str) -> Rows:
    """All rows, each task pickled as Spark and a process pool would."""
    options = parse_options(given)
    works = pickle.loads(pickle.dumps(open_table([str(path)], options, cores=2)))
    batches = [batch for work in works for batch in read(work)]
    assert all(batch.schema == options.schema for batch in batches)
    return pa.Table.from_batches(batches, schema=options.schema).to_pylist()


def ordered(rows: Rows) -> Rows:
    return sorted(rows, key=lambda r: [r.get(k) or 0 for k in ("broker", "partition", "offset", "position")])


def plain_records(root: Path) -> Iterator[tuple[str, int, Record]]:
    """Every record that a consumer could see, by the plain decoder."""
    for folder in sorted({path.parent.parent for path in root.rglob("*.log")}):
        for partition in LogDir.open(str(folder)).partitions:
            if partition.kind == "current":
                for segment in partition.segments:
                    if segment.log is not None:
                        yield from (
                            (partition.topic, partition.partition, r) for r in segment_records(segment)
                        )


def segment_records(segment: Any) -> Iterator[Record]:
    with segment.log.reader() as reader:
        for batch in iter_batches(reader):
            if not batch.is_control:
                yield from decode(reader.read(batch.size, batch.position), batch)[0]


def headers_of(row: dict[str, Any]) -> list[tuple[str, bytes]]:
    return [(header["key"], header["value"]) for header in row["headers"] or ()]


@pytest.mark.slow
@pytest.mark.parametrize("name", golden_params())
def test_records_of_every_golden_dir_are_those_of_the_plain_decoder(name: str) -> None:
    root = golden(name)
    every = {"aged": "true", "crc": "false", "replicas": "all", "internal": "true"}
    found = rows_of(root, includeHeaders="true", **every)
    # As bags: replicas hold the same records, and which comes first says nothing.
    told = Counter(
        (*map(r.get, ("topic", "partition", "offset", "key", "value", "timestampType")), *headers_of(r))
        for r in found
    )
    assert all(row["headers"] is None or row["headers"] for row in found)
    wanted = Counter(
        (topic, partition, r.offset, r.key, r.value, r.timestamp_type, *map(tuple, r.headers))
        for topic, partition, r in plain_records(root)
    )
    assert told == wanted
    sizes = rows_of(root, columns="offset,key_size,value_size", **every)
    assert Counter((r["offset"], r["key_size"], r["value_size"]) for r in sizes) == Counter(
        (r["offset"], *(-1 if r[side] is None else len(r[side]) for side in ("key", "value"))) for r in found
    )


@pytest.mark.parametrize("table", sorted(TABLES.keys() - DECODED))
def test_every_table_reads_and_says_whose_rows_they_are(tmp_path: Path, table: str) -> None:
    found = rows_of(three_brokers(tmp_path), table=table, columns="")
    if table in ("findings", "damage"):
        assert found == []
        return
    assert found
    if table != "records":  # whose default is one of the replicas
        assert {row["broker"] for row in found} == {1, 2, 3}


def test_the_counts_of_the_tables_agree(tmp_path: Path) -> None:
    root = mixed(tmp_path)
    batches, segments = rows_of(root, table="batches"), rows_of(root, table="segments")
    records = rows_of(root)
    assert len(batches) == sum(row["batches"] for row in segments)
    assert len(records) == sum(row["records"] for row in batches if not row["is_control"])
    ends = [row["log_end_offset"] for row in rows_of(root, table="partitions")]
    assert ends == [max(row["last_offset"] for row in batches) + 1]
    assert {row["kind"] for row in rows_of(root, table="index_entries")} == {"offset", "time", "txn"}


@pytest.fixture(scope="module")
def long_segment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("long")
    write_broker(root, 1, [plain("t", 0, batches=300, segment_batches=290)])
    return root


@pytest.mark.slow
@examples(12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(64, 60_000))
def test_the_same_rows_however_the_segment_is_split(long_segment: Path, target: int) -> None:
    split = {"splitBytes": str(target)}
    assert ordered(rows_of(long_segment, **split)) == ordered(rows_of(long_segment))
    assert len(rows_of(long_segment, table="batches", **split)) == 300


@pytest.mark.parametrize("shift", [-1, 1, 13, 61])
def test_an_index_that_lies_about_boundaries_loses_and_doubles_nothing(tmp_path: Path, shift: int) -> None:
    root = tmp_path
    write_broker(root, 1, [plain("t", 0, batches=300, segment_batches=290)])
    whole = rows_of(root, table="batches")
    file = next(root.rglob("00000000000000000000.index"))
    entries = [(a, b + shift) for a, b in struct.iter_unpack(">ii", file.read_bytes())]
    half = len(entries) // 2
    kept = [(a, b - shift) for a, b in entries[:half]] + entries[half:]
    file.write_bytes(b"".join(struct.pack(">ii", *entry) for entry in kept))
    assert ordered(rows_of(root, table="batches", splitBytes="2000")) == ordered(whole)


def test_offsets_and_times_select(tmp_path: Path) -> None:
    root = mixed(tmp_path)
    everything = rows_of(root)
    some = rows_of(root, offsets="10..20")
    assert [r["offset"] for r in some] == [r["offset"] for r in everything if 10 <= r["offset"] <= 20]
    middle = everything[len(everything) // 2]["timestamp"]
    late = rows_of(root, since=middle.isoformat())
    assert [r["offset"] for r in late] == [r["offset"] for r in everything if r["timestamp"] >= middle]
    early = rows_of(root, until=middle.isoformat())
    both = sum(r["timestamp"] == middle for r in everything)
    assert len(early) + len(late) == len(everything) + both


@pytest.mark.slow
def test_topics_partitions_and_brokers_select(tmp_path: Path) -> None:
    root = three_brokers(tmp_path)
    assert {r["topic"] for r in rows_of(root, topics="ord*")} == {"orders"}
    assert {r["partition"] for r in rows_of(root, partitions="1")} == {1}
    assert len(rows_of(root, replicas="all")) == 3 * len(rows_of(root, brokers="2"))
    assert {r["broker"] for r in rows_of(root, table="findings", brokers="2")} <= {2}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, {1, 2}),
        ({"brokers": "2"}, {2}),
        ({"topics": "t*"}, set()),
        ({"brokers": "2", "topics": "t*"}, set()),
    ],
)
def test_what_a_dir_itself_has_is_told_of_brokers_that_are_asked_for(
    asked: dict[str, str], told: set[int], tmp_path: Path
) -> None:
    for broker in (1, 2):
        (
            write_broker(tmp_path, broker, [plain("t", 0, batches=1)]) / "recovery-point-offset-checkpoint"
        ).write_bytes(b"x")
    assert {row["broker"] for row in rows_of(tmp_path, table="findings", **asked)} == told


def test_records_below_the_log_start_offset_are_aged(tmp_path: Path) -> None:
    writer = plain("t", 0)
    writer.log_start = 7
    write_broker(tmp_path, 1, [writer])
    assert min(r["offset"] for r in rows_of(tmp_path)) == 7
    assert min(r["offset"] for r in rows_of(tmp_path, aged="true")) == 0


def test_a_batch_with_a_wrong_checksum_gives_no_records_unless_asked(tmp_path: Path) -> None:
    data = write_broker(tmp_path, 1, [plain("t", 0, batches=3)])
    file = data / "t-0/00000000000000000000.log"
    flip(file, 100)
    assert [r["offset"] for r in rows_of(tmp_path)] == [3, 4, 5, 6, 7, 8]
    assert len(rows_of(tmp_path, crc="false")) == 9
    assert [r["crc_ok"] for r in rows_of(tmp_path, table="batches", crc="true")] == [False, True, True]
    assert [r["crc_ok"] for r in rows_of(tmp_path, table="batches")] == [None, None, None]
    assert len(rows_of(tmp_path, table="findings", level="deep")) == 1


@examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=300), table=st.sampled_from(sorted(TABLES)))
@example(data=b"cluster.id", table="batches")
def test_whatever_bytes_give_rows_and_never_an_exception(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, table: str
) -> None:
    root = tmp_path_factory.mktemp("any")
    folder = write_broker(root, 1, [plain("t", 0, batches=2)])
    for file in [*folder.rglob("*.log"), *folder.rglob("*index"), folder / "meta.properties"]:
        file.write_bytes(data)
    rows_of(root, table=table)


@pytest.mark.parametrize(("table", "tasks"), [("records", 9), ("batches", 16)])
def test_records_are_read_in_tasks_that_are_large_where_every_core_has_one(
    tmp_path: Path, table: str, tasks: int
) -> None:
    root = write_broker(tmp_path, 1, [plain("t", number, batches=1) for number in range(16)])
    for log in root.rglob("*.log"):
        os.truncate(log, 64 << 20)
    works = open_table([str(root)], parse_options({"table": table}), cores=8)
    assert len(works) == tasks
    assert sum(len(work.ranges) for work in works) == 16
    works = open_table([str(root)], parse_options({"table": table}), cores=16)
    assert len(works) == 16


def test_a_vanished_file_is_fewer_rows(tmp_path: Path) -> None:
    root = three_brokers(tmp_path)
    works = open_table([str(root)], parse_options({}), cores=1)
    for file in (root / "b1").rglob("*.log"):
        file.unlink()
    assert {row["partition"] for work in works for batch in read(work) for row in batch.to_pylist()} == {0, 1}


def away(folder: Path) -> None:
    folder.rename(folder.with_name("away"))


def unmounted(folder: Path) -> None:
    away(folder)
    folder.mkdir()


def of_another_broker(folder: Path) -> None:
    away(folder)
    shutil.copytree(folder.parent.parent / "b2/data", folder)


def of_nobody(folder: Path) -> None:
    (folder / "meta.properties").unlink()


ELSEWHERE = (away, unmounted, of_another_broker, of_nobody)
"""What another machine may have at the path of a log dir."""


@pytest.mark.parametrize("seen", ELSEWHERE)
@pytest.mark.parametrize("table", TABLES)
def test_a_log_dir_that_a_worker_does_not_see_is_refused(
    tmp_path: Path, seen: Callable[[Path], None], table: str
) -> None:
    root = three_brokers(tmp_path)
    write_broker(root, 4, [plain(topic, 0) for topic in DECODED.values()])
    broker = 4 if table in DECODED else 1
    works = open_table([str(root)], parse_options({"table": table}), cores=1)
    seen(root / f"b{broker}/data")
    with pytest.raises(SegmendError, match=rf"b{broker}/data is not on \S+ as it was"):
        list(chain.from_iterable(map(read, works)))


@pytest.mark.parametrize("seen", ELSEWHERE)
def test_a_summary_of_a_log_dir_that_a_worker_does_not_see_is_refused(
    tmp_path: Path, seen: Callable[[Path], None]
) -> None:
    root = three_brokers(tmp_path)
    works = open_table([str(root)], parse_options({"replicas": "all"}), cores=1)
    seen(root / "b1/data")
    with pytest.raises(SegmendError, match=r"b1/data is not on \S+ as it was"):
        list(map(partial(summarize_task, by_day=False), works))


def test_segments_of_one_of_two_clusters_with_the_same_brokers(tmp_path: Path) -> None:
    """`only` is what `segmend.spark.scan` asks for."""
    for name in ("one", "other"):
        write_broker(tmp_path / name, 1, [plain("t", 0)])
    meta = tmp_path / "other/b1/data/meta.properties"
    meta.write_text(re.sub("(?m)^cluster.id=.*", "cluster.id=another", meta.read_text()))

    def logs(cluster: str | None) -> set[str]:
        works = open_table(
            [str(tmp_path)], parse_options({"replicas": "all"}), cores=1, only={(cluster, 1, "t", 0, 30)}
        )
        return {piece.place.path for work in works for piece in work.ranges}

    assert logs("another") == {f"{tmp_path}/other/b1/data"}
    with pytest.raises(UsageError, match="several clusters"):
        logs(None)
    meta.unlink()
    assert logs(None) == {f"{tmp_path}/one/b1/data"}


def test_a_missing_path_is_said_before_any_task(tmp_path: Path) -> None:
    with pytest.raises(SegmendError, match="no such directory"):
        rows_of(tmp_path / "nowhere")
