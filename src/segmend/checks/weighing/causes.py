"""Which finding explains which: one cause, one finding, one next command.

Not a check. A code says which others fire for the same cause (`Code.explains`). Beside that a directory that
the start sets aside is told of once: by the fault for which it does, not by all that is lost with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from segmend.checks import Scope, all_checks, known_codes
from segmend.findings import Cause, Finding
from segmend.formats.names import parse_file_name
from segmend.frozen import replace

_SETTING_ASIDE: Final = frozenset({"stray-renamed", "directory-deleted"})
_ASIDE: Final = "set aside"
# Of the code, the log dir and the directory (and the segment): what is explained in one place only.
_OF_A_PLACE: Final = 3


Key = tuple[str, ...]


class Causes:
    """Looks for the cause of each finding: beside it, or among those of its dir and of the broker before."""

    def __init__(self) -> None:
        checks = (check for check in all_checks() if check.scope in (Scope.BROKER, Scope.DIR))
        self._scopes = {code.name: check.scope for check in checks for code in check.codes}
        self._wide: dict[Key, Finding] = {}

    def told(self, findings: Sequence[Finding]) -> Iterator[Finding]:
        """The findings of one place with their causes, in the order given."""
        near: dict[Key, Finding] = {}
        for finding in findings:
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
            yield from ((code, cause.dir, _folder(cause), offset) for offset in _segments(cause))
        for code in known.explains:
            named = f"{code} {_command(cause)}" if code == cause.code else code
            if scope == Scope.BROKER:
                yield (named,)
            elif scope == Scope.DIR:
                yield named, cause.dir
            else:
                yield named, cause.dir, _folder(cause)
        if _is_of_identity(cause) and _is_set_aside(cause):
            yield _ASIDE, cause.dir, _folder(cause)

    def _root(self, finding: Finding, near: Mapping[Key, Finding]) -> Finding:
        """The cause that has none itself."""
        seen = [finding]
        while (cause := self._cause(seen[-1], near)) is not None and not any(cause is each for each in seen):
            seen.append(cause)
        return seen[-1]

    def _cause(self, finding: Finding, near: Mapping[Key, Finding]) -> Finding | None:
        place = finding.dir, _folder(finding)
        names = finding.code, f"{finding.code} {_command(finding)}"
        keys: list[Key] = [key for name in names for key in ((name,), (name, finding.dir), (name, *place))]
        keys += ((finding.code, *place, offset) for offset in _segments(finding))
        if _is_set_aside(finding) and not _is_of_identity(finding):
            keys.append((_ASIDE, *place))
        causes = (self._wide.get(key) or near.get(key) for key in keys)
        return next((cause for cause in causes if cause is not None and cause is not finding), None)


def _command(finding: Finding) -> str | None:
    return None if finding.remedy is None else finding.remedy.command


def _segments(finding: Finding) -> set[str]:
    """The segment that it is about, by its file, and the one at whose beginning something is."""
    base = parse_file_name((finding.file or "").rpartition("/")[2]).base_offset
    return {str(offset) for offset in (base, finding.offset) if offset is not None}


def _folder(finding: Finding) -> str:
    return (finding.file or "").partition("/")[0]


def _is_of_identity(finding: Finding) -> bool:
    return finding.code.startswith("M0")


def _is_set_aside(finding: Finding) -> bool:
    effect = finding.broker_effect
    return effect is not None and effect.effect in _SETTING_ASIDE
