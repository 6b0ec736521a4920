"""Two replicas of a topic that only server.properties makes compacted; `write("4.3.1")` records them.

Broker 1 cleaned its replica again and again, tombstones, too; broker 2 runs without a cleaner.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

from tests.golden.pack import pack
from tests.golden.produce import producer
from tests.golden.topics import Topic, create, small_segments
from tests.lab.base import QUIET
from tests.lab.cluster import Cluster

ARCHIVE = Path(__file__).with_name("by-default.tar.xz")
SETTINGS = {
    **QUIET,
    "default.replication.factor": "2",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.delete.retention.ms": "1",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleanup.policy": "compact",
    "log.segment.delete.delay.ms": "1000",
}
NAMES = ("bydefault", "own")


def write(version: str) -> None:
    """Keys that come again and again and are deleted; `own` has the policy delete."""
    draw = random.Random(7)
    with (
        tempfile.TemporaryDirectory() as work,
        Cluster(version, Path(work), brokers=2, log_dirs=1, settings=SETTINGS) as cluster,
    ):
        cluster.brokers[1].settings = {**SETTINGS, "log.cleaner.enable": "false"}
        cluster.start()
        small = small_segments(cluster.release)
        policies = ({}, {"cleanup.policy": "delete"})
        topics = [Topic(name, {**small, **own}) for name, own in zip(NAMES, policies, strict=True)]
        create(cluster.bootstrap, topics, replicas=2)
        client = producer(cluster.bootstrap, linger_ms=0)
        for number in range(400):
            key = b"k%d" % draw.randrange(25)
            value = None if draw.random() < 0.25 else b"%d %s" % (number, b"x" * draw.randrange(120))
            for name in NAMES:
                client.produce(name, value, key, 0)
            client.flush(30)
            if number % 100 == 50:
                time.sleep(3)
        time.sleep(8)
        cluster.stop()
        pack(cluster.root, ["b1/d0", "b2/d0"], ARCHIVE)


if __name__ == "__main__":
    write(sys.argv[1])
