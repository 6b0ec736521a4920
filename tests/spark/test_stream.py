"""A stream of growing log dirs: each record once, and what has gone meanwhile is told, drawn and by hand."""

import random
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import InputPartition
from tests.checks.build_partition import PartitionWriter, topic_id, write_log_dir
from tests.fleet.build import plain
from tests.seeds import sampled

from segmend.errors import SegmendError
from segmend.fleet.options import parse_options
from segmend.spark.stream import KafkaLogStream, Offsets

pytestmark = pytest.mark.spark
Key = tuple[str, int]


@pytest.fixture(autouse=True)
def _this_process_is_not_sparks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")


def stream(home: Path, **options: str) -> KafkaLogStream:
    """As the source makes one."""
    given = {"startingOffsets": "earliest", "failOnDataLoss": "true", **options}
    return KafkaLogStream([str(home)], parse_options(given))


def rows(reader: KafkaLogStream, start: Offsets, end: Offsets) -> list[tuple[str, int, int]]:
    return read_of(reader, reader.partitions(start, end))


def read_of(reader: KafkaLogStream, tasks: list[InputPartition]) -> list[tuple[str, int, int]]:
    batches = [batch for task in tasks for batch in reader.read(task)]
    return sorted(
        (row["topic"], row["partition"], row["offset"]) for batch in batches for row in batch.to_pylist()
    )


def write(home: Path, *logs: PartitionWriter, clean: bool = True) -> None:
    shutil.rmtree(home, ignore_errors=True)
    write_log_dir(home, logs, clean=clean)


class Logs:
    """One log dir that a broker, its operator and its retention work on."""

    def __init__(self, home: Path, seed: int) -> None:
        self.home = home
        self.draw = random.Random(seed)
        self.logs: dict[Key, PartitionWriter] = {}
        self.lives: Counter[str] = Counter()
        """How often a topic was made anew."""
        self.made = 0
        self.new("t", 0)

    def new(self, topic: str, partition: int) -> None:
        self.made += 1
        self.logs[topic, partition] = plain(topic, partition, batches=self.draw.randint(0, 6))

    def happen(self, *, anew: bool = True) -> None:
        """Something, and it is on the disk."""
        for _ in range(self.draw.randint(1, 3)):
            self._one(anew=anew)
        write(self.home, *self.logs.values(), clean=self.draw.random() < 0.5)
        for topic, _ in self.logs:
            for path in self.home.glob(f"{topic}-*/partition.metadata") if self.lives[topic] else ():
                path.write_text(f"version: 0\ntopic_id: {topic_id(f'{topic} {self.lives[topic]}')}")

    def _one(self, *, anew: bool) -> None:
        key = self.draw.choice(sorted(self.logs))
        log = self.logs[key]
        match self.draw.choice(["append"] * 8 + ["retain", "delete records", "new", "gone", "anew"]):
            case "append":
                log.append(self.draw.randint(1, 4))
                if self.draw.random() < 0.4:
                    log.roll()
            case "retain":
                log.behead(self.draw.randint(1, 3))
            case "delete records":
                log.log_start = self.draw.randint(log.log_start, log.next_offset)
                log.behead(sum(segment.base <= log.log_start for segment in log.segments[1:]))
            case "new":
                self.new(self.draw.choice("tu"), self.made)  # one that goes does not come again
            case "gone" if len(self.logs) > 1:
                del self.logs[key]
            case "anew" if anew:
                self.lives[key[0]] += 1
                for each in [key for key in self.logs if key[0] == log.topic]:
                    self.new(*each)

    def there(self, start: dict[Key, int], end: dict[Key, int] | None = None) -> list[tuple[str, int, int]]:
        """What is behind those offsets now, as far as `end`."""
        ends = {key: log.next_offset for key, log in self.logs.items()} if end is None else end
        return sorted(
            (*key, offset)
            for key, log in self.logs.items()
            for offset in range(max(log.log_start, start.get(key, 0)), min(log.next_offset, ends.get(key, 0)))
        )

    def lost(self, start: dict[Key, int]) -> bool:
        """Whether something is not there any more that a reader who was at `start` would have got."""
        cut = any(key not in self.logs or self.logs[key].next_offset < at for key, at in start.items())
        late = (log.next_offset > start.get(key, 0) < log.log_start for key, log in self.logs.items())
        return cut or any(late)


