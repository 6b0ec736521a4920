"""How bad a finding is: decided once, by its code and by what the next start does about it.

Not a check. Nobody imports it before there is a finding, nor with it the modules that play a start:
a healthy disk does not pay for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from segmend.checks import Level, known_codes
from segmend.checks.context import BrokerContext
from segmend.findings import Basis, BrokerEffect, Finding, Severity
from segmend.formats.names import parse_file_name
from segmend.frozen import replace
from segmend.loading.reads import Budget
from segmend.loading.start import Start
from segmend.loading.values import HARMLESS
from segmend.node.broker_dirs import BrokerDirs

from .causes import Causes
from .effects import effect_of, is_mended
from .words import NONE, OFFLINE, REFUSES

# What is read of one directory to see what consumers will meet in it.
_READ_SEGMENTS, _READ_BYTES = 2_000, 256 << 20


class Judge:
    """Gives the findings of one broker, in the order in which they turn up, their severity.

    Where it `plays` the start, they get their `broker_effect` with it.
    """

    def __init__(self, broker: BrokerContext, *, plays: bool = True) -> None:
        self._dirs = {context.path: context for context in map(broker.of, broker.dirs)}
        self._causes = Causes()
        self._start = Start(broker.broker_dirs, _reads(broker.level)) if plays else None

    def judged(self, finding: Finding) -> Finding:
        """The finding as everybody sees it; what its check says of the severity is taken for the worst."""
        if self._is_healed(finding):
            finding = replace(finding, severity=Severity.INFO)
        if self._start is None:
            return finding
        effect = effect_of(finding, self._start)
        return replace(finding, broker_effect=effect, severity=_weighed(finding, effect))

    def explained(self, findings: Sequence[Finding]) -> Iterator[Finding]:
        """Judged findings of one place, each with its cause; those of the broker and the dir come before."""
        return self._causes.told(findings)

    def _is_healed(self, finding: Finding) -> bool:
        """Whether it is gone once the start has recovered the segment."""
        context, code = self._dirs.get(finding.dir), known_codes()[finding.code].code
        if context is None or not (code.derived or code.trimmed):
            return False
        name, _, file = (finding.file or "").partition("/")
        partition, base = context.log_dir.partition(name), parse_file_name(file).base_offset
        if (
            partition is None
            or base is None
            or (code.trimmed and base != max(partition.layout.logs, default=None))
        ):
            return False
        return context.recovers(partition, base)


def judged(findings: Iterable[Finding], broker: BrokerDirs, level: Level) -> list[Finding]:
    """Findings of a run that has not played the start, by the start of `broker`."""
    judge = Judge(BrokerContext(broker, level=level, codes=known_codes()))
    return [judge.judged(finding) for finding in findings]


def _reads(level: Level) -> Budget:
    """A start-up check promises not to read what a start does not read."""
    return Budget(segments=0 if level == Level.STARTUP else _READ_SEGMENTS, bytes=_READ_BYTES)


def _weighed(finding: Finding, effect: BrokerEffect) -> Severity:
    """A start that is refused is an error, lost records are no mere note, a mended index is one."""
    if effect.effect in (REFUSES, OFFLINE):
        return Severity.ERROR
    if finding.severity == Severity.INFO:
        return Severity.WARNING if effect.records_lost else Severity.INFO
    if finding.severity == Severity.ERROR and _is_survived(finding, effect):
        return Severity.WARNING
    code = known_codes()[finding.code].code
    mended = finding.severity == Severity.ERROR and not code.lasting and is_mended(finding, effect)
    return Severity.INFO if mended else finding.severity


def _is_survived(finding: Finding, effect: BrokerEffect) -> bool:
    """Whether a fault of which other releases die does nothing to this one."""
    harmless = effect.effect == NONE or effect.effect in HARMLESS
    return known_codes()[finding.code].code.fatal and harmless and effect.basis == Basis.FORECAST
