"""`fleet capacity`: rates by the times of batches, days until full, samples encoded again, Kafka's moves."""

import json
import os
import random
import re
import shutil
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.checks.build_partition import PartitionWriter
from tests.cli.run import run as command
from tests.conftest import examples
from tests.fleet.build import write_broker

from segmend.errors import UsageError
from segmend.fleet import capacity_run, disks, evening_out
from segmend.fleet.capacity import (
    COMPACTED,
    GROWS,
    KEPT,
    LIMITED,
    UNKNOWN,
    AllReplicas,
    BrokerMeasured,
    Growth,
    Measured,
    growth_of,
    packed,
)
from segmend.fleet.disks import DiskOfBrokers, days_until
from segmend.fleet.driver import LocalDriver
from segmend.fleet.encoding import FULL_BATCH, advice, encode, plain_of, sample
from segmend.fleet.listing import Place, find_places
from segmend.fleet.options import parse_options
from segmend.fleet.summary import check_clusters, summarize_task
from segmend.fleet.tables import open_table
from segmend.formats.batch import read_header
from segmend.formats.build import NewRecord, build_batch
from segmend.loading.limits import Known, Sources, retention_of
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.overview import partition_overview

HOUR, DAY = 3_600_000, 86_400_000


def hourly(topic: str, hours: int, *, partition: int = 0) -> PartitionWriter:
    """A batch an hour, all of one size."""
    writer = PartitionWriter(topic, partition)
    for hour in range(hours):
        if hour and hour % 20 == 0:
            writer.roll()
        writer.append(3)
        writer.clock += HOUR - 1000
    return writer


def a_day(writer: PartitionWriter) -> float:
    segment = writer.segments[0]
    return 24 * len(segment.log) / len(segment.positions)


def growth(
    folder: Path, *, days: float = 7, topic: dict[str, str] | None = None, known: bool = False
) -> Growth:
    (partition,) = LogDir.open(str(folder)).partitions
    seen = Known(topic=known, dynamic=known, broker=known)
    settings = retention_of(Sources(config=ServerConfig(), topic=topic or {}, known=seen), partition.topic)
    found = partition_overview(partition)
    return growth_of(partition, found, settings, found.newest_timestamp, days)


@pytest.mark.parametrize("hours", [30, 400])
def test_a_rate_is_by_the_times_of_batches_whatever_those_of_files(tmp_path: Path, hours: int) -> None:
    writer = hourly("t", hours)
    folder = write_broker(tmp_path, 1, [writer])
    for file in folder.rglob("*"):
        os.utime(file, (10**9, 10**9))
    found = growth(folder)
    assert found.why == GROWS
    # The first batch of a window counts whole, and an index has not each of them.
    assert found.per_day == pytest.approx(a_day(writer), rel=0.1)
    assert found.net_per_day == found.per_day


def test_a_burst_counts_for_the_days_it_is_in(tmp_path: Path) -> None:
    writer = hourly("t", 24 * 20)
    for _ in range(24 * 7):
        for _ in range(9):
            writer.append(3)
        writer.clock += HOUR - 9000
    folder = write_broker(tmp_path, 1, [writer])
    assert growth(folder).per_day == pytest.approx(9 * a_day(writer), rel=0.1)
    assert 2 * a_day(writer) < (growth(folder, days=27).per_day or 0) < 4 * a_day(writer)


def test_what_holds_a_log_at_its_size(tmp_path: Path) -> None:
    writer = hourly("t", 400)
    writer.behead(2)
    folder = write_broker(tmp_path, 1, [writer])
    kept = growth(folder)
    assert (kept.why, kept.net_per_day) == (KEPT, 0.0)
    assert kept.per_day == pytest.approx(a_day(writer), rel=0.1)
    size = sum(log.stat().st_size for log in folder.rglob("*.log"))
    limited = growth(folder, topic={"retention.bytes": str(size + 1000)})
    assert (limited.why, limited.room) == (LIMITED, 1000)
    by_time = growth(folder, topic={"retention.ms": str(100 * DAY)})
    assert by_time.why == LIMITED
    assert (by_time.room or 0) + size == pytest.approx(100 * a_day(writer), rel=0.1)
    assert growth(folder, topic={"retention.ms": str(DAY)}).why == KEPT
    assert growth(folder, topic={"retention.ms": "-1"}, known=True).why == GROWS
    compacted = growth(folder, topic={"cleanup.policy": "compact"})
    assert (compacted.why, compacted.net_per_day) == (COMPACTED, None)