def flat(offsets: Offsets) -> dict[Key, int]:
    return {(topic, int(number)): at for topic, ats in offsets.items() for number, at in ats.items()}


@pytest.mark.parametrize("seed", range(sampled(400, 12)))
def test_each_record_comes_once_and_a_loss_is_told(tmp_path: Path, seed: int) -> None:
    logs = Logs(tmp_path / "logs", seed)
    logs.happen()
    at = stream(logs.home).initialOffset()
    for _ in range(12):
        lives = dict(logs.lives)
        logs.happen()
        before = flat(at)
        end = stream(logs.home).latestOffset()
        assert flat(end) == {key: log.next_offset for key, log in logs.logs.items()}
        anew = any(logs.lives[topic] != lives.get(topic, 0) for topic, _ in before)
        if logs.lost(before) or anew:
            for _again in range(2):  # as who starts the query once more
                with pytest.raises(SegmendError, match="failOnDataLoss"):
                    stream(logs.home).partitions(at, end)
            found = rows(stream(logs.home, failOnDataLoss="false"), at, end)
        else:
            found = rows(stream(logs.home), at, end)
        assert found == logs.there(before)
        at = end


@pytest.mark.parametrize("seed", range(sampled(400, 8)))
def test_what_goes_between_the_end_and_the_rows_of_a_batch_is_told_and_holds_nobody_up(
    tmp_path: Path, seed: int
) -> None:
    """Also of a batch that was planned by a query that was killed, and is read by the next one."""
    logs = Logs(tmp_path / "logs", seed)
    logs.happen()
    for _ in range(12):
        at = stream(logs.home).latestOffset()
        logs.happen(anew=False)
        at = stream(logs.home).latestOffset() if logs.lost(flat(at)) else at
        logs.happen(anew=False)
        end, start = stream(logs.home).latestOffset(), flat(at)
        lost, wanted, lives = logs.lost(start), logs.there(start), dict(logs.lives)
        logs.happen()
        anew = any(logs.lives[topic] != lives.get(topic, 0) for topic, *_ in wanted)
        planned = logs.there(start, flat(end))
        found = list[tuple[str, int, int]]()
        with suppress(SegmendError):
            found = rows(stream(logs.home), at, end)
            assert not lost
            assert not anew
            assert found == wanted
        going_on = stream(logs.home, failOnDataLoss="false")
        tasks = going_on.partitions(at, end)
        logs.happen(anew=False)
        found = read_of(going_on, tasks)
        assert len({*found}) == len(found)
        after = logs.there(start, flat(end))
        assert {*planned} & {*after} <= {*found} <= {*planned} | {*after}


@pytest.mark.parametrize("seed", range(6))
def test_batches_are_no_larger_than_asked_for_and_come_to_the_end(tmp_path: Path, seed: int) -> None:
    logs = Logs(tmp_path / "logs", seed)
    logs.happen()
    at, found = stream(logs.home).initialOffset(), list[tuple[str, int, int]]()
    reader = stream(logs.home, maxOffsetsPerTrigger="7", failOnDataLoss="false")
    wanted = logs.there(flat(at))
    reader.prepareForTriggerAvailableNow()
    for _ in range(100):
        end = reader.latestOffset(at, reader.getDefaultReadLimit())
        if end == at:
            break
        batch = rows(reader, at, end)
        assert len(batch) <= 7 + len(logs.logs)  # none starves
        found, at = found + batch, end
        logs.logs[next(iter(logs.logs))].append(2)  # behind the end that was seen at first
        write(logs.home, *logs.logs.values())
    assert sorted(found) == wanted


@pytest.fixture
def growing(tmp_path: Path) -> tuple[Path, PartitionWriter]:
    return tmp_path / "logs", plain("t", 0, batches=4, segment_batches=2)


