"""`python -m tests.spark.streams --seed N --count N`: streams over a live broker's dirs, beside Spark's own.

Both follow the same drawn life of its topics by the same options, each with a checkpoint of its own:
records written, deleted by retention and by hand, topics deleted and made anew, compacted, grown; and
queries that were killed behind their plan, or whose plan a power cut tore. A line for each round, and one
more where rows differ, or only one query fails.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.connector import connector
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests.golden import acts
from tests.golden.produce import producer
from tests.golden.topics import Topic, create, small_segments
from tests.lab.admin import admin
from tests.lab.cluster import Cluster
from tests.spark.beside_kafka import apart, rows
from tests.spark.standalone import MASTERS, master, quiet_session

QUICK = {
    "log.segment.delete.delay.ms": "300", "log.retention.check.interval.ms": "300",
    "log.initial.task.delay.ms": "300", "log.cleaner.backoff.ms": "200",
    "log.flush.start.offset.checkpoint.interval.ms": "300", "log.flush.offset.checkpoint.interval.ms": "300",
    "log.index.size.max.bytes": "65536",
}  # fmt: skip
PATIENCE = {
    "kafkaConsumer.pollTimeoutMs": "4000", "fetchOffset.numRetries": "1",
    "fetchOffset.retryIntervalMs": "100",
    "kafka.default.api.timeout.ms": "20000", "kafka.request.timeout.ms": "15000",
}  # fmt: skip
COMPACT = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "0"}
ROUNDS = 6
"""Of a story: then other options begin anew."""
QUIET_SECONDS = 1.0
PLAIN, COMPACTED = ("a", "b", "c"), "squeezed"


class Life:
    """What happens to the topics of a live broker."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster, self.draw = cluster, random.Random(seed)
        self.partitions: dict[str, int] = {}
        self.open: list[Producer] = []
        self.number = 0
        for topic in ("a", "b", COMPACTED):
            self.new(topic)

    def new(self, topic: str) -> str:
        settings = small_segments(self.cluster.release) | (COMPACT if topic == COMPACTED else {})
        self.partitions[topic] = self.draw.randint(1, 3)
        create(self.cluster.bootstrap, [Topic(topic, settings, self.partitions[topic])])
        self.writer = producer(self.cluster.bootstrap)  # another one has the partitions of before
        return f"{topic} made with {self.partitions[topic]} partitions"

    def write(self, topic: str, writer: Producer | None = None) -> str:
        """Some batches, also such as begin a segment; of the compacted topic few keys."""
        client, partition = writer or self.writer, self.draw.randrange(self.partitions[topic])
        count, size = self.draw.randint(1, 12), self.draw.choice((10, 100, 900))
        for _ in range(count):
            self.number += 1
            value = f"{self.number} ".encode().ljust(size, b"x")
            client.produce(topic, value, str(self.draw.randrange(4)).encode(), partition)
            if size > 100 or self.draw.random() < 0.4:
                client.flush(30)
        client.flush(30)
        return f"{count} records of {size} into {topic}-{partition}"

    def happen(self) -> str:
        """One thing, in words."""
        topic = self.draw.choice(sorted(self.partitions))
        plain = self.draw.choice([name for name in self.partitions if name != COMPACTED])
        match self.draw.choice(
            ["write"] * 9
            + ["delete records", "retention", "delete", "anew", "anew", "grow", "transaction", "end"]
        ):
            case "delete records":
                return self.delete_records(plain)
            case "retention":
                return self.retention(plain)
            case "delete" if len(self.partitions) > 2:
                return self.delete(plain)
            case "anew":
                said = [self.delete(plain), self.new(plain)]
                said += [self.write(plain) for _ in range(self.draw.choice((0, 1, 6)))]
                return "; ".join(said)
            case "grow":
                missing = [name for name in PLAIN if name not in self.partitions]
                return self.new(missing[0]) if missing else self.grow(plain)
            case "transaction":
                return self.transaction(plain)
            case "end" if self.open:
                with suppress(KafkaException):  # its topic may be gone
                    self.open.pop().commit_transaction(60)
                return "a transaction ended"
        return self.write(topic)

    def delete_records(self, topic: str) -> str:
        partition = self.draw.randrange(self.partitions[topic])
        client = admin(self.cluster.bootstrap)
        end = self.ends(topic)[partition]
        before = self.draw.choice((end, self.draw.randint(0, end)))
        for future in client.delete_records([TopicPartition(topic, partition, before)]).values():
            try:
                future.result(60)
            except Exception as error:  # below where it begins already
                return str(error)
        return f"{topic}-{partition} begins at {before}"

    def ends(self, topic: str) -> list[int]:
        consumer = Consumer({"bootstrap.servers": self.cluster.bootstrap, "group.id": "ends", "log_level": 2})
        ends = [
            consumer.get_watermark_offsets(TopicPartition(topic, each), 30)[1]
            for each in range(self.partitions[topic])
        ]
        consumer.close()
        return ends

    def retention(self, topic: str) -> str:
        for value in ("1", "-1"):
            entry = ConfigEntry("retention.bytes", value, incremental_operation=AlterConfigOpType.SET)
            wanted = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
            client = admin(self.cluster.bootstrap)  # its futures die with it
            for future in client.incremental_alter_configs([wanted]).values():
                future.result(60)
            time.sleep(1)
        return f"retention of {topic}"

    def delete(self, topic: str) -> str:
        acts.delete_topic(self.cluster.bootstrap, topic)
        del self.partitions[topic]
        return f"{topic} deleted"

    def grow(self, topic: str) -> str:
        self.partitions[topic] += 1
        wanted = [NewPartitions(topic, self.partitions[topic])]
        client = admin(self.cluster.bootstrap)
        for future in client.create_partitions(wanted).values():
            future.result(60)
        return f"{topic} has {self.partitions[topic]} partitions"

    def transaction(self, topic: str) -> str:
        client = acts.transactional(self.cluster.bootstrap, f"t{self.number}")
        client.begin_transaction()
        said, end = self.write(topic, client), self.draw.choice(("commit", "abort", "open"))
        if end == "commit":
            client.commit_transaction(60)
        elif end == "abort":
            client.abort_transaction(60)
        else:
            self.open.append(client)
        return f"{said} in a transaction: {end}"

    def settle(self) -> None:
        """Wait until the disk says what the broker knows: both queries shall meet the same."""
        seen, since = None, time.monotonic()
        while time.monotonic() - since < QUIET_SECONDS:
            now = {
                (str(path), path.stat().st_size)
                for each in self.cluster.brokers[0].dirs
                for path in [*each.glob("[abcs]*/*.log"), *each.glob("[abcs]*-delete*")]
                if path.exists()
            }
            if now != seen or any("delete" in path for path, _ in now):
                seen, since = now, time.monotonic()
            time.sleep(0.1)


