"""What the options of a read select, and that no more is read for it than it takes."""

import errno
import json
import lzma
import os
import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.checks.build_partition import PartitionWriter
from tests.conftest import GOLDEN, examples
from tests.faults.on_disk import flip
from tests.fleet.build import mixed, plain, story, three_brokers, write_broker
from tests.fleet.refused import refuse, refuse_files
from tests.fleet.test_tables import Rows, ordered, rows_of
from tests.golden.shared import golden
from tests.traffic import counted

from segmend.errors import SegmendError, UsageError
from segmend.fleet.options import parse_options
from segmend.fleet.summary import summarize_task
from segmend.fleet.tables import open_table, read
from segmend.formats.build import NewRecord, build_batch
from segmend.kernel.scan import ScanTask, scan_log
from segmend.kernel.types import BytesReader, IndexRule
from segmend.logdir.last_stable_offset import last_stable_offset
from segmend.logdir.log_dir import LogDir

TIME = 1_760_000_000_000


def offsets(rows: Rows) -> list[int]:
    """In order: within a partition they come so, but a read may be several tasks."""
    return sorted(row["offset"] for row in rows)


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("timed")
    write_broker(root, 1, [plain("t", 0, batches=300, segment_batches=90)])
    return root


@pytest.mark.slow
@examples(20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    low=st.integers(0, 950), length=st.integers(0, 300), seed=st.integers(0, 9), target=st.integers(500, 9000)
)
def test_a_range_is_what_is_left_of_all_rows_whatever_the_indexes_say(
    timed: Path, tmp_path_factory: pytest.TempPathFactory, low: int, length: int, seed: int, target: int
) -> None:
    """Whatever stands in `.index` and `.timeindex`, a selection gives the rows that a filter would."""
    every = rows_of(timed)
    root = tmp_path_factory.mktemp("lies")
    write_broker(root, 1, [plain("t", 0, batches=300, segment_batches=90)])
    chance = random.Random(seed)
    for file in root.rglob("*index"):
        data = file.read_bytes()
        lies = [data, b"", data[: len(data) // 3], chance.randbytes(len(data)), data[len(data) // 2 :]]
        file.write_bytes(chance.choice(lies))
    high, split = low + length, {"splitBytes": str(target)}
    wanted = [n for n in offsets(every) if low <= n <= high]
    assert offsets(rows_of(root, offsets=f"{low}..{high}", **split)) == wanted
    at = {row["offset"]: row["timestamp"] for row in every}
    since, until = (at[min(each, max(at))] for each in (low, high))
    wanted = [n for n in at if since <= at[n] <= until]
    told = {"since": since.isoformat(), "until": until.isoformat()}
    assert offsets(rows_of(root, **told, **split)) == wanted
    by_time = {"startingTimestamp": str(int(since.timestamp() * 1000))}
    assert offsets(rows_of(root, **by_time)) == [n for n in at if n >= min(n for n in at if at[n] >= since)]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """48 MiB in one segment, a time a batch, the indexes those of a broker."""
    root = tmp_path_factory.mktemp("large")
    file = write_broker(root, 1, [plain("t", 0, batches=1)]) / "t-0/00000000000000000000.log"
    value, log = bytes(15 << 10), bytearray()
    for number in range(3200):
        log += build_batch([NewRecord(value=value, timestamp=TIME + number)], base_offset=number)
    file.write_bytes(log)
    built = scan_log(BytesReader(log), ScanTask(base_offset=0, build=IndexRule())).built
    assert built is not None
    file.with_suffix(".index").write_bytes(built.offset_index)
    file.with_suffix(".timeindex").write_bytes(built.time_index)
    return root


@pytest.mark.parametrize(
    "given",
    [
        {"offsets": "2000..2199"},
        {"startingTimestamp": f"{TIME + 2000}", "endingTimestamp": f"{TIME + 2200}"},
        {"startingOffsets": '{"t":{"0":2000}}', "endingOffsets": '{"t":{"0":2200}}'},
    ],
)
def test_two_hundred_offsets_of_a_large_segment_read_little_more_than_themselves(
    large: Path, given: dict[str, str]
) -> None:
    with counted() as traffic:
        assert offsets(rows_of(large, columns="offset,value", **given)) == list(range(2000, 2200))
    assert traffic.read.total() <= 2 * 200 * (15 << 10)


def test_a_wide_range_ends_where_its_time_does_not(large: Path) -> None:
    assert len(rows_of(large, columns="offset", since=str(TIME + 3000))) == 200


SPARK = {
    "subscribe": ("orders", {"orders"}),
    "subscribePattern": ("o.*s|x", {"orders"}),
    "assign": ('{"orders":[0]}', {"orders"}),
    "topics": ("[oc]*", {"orders", "clicks"}),
}


def test_topics_are_chosen_by_any_of_sparks_names(tmp_path: Path) -> None:
    root = three_brokers(tmp_path)
    for name, (value, topics) in SPARK.items():
        assert {row["topic"] for row in rows_of(root, **{name: value})} == topics, name
    assert {row["partition"] for row in rows_of(root, assign='{"orders":[1]}')} == {1}
    pairs = '{"orders":{"0":%d,"1":%d},"clicks":{"0":%d,"1":%d}}'
    found = rows_of(root, startingOffsets=pairs % (5, -2, 119, 7), endingOffsets=pairs % (9, 1, -1, 8))
    kept = {(row["topic"], row["partition"], row["offset"]) for row in found}
    assert kept == {
        *(("orders", 0, offset) for offset in (5, 6, 7, 8)),
        ("orders", 1, 0),
        ("clicks", 0, 119),
        ("clicks", 1, 7),
    }
    with pytest.raises(UsageError, match="does not name clicks-1"):
        rows_of(root, startingOffsets='{"orders":{"0":5,"1":0},"clicks":{"0":5}}')
    with pytest.raises(UsageError, match="not there, orders-7"):
        rows_of(root, subscribe="orders", endingOffsets='{"orders":{"0":5,"1":0,"7":1}}')
    with pytest.raises(UsageError, match="no record of 9999999999999"):
        rows_of(root, startingTimestamp="9999999999999")


@pytest.mark.parametrize(
    ("pattern", "topics"),
    [
        ("rde", {"orders"}), ("[a-n]", {"orders", "clicks"}), ("^rde", set()), ("^(orders|x)$", {"orders"}),
        ("s$", {"orders", "clicks"}), ("order$", set()), ("c|r", {"orders", "clicks"}),
    ],
)  # fmt: skip
def test_a_pattern_is_found_in_a_name_as_by_spark(pattern: str, topics: set[str], tmp_path: Path) -> None:
    """Of 4.3.1, spark-sql-kafka 4.2.0 reads orders.eu-west_1 for "[a-m].*", broker-snappy for "app"."""
    root = three_brokers(tmp_path)
    assert {row["topic"] for row in rows_of(root, subscribePattern=pattern)} == topics
    assert {row["topic"] for row in rows_of(root, subscribePattern=pattern, table="segments")} == topics


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({"startingOffsets": '{"t":{"0":9}}', "endingOffsets": '{"t":{"0":8}}'}, True),
        ({"startingOffsets": '{"t":{"0":9}}', "endingOffsets": '{"t":{"0":9}}'}, False),
        ({"startingOffsets": '{"t":{"0":9}}', "endingTimestamp": "0"}, True),
        ({"startingOffsets": '{"t":{"0":0}}', "endingTimestamp": "0"}, False),
        ({"startingTimestamp": "1700000001000", "endingOffsets": '{"t":{"0":0}}'}, True),
        ({"startingTimestamp": "1700000001000", "endingTimestamp": "1700000000000"}, True),
        ({"startingTimestamp": "1700000001000", "endingTimestamp": "1700000001000"}, False),
    ],
)
def test_a_read_that_would_end_before_it_begins_is_refused(
    given: dict[str, str], refused: bool, tmp_path: Path
) -> None:
    """Spark throws (RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET); no rows and no word would hide a slip."""
    write_broker(tmp_path, 1, [plain("t", 0)])
    if refused:
        with pytest.raises(UsageError, match=r"t-0 would begin at \d+, behind where it is to end: \d"):
            rows_of(tmp_path, **given)
    else:
        assert rows_of(tmp_path, **given) == []


