"""A light, steady load on a broker: `python -m tests.real.load BOOTSTRAP`, until it is told to stop.

A process of its own, so that the load goes on while a test waits, and ends when its stdin is closed.
It prints `ready` when every kind of batch has been written once.
"""

import itertools
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaException

from tests.golden.acts import open_transaction, transactional
from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.golden.topics import Topic, create, small_segments
from tests.lab.releases import Release

TOPICS = ("plain", "zipped", "idem", "txn", "open")


def create_topics(bootstrap: str, release: Release) -> None:
    """The topics of the load: two partitions each but the last two, with small segments."""
    create(
        bootstrap,
        [Topic(name, small_segments(release), 1 if name in ("txn", "open") else 2) for name in TOPICS],
    )


def told_to_stop() -> bool:
    """Whether stdin was closed."""
    return bool(select.select([sys.stdin], [], [], 0.05)[0])


def produce(bootstrap: str) -> None:
    """Write a batch to each topic, again and again."""
    plain = producer(bootstrap, message_timeout_ms=8000)
    zipped = producer(bootstrap, compression_type="zstd", message_timeout_ms=8000)
    idem = producer(bootstrap, enable_idempotence=True, message_timeout_ms=8000)
    txn = transactional(bootstrap, "load")
    left_open = open_transaction(bootstrap, "open", "never-ended")
    for turn in itertools.count():
        send(plain, "plain", events("plain", 2, first=turn * 100), turn % 2)
        send(zipped, "zipped", events("zipped", 2, first=turn * 100), turn % 2)
        send(idem, "idem", events("idem", 2, first=turn * 100), turn % 2)
        txn.begin_transaction()
        send(txn, "txn", events("txn", 2, first=turn * 100))
        if turn % 3:
            txn.commit_transaction(10)
        else:
            txn.abort_transaction(10)
        if turn == 4:
            print("ready", flush=True)
        if told_to_stop():
            break
    del left_open


@contextmanager
def under_load(bootstrap: str) -> Iterator[None]:
    """The load runs inside the `with` block; that the broker dies meanwhile is no failure of it."""
    command = [sys.executable, "-m", "tests.real.load", bootstrap]
    load = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert load.stdin is not None
    assert load.stdout is not None
    try:
        assert load.stdout.readline() == b"ready\n"
        yield
    finally:
        load.stdin.close()
        load.stdout.close()
        try:
            load.wait(10)
        except subprocess.TimeoutExpired:
            load.kill()
            load.wait()


if __name__ == "__main__":
    try:
        produce(sys.argv[1])
    except (KafkaException, RuntimeError) as error:
        sys.exit(f"the load ended: {error}")
