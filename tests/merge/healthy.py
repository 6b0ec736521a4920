"""Healthy clusters of three brokers of any release: `diff` finds nothing while they agree, and what is, else.

`python -m tests.merge.healthy [RELEASE...] [--seed N]`. All topics have three replicas: plain ones in several
codecs, of an idempotent and of a transactional producer, compacted ones, and the internal ones. Looked at are
the dirs after all were killed while nothing was written; killed in the middle of a burst, where what differs
is read batch by batch; and stopped in order, after some were away while others were cleaned.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from confluent_kafka import KafkaException, Producer
from tests.cli.run import run
from tests.faults.on_disk import batches_of
from tests.golden.produce import producer
from tests.golden.topics import Topic, codecs, create, small_segments
from tests.lab.acknowledged.base import patiently
from tests.lab.admin import until_all, wait_until_known
from tests.lab.base import QUIET
from tests.lab.cluster import Cluster, until_marks_are_written
from tests.lab.errors import LabError
from tests.lab.releases import RELEASES, Release
from tests.seeds import SEED

SETTINGS = {
    **QUIET,
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "log.cleaner.backoff.ms": "500",
}
COMPACT = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "1"}
OF_ZOOKEEPER = {"zookeeper.session.timeout.ms": "6000"}
CLEANED = 4
"""Seconds in which the cleaner looks several times."""
LEFT_OUT = {"0.8.2.2"}
"""Today's clients cannot make topics there."""


class Story:
    """One cluster, and who writes to it."""

    def __init__(self, cluster: Cluster, draw: Random) -> None:
        self.cluster, self.draw, self.count = cluster, draw, 0
        self.release: Release = cluster.release
        self.topics = [f"plain-{codec}" for codec in codecs(self.release)]
        self.topics += ["compacted", *(["idem", "txn"] if cluster.release.number >= (0, 11) else [])]
        self._kept: list[Producer] = []

    def begin(self) -> None:
        self.cluster.start()
        if self.release.mode != "zookeeper":
            wait_until_known(self.cluster.bootstrap, len(self.cluster.brokers))
        plain, cleaned = (small_segments(self.release, size) for size in (1 << 14, 1 << 11))
        rows = [
            Topic(name, {**cleaned, **COMPACT} if name == "compacted" else plain, self.draw.randrange(1, 4))
            for name in self.topics
        ]
        create(self.cluster.bootstrap, rows, replicas=3)
        self.partitions = {row.name: row.partitions for row in rows}

    def write(self, rounds: int, *, wait: bool = True) -> None:
        """To each topic; without `wait` the last requests may be on their way when it ends."""
        for name in self.topics:
            more: dict[str, object] = {"compression_type": name.partition("-")[2] or "lz4", "linger_ms": 5}
            if name == "idem":
                more["enable_idempotence"] = True
            if name == "txn":
                more["transactional_id"] = f"t{self.count}"
            client = producer(self.cluster.bootstrap, **more)
            if name == "txn":
                self._transactions(client, rounds)
            else:
                for _ in range(rounds):
                    self._produce(client, name)
                    if wait and client.flush(90):
                        raise RuntimeError(f"{name}: not delivered")
            self._kept.append(client)  # one that goes takes along what it has not sent

    def _transactions(self, client: Producer, rounds: int) -> None:
        """One in three is aborted."""
        patiently(lambda: client.init_transactions(60))
        for number in range(rounds):
            client.begin_transaction()
            self._produce(client, "txn")
            (client.abort_transaction if number % 3 == 1 else client.commit_transaction)(60)

    def _produce(self, client: Producer, name: str) -> None:
        for _ in range(self.draw.randrange(1, 20)):
            self.count += 1
            value = b"%d %s" % (self.count, self.draw.randbytes(self.draw.randrange(60)).hex().encode())
            partition = self.draw.randrange(self.partitions[name])
            client.produce(name, value, b"k%d" % self.draw.randrange(20), partition)

    def away(self, turns: int) -> None:
        """One is killed, and comes back to leaders whose epochs began with what is cleaned by then."""
        for _ in range(turns):
            broker = self.draw.choice(self.cluster.brokers)
            broker.kill()
            if self.cluster.zookeeper:
                self.cluster.zookeeper.until_forgotten(broker.seat.node_id)
            self.write(2)
            time.sleep(CLEANED)
            broker.launch()
            broker.wait_ready()
            self.until_in_sync()

    def until_in_sync(self) -> None:
        until_all(self.cluster.bootstrap, lambda now: len(now.isrs) == 3)


