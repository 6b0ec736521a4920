"""A base of an upgrade of the message format: `python -m tests.lab.acknowledged.aged 1.1.0 SEED FILE`.

`plain` and `compacted` begin in the format of 0.10.2 (magic 1: no epochs, no headers), and are raised to the
release's own in the middle; a broker is away before that, and others after. Brokers clean as in `cleaned`.

`python -m tests.lab.acknowledged 1.1.0 --base FILE` takes it.
"""

import sys
from pathlib import Path

from confluent_kafka.admin import ConfigResource, ResourceType

from tests.golden.topics import small_segments
from tests.lab.acknowledged.base import COMPACT, Story, make, make_topics
from tests.lab.acknowledged.cleaned import CLEANERS
from tests.lab.admin import admin
from tests.lab.cluster import Cluster

OLD = {"message.format.version": "0.10.2"}


class Aged(Story):
    """See above."""

    @staticmethod
    def prepare(cluster: Cluster) -> None:
        for broker, more in zip(cluster.brokers, CLEANERS, strict=True):
            broker.settings.update(more)

    @staticmethod
    def begin(cluster: Cluster) -> None:
        make_topics(cluster, {name: OLD for name in ("plain", "compacted")})

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__(cluster, seed)
        self.headers = False

    def transactions(self, turn: int) -> None:
        if turn == 1:
            self._raise()
        super().transactions(turn)

    def _raise(self) -> None:
        small = small_segments(self.cluster.release)
        settings = {"plain": small, "compacted": {**small, **COMPACT}}
        resources = [
            ConfigResource(ResourceType.TOPIC, name, set_config=each) for name, each in settings.items()
        ]
        for raised in admin(self.cluster.bootstrap).alter_configs(resources).values():
            raised.result(60)
        self.headers = True


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Aged)
