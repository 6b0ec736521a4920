"""Write batches to a broker exactly as they are given: one list of records becomes one batch."""

from collections.abc import Iterable
from typing import Any

from confluent_kafka import Producer

from tests.golden.records import Batch


def producer(bootstrap: str, **settings: object) -> Producer:
    """A librdkafka producer that sends only when it is flushed."""
    base: dict[str, object] = {
        "bootstrap.servers": bootstrap,
        "linger.ms": 5000,
        "batch.num.messages": 1000,
        "acks": "all",
        "message.timeout.ms": 60000,
        "log_level": 2,
    }
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer({**base, **named})


def send(client: Producer, topic: str, batches: Iterable[Batch], partition: int = 0) -> None:
    """Send the batches and wait until each is written; raises what the broker refused."""
    failures: list[object] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failures.append(error)

    for batch in batches:
        for record in batch:
            extra: dict[str, Any] = {}
            if record.time is not None:
                extra["timestamp"] = record.time
            if record.headers:
                extra["headers"] = record.headers
            client.produce(topic, record.value, record.key, partition, on_delivery=delivered, **extra)
        left = client.flush(90)
        if failures or left:
            raise RuntimeError(f"{topic}: {failures[:1] or 'not delivered in time'}")


def write(
    bootstrap: str, topic: str, batches: Iterable[Batch], codec: str = "none", partition: int = 0
) -> None:
    """Send the batches with a plain producer of that codec."""
    send(producer(bootstrap, compression_type=codec), topic, batches, partition)


def one_by_one(batches: Iterable[Batch]) -> list[Batch]:
    """The same records, each in a batch of its own."""
    return [[record] for batch in batches for record in batch]