BY_TIME = "startingOffsetsByTimestamp"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({BY_TIME: '{"t":{"0":1700000001000}}'}, range(3, 120)),
        ({BY_TIME: '{"t":{"0":1700000001001}}'}, range(4, 120)),
        ({BY_TIME: '{"t":{"0":0}}', "endingOffsetsByTimestamp": '{"t":{"0":1700000002000}}'}, range(6)),
        # A time for all wins, then one by partition, then offsets, which nobody looks at any more.
        ({BY_TIME: '{"t":{"0":1700000001000}}', "startingTimestamp": "0"}, range(120)),
        ({BY_TIME: '{"t":{"0":1700000001000}}', "startingOffsets": '{"t":{"0":99}}'}, range(3, 120)),
        (
            {"endingOffsetsByTimestamp": '{"t":{"0":9999999999999}}', "endingOffsets": '{"t":{"0":5}}'},
            range(120),
        ),
        ({BY_TIME: '{"t":{"0":9999999999999}}', f"{BY_TIME}Strategy": "latest"}, range(0)),
        ({"startingTimestamp": "9999999999999", f"{BY_TIME}Strategy": "latest"}, range(0)),
        # -1 and -2 stand for the end and the beginning: Spark hands them on to a broker, which knows them.
        ({"endingTimestamp": "-1"}, range(120)),
        ({"startingTimestamp": "-2", "endingTimestamp": "+1700000001000"}, range(3)),
        ({"startingTimestamp": "-1"}, range(0)),
        ({"endingTimestamp": "-2"}, range(0)),
        ({BY_TIME: '{"t":{"0":-2}}', "endingOffsetsByTimestamp": '{"t":{"0":-1}}'}, range(120)),
        ({BY_TIME: '{"t":{"0":-1}}', "endingOffsets": '{"t":{"0":-1}}'}, range(0)),
        # Numbers are what Java takes for one.
        (
            {"startingOffsets": '{"t":{"-0":7}}', "endingOffsets": '{"t":{"+0":9}}', "minPartitions": "+2"},
            [7, 8],
        ),
        # The earliest is not compared with where a read ends, whatever that is.
        ({"startingOffsets": '{"t":{"0":-2}}', "endingOffsets": '{"t":{"0":0}}'}, range(0)),
    ],
)
def test_times_by_partition_mean_what_they_mean_in_spark(
    given: dict[str, str], expected: range, tmp_path: Path
) -> None:
    write_broker(tmp_path, 1, [plain("t", 0)])
    assert offsets(rows_of(tmp_path, **given)) == [*expected]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({BY_TIME: '{"t":{"1":5}}'}, f"option {BY_TIME} does not name t-0"),
        ({BY_TIME: '{"t":{"0":9999999999999}}'}, f"option {BY_TIME}: t-0 has no record of 9999999999999"),
        (
            {BY_TIME: '{"t":{"0":9}}', "endingOffsetsByTimestamp": '{"t":{"0":8}}'},
            "t-0 would begin at 9, behind the endingOffsetsByTimestamp 8",
        ),
        ({BY_TIME: '{"t":{"0":-3}}'}, "t-0: -3 is no time, nor -1 or -2"),
        ({"endingTimestamp": "-3"}, "-3 is no time, nor -1 or -2"),
        (
            {"startingTimestamp": "-1", "endingOffsets": '{"t":{"0":9}}'},
            "t-0 would begin at 120, behind where",
        ),
        ({BY_TIME: "0"}, "'0' is not of the form"),
        ({f"{BY_TIME}Strategy": "first"}, "'first' is none of error, latest"),
        (
            {
                "startingTimestamp": "9999999999999",
                f"{BY_TIME}Strategy": "latest",
                "endingOffsets": '{"t":{"0":9}}',
            },
            "t-0 would begin at 120, behind where it is to end: 9",
        ),
    ],
)
def test_times_by_partition_that_make_no_sense_are_one_line(
    given: dict[str, str], words: str, tmp_path: Path
) -> None:
    write_broker(tmp_path, 1, [plain("t", 0)])
    with pytest.raises(UsageError, match=re.escape(words)):
        rows_of(tmp_path, **given)


