"""segmend beside a broker that rolls, retains, compacts, and makes topics anew meanwhile: no false alarms.

`python -m tests.lab.soak 3.9.2 --seconds 120 --seed 7` draws commands, and prints what is not so of what
they said.
"""

import argparse
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException

from tests.cli.run import run
from tests.golden.acts import delete_head, delete_topic, transactional
from tests.golden.produce import producer, send
from tests.golden.records import customers, events
from tests.golden.topics import Topic, create, small_segments
from tests.lab.cluster import Cluster
from tests.lab.errors import LabError
from tests.lab.releases import Release
from tests.removal import remove
from tests.rescue.test_export import table
from tests.waiting import until

SETTINGS = {
    "log.retention.check.interval.ms": "500",
    "log.cleaner.backoff.ms": "200",
    "log.flush.offset.checkpoint.interval.ms": "1000",
    "log.flush.start.offset.checkpoint.interval.ms": "1000",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
}
KEPT, COMES = "kept", "comes"
TRUE_BEFORE_2_0 = "inconsistent range"
"""What a 1.1.0 says that is killed before it deletes what is below a log start offset (played)."""
COMMANDS = {
    "check": ["check"],
    "startup": ["check", "--startup"],
    "deep": ["check", "--deep"],
    "forecast": ["forecast"],
    "diff": ["diff"],
    "rescue": ["rescue", "--topic", KEPT],
    "export": ["export", "--topic", KEPT],
}


def topics(release: Release) -> list[Topic]:
    """Kept for good, retained by size, compacted, both, of transactions, trimmed, deleted and made anew."""
    quick = {**small_segments(release, 16384), "file.delete.delay.ms": "500"}
    compact = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "1500"}
    retained = {"retention.bytes": "65536"}
    rows = {
        KEPT: {}, "retained": retained, "compacted": compact, "txn": {}, "trimmed": {}, COMES: retained,
        "both": {**compact, **retained, "cleanup.policy": "compact,delete"},
    }  # fmt: skip
    return [Topic(name, {**quick, **more}, 2) for name, more in rows.items()]


class Load:
    """What happens to the broker, in threads, until `stop`; `kept` counts the records acknowledged so far."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._bootstrap, self._release = cluster.bootstrap, cluster.release
        self._random = random.Random(seed)
        self._stopped = threading.Event()
        self.kept = 0
        works = (self._produce, self._transact, self._administer)
        self._threads = [threading.Thread(target=self._again, args=(work,)) for work in works]
        for each in self._threads:
            each.start()

    def wait(self) -> None:
        """Until a first record is acknowledged: before, there may be no directory of its topic."""
        until("a first acknowledgement", lambda: self.kept, every=0.01)

    def stop(self) -> None:
        """And wait until all have stopped."""
        self._stopped.set()
        for each in self._threads:
            each.join(60)

    def _again(self, work: Callable[[], Iterator[None]]) -> None:
        while not self._stopped.is_set():
            try:
                for _ in work():
                    if self._stopped.wait(0.02):
                        return
            except (KafkaException, RuntimeError, LabError):
                self._stopped.wait(0.2)  # the topic is being deleted

    def _produce(self) -> Iterator[None]:
        client = producer(self._bootstrap, compression_type="lz4", message_timeout_ms=8000)
        for turn in range(1 << 20):
            send(client, KEPT, events(KEPT, 4, first=turn * 100))
            self.kept += sum(len(batch) for batch in events(KEPT, 4, first=turn * 100))
            for name in ("retained", "trimmed", COMES):
                send(client, name, events(name, 4, first=turn * 100), turn % 2)
            for name in ("compacted", "both"):
                send(client, name, customers(4), turn % 2)
            yield

    def _transact(self) -> Iterator[None]:
        client = transactional(self._bootstrap, "soak")
        for turn in range(1 << 20):
            client.begin_transaction()
            send(client, "txn", events("txn", 3, first=turn * 100), turn % 2)
            (client.commit_transaction if turn % 3 else client.abort_transaction)(10)
            yield

    def _administer(self) -> Iterator[None]:
        (comes,) = (each for each in topics(self._release) if each.name == COMES)
        for _ in range(1 << 20):
            delete_head(self._bootstrap, "trimmed", -1)
            self._stopped.wait(self._random.uniform(0, 1))
            delete_topic(self._bootstrap, COMES)
            self._stopped.wait(self._random.uniform(0, 1))
            create(self._bootstrap, [comes])
            yield


def false_alarms(name: str, ran: Any, kept: int) -> Iterator[object]:
    """What a command said that is not so; of `rescue` also what it left out of what was there before."""
    yield from (row for row in ran.of("finding") if row["severity"] != "info")
    if name == "forecast":
        (broker,) = ran.of("broker")
        killed_now = TRUE_BEFORE_2_0 in str(broker["reason"])
        if not killed_now and (
            broker["outcome"] != "starts" or broker["lost"]["records"] or broker["unserved"]
        ):
            yield broker
    elif name == "diff":  # of a topic that is being made there may be nothing yet
        yield from (
            row for row in ran.of("partition") if row["verdict"] == "damaged" and row["topic"] != COMES
        )
    elif name == "rescue" and (ran.code or ran.of("summary")[0]["records"] < kept):
        yield ran.code, kept, ran.of("summary")
    elif ran.code:
        yield ran.code, ran.err


def exported(lake: Path, kept: int) -> Iterator[str]:
    """What is wrong with the table: a record that is there twice, or was acknowledged before and is not."""
    rows = Counter((row["partition"], row["offset"]) for row in table(lake))
    if len(rows) < kept:
        yield f"{len(rows)} records, and {kept} were acknowledged before"
    yield from (f"{place}: {count} times" for place, count in rows.items() if count > 1)


def soak(version: str, root: Path, *, seconds: float, seed: int) -> tuple[Counter[str], list[str]]:
    """Commands drawn for so long beside a broker of that release: how many of each, and what was wrong."""
    drawn, said = Counter[str](), list[str]()
    with Cluster(version, root / "live", settings=SETTINGS) as cluster:
        cluster.start()
        create(cluster.bootstrap, topics(cluster.release))
        load, choice = Load(cluster, seed), random.Random(seed)
        try:
            load.wait()
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                name, kept = choice.choice([*COMMANDS]), load.kept
                # Exports go on where the one before them ended.
                place = root / (f"out-{drawn.total()}" if name == "rescue" else "lake")
                out = ["--out", place] if name in ("rescue", "export") else []
                ran = run(*COMMANDS[name], *cluster.brokers[0].dirs, *out, "--json")
                if name == "export":
                    said += (f"{name} #{drawn.total()}: {each}" for each in exported(place, kept))
                said += (f"{name} #{drawn.total()}: {each}" for each in false_alarms(name, ran, kept))
                drawn[name] += 1
        finally:
            load.stop()
    return drawn, said


def main(arguments: Sequence[str] | None = None) -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    root = Path(tempfile.mkdtemp(prefix="segmend-soak-", dir="/var/tmp"))
    try:
        drawn, said = soak(asked.version, root, seconds=asked.seconds, seed=asked.seed)
    finally:
        remove(root)
    print(*said, f"{dict(drawn)}: {len(said)} false alarms", sep="\n")


if __name__ == "__main__":
    main()
