"""Hurt the log dir of a tiered broker and note what it serves: `python -m tests.lab.tiered.record 4.3.1 7`.

The base is `<release>.tar.xz`, what was seen of each trial of the seed `<release>.json`: the offsets that a
client is told a few seconds after the start, of each topic, or why the broker does not start.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from tests.golden.pack import pack
from tests.golden.unpack import unpack
from tests.lab.admin import admin
from tests.lab.broker import Seat, new_cluster_id
from tests.lab.errors import LabError
from tests.lab.releases import Release, release
from tests.lab.tiered.broker import OFTEN, TieredBroker, remote
from tests.lab.tiered.wounds import TOPICS, Trial, drawn, hurt
from tests.waiting import until

HERE = Path(__file__).parent
DIR = "b1/d0"
STORED = "b1/remote"
RECORDS = 6000
CUT = 1500
TIERED = {"remote.storage.enable": "true", "segment.bytes": "1048576", "local.retention.bytes": "1048576"}
SECONDS = 4
"""After the start; the broker looks at remote storage each second."""
PATIENCE = 40


def main(version: str, seed: str) -> None:
    """Write the base if there is none, and play all trials."""
    archive = HERE / f"{version}.tar.xz"
    if not archive.exists():
        with tempfile.TemporaryDirectory() as work:
            _write(release(version), Path(work))
            pack(Path(work), [DIR, STORED], archive)
    seen: dict[str, object] = {"seed": int(seed)}
    for trial in drawn(int(seed)):
        with tempfile.TemporaryDirectory() as work:
            seen[trial.name] = play(release(version), unpack(archive, Path(work)), trial)
            print(trial.name, seen[trial.name], flush=True)
    (HERE / f"{version}.json").write_text(json.dumps(seen, indent=1) + "\n")


def _broker(kind: Release, root: Path, *, used: bool, cluster_id: str | None = None) -> TieredBroker:
    settings = {**OFTEN, **(remote(root / STORED) if used else {})}
    return TieredBroker(kind, root / "b1", Seat(1), log_dirs=1, settings=settings, cluster_id=cluster_id)


def _write(kind: Release, root: Path) -> None:
    with _broker(kind, root, used=True, cluster_id=new_cluster_id()) as broker:
        broker.start()
        client = admin(broker.bootstrap)
        topics = [NewTopic(each, 1, 1, config={} if each == "plain" else TIERED) for each in TOPICS]
        for made in client.create_topics(topics).values():
            made.result(60)
        produce(broker.bootstrap, TOPICS, RECORDS)
        wait_until_local([root / DIR / f"{each}-0" for each in TOPICS[:2]])
        for done in client.delete_records([TopicPartition("cut", 0, CUT)]).values():
            done.result(60)
        time.sleep(SECONDS)
        broker.stop()
    for left in (root / DIR).glob("*/*.deleted"):
        left.unlink()


def produce(bootstrap: str, topics: Sequence[str], records: int) -> None:
    """So many records of a kilobyte to each."""
    producer = Producer({"bootstrap.servers": bootstrap, "batch.size": 20000, "linger.ms": 5, "log_level": 2})
    for number in range(records):
        for topic in topics:
            producer.produce(topic, value=f"{number:06d}".encode() * 170, partition=0)
        if number % 500 == 0:
            producer.flush()
    producer.flush()


def wait_until_local(partitions: Sequence[Path]) -> None:
    """Until all but two segments of each are in remote storage only."""
    until("copies in remote storage", lambda: all(len([*p.glob("*.log")]) <= 2 for p in partitions), 120)


def cluster_of(root: Path) -> str:
    """The cluster id of what lies there."""
    properties = (root / DIR / "meta.properties").read_text().splitlines()
    return next(line.partition("=")[2] for line in properties if line.startswith("cluster.id="))


def play(kind: Release, root: Path, trial: Trial, recorded: object = None) -> object:
    """What is served a few seconds after the start; `recorded` is waited for longer."""
    hurt(trial, root / DIR)
    broker = _broker(kind, root, used=trial.used, cluster_id=cluster_of(root))
    try:
        broker.start()
        time.sleep(SECONDS)
        return until(
            "what was recorded",
            lambda: {topic: offsets(broker.bootstrap, topic) for topic in TOPICS},
            PATIENCE, lambda seen: recorded in (None, seen), every=1, strict=False,
        )  # fmt: skip
    except LabError as refused:
        return str(refused)
    finally:
        broker.kill()
        shutil.rmtree(root / "b1")


def offsets(bootstrap: str, topic: str, words: Callable[[KafkaException], str] = str) -> list[int] | str:
    """The log start and end offset, or why they are not told."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "lab", "log_level": 2})
    try:
        return list(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=20))
    except KafkaException as error:
        return words(error)
    finally:
        consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