def _old_and_new(root: Path, *, low: int = 0) -> Path:
    """Three segments of 30 offsets; the first one's second batch is the youngest of all by a day."""
    writer = PartitionWriter("t", 0)
    for number in range(30):
        if number and number % 10 == 0:
            writer.roll()
        clock = writer.clock
        writer.clock += 86_400_000 if number == 1 else 0
        writer.append(3)
        writer.clock = clock + 1000
    home = write_broker(root, 1, [writer])
    (home / "log-start-offset-checkpoint").write_text(f"0\n1\nt 0 {low}\n")
    return home / "t-0"


def test_a_time_is_looked_for_in_the_first_segment_that_reaches_it_and_in_no_other(tmp_path: Path) -> None:
    """As seen of Kafka 4.3.1 (`UnifiedLog.searchOffsetInLocalLog`), whatever lies behind it."""
    _old_and_new(tmp_path, low=9)
    with pytest.raises(UsageError, match="has no record of 1700000015000 or later, as a broker looks for it"):
        rows_of(tmp_path, startingTimestamp="1700000015000")
    assert offsets(rows_of(tmp_path, endingTimestamp="1700000015000")) == [*range(9, 90)]
    assert offsets(rows_of(tmp_path, since="1700000015000")) == [*range(45, 90)]
    _old_and_new(tmp_path / "whole", low=0)
    assert offsets(rows_of(tmp_path / "whole", startingTimestamp="1700000015000")) == [*range(3, 90)]


