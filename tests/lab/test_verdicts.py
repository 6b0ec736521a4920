"""Forecast and findings against the real broker: every fault that was recorded, on every release.

The verdicts were recorded by `tests.lab.verdict`; beside each lies the base that was hurt. A copy of it is
hurt once. Its forecast is compared point by point: starts or refuses, log dirs, log start and end offset,
segments and their bytes, files gone, strays, what a consumer gets. What its findings say is judged by
`tests.lab.findings`.
"""

import functools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from segmend.checks import CheckRun, Level
from segmend.loading import ForecastOptions, forecast
from segmend.logdir.log_dir import LogDir
from tests.brokers import broker_of
from tests.copies import make_tree, remembered
from tests.faults.hurts import unhurt
from tests.faults.on_disk import lines_of, put_lines
from tests.faults.patient import Patient, lonely_topic, patient_in
from tests.faults.table import Fault, recorded_faults
from tests.golden.unpack import unpack
from tests.lab.compare import disagreements, of_reads
from tests.lab.findings import excuses, judged, offsets
from tests.lab.known import KNOWN, KNOWN_READS, UNFINISHED
from tests.lab.nodes.compare import opened
from tests.lab.pairs import PLUS, Pair
from tests.lab.releases import release
from tests.lab.trial import listing
from tests.lab.verdict import HEALTHY

RECORDED = Path(__file__).parent / "verdicts"
NAMES = sorted(path.stem for path in RECORDED.glob("*.json"))
SINGLE = [name for name in NAMES if not name.endswith("-double")]
EACH = 160
"""The fast tests take one fault of so many; the slow ones all."""
NOT_LED = frozenset(
    {
        *("high-watermark-not-a-number", "topic-id-of-another"),
        *("meta-directory-id-changed", "meta-directory-id-none"),
    }
)
"""The broker starts, but does not lead the partition (the last two: not soon): no client sees its offsets."""
UNHURT = Fault(name=HEALTHY, hurt=unhurt)


@functools.cache
def verdicts(name: str) -> dict[str, Any]:
    """What was recorded for a release and a kind of stop."""
    read: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text())
    return read


def recorded(name: str) -> list[Fault]:
    """The faults with a verdict, and the pairs."""
    pairs = [Pair.named(each).as_fault() for each in verdicts(name) if PLUS in each]
    return [fault for fault in [*recorded_faults(), UNHURT, *pairs] if fault.name in verdicts(name)]


def archive(name: str) -> Path:
    """The base that was hurt; pairs are done to that of the single faults."""
    return RECORDED / f"{name.removesuffix('-double')}.tar.xz"


def unpacked(name: str, into: Path) -> Path:
    """The base of a recording, without the lines of partitions that were left out of the archive."""
    base = unpack(archive(name), into)
    for path in base.glob("b1/*/*-offset-checkpoint"):
        if lines := lines_of(path):
            put_lines(path, (e for e in lines if path.with_name("{}-{}".format(*e.split())).is_dir()))
    return base


def hurt_copy(fault: Fault, base: Path, root: Path) -> Patient:
    """The fault done to a copy of the base."""
    shutil.rmtree(root, ignore_errors=True)
    make_tree(root, remembered(base))
    patient = patient_in(root, lonely_topic(root))
    fault.hurt(patient)
    return patient


def compare(name: str, patient: Patient, topic: str, verdict: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Forecast the start of hurt log dirs, and compare: the start, and what a consumer gets."""
    before = listing(list(patient.dirs)).get(patient.place, {})
    broker = broker_of((opened(path) for path in patient.dirs), name.partition("-")[0])
    lines = list(forecast(broker, ForecastOptions()))
    whole = verdicts(name)[HEALTHY]["records"]
    return disagreements(verdict, before, lines, topic), of_reads(verdict, lines, topic, whole)


def found_in(name: str, patient: Patient, fault: Fault) -> tuple[str | None, set[str]]:
    """What is wrong with the findings of a deep check, and the entries that excuse the rest."""
    dirs = [LogDir.open(str(path)) for path in patient.dirs if path.is_dir()]
    findings = list(CheckRun(broker_of(dirs, name.partition("-")[0]), level=Level.DEEP))
    on_disk = set(offsets(dirs, patient.partition.name))
    return judged(name, fault.name, verdicts(name)[fault.name], findings, on_disk)


def only_known_ones_differ(found: dict[str, list[str]], known: dict[str, str]) -> None:
    """Nothing differs but what is known to, and all of that still does."""
    assert {fault: points for fault, points in found.items() if points and fault not in known} == {}
    assert sorted(fault for fault in known if not found.get(fault)) == [], "no longer wrong: take them out"


@pytest.mark.parametrize("name", SINGLE)
def test_every_fault_is_recorded(name: str) -> None:
    version, _, mark = name.partition("-")
    wanted = {fault.name for fault in recorded_faults() if fault.applies(release(version).number, mark)}
    done = set(verdicts(name)) - {HEALTHY}
    assert done <= wanted
    assert (done == wanted) == (name not in UNFINISHED), wanted - done


def unseen(name: str) -> list[str]:
    """The faults after which the broker starts with all log dirs, and no client saw the offsets."""
    served = {n: v for n, v in verdicts(name).items() if v["outcome"] == "starts" and "offline" not in v}
    return [n for n, v in served.items() if not isinstance(v["partition"]["offsets"], list)]


@pytest.mark.parametrize("name", NAMES)
def test_offsets_were_seen_of_all_that_is_served(name: str) -> None:
    assert [n for n in unseen(name) if NOT_LED.isdisjoint(n.split(PLUS))] == []


def test_each_that_is_not_led_was_recorded_so() -> None:
    assert {fault for name in SINGLE for fault in unseen(name)} == NOT_LED


def agree(name: str, faults: list[Fault], tmp_path: Path) -> set[str]:
    """Forecasts and findings of these faults are what the broker did; the entries that excused findings."""
    base = unpacked(name, tmp_path / "base")
    starts, reads, wrong, excused = {}, {}, {}, set()
    for fault in faults:
        patient = hurt_copy(fault, base, tmp_path / "hurt")
        starts[fault.name], reads[fault.name] = compare(
            name, patient, patient.topic, verdicts(name)[fault.name]
        )
        if name in SINGLE and fault.name not in KNOWN.get(name, {}):  # there the forecast itself is wrong
            wrong[fault.name], by = found_in(name, patient, fault)
            excused |= by
    for known, differing in ((KNOWN, starts), (KNOWN_READS, reads)):
        listed = {fault: why for fault, why in known.get(name, {}).items() if fault in starts}
        only_known_ones_differ(differing, listed)
    assert {fault: words for fault, words in wrong.items() if words} == {}
    return excused


@pytest.mark.sample
@pytest.mark.parametrize("name", NAMES)
def test_some_faults_end_as_forecast_and_found(name: str, tmp_path: Path) -> None:
    agree(name, recorded(name)[::EACH], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_fault_ends_as_forecast_and_found(name: str, swift_path: Path) -> None:
    excused = agree(name, recorded(name), swift_path)
    assert excused == (excuses(name) if name in SINGLE else set()), "no longer needed: take them out"
