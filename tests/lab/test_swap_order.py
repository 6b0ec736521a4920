"""What is forecast of swap files over one another, against brokers that completed them in several orders."""

import json
from pathlib import Path
from typing import Any

import pytest

from segmend.broker.recovery import SWAP_ORDER
from segmend.loading.load import LoadedLog, load
from segmend.loading.state import Settings
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from tests.faults.patient import lonely_topic, patient_in
from tests.golden.unpack import unpack
from tests.lab.swap_order import RECORD, SWAPS
from tests.lab.test_verdicts import archive

RECORDED: dict[str, list[dict[str, Any]]] = json.loads(RECORD.read_text())


def logs(log: LoadedLog) -> set[str]:
    """The segments that are left."""
    return {f"{each.base_offset:020d}.log" for each in log.state.segments}


def missing(seen: dict[str, Any]) -> int:
    """How many records a consumer did not get."""
    return sum(last - first + 1 for first, last in seen["missing"])


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_each_order_is_forecast_and_the_worst_is_told(name: str, tmp_path: Path) -> None:
    root = unpack(archive(name), tmp_path)
    patient = patient_in(root, lonely_topic(root))
    SWAPS.hurt(patient)
    log_dir = LogDir.open(str(patient.log_dir))
    partition = log_dir.partition(patient.partition.name)
    assert partition is not None
    point = log_dir.recovery_points.get(partition.key, 0)

    def loaded(*order: int) -> LoadedLog:
        release = Release.parse(name.partition("-")[0])
        settings = Settings(
            release=release, clean=name.endswith("clean"), recovery_point=point, swap_order=order
        )
        return load(partition.afresh(), settings)

    told = loaded()
    assert told.failure is None
    assert told.by_listing is not None
    assert told.by_listing.endswith(SWAP_ORDER.partition("{}")[2])
    there = {path.name for path in patient.partition.glob("*.log")}
    for seen in RECORDED[name]:
        assert logs(loaded(*seen["order"])) == there - set(seen["gone"]), seen["order"]
        assert told.harm() >= loaded(*seen["order"]).harm()
    if len(RECORDED[name]) > 1:  # 1.1.0 took them as they are listed
        worst = max(RECORDED[name], key=missing)
        assert logs(told) == there - set(worst["gone"])