@pytest.mark.parametrize(("changed", "stop"), [(1_600_000_000, 45), (1_800_000_000, 90)])
def test_a_segment_that_compaction_emptied_reaches_as_far_as_its_file_is_young(
    changed: int, stop: int, tmp_path: Path
) -> None:
    """`LogSegment.largestTimestamp`: so a live Kafka 4.3.1 answers for a compacted topic."""
    home = _old_and_new(tmp_path)
    for file in home.glob(f"{0:020d}.*"):
        if file.suffix != ".snapshot":
            file.write_bytes(b"")
    os.utime(home / f"{0:020d}.log", (changed, changed))
    assert offsets(rows_of(tmp_path, endingTimestamp="1700000015000")) == [*range(30, stop)]


def test_internal_topics_are_there_for_who_names_them(tmp_path: Path) -> None:
    write_broker(tmp_path, 1, [plain("t", 0), plain("__consumer_offsets", 0)])
    for options, topics in (
        ({}, {"t"}),
        ({"internal": "true"}, {"t", "__consumer_offsets"}),
        ({"subscribe": "__consumer_offsets"}, {"__consumer_offsets"}),
        ({"topics": "*"}, {"t"}),
        ({"table": "segments"}, {"t", "__consumer_offsets"}),
    ):
        assert {row["topic"] for row in rows_of(tmp_path, **options)} == topics  # type: ignore[arg-type]


def test_one_row_a_record_and_in_their_order(tmp_path: Path) -> None:
    root = three_brokers(tmp_path)
    best, every = rows_of(root), rows_of(root, replicas="all")
    assert len(every) == 3 * len(best) == 1440
    assert {(row["broker"], row["dir"]) for row in every} == {(n, f"{root}/b{n}/data") for n in (1, 2, 3)}
    for topic, partition in {(row["topic"], row["partition"]) for row in best}:
        mine = [r["offset"] for r in best if (r["topic"], r["partition"]) == (topic, partition)]
        assert mine == [*range(120)]