def test_what_tells_of_no_rate(tmp_path: Path) -> None:
    writer = PartitionWriter("t", 0)
    writer.append(3)
    assert growth(write_broker(tmp_path, 1, [writer])).why == UNKNOWN


RATES = st.lists(st.tuples(st.integers(1, 1000).map(float), st.none() | st.integers(0, 100_000)), max_size=6)


@examples(100)
@given(st.integers(0, 100_000), RATES)
def test_a_disk_is_full_when_what_came_is_what_was_free(
    available: int, growing: list[tuple[float, int | None]]
) -> None:
    def came(days: float) -> float:
        return sum(min(rate * days, float("inf") if room is None else room) for rate, room in growing)

    days = days_until(available, growing)
    if days is None:
        assert came(1e12) < available + 1e-6
    else:
        assert came(days) == pytest.approx(available, abs=1e-3)
        assert days == 0 or came(days * 0.99) < available


def written(folder: Path, codec: int, value: Callable[[int], bytes], *, records: int, batches: int) -> Path:
    """A topic of batches of so many records."""
    data = bytearray()
    for number in range(batches):
        batch = [NewRecord(value=value(number * records + n), timestamp=n) for n in range(records)]
        data += build_batch(batch, base_offset=number * records, codec=codec)
    path = folder / "b1" / "data" / "t-0"
    path.mkdir(parents=True)
    (path / f"{0:020d}.log").write_bytes(data)
    (path.parent / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    return path.parent


def test_a_sample_is_what_these_records_take_in_other_batches(tmp_path: Path) -> None:
    def text(number: int) -> bytes:
        return b'{"user": %d, "page": "/home/of/user/%d", "kind": "click"}' % (number, number)

    log_dir = written(tmp_path, 0, text, records=1, batches=400)
    (partition,) = LogDir.open(str(log_dir)).partitions
    found = sample(partition, 1 << 20)
    assert found is not None
    assert (found.batches, found.records, dict(found.codecs)) == (400, 400, {"none": 400})
    each = [[NewRecord(value=text(n))] for n in range(400)]
    for codec, name in enumerate(found.encoded):
        assert found.encoded[name] == sum(len(build_batch(batch, codec=codec)) for batch in each)
    advised = advice(found)
    assert advised is not None
    assert advised.batches
    assert advised.codec in ("zstd", "gzip")
    # What it promises is about what a producer that waits would have written.
    whole = [NewRecord(value=text(n)) for n in range(400)]
    full = len(build_batch(whole, codec=list(found.joined).index(advised.codec)))
    assert found.joined[advised.codec] == pytest.approx(full, rel=0.35)
    assert found.joined_batches < 400 * 100 / FULL_BATCH + 2
    limited = sample(partition, 5000)
    assert limited is not None
    assert limited.bytes < 6000


def test_what_cannot_be_compressed_gets_no_advice_but_to_leave_it(tmp_path: Path) -> None:
    chance = random.Random(5)
    values = [chance.randbytes(1000) for _ in range(64)]
    for codec, wanted in ((0, None), (3, None)):
        log_dir = written(tmp_path / str(codec), codec, lambda n: values[n], records=16, batches=4)
        (partition,) = LogDir.open(str(log_dir)).partitions
        found = sample(partition, 1 << 20)
        assert found is not None
        assert advice(found) is wanted
        assert found.encoded["none"] <= found.encoded["lz4"] * 1.01


def test_a_batch_that_claims_too_much_is_passed_over() -> None:
    data = build_batch([NewRecord(value=b"x" * 1000)], codec=4)
    batch = read_header(data, 0, 0)
    assert plain_of(batch, data[:61] + b"\xff" * (len(data) - 61)) == b""
    assert encode([(batch, plain_of(batch, data))], 0).batches == 1


NO_GROWTH = Growth(per_day=0.0, net_per_day=0.0, room=None, why=GROWS)


def replica(topic: str, partition: int, broker: int, size: int, name: str = "d0") -> Measured:
    return Measured(
        cluster_id="c", broker=broker, dir=f"/b{broker}/{name}", topic=topic, partition=partition,
        kind="current", bytes=size, allocated=size, oldest_ms=0, newest_ms=0, growth=NO_GROWTH, movable=True,
    )  # fmt: skip


def disk(broker: int, used: int, name: str = "d0", total: int = 10**6) -> DiskOfBrokers:
    return DiskOfBrokers(
        brokers=(broker,), dirs=(f"/b{broker}/{name}",), total=total, used=used, available=total - used
    )


LIMITS: dict[str, Any] = {"spread": 0.05, "reserve": 0, "days": 7.0}


@examples(10)
@given(st.integers(0, 10_000))
def test_moves_between_brokers_keep_every_replica_on_a_broker_of_its_own(seed: int) -> None:
    chance, numbers = random.Random(seed), range(1, 4 + seed % 2)
    replicas, assigned = [], {}
    for partition in range(7):
        # The first brokers have more than their share.
        held = sorted(chance.sample(numbers, 2), key=lambda _: chance.random())
        held = [1, *[b for b in held if b != 1][:1]] if chance.random() < 0.7 else held
        assigned["t", partition] = tuple(held)
        size = chance.randrange(1000, 100_000)
        replicas += [replica("t", partition, broker, size) for broker in held]
    used = {n: sum(r.bytes for r in replicas if r.broker == n) for n in numbers}
    found = evening_out.between_brokers(
        [disk(n, used[n]) for n in numbers], replicas, registered=numbers, **LIMITS
    )
    assert found is not None
    rows, left = evening_out.reassignment(found.moves, assigned)
    assert not left
    after = dict(used)
    for move in found.moves:
        after[move.source] -= move.bytes
        after[move.target] += move.bytes
    assert found.after == tuple(after[n] / 10**6 for n in numbers)
    assert max(found.after) - min(found.after) <= max(max(found.before) - min(found.before), 0.05)
    for row in rows["partitions"]:
        before = assigned[row["topic"], row["partition"]]
        assert len(set(row["replicas"])) == len(before) == len(row["log_dirs"])
        assert sum(a != b for a, b in zip(before, row["replicas"], strict=True)) == 1
        assert set(row["log_dirs"]) == {"any"}


def test_a_replica_list_is_told_whole_or_not_at_all() -> None:
    moves = [
        evening_out.MoveOf(topic="t", partition=n, bytes=1, source=1, target=1, target_dir="/b1/d1")
        for n in range(3)
    ]
    rows, left = evening_out.reassignment(moves, {("t", 0): (2, 1, 3), ("t", 1): (2, 3)})
    assert [move.partition for move in left] == [1, 2]
    assert rows["partitions"] == [
        {"topic": "t", "partition": 0, "replicas": [2, 1, 3], "log_dirs": ["any", "/b1/d1", "any"]}
    ]


def test_an_empty_node_is_a_target_only_where_the_metadata_calls_it_a_broker() -> None:
    replicas = [replica("t", n, broker, 50_000) for n in range(8) for broker in (1, 2)]
    three = [disk(1, 400_000), disk(2, 400_000), disk(3, 0)]
    found = evening_out.between_brokers(three, replicas, registered={1, 2}, **LIMITS)
    assert found is not None
    assert found.names == ("broker 1", "broker 2")
    assert (found.moves, found.passed_over) == ((), ())
    alone = evening_out.between_brokers(three, replicas, registered=(), **LIMITS)
    assert alone is not None
    assert (alone.names, alone.passed_over) == (("broker 1", "broker 2"), (3,))
    found = evening_out.between_brokers(three, replicas, registered={1, 2, 3}, **LIMITS)
    assert found is not None
    assert {move.target for move in found.moves} == {3}
    shared = [replace(three[0], brokers=(1, 2)), three[2]]
    unsaid = evening_out.between_brokers(shared, replicas, registered=(), **LIMITS)
    assert unsaid is not None
    assert unsaid.why_not == "brokers share a disk here"
    nobodys = [*three[:2], replace(three[2], brokers=(-1,))]
    unsaid = evening_out.between_brokers(
        nobodys, [*replicas, replica("u", 0, -1, 10)], registered=(), **LIMITS
    )
    assert unsaid is not None
    assert unsaid.why_not == "nothing tells whose some log dirs are"
    assert evening_out.between_disks([nobodys[2], replace(nobodys[2], dirs=("/e",))], [], **LIMITS) == []


def of_brokers(count: int, partitions: int) -> list[BrokerMeasured]:
    """Each of the partitions is on two of the brokers; all brokers are as full."""
    held: dict[int, list[Measured]] = {number: [] for number in range(count)}
    for number in range(count * partitions // 2):
        for broker in {number % count, (number + 1) % count}:
            held[broker].append(replica(f"t{number % 5}", number, broker, 1000 + number))
    return [
        BrokerMeasured(
            cluster_id="c", broker=broker, at_ms=0, packed=packed(replicas), count=len(replicas), unread=(),
            unsampled=0,
        )
        for broker, replicas in held.items()
    ]  # fmt: skip


def peak(brokers: list[BrokerMeasured]) -> int:
    """Bytes that adding them up takes at most."""
    under = [disk(each.broker, 10**5 * each.broker, total=10**9) for each in brokers]
    tracemalloc.start()
    try:
        disks.disks(under, brokers)
        disks.topics(brokers)
        every = AllReplicas(brokers=tuple(brokers))
        evening_out.between_brokers(under, every, registered=(), **LIMITS)
        evening_out.between_disks(under, every, **LIMITS)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_ten_times_the_brokers_take_little_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a partition its number stays; all replicas as objects would take some 500 bytes each."""
    monkeypatch.setattr(evening_out, "LARGEST", 1)
    few, many = of_brokers(6, 200), of_brokers(60, 200)
    assert peak(many) - peak(few) < 60 * sum(each.count for each in many)
    assert sum(len(each.packed) for each in many) < 60 * sum(each.count for each in many)


@pytest.mark.slow
@pytest.mark.parametrize("largest", [1, 10**6])
def test_the_largest_are_found_however_few_are_tried(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of a fleet's replicas are not tried: then it is said that fewer moves might do."""
    monkeypatch.setattr(evening_out, "LARGEST", largest)
    replicas = [each for broker in of_brokers(3, 60) for each in broker.replicas]
    under = [disk(0, 5 * 10**5), disk(1, 10**5), disk(2, 10**5)]
    full = {0: 0.5, 1: 0.1, 2: 0.1}
    chosen = evening_out._chosen(replicas, full, 50)
    best = {each.partition: each for each in sorted(replicas, key=lambda r: (full[r.broker], r.broker))}
    assert chosen.replicas == sorted(best.values(), key=lambda each: -each.allocated)[:50]
    assert all(len(on) == 2 for on in chosen.others.values())
    assert not chosen.every
    assert evening_out._chosen(replicas, full, 300).every
    found = evening_out.between_brokers(under, replicas, registered=(), **LIMITS)
    assert found is not None
    assert found.after[0] < 0.5


def test_disks_and_searches_name_their_clusters(tmp_path: Path) -> None:
    for name in ("one", "other"):
        for broker in (1, 2):
            data = write_broker(tmp_path / name, broker, [hourly("t", 30)])
            meta = data / "meta.properties"
            meta.write_text(re.sub("(?m)^cluster.id=.*", f"cluster.id={name}", meta.read_text()))
    told = ("fleet", "capacity", tmp_path, "--driver", "local")
    assert "1, 2 of one, other" in (out := command(*told).out)
    assert "between brokers of one: not looked at" in out
    assert "brokers of 2 clusters are on one disk here" in out
    lines = [json.loads(line) for line in command(*told, "--json").out.splitlines()]
    assert [each["cluster_ids"] for each in lines if each["type"] == "disk"] == [["one", "other"]]
    assert [each["cluster_id"] for each in lines if each["type"] == "balance"] == ["one", "other"]
    by = parse_options({"table": "records"})
    works = open_table([str(tmp_path)], by, cores=1)
    with pytest.raises(UsageError, match="by cluster_id, too"):
        check_clusters(("topic",), works)
    check_clusters(("topic", "cluster_id"), works)
    check_clusters(("day",), works)
    (rows, *_) = (summarize_task(work, by_day=False) for work in works)
    assert sorted(zip(rows["cluster_id"].to_pylist(), rows["records"].to_pylist(), strict=True)) == [
        ("one", 90),
        ("other", 90),
    ]


@pytest.fixture
def small_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two brokers, one log dir each on a disk that is small; the first one holds nearly all."""
    monkeypatch.setattr(capacity_run, "RESERVE", 0)
    fleet = tmp_path / "fleet"
    write_broker(fleet, 1, [hourly("t", 300, partition=n) for n in range(4)])
    write_broker(fleet, 2, [hourly("t", 30)])

    def space(place: Place) -> tuple[object, DiskOfBrokers]:
        used = sum(file.stat().st_blocks * 512 for file in Path(place.path).rglob("*") if file.is_file())
        return place.path, DiskOfBrokers(
            brokers=(), dirs=(), total=4 * 10**6, used=used, available=4 * 10**6 - used
        )

    monkeypatch.setattr(disks, "_disk", space)
    return fleet


def test_the_command_from_end_to_end(small_disks: Path) -> None:
    told = ("fleet", "capacity", small_disks, "--driver", "local")
    plain = command(*told)
    assert plain.code == 0
    assert "between brokers: " in plain.out
    assert "grow without a known end" in plain.out
    assert command(*told, "--within", "3000").code == 4
    ran = command(*told, "--json")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    by = {kind: [x for x in lines if x["type"] == kind] for kind in ("disk", "topic", "partition", "balance")}
    first = by["disk"][0]
    assert first["brokers"] == [1]
    assert first["days_until_full"] == pytest.approx(first["available_bytes"] / first["net_bytes_per_day"])
    rates = [x["bytes_per_day"] for x in by["partition"] if x["broker"] == 1]
    assert first["bytes_per_day"] == pytest.approx(sum(rates))
    assert by["topic"][0]["sample"]["partitions"] == 2
    assert lines[-1]["type"] == "summary"
    (balance,) = by["balance"]
    assert balance["moves"]
    # Nobody has told the replicas: no file of moves may forget one.
    silent = command(*told, "--reassign")
    assert (silent.code, json.loads(silent.out)["partitions"]) == (4, [])
    assert "left out" in silent.err
    current = {
        "version": 1,
        "partitions": [{"topic": "t", "partition": n, "replicas": [1]} for n in range(4)],
    }
    known = small_disks.parent / "current.txt"
    known.write_text(
        f"Current partition replica assignment\n{json.dumps(current)}\n\nProposed partition ...\n{{}}"
    )
    moved = command(*told, "--reassign", "--assignment", known)
    rows = json.loads(moved.out)["partitions"]
    assert moved.code == 0
    assert rows
    assert all(row["replicas"] == [2] and row["partition"] != 0 for row in rows)
    known.write_text("nothing")
    assert command(*told, "--reassign", "--assignment", known).code == 16


def test_a_node_without_replicas_is_a_target_or_it_is_said_why_not(
    small_disks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a broker that was just added no word was said, and of what has no room that nothing is to move."""
    shutil.rmtree(small_disks / "b2")
    meta = write_broker(small_disks, 2, []) / "meta.properties"
    told = ("fleet", "capacity", small_disks, "--driver", "local")
    unknown = command(*told)
    assert "between brokers: node 2 is no target, for it has no replica, and no metadata log" in unknown.out
    asked = command(*told, "--reassign")
    assert (asked.code, "one broker has all replicas" in asked.err) == (4, True)
    # With ZooKeeper every node is a broker.
    meta.write_text("version=0\nbroker.id=2\ncluster.id=lAb5pZ9vTWWx4JmKu0o3Ng\n")
    assert re.search(r"between brokers: .* full, then .*, by \d moves", command(*told).out)
    monkeypatch.setattr(capacity_run, "RESERVE", 10**10)
    monkeypatch.setattr("segmend.cli.commands.fleet.capacity.command.RESERVE", 10**10)
    assert "no move brings them closer and leaves 9.3 GiB free where it goes" in command(*told).out
    assert "% full; nothing to move" in command(*told, "--spread", "50%").out


def test_what_could_not_be_seen_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = tmp_path / "fleet"
    write_broker(fleet, 1, [hourly("t", 30)])
    places = find_places([str(fleet)])
    unseen = DiskOfBrokers(brokers=(), dirs=(), total=None, used=None, available=None)
    monkeypatch.setattr(disks, "_disk", lambda place: (place.path, unseen))
    gone = replace(places[0], log_dir_id=1, path=f"{fleet}/b1/gone", unreadable="permission denied")
    found = capacity_run.capacity([*places, gone], LocalDriver(1), days=7, sampled=0, spread=0.05)
    assert found.unread == (f"{fleet}/b1/gone: permission denied",)
    assert all(each.days_until_full is None for each in found.disks)
    assert "the size of the disk was not seen" in found.disks[0].unknown
