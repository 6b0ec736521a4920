"""Record what brokers have some time before they are killed, and then: `python -m tests.lab.backups 4.3.1`.

Three nodes, each broker and voter. Copies of their dirs, while they run, are in `old`; `b*` have records
more, acknowledged by all in-sync replicas before all were killed. It goes to `tests/lab/backups/`.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from tests.copies import copy_tree
from tests.golden.pack import pack
from tests.golden.produce import producer
from tests.golden.topics import Topic, create
from tests.lab.admin import wait_until_known
from tests.lab.base import QUIET
from tests.lab.cluster import Cluster

HERE = Path(__file__).with_suffix("")
SETTINGS = {**QUIET, "default.replication.factor": "3", "offsets.topic.replication.factor": "3"}
NODES, THRICE, ONCE = (1, 2, 3), "thrice", "once"
SINCE = 25
"""Seconds from the copies to the kill: the high watermarks are written every 5 s."""


def write(cluster: Cluster, turn: int) -> list[tuple[str, int, str]]:
    """Some records in every partition; which offsets were acknowledged."""
    told = list[tuple[str, int, str]]()
    client = producer(cluster.bootstrap)
    for topic in (THRICE, ONCE):
        for number in range(9):
            value = f"{topic} {turn} {number}"
            client.produce(
                topic, value.encode(), partition=number % 3,
                on_delivery=lambda error, record: told.append(
                    (f"{record.topic()}-{record.partition()}", record.offset(), record.value().decode())
                ),
            )  # fmt: skip
    assert client.flush(60) == 0
    return told


def make(version: str, into: Path) -> None:
    """The cluster's story, its dirs, and what was acknowledged."""
    with (
        tempfile.TemporaryDirectory() as work,
        Cluster(version, Path(work), 3, log_dirs=1, settings=SETTINGS) as cluster,
    ):
        cluster.start()
        wait_until_known(cluster.bootstrap, len(NODES))
        create(cluster.bootstrap, [Topic(THRICE, {}, 3)], replicas=3)
        create(cluster.bootstrap, [Topic(ONCE, {}, 3)], replicas=1)
        told = write(cluster, 1)
        time.sleep(7)
        for node in NODES:
            copy_tree(Path(work) / f"b{node}" / "d0", into / "old" / f"b{node}" / "d0")
        time.sleep(SINCE - 12)
        told += write(cluster, 2)
        time.sleep(7)
        cluster.kill()
        for node in NODES:
            copy_tree(Path(work) / f"b{node}" / "d0", into / f"b{node}" / "d0")
    (into / "acknowledged.json").write_text(json.dumps(sorted(told)))


def main(version: str) -> None:
    """Record it."""
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        make(version, Path(work))
        pack(Path(work), [each.name for each in Path(work).iterdir()], HERE / f"{version}.tar.xz")


if __name__ == "__main__":
    main(*sys.argv[1:])