def test_the_best_replica_has_the_newest_epoch_before_it_has_the_most(tmp_path: Path) -> None:
    def behind(writer: object) -> None:
        writer.append(3)  # type: ignore[attr-defined]

    def newer(writer: object) -> None:
        writer.epoch = 5  # type: ignore[attr-defined]
        writer.append(1)  # type: ignore[attr-defined]

    root = three_brokers(tmp_path, edit={1: behind, 2: newer})
    found = rows_of(root, topics="orders", partitions="0", columns="broker,offset,leader_epoch")
    assert {row["broker"] for row in found} == {2}
    assert (max(offsets(found)), max(row["leader_epoch"] for row in found)) == (120, 5)


def test_what_was_deleted_on_one_replica_comes_back_from_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """DeleteRecords reaches every replica, but each writes its checkpoint when it comes to it."""
    for broker, start in ((1, 0), (2, 30), (3, 31), (4, 500)):
        home = write_broker(tmp_path, broker, [plain("t", 0, batches=39 if broker == 3 else 40)])
        if start:
            (home / "log-start-offset-checkpoint").write_text(f"0\n1\nt 0 {start}\n")
    assert offsets(rows_of(tmp_path)) == [*range(31, 120)]
    assert offsets(rows_of(tmp_path, aged="true")) == [*range(120)]
    assert caplog.messages == []
    rows_of(tmp_path, startingOffsets='{"t":{"0":30}}')
    assert caplog.messages == [
        f"kafka-log: {tmp_path}/b1/data/t-0: begins at offset 31, behind the startingOffsets 30"
    ]


@pytest.mark.parametrize("name", [pytest.param("1.1.0-killed", marks=pytest.mark.slow), "4.3.1-clean"])
def test_the_last_stable_offset_is_the_broker_s(name: str) -> None:
    told = json.loads(lzma.decompress((GOLDEN / f"{name}.expected.json.xz").read_bytes()))
    seen = told["restart" if "partitions" in told["restart"] else "before_stop"]["partitions"]
    compared = 0
    for folder in {file.parent.parent for file in golden(name).rglob("*.log")}:
        for partition in LogDir.open(str(folder)).current:
            if partition.name in seen and seen[partition.name].get("last_stable_offset") is not None:
                found = last_stable_offset(partition)
                end = seen[partition.name]["log_end_offset"]
                assert seen[partition.name]["last_stable_offset"] == (end if found is None else found)
                compared += 1
    assert compared > 20


def test_read_committed_leaves_out_what_was_aborted_and_what_is_open(tmp_path: Path) -> None:
    root = mixed(tmp_path)
    every = rows_of(root, columns="offset,producer_id,transactional")
    aborted, first_open = [], None
    for segment in LogDir.open(str(root / "b1/data")).partitions[0].segments:
        assert segment.log is not None
        with segment.log.reader() as reader:
            scan = scan_log(reader, ScanTask(base_offset=segment.base_offset))
        aborted += scan.aborted
        first_open = scan.open_transactions[0].current_txn_first_offset
    assert aborted
    assert first_open is not None
    # Transactions that begin in one segment and end in the next one are not in a scan of one segment.
    dropped = {row["offset"] for row in every if row["producer_id"] == 9 and row["transactional"]}
    kept = offsets(rows_of(root, isolation="read_committed", columns="offset"))
    assert set(kept) <= {offset for offset in offsets(every) if offset < first_open}
    for each in aborted:
        inside = {
            row["offset"]
            for row in every
            if row["producer_id"] == each.producer_id
            and each.first_offset <= row["offset"] <= each.last_offset
        }
        assert inside
        assert inside.isdisjoint(kept)
    assert set(offsets(every)) - set(kept) <= dropped | {n for n in offsets(every) if n >= first_open}
    some = rows_of(root, isolation="read_committed", offsets="5..30", splitBytes="300")
    assert offsets(some) == [offset for offset in kept if 5 <= offset <= 30]
    assert rows_of(root, **{"kafka.isolation.level": "read_committed"}, columns="offset") == [
        {"offset": offset} for offset in kept
    ]