def test_batches_behind_damage_in_the_active_segment_are_reached(
    growing: tuple[Path, PartitionWriter],
) -> None:
    """A walk from batch to batch ends there: a stream would wait for ever, and tell nothing."""
    home, log = growing
    write(home, log)
    at = stream(home).latestOffset()
    for _ in range(3):
        log.append(3)
    active = log.segments[-1]
    active.log[active.positions[-2] + 16] = 77  # its magic
    del active.index[:]
    write(home, log)
    end = stream(home).latestOffset()
    assert (flat(at), flat(end)) == ({("t", 0): 12}, {("t", 0): 21})
    assert [offset for *_, offset in rows(stream(home), at, end)] == [12, 13, 14, 18, 19, 20]
    with pytest.raises(SegmendError, match="mode FAILFAST"):
        rows(stream(home, mode="FAILFAST"), at, end)


def test_where_a_stream_begins(growing: tuple[Path, PartitionWriter]) -> None:
    home, log = growing
    log.behead(1)
    write(home, log)
    begins = {
        "earliest": 6,
        "latest": 12,
        '{"t":{"0":8}}': 8,
        '{"t":{"0":2}}': 2,
        '{"t":{"0":-2}}': 6,
        '{"t":{"0":-1}}': 12,
    }
    for given, offset in begins.items():
        assert flat(stream(home, startingOffsets=given).initialOffset()) == {("t", 0): offset}, given
    with pytest.raises(SegmendError, match="begins at offset 6, behind the startingOffsets 2"):
        stream(home).partitions({"t": {"0": 2}}, {"t": {"0": 12}})
    time = str(log.clock - 2000)
    assert flat(stream(home, startingTimestamp=time).initialOffset()) == {("t", 0): 6}
    with pytest.raises(SegmendError, match="nowhere: on none of these log dirs"):
        stream(home, subscribe="nowhere").initialOffset()
    for given in ("earliest", "{}", '{"t":{}}'):
        assert stream(home, subscribePattern="nowhere", startingOffsets=given).initialOffset() == {}
    with pytest.raises(SegmendError, match="startingOffsets does not name t-0"):
        stream(home, startingOffsets="{}").initialOffset()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"table": "batches"}, "no other table"),
        ({"replicas": "all"}, "replicas=all"),
        ({"endingOffsets": '{"t":{"0":8}}'}, "a stream has no end"),
        ({"endingOffsets": "latest"}, "a stream has no end"),
        ({"endingTimestamp": "7"}, "a stream has no end"),
    ],
)
def test_what_is_no_stream_is_said(tmp_path: Path, options: dict[str, str], said: str) -> None:
    reader = KafkaLogStream([str(tmp_path)], parse_options(options))
    for ask in (reader.initialOffset, reader.latestOffset):
        with pytest.raises(SegmendError, match=said):
            ask()


def test_a_query_goes_on_from_its_checkpoint_and_ends_where_records_have_gone(
    spark: SparkSession, growing: tuple[Path, PartitionWriter], tmp_path: Path
) -> None:
    home, log = growing

    def run(**options: str) -> list[int]:
        source = spark.readStream.format("kafka-log").options(startingOffsets="earliest", **options)
        query = (
            source.load(str(home)).writeStream.format("parquet")
            .options(path=str(tmp_path / "out"), checkpointLocation=str(tmp_path / "checkpoint"))
            .trigger(availableNow=True).start()
        )  # fmt: skip
        query.awaitTermination()
        found: Any = spark.read.parquet(str(tmp_path / "out")).select("offset").toArrow()
        return sorted(found["offset"].to_pylist())

    write(home, log)
    assert run() == list(range(12))
    log.append(3)
    write(home, log)
    assert run() == list(range(15))
    for _ in range(2):
        log.roll()
        log.append(3)
    log.behead(3)
    write(home, log)
    with pytest.raises(PySparkException, match="begins at offset 18, behind the startingOffsets 15"):
        run()
    assert run(failOnDataLoss="false") == [*range(15), *range(18, 21)]
