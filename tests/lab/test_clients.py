"""Three clients over the same hurt log get the records that the forecast says are left, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from segmend.loading import Options, PartitionOutcome, forecast
from tests.brokers import broker_of
from tests.faults.patient import lonely_topic, patient_in
from tests.faults.table import fault_called
from tests.lab.clients import CLIENTS
from tests.lab.test_live import Live, grouped, its_turn
from tests.lab.test_verdicts import opened
from tests.lab.trial import copy_base, started
from tests.real.conftest import need_kafka
from tests.seeds import some_of

pytestmark = pytest.mark.broker


def readable_until(dirs: list[Path], version: str, topic: str) -> int:
    """Where reads of the partition end, by the forecast: at its end, or where they fail."""
    lines = forecast(broker_of((opened(path) for path in dirs), version), Options())
    found = next(line for line in lines if isinstance(line, PartitionOutcome) and line.topic == topic)
    fails = [effect.offset for effect in found.effects if effect.effect == "reads-fail"]
    ends = [offset for offset in (found.after.log_end_offset, *fails) if offset is not None]
    return min(ends)


NAMES = some_of(["1.1.0-clean", "3.9.2-killed", "4.3.1-killed", "4.3.1-clean"], 2)


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
