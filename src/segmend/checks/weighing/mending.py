"""What is mended first: a log, before the files that are made of it; and a link, before what is in its file.

Not a check. `plan repair` makes no derived file from a log that is damaged, nor one by which a start loses
more; so a finding about such a file names what mends the log or, where only another level sees that, `check`.
Nor does any plan write through a link, or over it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from segmend.checks import remedies
from segmend.checks.context import BrokerContext
from segmend.checks.manual import Consequence, Level
from segmend.checks.registry import known_codes
from segmend.findings import Finding, Remedy, Severity
from segmend.frozen import replace
from segmend.logdir.file_system import LINKS, Unreadable
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.witnesses import damaged_log, snapshot_before

from .effects import CUTTING, REBUILDING

BY_THE_LOG: Final = frozenset(("I07", "I08", "I09", "I10", "I11", "I15", "I16"))
"""Entries that the log contradicts, in files that are whole; those that a start depends on are others."""
_SNAPSHOTS: Final = frozenset(("P01", "P02", "P03", "P06"))
_TXN_INDEXES: Final = frozenset(("I17", "I18", "I19", "I20", "I21"))

_INDEX: Final = ".index"

Place = tuple[str, str, int | None]
"""Log dir, directory and segment."""


def witnesses(finding: Finding, partition: PartitionDir, damaged: Collection[str]) -> tuple[int, int]:
    """The offsets [start, stop) in whose logs no batch may be damaged; none where that does not matter.

    `damaged` are the paths of what is found.
    """
    base, offset = finding.segment or 0, finding.offset or 0
    if finding.code in _TXN_INDEXES:
        return snapshot_before(partition, base, damaged) or 0, base + 1
    if finding.code in _SNAPSHOTS:
        return snapshot_before(partition, offset - 1, damaged) or 0, offset
    return (base, base + 1) if finding.code in BY_THE_LOG else (0, 0)


class MendedFirst:
    """The findings of one place, and the first fault of each of their logs."""

    def __init__(self, broker: BrokerContext, findings: Sequence[Finding]) -> None:
        self._dirs = {context.path: context for context in map(broker.of, broker.dirs)}
        self._level = broker.level
        self._logs = _faults_of_logs(findings)
        self._damaged = {f"{each.dir}/{each.file}" for each in findings}

    def before(self, finding: Finding) -> Finding:
        """The finding; with the command for its log, or for its link, if that is to be mended before it."""
        if not remedies.writes(finding.remedy):
            return finding
        is_of_log = finding.name.endswith(".log") or not remedies.repairs(finding.remedy)
        remedy = None if is_of_log else self._of_the_log(finding)
        if remedy is None and self._is_link(finding):
            remedy = remedies.unlinked(f"{finding.dir}/{finding.file}")
        return finding if remedy is None else replace(finding, remedy=remedy)

    def _is_link(self, finding: Finding) -> bool:
        context = self._dirs.get(finding.dir)
        if context is None:
            return False
        partition = context.log_dir.partition(finding.folder) if "/" in (finding.file or "") else None
        place = context.log_dir if partition is None else partition
        return place.entries.get(finding.name) in LINKS

    def _of_the_log(self, finding: Finding) -> Remedy | None:
        log = self._logs.get((finding.dir, finding.folder, finding.segment))
        if log is not None:
            return self.before(log).remedy
        context = self._dirs.get(finding.dir)
        partition = None if context is None else context.log_dir.partition(finding.folder)
        if context is None or partition is None:
            return None
        tails = context.clean and finding.name.endswith(_INDEX)
        try:
            damaged = damaged_log(partition, *self._offsets(finding, partition), tails=tails)
        except Unreadable:
            return None
        if damaged is None:
            return None
        log = self._logs.get((finding.dir, finding.folder, damaged[0].base_offset))
        if log is None and self._level < Level.DEEP:
            return remedies.check_deep(partition.path)
        return None if log is None else self.before(log).remedy

    def _offsets(self, finding: Finding, partition: PartitionDir) -> tuple[int, int]:
        """Of the logs to look at; what a start makes anew it reads, and by an offset index it loads."""
        base, effect = finding.segment, finding.broker_effect
        read = effect is not None and effect.effect in CUTTING | REBUILDING
        if base is not None and (read or finding.name.endswith(_INDEX)):
            return base, base + 1
        return witnesses(finding, partition, self._damaged)


def _faults_of_logs(findings: Iterable[Finding]) -> Mapping[Place, Finding]:
    """By segment the first fault of its log at which a start that makes an index anew cuts it, or ends."""
    logs: dict[Place, Finding] = {}
    for finding in findings:
        code = known_codes()[finding.code].code
        cuts = code.trimmed or code.consequence(clean=False) in (Consequence.LOSES, Consequence.REFUSES)
        if cuts and finding.name.endswith(".log") and finding.severity != Severity.INFO and finding.remedy:
            logs.setdefault((finding.dir, finding.folder, finding.segment), finding)
    return logs
