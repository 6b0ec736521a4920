"""A base of an upgrade: `python -m tests.lab.acknowledged.aged OLD NEW SEED FILE`, say 0.10.2.2, 1.1.0.

Three brokers of OLD, which write in its format, or in that of 0.9.0 (an odd seed: no time), are replaced by
NEW one by one, killed or stopped, which keeps protocol and format at first. Then these are raised, broker by
broker: each by itself (seeds of which 4 leaves 2 or 3), or both at once. Then who leads in the new format
gives the old one to those whose protocol is still the old one: their replicas of one log are of two formats.

Brokers clean as in `cleaned`. `python -m tests.lab.acknowledged NEW --base FILE` takes it.
"""

import sys
import time
from pathlib import Path

from confluent_kafka import Producer

from tests.golden.produce import producer
from tests.lab.acknowledged.base import Row, all_in_sync, make
from tests.lab.acknowledged.cleaned import CLEANERS, Cleaned
from tests.lab.broker import Broker
from tests.lab.cluster import Cluster
from tests.lab.releases import Release, release

CODECS = ("none", "gzip", "snappy", "lz4")


def short(kind: Release) -> str:
    """As protocols and formats are named: 0.10.2, 1.1, 2.8."""
    return ".".join(map(str, kind.number[: 3 if kind.number < (1, 0) else 2]))


class Aged(Cleaned):
    """See above."""

    old: str
    new: Release
    apart: bool
    headers = False

    @classmethod
    def of(cls, old: Release, new: Release, seed: int) -> None:
        """What is known before anything starts."""
        cls.timed, cls.apart, cls.new = seed % 2 == 0, seed % 4 > 1, new
        cls.old = short(old) if cls.timed else "0.9.0"

    @staticmethod
    def prepare(cluster: Cluster) -> None:
        for broker, more in zip(cluster.brokers, CLEANERS, strict=True):
            broker.settings.update({**more, "log.message.format.version": Aged.old})

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__(cluster, seed)
        self.modern = False
        self.every = [producer(cluster.bootstrap, compression_type=each, linger_ms=5) for each in CODECS]
        self.idem = self.every[3]

    def write(self, client: Producer, topic: str, into: list[Row]) -> None:
        """Of the topics without transactions in all codecs."""
        if topic == "plain" or (topic == "compacted" and client is self.keyed):
            client = self.draw.choice(self.every)
        super().write(client, topic, into)

    def burst(self) -> None:
        super().burst()
        self._flush()

    def _flush(self) -> None:
        for client in self.every:
            if client.flush(90):
                raise RuntimeError("not delivered in time")

    def _rounds(self, count: int) -> None:
        if self.modern:
            super()._rounds(count)
            return
        for _ in range(count):
            self.write(self.keyed, "compacted", self.told)
            self._flush()
            self._pass_by()
        time.sleep(1.5)

    def lives(self) -> None:
        protocol, new = short(self.cluster.release), short(self.new)
        all_in_sync(self.cluster)
        self._roll(protocol, self.old)
        if self.apart:
            self._roll(new, self.old)
        self._roll(new, new)
        self.modern = True
        self.idem = producer(
            self.cluster.bootstrap, compression_type="lz4", enable_idempotence=True, linger_ms=5
        )
        self.burst()
        for turn in range(2):
            self.transactions(turn)

    def _roll(self, protocol: str, form: str) -> None:
        """Each is killed or stopped, and back as the new one, with records before, meanwhile and after."""
        for number, broker in enumerate(self.cluster.brokers):
            self.burst()
            (broker.kill if self.draw.random() < 0.5 else broker.stop)()
            self.burst()
            broker = self.cluster.brokers[number] = replaced(broker, self.new)
            broker.settings.update(
                {"inter.broker.protocol.version": protocol, "log.message.format.version": form}
            )
            broker.start()
            all_in_sync(self.cluster)


def replaced(broker: Broker, kind: Release) -> Broker:
    """Another release over the same files, under the same address."""
    settings = dict(broker.settings)
    return Broker(
        kind, broker.root, broker.seat, log_dirs=len(broker.dirs), settings=settings,
        zookeeper=broker.zookeeper, cluster_id=broker.cluster_id,
    )  # fmt: skip


if __name__ == "__main__":
    Aged.of(release(sys.argv[1]), release(sys.argv[2]), int(sys.argv[3]))
    make(sys.argv[1], int(sys.argv[3]), Path(sys.argv[4]), Aged)
