"""The findings of `check` against what real brokers did: whoever loses something is warned of it.

For every recorded fault: where the broker refused, lost a log dir or records, did not serve the partition,
or failed a reader, an error or a warning says so by its `broker_effect`; where nothing happened, nothing is
called an error that no effect bears out. What is known to be otherwise stands in the tables below, each
with its reason; `test_verdicts` fails where an entry is no longer needed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from segmend.findings import Finding, Severity
from segmend.kernel.scan import iter_batches
from segmend.logdir.log_dir import LogDir

CLEAN = frozenset({"1.1.0-clean", "2.8.2-clean", "3.9.2-clean", "4.3.1-clean"})
KILLED = frozenset({"1.1.0-killed", "2.8.2-killed", "3.9.2-killed", "4.3.1-killed"})
OLDEST = frozenset({"1.1.0-clean", "1.1.0-killed"})
NEWER = (CLEAN | KILLED) - OLDEST
ZOOKEEPER = frozenset({"1.1.0-clean", "2.8.2-clean"})


@dataclass(frozen=True)
class Excuse:
    """Why findings are not what they should be, and in which recordings: in each of them it is needed."""

    where: frozenset[str]
    why: str


NO_DIR = Excuse(CLEAN, "the command ends with 8 before it checks anything")
ON_PURPOSE = "records below the log start offset were deleted on purpose"

HARMLESS = frozenset(
    {"recovery-scan", "snapshot-deleted", "snapshot-rebuilt", "file-deleted", "index-rebuilt",
     "index-created", "index-trimmed", "epochs-rewritten", "swap-completed", "high-watermark-reset",
     "partition-unserved", "log-recreated-empty"}
)  # fmt: skip
"""Effects that take nothing from a reader: said here, not taken from the product, which is judged by it."""

UNSAID = {
    "log-dir-is-a-file": NO_DIR,
    "log-dir-missing": NO_DIR,
    "partition-delete": Excuse(ZOOKEEPER, "nothing on the disk tells whether the cluster expects it"),
    "partition-missing": Excuse(
        frozenset({"1.1.0-clean", "1.1.0-killed"}),
        "a note: up to 2.6 brokers leave the lines of the last partition that they delete in a dir",
    ),
    "start-at-end": Excuse(CLEAN | NEWER, ON_PURPOSE),
    "start-inside": Excuse(CLEAN | NEWER, ON_PURPOSE),
    "log-offset-backwards-rolled": Excuse(
        frozenset({"2.8.2-killed"}),
        "L26 tells of the loss; that two transactions then begin at one offset, of which the broker dies, "
        "only the forecast follows",
    ),
    "log-batch-excised-rolled": Excuse(
        KILLED, "recovery makes the index anew, and offsets may be missing inside a log"
    ),
}
"""Faults with a loss that no error or warning tells by its effect."""

COMMITTED = "only who reads committed records, and producers, notice it; the lab reads all"
RETENTION = "retention by time would delete the logs within a minute; the lab keeps everything"
MARKER = "the lab hurts the batch of a marker, which no consumer is given"
UNPROVEN = {
    "C12": Excuse(CLEAN | KILLED, RETENTION),
    "I14": Excuse(NEWER, RETENTION),
    "I21": Excuse(CLEAN - OLDEST, MARKER),
    "N05": Excuse(
        CLEAN | {"1.1.0-killed"},
        "a recovery of that segment kills the broker; none of these starts recovers it",
    ),
    "N30": Excuse(
        frozenset({"1.1.0-clean"}), "the first write of a producer takes the dir offline; none does"
    ),
    "P02": Excuse(CLEAN, COMMITTED),
    "P06": Excuse(CLEAN | KILLED, COMMITTED),
    "P09": Excuse(CLEAN | KILLED, COMMITTED),
    "L13": Excuse(CLEAN - OLDEST, MARKER),
}
"""Errors that stand although the recorded broker lost nothing, by code."""


def excuses(name: str) -> set[str]:
    """The entries that a recording needs."""
    return {key for table in (UNSAID, UNPROVEN) for key, excuse in table.items() if name in excuse.where}


def offsets(dirs: Sequence[LogDir], partition: str) -> Iterator[int]:
    """Of all sound batches in the partition's logs."""
    for log_dir in dirs:
        found = log_dir.partition(partition)
        for segment in () if found is None else found.segments:
            if segment.log is not None:
                with segment.log.reader() as reader:
                    for batch in iter_batches(reader, crc=True, resync=True, base_offset=segment.base_offset):
                        yield from range(batch.base_offset, batch.last_offset + 1)


def wanted(verdict: dict[str, Any], on_disk: set[int]) -> str | None:
    """What an error or a warning must say: refuses, offline, loses, anything at all; None: no error."""
    if verdict["outcome"] == "refuses":
        return "refuses"
    if verdict.get("offline"):
        return "offline"
    if not isinstance(verdict["partition"]["offsets"], list):
        return "anything"  # nobody could read the partition
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


def judged(
    name: str, fault: str, verdict: dict[str, Any], findings: Sequence[Finding], on_disk: set[int]
) -> tuple[str | None, set[str]]:
    """What is wrong with the findings of a fault, None if nothing is; and the entries that excuse others."""
    what, known = wanted(verdict, on_disk), excuses(name)
    if what is None:
        errors = [each for each in findings if each.severity == Severity.ERROR]
        unfounded = {each.code for each in errors if not harms(each)}
        wrong = sorted(unfounded - known)
        return f"nothing happened, but errors {wrong}" if wrong else None, unfounded & known
    if any(says(finding, what) for finding in findings):
        return None, set()
    if fault in known:
        return None, {fault}
    return f"{what} is not said by {sorted({finding.code for finding in findings})}", set()
