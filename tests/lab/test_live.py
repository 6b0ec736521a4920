"""A fault of each recording on a live broker: it does what was recorded, and what is forecast.

The same ones each time; `python -m tests.sweep` draws others, and more.
"""

import fcntl
import json
import os
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.golden.unpack import unpack
from tests.lab.base import Base
from tests.lab.known import KNOWN, KNOWN_READS
from tests.lab.ports import free_port, wait_until_free
from tests.lab.releases import release
from tests.lab.test_verdicts import NAMES, archive, compare, hurt_copy, recorded, verdicts
from tests.lab.verdict import HEALTHY, Recorder
from tests.real.conftest import need_kafka
from tests.seeds import SEED, SWEEP

pytestmark = pytest.mark.broker

COUNT = 10 if SWEEP else 1
"""A start and its readers take 8 s, 20 on a busy machine."""


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
        """The unpacked one, whatever the size. Since KIP-853 (4.0) its ports are part of its KRaft log."""
        ports: Sequence[int] = (free_port(), free_port())
        if release(self.version).number >= (4, 0):
            ports = json.loads((self.root / "base.json").read_text())["ports"]
        wait_until_free(ports)
        return Base(self.version, self.mark, self.root, (ports[0], ports[1]))


def seen(verdict: dict[str, Any], *, snapshots: bool) -> dict[str, Any]:
    """The points of a verdict that every start gives, in whichever log dir the partition lies."""
    partition = verdict.get("partition", {})
    read = partition.get("read", {})
    files = {(kind, name) for kind in ("gone", "new", "resized") for name in partition.get(kind, ())}
    sizes = {**partition.get("new", {}), **partition.get("resized", {})}
    # A leader whose log dir is offline says so until the controller has taken the lead from it, and a client
    # that asks in that moment knows of no leader.
    unled = partition.get("offsets") in ("KAFKA_STORAGE_ERROR", "_UNKNOWN_PARTITION")
    offsets = None if unled else partition.get("offsets")
    return {
        "outcome": verdict["outcome"],
        "offline": verdict.get("offline"),
        "offsets": offsets,
        "stray": partition.get("stray"),
        "missing": read.get("missing"),
        "fails": bool(read.get("errors")),
        **{each: sizes.get(each[1]) for each in files if snapshots or not each[1].endswith(".snapshot")},
    }


def differences(now: dict[str, Any], then: dict[str, Any], version: str) -> dict[str, Any]:
    """The points that differ. Up to 2.7 snapshots go half a minute after the start, seen or not."""
    mine, theirs = (seen(each, snapshots=release(version).number >= (2, 8)) for each in (now, then))
    points = sorted(mine.keys() | theirs.keys(), key=str)
    return {
        str(point): (mine.get(point), theirs.get(point))
        for point in points
        if mine.get(point) != theirs.get(point)
    }


def is_led(verdict: dict[str, Any]) -> bool:
    """Whether a client saw the offsets."""
    return isinstance(verdict.get("partition", {}).get("offsets"), list)


@contextmanager
def its_turn(version: str) -> Iterator[None]:
    """Recordings of a release share their ports: one at a time, in all runs of the tests on this machine."""
    with Path(tempfile.gettempdir(), f"segmend-lab-{version}-{os.getuid()}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def grouped(name: str) -> object:
    """The name; those of a release are for one worker, which is better than waiting."""
    return pytest.param(name, marks=pytest.mark.xdist_group(f"recording-{name.partition('-')[0]}"))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [grouped(name) for name in NAMES])
def test_faults_on_a_live_broker(name: str, tmp_path: Path) -> None:
    need_kafka(name.partition("-")[0])
    with its_turn(name.partition("-")[0]):
        as_recorded(name, tmp_path)


def as_recorded(name: str, tmp_path: Path) -> None:
    """Some of its faults, one start each."""
    live = Live(name, tmp_path)
    known = KNOWN.get(name, {}) | KNOWN_READS.get(name, {})
    pool = [fault for fault in recorded(name) if fault.name not in known]
    for fault in random.Random(f"{SEED} {name}").sample(pool, COUNT):
        then = verdicts(name)[fault.name]
        live.lonely(fault)
        if is_led(then) and not is_led(live.verdicts[fault.name]):
            live.lonely(fault)  # on a busy machine the broker leads later than a reader waits
        now = live.verdicts[fault.name]
        assert (fault.name, differences(now, then, live.version)) == (fault.name, {})
        patient = hurt_copy(fault, live.root, tmp_path / "hurt")
        assert (fault.name, compare(name, patient, patient.topic, now)) == (fault.name, ([], []))
