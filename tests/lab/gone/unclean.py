"""Record what a replica logs that gives up acknowledged records: `python -m tests.lab.gone.unclean 2.8.2`.

Two brokers: one stops, the other takes more records and is killed; the first one leads, uncleanly, and the
other must follow.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.golden.topics import Topic, create, small_segments
from tests.lab.cluster import Cluster
from tests.lab.gone.record import HERE, SETTINGS, told
from tests.memory import MEMORY, prefix

UNCLEAN = {
    **SETTINGS,
    "unclean.leader.election.enable": "true",
    "default.replication.factor": "2",
    "offsets.topic.replication.factor": "1",
    "replica.lag.time.max.ms": "2000",
}


def record(version: str) -> list[str]:
    """What the broker says that was killed, as it comes back."""
    root = Path(tempfile.mkdtemp(prefix=prefix("unclean"), dir=MEMORY))
    try:
        with Cluster(version, root, 2, log_dirs=1, settings=UNCLEAN) as cluster:
            cluster.start()
            time.sleep(5)
            kind, (first, second) = cluster.release, cluster.brokers
            create(cluster.bootstrap, [Topic("given-up", small_segments(kind, 1024))], replicas=2)
            send(producer(cluster.bootstrap), "given-up", events("t", 2, 8))
            second.stop()
            for number in range(2, 6):
                send(producer(first.bootstrap), "given-up", events("t", 1, 8, first=number))
            time.sleep(6)  # the high watermark is written down
            first.kill()
            second.start()
            time.sleep(5)
            send(producer(second.bootstrap), "given-up", events("other", 1, 4))
            first.start()
            time.sleep(8)
            return told(first.lines(), root)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    for version in sys.argv[1:]:
        lines = ["# acknowledged records of given-up-0 are given up", *record(version), ""]
        (HERE / "recorded" / "unclean" / f"{version}.log").write_text("\n".join(lines))
