"""The findings of `check` against what real brokers did: whoever loses something is warned of it.

For every recorded fault: where the broker refused, lost a log dir or records, or failed a reader, an
error or a warning says so by its `broker_effect`; where nothing happened, nothing is called an error
that no effect bears out. What is known to be otherwise stands in the tables below, each with its reason.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segmend.checks import CheckRun, Level
from segmend.findings import Finding, Severity
from segmend.kernel.scan import iter_batches
from segmend.loading.values import HARMLESS
from segmend.logdir.tree import LogDir
from tests.brokers import broker_of
from tests.golden.unpack import unpack
from tests.lab.faults.patient import lonely_topic, patient_in
from tests.lab.faults.table import Fault
from tests.lab.known import KNOWN
from tests.lab.test_verdicts import RECORDED, SINGLE, recorded, verdicts

EACH = 80
"""The fast test takes one fault of so many; the slow one all."""

UNSAID = {
    "log-dir-is-a-file": "the command ends with 8 before it checks anything",
    "log-dir-missing": "the command ends with 8 before it checks anything",
    "partition-missing": "no file is left to find anything in",
    "partition-delete": "a replica that is marked for deletion is no fault",
    "partition-stray": "a replica that is set aside already is no fault of this start",
    "start-at-end": "records below the log start offset were deleted on purpose",
    "start-inside": "records below the log start offset were deleted on purpose",
    "meta-directory-id-changed": "not the start, the controller takes the replicas for offline (K05 says so)",
    "meta-directory-id-none": "not the start, the controller takes the replicas for offline (K05 says so)",
    "topic-id-of-another": "not the start, fetches are refused for an unknown topic id (M06 says so)",
    "2.8.2-killed log-offset-backwards-rolled": "L26 tells of the loss; that two transactions then begin at "
    "one offset, of which the broker dies, only the forecast follows",
}
"""Faults with a loss that no error or warning tells by its effect; some of one recording only."""

TORN = "a torn or short end of the active segment is what every kill leaves"
UNSAID_AFTER_A_KILL = {
    "log-batch-excised-rolled": "recovery makes the index anew, and offsets may be missing inside a log",
    "log-empty-active": TORN,
    "log-half-active": TORN,
    "log-last-batch-lost": TORN,
    "log-size-large-active": TORN,
    "log-torn-tail": TORN,
    "log-torn-tail-to-header": TORN,
}
"""The same, but only where the broker was killed."""

UNPROVEN = {
    "C10b": "the high watermark testifies to records that were there before",
    "C12": "retention by time would delete the logs within a minute; the lab keeps everything",
    "I14": "retention by time would delete the log within a minute; the lab keeps everything",
    "I17": "only who reads committed records gets aborted ones; the lab reads all",
    "I21": "only who reads committed records misses some; the lab reads all",
    "N05": "a recovery of that segment kills the broker; none of these starts recovers it",
    "P02": "only who reads committed records, and producers, notice it; the lab reads all",
    "P06": "only who reads committed records, and producers, notice it; the lab reads all",
    "P09": "only who reads committed records notices it; the lab reads all",
    "L13": "the lab hurts the batch of a marker, which no consumer is given",
    "L20": "the lab hurts the batch of a marker, which no consumer is given",
}
"""Errors that stand although the recorded broker lost nothing, by code."""


def checked(name: str, fault: Fault, base: Path, root: Path) -> tuple[list[Finding], set[int]]:
    """Hurt a copy of the base: what a deep check finds, and the offsets that are still in its logs."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(base, root, symlinks=True)
    patient = patient_in(root, lonely_topic(root))
    fault.hurt(patient)
    dirs = [LogDir.open(str(path)) for path in patient.dirs if path.is_dir()]
    run = CheckRun(broker_of(dirs, name.partition("-")[0]), level=Level.DEEP)
    return list(run), set(offsets(dirs, patient.partition.name))


def offsets(dirs: list[LogDir], partition: str) -> Iterator[int]:
    """Of all sound batches in the partition's logs."""
    for log_dir in dirs:
        found = log_dir.partition(partition)
        for segment in () if found is None else found.segments:
            if segment.log is not None:
                with segment.log.reader() as reader:
                    for batch in iter_batches(reader, crc=True, resync=True, base_offset=segment.base_offset):
                        yield from range(batch.base_offset, batch.last_offset + 1)


def wanted(verdict: dict[str, Any], on_disk: set[int]) -> str | None:
    """What an error or a warning must say: refuses, offline, loses, anything at all; None: no error.

    `unknown` where the recorded broker had not got so far that it could be asked.
    """
    if verdict["outcome"] == "refuses":
        return "refuses"
    if verdict.get("offline"):
        return "offline"
    if not isinstance(verdict["partition"]["offsets"], list):
        return "unknown"
    read = verdict["partition"].get("read", {})
    missing = {offset for first, last in read.get("missing", ()) for offset in range(first, last + 1)}
    if (
        verdict["partition"].get("stray")
        or missing & on_disk
        or read.keys() & {"errors", "stuck", "repeated"}
    ):
        return "loses"
    return "anything" if read else None


def says(finding: Finding, what: str) -> bool:
    """Whether an error or a warning says it by its effect."""
    effect = finding.broker_effect
    assert effect is not None
    if finding.severity == Severity.INFO:
        return False
    if what == "refuses":
        return effect.effect == "broker-refuses"
    if what == "offline":
        return effect.effect in ("dir-offline", "broker-refuses")
    return what == "anything" or harms(finding)


def harms(finding: Finding) -> bool:
    """Whether its effect takes something from a reader."""
    effect = finding.broker_effect
    assert effect is not None
    return effect.records_lost > 0 or effect.effect not in HARMLESS | {"none", None}


def judged(name: str, fault: Fault, base: Path, root: Path) -> str | None:
    """What is wrong with the findings of a fault, None if nothing is."""
    if fault.name in KNOWN.get(name, {}):
        return None  # the forecast itself is wrong there
    findings, on_disk = checked(name, fault, base, root)
    what = wanted(verdicts(name)[fault.name], on_disk)
    if what is not None:
        if what == "unknown" or unsaid(name, fault) or any(says(finding, what) for finding in findings):
            return None
        return f"{what} is not said by {sorted({finding.code for finding in findings})}"
    errors = [each for each in findings if each.severity == Severity.ERROR]
    unfounded = {each.code for each in errors if not harms(each)} - UNPROVEN.keys()
    return f"nothing happened, but errors {sorted(unfounded)}" if unfounded else None


def unsaid(name: str, fault: Fault) -> bool:
    """Whether it is known that nothing tells of the loss."""
    if f"{name} {fault.name}" in UNSAID:
        return True
    return fault.name in UNSAID or (name.endswith("-killed") and fault.name in UNSAID_AFTER_A_KILL)


def all_judged(name: str, faults: list[Fault], tmp_path: Path) -> None:
    """The findings of these faults agree with what the broker did."""
    base = unpack(RECORDED / f"{name}.tar.xz", tmp_path / "base")
    found = {fault.name: judged(name, fault, base, tmp_path / "hurt") for fault in faults}
    assert {fault: wrong for fault, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("name", SINGLE)
def test_findings_of_some_faults_say_what_the_broker_did(name: str, tmp_path: Path) -> None:
    all_judged(name, recorded(name)[::EACH], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SINGLE)
def test_findings_of_every_fault_say_what_the_broker_did(name: str, tmp_path: Path) -> None:
    all_judged(name, recorded(name), tmp_path)