def differing(dirs: list[Path]) -> set[str]:
    """Partitions whose replicas have not the same batches; compacted ones are left out."""
    held: dict[str, list[list[tuple[int, int]]]] = {}
    for log_dir in dirs:
        for home in sorted(each for each in log_dir.glob("*-[0-9]*") if each.is_dir()):
            found = list[tuple[int, int]]()
            for log in sorted(home.glob("*.log")):
                found += [(each.base_offset, each.crc) for each in batches_of(log)]
            held.setdefault(home.name, []).append(found)
    return {
        name
        for name, each in held.items()
        if not name.startswith(("compacted", "__"))
        and (any(one != each[0] for one in each) or len(each) != 3)
    }


def compared(story: Story, when: str, *, quiet: bool) -> Iterator[str]:
    """Where diff is wrong about the dirs as they are."""
    dirs = sorted(story.cluster.root.glob("b*/d*"))
    ran = run("diff", *dirs, "--json")
    lines = ran.of("partition")
    unlike = {f"{line['topic']}-{line['partition']}" for line in lines if line["verdict"] != "equal"}
    doubtful = {f"{line['topic']}-{line['partition']}" for line in lines if line["doubts"]}
    real = differing(dirs)
    if quiet and (ran.code or unlike or doubtful or real):
        told = [line for line in lines if f"{line['topic']}-{line['partition']}" in unlike | doubtful]
        yield f"{when}: exit code {ran.code}; truly {sorted(real)}: {json.dumps(told)[:1500]} {ran.err[-99:]}"
    if not quiet and real != {each for each in unlike if not each.startswith(("compacted", "__"))}:
        yield f"{when}: truly {sorted(real)}, said {sorted(unlike)}"
    if len(lines) < sum(story.partitions.values()):
        yield f"{when}: only {len(lines)} partitions"


def play(version: str, seed: int) -> tuple[list[str], int]:
    """What is wrong of one release, and how many partitions differed after the burst."""
    with tempfile.TemporaryDirectory(prefix="healthy-") as work:
        zookeeper = RELEASES[version].mode == "zookeeper"
        settings = SETTINGS | (OF_ZOOKEEPER if zookeeper else {})
        with Cluster(version, Path(work), 3, settings=settings) as cluster:
            story = Story(cluster, Random(f"{seed} {version}"))
            story.begin()
            story.write(6)
            story.until_in_sync()
            until_marks_are_written(cluster)
            for broker in cluster.brokers:
                broker.kill()
            wrong = [*compared(story, "killed", quiet=True)]
            if cluster.zookeeper:
                cluster.zookeeper.until_forgotten()
            cluster.start()
            story.until_in_sync()
            story.write(3)
            story.away(2)
            story.until_in_sync()
            until_marks_are_written(cluster)
            for broker in cluster.brokers:
                broker.ask_to_stop()
            for broker in cluster.brokers:
                broker.stop(timeout=400)
            wrong += compared(story, "stopped", quiet=True)
            cluster.start()
            story.until_in_sync()
            story.write(2, wait=False)
            for broker in cluster.brokers:
                broker.kill()
            burst = len(differing(sorted(cluster.root.glob("b*/d*"))))
            wrong += compared(story, "killed in a burst", quiet=False)
    return wrong, burst


def main(words: list[str]) -> int:
    """Play each; 1 if something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.merge.healthy", description=__doc__)
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args(words)
    bad = 0
    for version in args.releases or [each for each in RELEASES if each not in LEFT_OUT]:
        began = time.monotonic()
        try:
            wrong, burst = play(version, args.seed)
        except (LabError, RuntimeError, KafkaException) as error:
            wrong, burst = [f"not played: {error}"], 0
        bad += bool(wrong)
        print(
            f"{version}: {'wrong' if wrong else 'nothing wrong'}, {burst} differed after the burst, "
            f"{time.monotonic() - began:.0f} s",
            *wrong,
            sep="\n  ",
            flush=True,
        )
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
