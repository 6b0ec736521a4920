"""How bad a finding is: decided once, by its code and by what the next start does about it.

Not a check. Nobody imports it before there is a finding, nor with it the modules that play a start:
a healthy disk does not pay for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from segmend.checks.context import BrokerContext
from segmend.checks.manual import Level, Scope
from segmend.checks.registry import all_checks, known_codes
from segmend.findings import Basis, BrokerEffect, Cause, Finding, Severity
from segmend.formats.names import parse_file_name
from segmend.frozen import replace
from segmend.loading.reads import Budget
from segmend.loading.start import Start
from segmend.loading.values import HARMLESS
from segmend.node.broker_dirs import BrokerDirs

from .effects import CUTTING, effect_of, is_mended
from .mending import MendedFirst
from .words import NONE, OFFLINE, REFUSES

# What is read of one directory to see what consumers will meet in it.
_READ_SEGMENTS, _READ_BYTES = 2_000, 256 << 20


_SETTING_ASIDE: Final = frozenset({"stray-renamed", "directory-deleted"})
_ASIDE: Final = "set aside"
_IN_THE_WAY: Final = "in the way"
# Of the code, the log dir and the directory (and the segment): what is explained in one place only.
_OF_A_PLACE: Final = 3
Key = tuple[str, ...]


class Judge:
    """Gives the findings of one broker, in the order in which they turn up, their severity.

    Where it `plays` the start, they get their `broker_effect` with it.
    """

    def __init__(self, broker: BrokerContext, *, plays: bool = True) -> None:
        self._dirs = {context.path: context for context in map(broker.of, broker.dirs)}
        self._broker = broker
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
        first = MendedFirst(self._broker, findings)
        return self._causes.told([first.before(each) for each in findings])

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
    """A start that is refused is an error, lost records are no mere note, a mended index is one.

    Of what is cut off at the end the check has said how bad it is: the last batch may never have been whole,
    or been acknowledged, which is no mere note either; zeros of a preallocated log never were one. And of
    what is set aside: its topic may be deleted.
    """
    known = CUTTING | _SETTING_ASIDE
    if effect.effect in (REFUSES, OFFLINE) or (effect.records_lost and effect.effect not in known):
        return Severity.ERROR
    code = known_codes()[finding.code].code
    if finding.severity == Severity.INFO:
        unknown = code.trimmed and effect.effect in CUTTING and effect.bytes_lost
        return Severity.WARNING if effect.records_lost or unknown else Severity.INFO
    if finding.severity == Severity.ERROR and _is_survived(finding, effect):
        return Severity.WARNING
    mended = finding.severity == Severity.ERROR and not code.lasting and is_mended(finding, effect)
    return Severity.INFO if mended else finding.severity


def _is_survived(finding: Finding, effect: BrokerEffect) -> bool:
    """Whether a fault of which other releases die does nothing to this one."""
    harmless = effect.effect == NONE or effect.effect in HARMLESS
    return known_codes()[finding.code].code.fatal and harmless and effect.basis == Basis.FORECAST


class Causes:
    """Looks for the cause of each finding: beside it, or among those of its dir and of the broker before.

    A code says which others fire for the same cause (`Code.explains`). Beside that a directory that the start
    sets aside is told of once: by the fault for which it does, not by all that is lost with it.
    """

    def __init__(self) -> None:
        checks = (check for check in all_checks() if check.scope in (Scope.BROKER, Scope.DIR))
        self._scopes = {code.name: check.scope for check in checks for code in check.codes}
        self._wide: dict[Key, Finding] = {}

    def told(self, findings: Sequence[Finding]) -> Iterator[Finding]:
        """The findings of one place with their causes, in the order given; the worst causes come first."""
        near: dict[Key, Finding] = {}
        for finding in sorted(findings, key=lambda each: each.severity.rank):
            for key in self._explained_by(finding):
                (self._wide if len(key) < _OF_A_PLACE else near).setdefault(key, finding)
        for finding in findings:
            root = self._root(finding, near)
            if root is finding:
                yield finding
            else:
                cause = Cause(code=root.code, dir=root.dir, file=root.file)
                yield replace(finding, cause=cause, remedy=root.remedy)

    def _explained_by(self, cause: Finding) -> Iterator[Key]:
        """What it explains: codes everywhere, in its dir, or in its directory."""
        scope, known = self._scopes.get(cause.code), known_codes()[cause.code].code
        for code in known.explains_beside:
            yield from ((code, cause.dir, cause.folder, offset) for offset in _segments(cause))
        for code in known.explains:
            named = f"{code} {_command(cause)}" if code == cause.code else code
            if scope == Scope.BROKER:
                yield (named,)
            elif scope == Scope.DIR:
                yield named, cause.dir
            else:
                yield named, cause.dir, cause.folder
        if known.in_the_way:
            yield _IN_THE_WAY, _path(cause)
        if _is_of_identity(cause) and _is_set_aside(cause):
            yield _ASIDE, cause.dir, cause.folder

    def _root(self, finding: Finding, near: Mapping[Key, Finding]) -> Finding:
        seen = [finding]
        while (cause := self._cause(seen[-1], near)) is not None and not any(cause is each for each in seen):
            seen.append(cause)
        return seen[-1]

    def _cause(self, finding: Finding, near: Mapping[Key, Finding]) -> Finding | None:
        place = finding.dir, finding.folder
        names = finding.code, f"{finding.code} {_command(finding)}"
        keys: list[Key] = [key for name in names for key in ((name,), (name, finding.dir), (name, *place))]
        keys += ((finding.code, *place, offset) for offset in _segments(finding))
        keys.append((_IN_THE_WAY, _path(finding)))
        if _is_set_aside(finding) and not _is_of_identity(finding):
            keys.append((_ASIDE, *place))
        causes = (self._wide.get(key) or near.get(key) for key in keys)
        return next((cause for cause in causes if cause is not None and cause is not finding), None)


def _command(finding: Finding) -> str | None:
    return None if finding.remedy is None else finding.remedy.command


def _path(finding: Finding) -> str:
    return f"{finding.dir}/{finding.file}"


def _segments(finding: Finding) -> set[str]:
    """The segment that it is about, by its file, and the one at whose beginning something is."""
    return {str(offset) for offset in (finding.segment, finding.offset) if offset is not None}


def _is_of_identity(finding: Finding) -> bool:
    return finding.code.startswith("M0")


def _is_set_aside(finding: Finding) -> bool:
    effect = finding.broker_effect
    return effect is not None and effect.effect in _SETTING_ASIDE
