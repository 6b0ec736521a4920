"""Three clients over the same hurt log get the records that the forecast says are left, and no other."""

import asyncio
import re
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition  # type: ignore[import-untyped]
from aiokafka.errors import CorruptRecordException  # type: ignore[import-untyped]

from segmend.loading import ForecastOptions, PartitionOutcome, forecast
from tests.brokers import broker_of
from tests.faults.patient import lonely_topic, patient_in
from tests.faults.table import fault_called
from tests.lab.broker import Broker
from tests.lab.process import java_command
from tests.lab.releases import release
from tests.lab.test_live import Live, grouped, its_turn
from tests.lab.test_verdicts import opened
from tests.lab.trial import client, copy_base, started
from tests.real.conftest import need_kafka
from tests.seeds import some_of

IDLE_SECONDS = 10


pytestmark = pytest.mark.broker
NAMES = some_of(["1.1.0-clean", "3.9.2-killed", "4.3.1-killed", "4.3.1-clean"], 2)


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


def readable_until(dirs: list[Path], version: str, topic: str) -> int:
    """Where reads of the partition end, by the forecast: at its end, or where they fail."""
    lines = forecast(broker_of((opened(path) for path in dirs), version), ForecastOptions())
    found = next(line for line in lines if isinstance(line, PartitionOutcome) and line.topic == topic)
    fails = [effect.offset for effect in found.effects if effect.effect == "reads-fail"]
    ends = [offset for offset in (found.after.log_end_offset, *fails) if offset is not None]
    return min(ends)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [grouped(name) for name in NAMES])
def test_each_client_gets_what_is_forecast(name: str, tmp_path: Path) -> None:
    version, _, _ = name.partition("-")
    need_kafka(version)
    with its_turn(version):
        as_forecast(name, version, tmp_path)


def as_forecast(name: str, version: str, tmp_path: Path) -> None:
    """Over one hurt log, each client in turn."""
    live, root = Live(name, tmp_path), tmp_path / "trial"
    copy_base(live.base("few"), root)
    patient = patient_in(root, topic := lonely_topic(root))
    fault_called("log-flip-rolled").hurt(patient)
    end = readable_until(list(patient.dirs), version, topic)
    left = [offset for offset in live.whole if offset < end]
    assert 0 < len(left) < len(live.whole)
    with started(live.base("few"), root) as broker:
        broker.wait_ready(120)
        got = {client: read(broker, topic) for client, read in CLIENTS.items()}
    assert got == dict.fromkeys(CLIENTS, left)