def options(life: Life, random_: random.Random) -> dict[str, str]:
    """Of the streams of one story."""
    pick, topics = random_.choice, sorted(life.partitions)
    which = pick(("subscribe", "subscribePattern", "subscribePattern", "assign"))
    wanted = (
        topics if which == "subscribePattern" else random_.sample(topics, random_.randint(1, len(topics)))
    )
    named = {topic: [*range(life.partitions[topic])] for topic in wanted}
    chosen = {"subscribe": ",".join(wanted), "subscribePattern": "[a-z]+", "assign": json.dumps(named)}[which]
    found = {which: chosen}
    for name, values, likely in (
        ("startingOffsets", ("earliest", "earliest", "latest", "json"), 0.9),
        ("failOnDataLoss", ("true", "false", "false"), 0.7),
        ("maxOffsetsPerTrigger", ("1", "3", "10", "100"), 0.5),
        ("kafka.isolation.level", ("read_committed", "read_uncommitted"), 0.5),
        ("minPartitions", ("1", "3", "9"), 0.3),
        ("includeHeaders", ("true",), 0.2),
    ):
        if random_.random() < likely:
            found[name] = pick(values)
    if found.get("startingOffsets") == "json":
        ends = {topic: life.ends(topic) for topic in wanted}
        places = {t: {str(p): pick((-1, -2, e, e // 2)) for p, e in enumerate(ends[t])} for t in wanted}
        found["startingOffsets"] = json.dumps(places)
    return found


class Side:
    """One of the two queries: its checkpoint and what it has written."""

    def __init__(
        self, spark: SparkSession, home: Path, form: str, given: Mapping[str, str], path: Any
    ) -> None:
        self.spark, self.home, self.form, self.given, self.path = spark, home, form, dict(given), path

    def run(self, **more: str) -> list[dict[str, Any]] | str:
        """All rows until now, or why it failed."""
        source = self.spark.readStream.format(self.form).options(**{**self.given, **more})
        try:
            query = (
                source.load(self.path).writeStream.format("parquet")
                .options(path=str(self.home / "out"), checkpointLocation=str(self.home / "checkpoint"))
                .trigger(availableNow=True).start()
            )  # fmt: skip
            if not query.awaitTermination(120):
                query.stop()
                return "did not end"
        except (PySparkException, Py4JJavaError) as error:
            if "failed to connect back" in str(error):  # within ten seconds, on a busy machine
                return self.run(**more)
            return str(error)
        return self.rows()

    def rows(self) -> list[dict[str, Any]]:
        written = self.home / "out" / "_spark_metadata"
        return rows(self.spark.read.parquet(str(self.home / "out"))) if any(written.glob("[0-9]*")) else []

    def forget(self) -> None:
        """As who was killed with the last batch planned and nothing of it written."""
        folders = self.home / "checkpoint" / "commits", self.home / "out" / "_spark_metadata"
        # Each tenth file of a sink has all before it, too (`9.compact`): nothing forgets that.
        last = [max(folder.glob("[0-9]*"), key=_number, default=None) for folder in folders]
        if any(path is not None and path.suffix for path in last):
            return
        for path in filter(None, last):
            path.unlink()
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    def has_planned(self) -> bool:
        return any((self.home / "checkpoint" / "offsets").glob("[0-9]*"))

    def tear(self, share: float) -> None:
        """As a power cut leaves the last plan: of its file so much is there."""
        path = max((self.home / "checkpoint" / "offsets").glob("[0-9]*"), key=_number)
        content = path.read_bytes()
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        path.write_bytes(content[: int(len(content) * share)])
        self.torn = path, content

    def heal(self) -> None:
        """The plan as it was."""
        path, content = self.torn
        path.write_bytes(content)


def _number(path: Path) -> int:
    return int(path.stem)


def mishaps(sides: Sequence[Side], random_: random.Random, power: random.Random, said: list[str]) -> bool:
    """What befell both queries since they ran; whether their last plan is torn."""
    if random_.random() < 0.2:
        said.append("the last batch once more")
        for side in sides:
            side.forget()
    if power.random() > 0.15 or not all(map(Side.has_planned, sides)):
        return False
    share = power.choice((0.0, 0.01, 0.3, 0.6, 0.8, 0.9, 0.99))
    said.append(f"the last plan torn at {share}")
    for side in sides:
        side.tear(share)
    return True


def outcomes(sides: Sequence[Side], said: list[str], *, torn: bool) -> list[list[dict[str, Any]] | str]:
    """All rows of either until now, or why it failed; where both did, of another try."""
    told = [side.run() for side in sides]
    if torn and all(isinstance(each, str) for each in told):
        said.append(f"refused ({_why(str(told[0]))[:90]}), whole again")
        for side in sides:
            side.heal()
        told = [side.run() for side in sides]
    if "made anew" in told[0] and not isinstance(told[1], str):  # Spark's own does not know of it
        said.append("made anew")
        told[0] = sides[0].run(failOnDataLoss="false")
    if isinstance(told[0], str) and isinstance(told[1], str):
        said.append("failed; again without")
        told = [side.run(failOnDataLoss="false") for side in sides]
    return told


def stories(life: Life, spark: SparkSession, root: Path, seed: int, count: int) -> Iterator[str]:
    """What differs, by round."""
    random_, dirs = random.Random(seed), f"{life.cluster.root}/b1/d*"
    power = random.Random(f"power {seed}")  # a seed's stories are the same without
    sides: list[Side] = []
    given: dict[str, str] = {}
    for number in range(count):
        if number % ROUNDS == 0 or not sides:
            given = options(life, random_)
            kafka = {**given, **PATIENCE, "kafka.bootstrap.servers": life.cluster.bootstrap}
            sides = [
                Side(spark, root / f"{number}-ours", "kafka-log", given, dirs),
                Side(spark, root / f"{number}-spark", "kafka", kafka, None),
            ]
        said = [life.happen() for _ in range(random_.randint(1, 3))]
        torn = mishaps(sides, random_, power, said)
        life.settle()
        mine, theirs = told = outcomes(sides, said, torn=torn)
        words = [_why(each) if isinstance(each, str) else f"{len(each)} rows" for each in told]
        print(f"# {number}: {'; '.join(said)}: {words[0]}", flush=True)
        if mine == theirs:
            continue
        both = isinstance(mine, str) and isinstance(theirs, str)
        # No option spares the one, and none is there against a busy machine.
        if not both and not re.search("UnknownTopicOrPartition|TimeoutException", words[1]):
            where = "" if isinstance(mine, str) or isinstance(theirs, str) else apart(mine, theirs)
            yield f"{number}: {json.dumps(given)}: ours {words[0]}; Spark's {words[1]} {where}"
        sides = []


def _why(error: str) -> str:
    """The first line, and the last one of a stack of Python's behind it."""
    *_, stack = re.findall(r"^[\w.]*(?:Error|Exception): .*", error, re.MULTILINE) or [""]
    return f"{error.partition(chr(10))[0]} {stack}"


def main(words: list[str]) -> int:
    """1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--on", choices=MASTERS, default=MASTERS[0], help="where Spark runs")
    given = parser.parse_args(words)
    settings = {"spark.jars": connector(), "spark.sql.shuffle.partitions": "1"}
    with (
        tempfile.TemporaryDirectory() as root,
        tempfile.TemporaryDirectory() as home,
        Cluster("4.3.1", Path(root, "k"), settings=QUICK) as cluster,
        master(given.on, Path(home), **settings) as url,
    ):
        cluster.start()
        spark = quiet_session(url)
        differ = Counter[str]()
        for words_ in stories(Life(cluster, given.seed), spark, Path(root), given.seed, given.count):
            differ["rounds"] += 1
            print(words_, flush=True)
        print(f"seed {given.seed}: {given.count} rounds, {differ['rounds']} differ")
        spark.stop()
    return min(differ["rounds"], 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
