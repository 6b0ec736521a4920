"""Findings for people: grouped by partition, the worst first, with the next command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from segmend.findings import Cause, Finding, Safety, Severity
from segmend.grouping import grouped
from segmend.report import text
from segmend.report.style import PLAIN, Style
from segmend.wording import plural

Place = tuple[str, str]

_SAFETY = {
    Safety.SAFE: "# loses nothing",
    Safety.LOSSY: "# may lose data: look first",
    Safety.ADVICE: "# advice",
}


def finding_lines(
    findings: Iterable[Finding], style: Style = PLAIN, *, most: int = 0, total: int = 0, each: bool = False
) -> Iterator[str]:
    """All lines; at most `most` findings (0: all), the worst of the worst places first.

    `total` is how many findings there were, when not all of them are given. What another finding
    explains is a line of that one, unless `each` is to be shown.
    """
    ordered = in_order(findings)
    explained = {} if each else _explained(ordered)
    heads = [finding for finding in ordered if each or finding.cause not in explained]
    shown = heads[:most] if most else heads
    for (log_dir, place), group in groupby(shown, _place):
        yield style("bold", text.clean(f"{log_dir}  {place}" if place else log_dir))
        yield from _group_lines(list(group), explained, style)
        yield ""
    more = max(total, len(ordered)) - len(ordered) + len(heads) - len(shown)
    if more:
        yield f"... and {plural(more, 'more finding')} (--max 0 shows all)"
        yield ""


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Places by their worst finding, in each place by severity, file and position; causes first."""
    unsorted = list(findings)
    explained = _explained(unsorted)
    worst: dict[Place, int] = {}
    for finding in unsorted:
        rank = _rank(finding, explained)
        worst[_place(finding)] = min(worst.get(_place(finding), rank), rank)
    return sorted(
        unsorted,
        key=lambda f: (
            worst[_place(f)], _place(f), _rank(f, explained), f.cause is not None,
            f.file or "", f.position or 0, f.code,
        ),
    )  # fmt: skip


def _explained(findings: Iterable[Finding]) -> dict[Cause, list[Finding]]:
    by_cause = grouped(findings, lambda finding: finding.cause)
    heads = {_as_cause(finding) for finding in by_cause.get(None, ())}
    return {cause: group for cause, group in by_cause.items() if cause in heads}


def _as_cause(finding: Finding) -> Cause:
    return Cause(code=finding.code, dir=finding.dir, file=finding.file)


def _rank(finding: Finding, explained: Mapping[Cause, Sequence[Finding]]) -> int:
    group = explained.get(_as_cause(finding), ()) if finding.cause is None else ()
    return min([finding.severity.rank, *(each.severity.rank for each in group)])


def _place(finding: Finding) -> Place:
    """The log dir and the directory in it, or the log dir alone for what lies at its top."""
    folder, slash, _ = (finding.file or "").partition("/")
    inside = bool(slash) or finding.topic is not None
    return finding.dir, folder if inside else ""


def _group_lines(
    group: Sequence[Finding], explained: Mapping[Cause, Sequence[Finding]], style: Style
) -> Iterator[str]:
    for number, finding in enumerate(group):
        yield from _finding_lines(finding, style)
        symptoms = explained.get(_as_cause(finding), ())
        if symptoms:
            yield f"          explains: {_counted(symptoms)} (--all shows each)"
        following = group[number + 1].remedy if number + 1 < len(group) else None
        # A run of findings with one remedy shows it once, after the last of them.
        if finding.remedy is not None and finding.remedy != following:
            command = style.command(finding.remedy.command)
            yield f"          next:   {command}  {style('dim', _SAFETY[finding.remedy.safety])}"


def _counted(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.code for finding in findings)
    return ", ".join(code if count == 1 else f"{count:,} x {code}" for code, count in sorted(counts.items()))


def _finding_lines(finding: Finding, style: Style) -> Iterator[str]:
    severity = style.severity(finding.severity, f"{finding.severity:<7}")
    yield f"  {severity} {style('bold', f'{finding.code:<4}')} {where(finding)}"
    yield f"          {text.clean(finding.message)}"
    if finding.broker_effect is not None:
        said = finding.broker_effect.text
        yield f"          broker: {text.clean(said[:1].lower() + said[1:])}"
    if finding.cause is not None:
        place = text.clean("/".join(filter(None, [finding.cause.dir, finding.cause.file])))
        yield f"          because of {finding.cause.code}: {place}"
    told = finding.broker_effect is not None and (finding.broker_says or "") in finding.broker_effect.text
    if finding.broker_says and not told and finding.severity != Severity.INFO:
        yield f"          it says: {style('dim', text.clean(finding.broker_says))}"


def where(finding: Finding) -> str:
    """The file, the byte position and the offset, as far as they are known."""
    parts = [text.clean(finding.name)] if finding.name else []
    if finding.position is not None:
        parts.append(f"byte {finding.position}")
    if finding.offset is not None:
        parts.append(f"offset {finding.offset}")
    return "  ".join(parts)