def test_no_row_of_a_transaction_is_committed_whose_end_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be an abort; that nothing is open at the end of the log a snapshot tells."""
    root = mixed(tmp_path)
    segments = LogDir.open(str(root / "b1/data")).partitions[0].segments
    monkeypatch.setattr("segmend.fleet.selection.last_stable_offset", lambda _partition: None)
    committed = set(offsets(rows_of(root, isolation="read_committed", columns="offset")))
    for lost in segments[1:]:
        with monkeypatch.context() as refused:
            refuse_files(refused, str(lost.log.path if lost.log else ""), errno.EIO)
            found = rows_of(root, isolation="read_committed", columns="offset")
        assert committed.issuperset(offsets(found))


def hurt(root: Path) -> Path:
    file = write_broker(root, 1, [plain("t", 0, batches=4)]) / "t-0/00000000000000000000.log"
    flip(file, 100 + file.stat().st_size // 4)
    return file


def test_damage_is_told_by_the_mode(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = hurt(tmp_path)
    good = [0, 1, 2, 6, 7, 8, 9, 10, 11]
    assert offsets(rows_of(tmp_path)) == offsets(rows_of(tmp_path, columns="key,offset")) == good
    assert "1 damaged place cost records (crc-mismatch 1) in t-0" in caplog.text
    told = rows_of(tmp_path, columns="offset,key,_damage,position")
    assert offsets(told) == [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]
    assert [row["offset"] for row in told if row["_damage"]] == [3]
    caplog.clear()
    assert offsets(rows_of(tmp_path, mode="dropmalformed", columns="offset,_damage")) == good
    assert caplog.text == ""
    with pytest.raises(SegmendError, match=rf"{file}: byte \d+: crc-mismatch.*FAILFAST"):
        rows_of(tmp_path, mode="FAILFAST")
    (found,) = rows_of(tmp_path, table="damage")
    assert (found["kind"], found["first_offset"], found["last_offset"]) == ("crc-mismatch", 3, 5)
    assert rows_of(tmp_path, mode="FAILFAST", offsets="6..")


NOWHERE = "on none of these log dirs; no row comes of it"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"subscribe": "t,orders"}, f"orders: {NOWHERE}"),
        ({"assign": '{"t":[0,7]}'}, f"t-7: {NOWHERE}"),
        ({"topics": "t,order*"}, f"order*: {NOWHERE}"),
        ({"brokers": "1,9"}, "broker 9: has none of these log dirs; no row comes of it"),
    ],
)
def test_what_is_named_and_not_there_is_told(
    asked: dict[str, str], told: str, timed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A broker refuses to be asked for it; a name with a slip would give fewer rows, or none, and no word."""
    assert len(rows_of(timed, **asked)) == len(rows_of(timed))
    assert caplog.messages == [f"kafka-log: {told}"]
    with pytest.raises(SegmendError, match=re.escape(f"{told} (mode FAILFAST)")):
        rows_of(timed, mode="FAILFAST", **asked)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"table": "segments", "topics": "order*"}, f"order*: {NOWHERE}"),
        ({"table": "damage", "subscribePattern": "T"}, f"T: {NOWHERE}"),
        (
            {"table": "batches", "partitions": "7"},
            "option partitions: there is none of these in the log dirs",
        ),
        ({"table": "transactions"}, f"__transaction_state: {NOWHERE}"),
    ],
)
def test_a_table_that_is_empty_for_a_slip_says_so(
    asked: dict[str, str], told: str, timed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert rows_of(timed, **asked) == []
    assert [told in message for message in caplog.messages] == [True]


@pytest.mark.parametrize("table", ["records", "segments", "batches", "damage"])
def test_a_partition_that_is_refused_is_told(
    table: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = three_brokers(tmp_path)
    refuse(monkeypatch, "b1/data/orders-0", errno.EACCES)
    assert bool(rows_of(root, table=table)) is (table != "damage")
    told = f"{root}/b1/data/orders-0: permission denied; no row comes from there"
    assert caplog.messages == [f"kafka-log: {told}"]


@pytest.mark.parametrize("table", ["segments", "partitions", "findings", "batches", "damage", "records"])
def test_logs_that_are_refused_are_told(
    table: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Findings that lack a log's, and rows without its numbers, would be an all-clear."""
    log = min((three_brokers(tmp_path) / "b1/data/orders-0").glob("*.log"))
    refuse_files(monkeypatch, f"b1/data/orders-0/{log.name}", errno.EACCES)
    found = rows_of(tmp_path, table=table, **({"replicas": "all"} if table == "records" else {}))
    if table == "damage":
        assert [(row["kind"], row["file"]) for row in found] == [("unreadable", f"orders-0/{log.name}")]
    elif table in ("batches", "records"):
        assert caplog.messages == [
            "kafka-log: 1 damaged place cost records (unreadable 1) in orders-0; the table damage names them"
        ]
    else:
        assert caplog.messages == [f"kafka-log: could not be read with this user's permissions: {log}"]
    if table == "findings":
        assert [(row["code"], row["file"]) for row in found] == [("R07", f"orders-0/{log.name}")]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"startingOffsets": '{"t":{"0":29}}'}, "begins at offset 30, behind the startingOffsets 29"),
        ({"startingOffsets": '{"t":{"0":29}}', "aged": "true"}, None),
        ({"startingOffsets": '{"t":{"0":30}}'}, None),
        ({"startingOffsets": '{"t":{"0":29}}', "startingTimestamp": "0"}, None),
        ({"endingOffsets": '{"t":{"0":120}}'}, None),
        ({"endingOffsets": '{"t":{"0":121}}'}, "ends at offset 120, before the endingOffsets 121"),
        ({"startingOffsets": '{"t":{"0":121}}'}, "ends at offset 120, before the startingOffsets 121"),
        (
            {"startingOffsets": '{"t":{"0":121}}', "minPartitions": "1"},
            "ends at offset 120, before the startingOffsets 121",
        ),
        ({"startingOffsets": '{"t":{"0":121}}', "minPartitions": "2"}, None),
        ({"startingOffsets": '{"t":{"0":121}}', "endingOffsets": '{"t":{"0":121}}'}, None),
    ],
)
def test_offsets_that_are_named_and_gone_are_told(
    asked: dict[str, str], told: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Spark throws over them (`failOnDataLoss`)."""
    home = write_broker(tmp_path, 1, [plain("t", 0)])
    (home / "log-start-offset-checkpoint").write_text("0\n1\nt 0 30\n")
    first = 29 if "aged" in asked else 121 if "121" in str(asked.get("startingOffsets")) else 30
    assert offsets(rows_of(tmp_path, **asked)) == [*range(first, 120)]
    assert caplog.messages == ([] if told is None else [f"kafka-log: {home}/t-0: {told}"])


@pytest.mark.parametrize("table", ["records", "batches"])
def test_segments_that_are_named_and_gone_are_told(
    table: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A broker deletes them at any moment: after they were listed, or after the tasks were planned."""
    home = write_broker(tmp_path, 1, [plain("t", 0), plain("u", 0)]) / "t-0"
    named = {(None, 1, row["topic"], 0, row["segment"]) for row in rows_of(tmp_path, table="segments")}
    bases = sorted(key[4] for key in named if key[2] == "t")
    (home / f"{bases[0]:020d}.log").unlink()
    options = {"table": table} | ({"replicas": "all"} if table == "records" else {})
    works = open_table([str(tmp_path)], parse_options(options), cores=1, only=named)
    told = f"broker 1: t-0/{bases[0]:020d}.log: in none of these log dirs; no row comes of it"
    assert [each for each in caplog.messages if " none of " in each] == [f"kafka-log: {told}"]
    caplog.clear()
    (home / f"{bases[1]:020d}.log").unlink()
    assert {row["topic"] for work in works for some in read(work) for row in some.to_pylist()} == {"t", "u"}
    assert caplog.messages == [
        "kafka-log: 1 log is gone since the read was planned, in t-0; no row comes of what is nowhere else"
    ]
    caplog.clear()
    open_table([str(tmp_path)], parse_options(options | {"topics": "u"}), cores=1, only=named)
    open_table(
        [str(tmp_path)],
        parse_options(options),
        cores=1,
        only=named - {key for key in named if key[4] < bases[2]},
    )
    if table == "records":
        silent = parse_options(options | {"mode": "DROPMALFORMED"})
        open_table([str(tmp_path)], silent, cores=1, only=named)
        strict = parse_options(options | {"mode": "FAILFAST", "topics": "t", "offsets": f"{bases[2]}.."})
        with pytest.raises(SegmendError, match="and 1 other segment: in none of these log dirs"):
            open_table([str(tmp_path)], strict, cores=1, only=named)
    assert " none of " not in caplog.text


@pytest.mark.parametrize("torn", [391, 350, 78, 0])
def test_what_a_torn_log_lacks_comes_once_however_it_is_split(torn: int, tmp_path: Path) -> None:
    """Its index goes on, and it is cut where no batch begins: what others have came twice."""
    for broker in (1, 2):
        write_broker(tmp_path, broker, [story("t", rounds=2)])
    whole = offsets(rows_of(tmp_path))
    log = tmp_path / "b1/data/t-0/00000000000000000054.log"
    os.truncate(log, torn)
    for split in ("1", "300", "2000", "1000000"):
        assert offsets(rows_of(tmp_path, splitBytes=split)) == whole
        works = open_table([str(tmp_path)], parse_options({"splitBytes": split}), cores=2)
        told = [row for work in works for row in summarize_task(work, by_day=False).to_pylist()]
        assert sum(row["records"] for row in told) == len(whole)


def test_what_one_replica_lost_comes_from_another(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Every third batch hurt here, others there, a segment gone: one row a record all the same, in order."""
    root = three_brokers(tmp_path)
    whole = rows_of(root, topics="orders", partitions="0")
    first, second, third = (sorted((root / f"b{n}/data/orders-0").glob("*.log")) for n in (1, 2, 3))
    for number, file in ((0, first[0]), (1, first[0]), (2, second[0]), (3, first[3]), (4, third[3])):
        flip(file, file.stat().st_size // 10 * (number * 2 + 1) + 70)
    for file in (first[1], second[2], third[2]):
        file.unlink()
    for split in ("400", "1000000"):
        found = rows_of(root, topics="orders", partitions="0", splitBytes=split)
        assert ordered(found) == ordered(whole)
    assert rows_of(root, topics="orders", partitions="0", mode="FAILFAST", offsets="20..40") == whole[20:41]
    assert caplog.text == ""
    for file in (second[1], third[1]):
        file.unlink()
    left = offsets(rows_of(root, topics="orders", partitions="0"))
    assert left == [n for n in range(120) if not 30 <= n < 60]
    with pytest.raises(SegmendError, match="missing"):
        rows_of(root, topics="orders", partitions="0", mode="FAILFAST")


def test_a_replica_of_a_topic_that_was_made_anew_is_not_read_in_place_of_it(tmp_path: Path) -> None:
    """One that was away has the newest epoch and the farthest end, and was read, with nothing said."""
    three_brokers(tmp_path)
    old, new = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"
    replicas = sorted(tmp_path.rglob("orders-0"))
    for replica in replicas:
        (replica / "partition.metadata").write_text(f"version: 0\ntopic_id: {new}")
    assert rows_of(tmp_path)
    (replicas[1] / "partition.metadata").write_text(f"version: 0\ntopic_id: {old}")
    words = rf"{re.escape(str(replicas[1]))}: of topic {old}, but .* is of topic {new}, .* leave it out"
    with pytest.raises(UsageError, match=words):
        rows_of(tmp_path)
    assert rows_of(tmp_path, replicas="all")
