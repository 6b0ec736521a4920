"""A few faults on live brokers, other ones each day: they do what was recorded, and what is forecast.

The day chooses a recording and some of its faults; `SEGMEND_LAB_SEED=739576` does those of another day.
"""

from __future__ import annotations

import json
import os
import random
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.golden.unpack import unpack
from tests.lab.base import Base
from tests.lab.errors import LabError
from tests.lab.known import KNOWN, KNOWN_READS
from tests.lab.ports import is_free
from tests.lab.test_verdicts import NAMES, archive, compare, recorded, verdicts
from tests.lab.verdict import HEALTHY, Recorder
from tests.real.conftest import need_kafka

pytestmark = pytest.mark.broker

SEED = int(os.environ.get("SEGMEND_LAB_SEED") or date.today().toordinal())
COUNT = 3
POINTS = ("offsets", "stray", "gone", "new", "resized")


class Live(Recorder):
    """Starts over the base that lies beside the verdicts; nothing is saved."""

    def __init__(self, name: str, work: Path) -> None:
        version, mark, *_ = name.split("-")
        super().__init__(version, mark, work)
        self.root = unpack(archive(name), work / "base")
        self.verdicts = {}
        ranges = verdicts(name)[HEALTHY]["records"]
        self.whole = [offset for first, last in ranges for offset in range(first, last + 1)]

    def base(self, size: str) -> Base:
        """The unpacked one, whatever size is wanted; its ports are part of its KRaft log."""
        first, second = json.loads((self.root / "base.json").read_text())["ports"]
        if not (is_free(first) and is_free(second)):
            raise LabError(f"port {first} or {second} is taken: the recorded log dirs need both")
        return Base(self.version, self.mark, self.root, (first, second))


def seen(verdict: dict[str, Any]) -> dict[str, Any]:
    """The points of a verdict that every start gives, in whichever log dir the partition lies."""
    partition = verdict.get("partition", {})
    read = partition.get("read", {})
    return {
        "outcome": verdict["outcome"],
        "offline": verdict.get("offline"),
        "missing": read.get("missing"),
        "fails": bool(read.get("errors")),
        **{point: partition.get(point) for point in POINTS},
    }


@pytest.mark.parametrize("name", [NAMES[SEED % len(NAMES)]])
def test_todays_faults_on_a_live_broker(name: str, tmp_path: Path) -> None:
    need_kafka(name.partition("-")[0])
    live = Live(name, tmp_path)
    known = KNOWN.get(name, {}) | KNOWN_READS.get(name, {})
    pool = [fault for fault in recorded(name) if fault.name not in known]
    for fault in random.Random(SEED).sample(pool, COUNT):
        live.lonely(fault)
        now, then = live.verdicts[fault.name], verdicts(name)[fault.name]
        assert (fault.name, seen(now)) == (fault.name, seen(then))
        assert (fault.name, compare(name, fault, live.root, tmp_path / "hurt", now)) == (fault.name, ([], []))
