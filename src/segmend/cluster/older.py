"""What is elected may know less than the logs of other nodes, as `node/older.py` has it of one node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from segmend.cluster.values import Name
from segmend.loading import PartitionOutcome, Service
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.older import newest_epoch

ELECTED = (
    "what the metadata lacks: {} had leaders that it does not know, so it is older than these logs (restored "
    "from a backup?), and neither who was in sync since nor what was acknowledged is told"
)


def epochs_of(broker: BrokerDirs, replicas: Mapping[Name, PartitionOutcome]) -> Iterator[tuple[Name, int]]:
    """The newest leader epoch of each log that the node serves."""
    for log_dir in broker.dirs:
        for partition in log_dir.current:
            line = replicas.get(partition.key)
            if line is not None and line.dir == log_dir.path and line.outcome == Service.SERVED:
                yield partition.key, newest_epoch(partition)
