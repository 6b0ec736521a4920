"""The forecast against the real broker: every fault that was recorded, on every release, point by point.

The verdicts were recorded by `tests.lab.verdict`; beside each lies the base that was hurt. Starts or
refuses, log dirs, log start and end offset, segments and their bytes, files gone, strays.
"""

from __future__ import annotations

import functools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from segmend.loading import Options, forecast
from segmend.logdir.tree import LogDir
from tests.brokers import broker_of
from tests.golden.unpack import unpack
from tests.lab.compare import disagreements, of_reads
from tests.lab.faults.patient import lonely_topic, patient_in
from tests.lab.faults.table import Fault, all_faults
from tests.lab.known import KNOWN, KNOWN_READS, UNFINISHED
from tests.lab.pairs import PLUS, Pair
from tests.lab.releases import release
from tests.lab.trial import listing
from tests.lab.verdict import HEALTHY

RECORDED = Path(__file__).parent / "verdicts"
NAMES = sorted(path.stem for path in RECORDED.glob("*.json"))
SINGLE = [name for name in NAMES if not name.endswith("-double")]
EACH = 80
"""The fast tests take one fault of so many; the slow ones all."""
NOT_LED = frozenset(
    {
        *("high-watermark-not-a-number", "topic-id-of-another"),
        *("meta-directory-id-changed", "meta-directory-id-none"),
    }
)
"""The broker starts, but does not lead the partition (the last two: not soon): no client sees its offsets."""
UNHURT = Fault(name=HEALTHY, row="", hurt=lambda _patient: None)


@functools.cache
def verdicts(name: str) -> dict[str, Any]:
    """What was recorded for a release and a kind of stop."""
    read: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text())
    return read


def recorded(name: str) -> list[Fault]:
    """The faults with a verdict, and the pairs."""
    pairs = [Pair.named(each).as_fault() for each in verdicts(name) if PLUS in each]
    return [fault for fault in [*all_faults(), UNHURT, *pairs] if fault.name in verdicts(name)]


def archive(name: str) -> Path:
    """The base that was hurt; pairs are done to that of the single faults."""
    return RECORDED / f"{name.removesuffix('-double')}.tar.xz"


def opened(path: Path) -> LogDir:
    """A log dir, which may be missing or no directory."""
    return LogDir.open(str(path)) if path.is_dir() else LogDir(str(path), {})


def compare(
    name: str, fault: Fault, base: Path, root: Path, verdict: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """Hurt a copy of the base, forecast its start, and compare: the start, and what a consumer gets."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(base, root, symlinks=True)
    topic = lonely_topic(root)
    patient = patient_in(root, topic)
    place = f"{patient.log_dir.name}/{patient.partition.name}"
    fault.hurt(patient)
    before = listing(list(patient.dirs)).get(place, {})
    broker = broker_of((opened(path) for path in patient.dirs), name.partition("-")[0])
    lines = list(forecast(broker, Options()))
    whole = verdicts(name)[HEALTHY]["records"]
    return disagreements(verdict, before, lines, topic), of_reads(verdict, lines, topic, whole)


def only_known_ones_differ(found: dict[str, list[str]], known: dict[str, str]) -> None:
    """Nothing differs but what is known to, and all of that still does."""
    assert {fault: points for fault, points in found.items() if points and fault not in known} == {}
    assert sorted(fault for fault in known if not found.get(fault)) == [], "no longer wrong: take them out"


@pytest.mark.parametrize("name", SINGLE)
def test_every_fault_is_recorded(name: str) -> None:
    version, _, mark = name.partition("-")
    wanted = {fault.name for fault in all_faults() if fault.applies(release(version).number, mark)}
    done = set(verdicts(name)) - {HEALTHY}
    assert done <= wanted
    assert (done == wanted) == (name not in UNFINISHED), wanted - done


@pytest.mark.parametrize("name", NAMES)
def test_offsets_were_seen_of_all_that_is_served(name: str) -> None:
    served = {n: v for n, v in verdicts(name).items() if v["outcome"] == "starts" and "offline" not in v}
    unseen = [n for n, v in served.items() if not isinstance(v["partition"]["offsets"], list)]
    assert [n for n in unseen if NOT_LED.isdisjoint(n.split(PLUS))] == []


def agree(name: str, faults: list[Fault], tmp_path: Path) -> None:
    """What is forecast for these faults is what the broker did."""
    base = unpack(archive(name), tmp_path / "base")
    hurt, said = tmp_path / "hurt", verdicts(name)
    both = {fault.name: compare(name, fault, base, hurt, said[fault.name]) for fault in faults}
    for known, points in ((KNOWN, 0), (KNOWN_READS, 1)):
        listed = {fault: why for fault, why in known.get(name, {}).items() if fault in both}
        only_known_ones_differ({fault: found[points] for fault, found in both.items()}, listed)


@pytest.mark.parametrize("name", NAMES)
def test_the_forecast_of_some_faults_is_what_the_broker_did(name: str, tmp_path: Path) -> None:
    agree(name, recorded(name)[::EACH], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_forecast_of_every_fault_is_what_the_broker_did(name: str, tmp_path: Path) -> None:
    agree(name, recorded(name), tmp_path)
