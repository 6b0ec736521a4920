"""The offsets that each of three real clients gets of a topic: librdkafka, aiokafka, Kafka's own consumer."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from aiokafka import AIOKafkaConsumer, TopicPartition  # type: ignore[import-untyped]
from aiokafka.errors import CorruptRecordException  # type: ignore[import-untyped]

from tests.lab.broker import Broker
from tests.lab.process import java_command
from tests.lab.releases import release
from tests.lab.trial import client

IDLE_SECONDS = 10


def by_librdkafka(broker: Broker, topic: str) -> list[int]:
    """What confluent-kafka gets, in a process of its own."""
    found: list[int] = client("read", broker, [topic])[topic]["seen"]
    return found


def by_aiokafka(broker: Broker, topic: str) -> list[int]:
    """What aiokafka gets until the end, or until a batch is refused.

    In a thread of its own, for Playwright leaves an event loop running in the one that tested a page.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(_by_aiokafka(broker.bootstrap, topic))).result()


async def _by_aiokafka(bootstrap: str, topic: str) -> list[int]:
    part, seen = TopicPartition(topic, 0), []
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap, check_crcs=True) as consumer:
        consumer.assign([part])
        await consumer.seek_to_beginning(part)
        try:
            while found := await consumer.getmany(part, timeout_ms=IDLE_SECONDS * 1000, max_records=1):
                seen += [record.offset for record in found[part]]  # more at once go with a bad batch
        except CorruptRecordException:
            pass
    return seen


def by_console(broker: Broker, topic: str) -> list[int]:
    """What kafka-console-consumer prints until nothing comes for a while, or until it dies of a batch."""
    # Offsets are printed since 2.7; 3.9 is the last that speaks with every broker of the lab since 0.11.
    mine = broker.release if broker.release.number >= (2, 7) else release("3.9.2")
    old = mine.number < (3, 8)
    main = "kafka.tools.ConsoleConsumer" if old else "org.apache.kafka.tools.consumer.ConsoleConsumer"
    asked = ["--bootstrap-server", broker.bootstrap, "--topic", topic, "--partition", "0"]
    begin = ["--offset", "earliest", "--timeout-ms", str(IDLE_SECONDS * 1000)]
    shown = ["--property", "print.offset=true", "--property", "print.value=false"]
    command = java_command(mine, broker.root, main, *asked, *begin, *shown)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return [int(offset) for offset in re.findall(r"^Offset:(\d+)", done.stdout, re.MULTILINE)]


CLIENTS: dict[str, Callable[[Broker, str], list[int]]] = {
    "confluent-kafka": by_librdkafka,
    "aiokafka": by_aiokafka,
    "kafka-console-consumer": by_console,
}
