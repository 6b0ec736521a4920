"""A base of compaction over time: `python -m tests.lab.acknowledged.cleaned RELEASE SEED FILE`.

Each broker cleans in its own way: the first at once and tombstones, too, the second never, the third late.
Transactions, some aborted, write the compacted topic between the rounds, and delete keys that are written
again later, or never. In each round some keys are written once, and those of an earlier one deleted for good.

`python -m tests.lab.acknowledged RELEASE --base FILE` takes it.
"""

import sys
import time
from pathlib import Path

from tests.lab.acknowledged.base import TIME, Row, Story, make, make_topics, patiently, producer
from tests.lab.cluster import Cluster

CLEANERS: tuple[dict[str, str], ...] = (
    {"log.cleaner.backoff.ms": "200"},
    {"log.cleaner.enable": "false"},
    {"log.cleaner.backoff.ms": "9000"},
)


class Cleaned(Story):
    """See above."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__(cluster, seed)
        self.passing: list[bytes] = []

    @staticmethod
    def prepare(cluster: Cluster) -> None:
        for broker, more in zip(cluster.brokers, CLEANERS, strict=True):
            broker.settings.update(more)

    @staticmethod
    def begin(cluster: Cluster) -> None:
        make_topics(cluster)

    def burst(self) -> None:
        super().burst()
        self._rounds(2)

    def transactions(self, turn: int) -> None:
        super().transactions(turn)
        self._rounds(5)

    def _rounds(self, count: int) -> None:
        """Transactions over the compacted topic, two at once, and time for cleaners in between."""
        for number in range(count):
            pair = [
                producer(
                    self.cluster.bootstrap, linger_ms=0, transactional_id=f"keyed-{each}",
                    transaction_timeout_ms=60_000,
                )
                for each in range(2)
            ]  # fmt: skip
            theirs: list[list[Row]] = [[], []]
            for client in pair:
                patiently(lambda client=client: client.init_transactions(30))  # type: ignore[misc]
                client.begin_transaction()
            for _ in range(self.draw.randrange(2, 7)):
                for client, mine in zip(pair, theirs, strict=True):
                    self.write(client, "compacted", mine)
                    client.flush(60)
            for client, mine in zip(pair, theirs, strict=True):
                kept = self.draw.random() < 0.5
                end = client.commit_transaction if kept else client.abort_transaction
                patiently(lambda end=end: end(60))  # type: ignore[misc]
                self.told += mine if kept else []
            self._pass_by()
            if number % 2:
                time.sleep(1.5)

    def _pass_by(self) -> None:
        """New keys, and tombstones of older ones: nobody writes these again."""
        self.passing.append(f"passing {len(self.passing)}".encode())
        deleted = self.passing[-4] if len(self.passing) > 3 else None
        for key, value in ((self.passing[-1], b"once"), *([(deleted, None)] if deleted else [])):
            self.number += 1
            self.keyed.produce(
                "compacted", value, key, 0, timestamp=TIME + self.number,
                on_delivery=self._callback(self.told, []),
            )  # fmt: skip
            self.keyed.flush(90)


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Cleaned)
