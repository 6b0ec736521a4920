"""Findings for people: grouped by partition, the worst first, with the next command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from segmend.findings import Finding, Remedy, Safety, Severity
from segmend.report import text
from segmend.report.style import PLAIN, Style
from segmend.wording import plural

Place = tuple[str, str]

_SAFETY = {
    Safety.SAFE: "loses nothing",
    Safety.LOSSY: "may lose data: look first",
    Safety.ADVICE: "advice",
}


def finding_lines(
    findings: Iterable[Finding], style: Style = PLAIN, *, most: int = 0, total: int = 0
) -> Iterator[str]:
    """All lines; at most `most` findings (0: all), the worst of the worst places first.

    `total` is how many findings there were, when not all of them are given.
    """
    ordered = in_order(findings)
    shown = ordered[:most] if most else ordered
    for (log_dir, place), group in groupby(shown, _place):
        yield style("bold", text.clean(f"{log_dir}  {place}" if place else log_dir))
        yield from _group_lines(list(group), style)
        yield ""
    more = max(total, len(ordered)) - len(shown)
    if more:
        yield f"... and {plural(more, 'more finding')} (--max 0 shows all)"
        yield ""


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Places by their worst finding, in each place by severity, file and position."""
    found = list(findings)
    worst: dict[Place, int] = {}
    for finding in found:
        rank = finding.severity.rank
        worst[_place(finding)] = min(worst.get(_place(finding), rank), rank)
    return sorted(
        found,
        key=lambda f: (worst[_place(f)], _place(f), f.severity.rank, f.file or "", f.position or 0, f.code),
    )


def _place(finding: Finding) -> Place:
    """The log dir and the directory in it, or the log dir alone for what lies at its top."""
    folder, slash, _ = (finding.file or "").partition("/")
    inside = bool(slash) or finding.topic is not None
    return finding.dir, folder if inside else ""


def _group_lines(group: Sequence[Finding], style: Style) -> Iterator[str]:
    for number, finding in enumerate(group):
        yield from _finding_lines(finding, style)
        following = group[number + 1].remedy if number + 1 < len(group) else None
        # A run of findings with one remedy shows it once, after the last of them.
        if finding.remedy is not None and finding.remedy != following:
            yield from _remedy_lines(finding.remedy, style)


def _finding_lines(finding: Finding, style: Style) -> Iterator[str]:
    severity = style.severity(finding.severity, f"{finding.severity:<7}")
    yield f"  {severity} {style('bold', f'{finding.code:<4}')} {where(finding)}"
    yield f"          {text.clean(finding.message)}"
    if finding.broker_effect is not None:
        yield f"          broker: {text.clean(finding.broker_effect.text)}"
    if finding.broker_says and finding.severity != Severity.INFO:
        yield f"          it says: {style('dim', text.clean(finding.broker_says))}"


def where(finding: Finding) -> str:
    """The file, the byte position and the offset, as far as they are known."""
    name = (finding.file or "").rpartition("/")[2]
    parts = [text.clean(name)] if name else []
    if finding.position is not None:
        parts.append(f"byte {finding.position}")
    if finding.offset is not None:
        parts.append(f"offset {finding.offset}")
    return "  ".join(parts)


def _remedy_lines(remedy: Remedy, style: Style) -> Iterator[str]:
    command = style.command(text.clean(remedy.command))
    yield f"          next:   {command}  {style('dim', f'({_SAFETY[remedy.safety]})')}"
