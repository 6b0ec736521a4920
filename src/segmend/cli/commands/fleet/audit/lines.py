"""The findings of an audit for people: a line a code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from segmend.checks import Level
from segmend.fleet.audit import SKIPPED, AuditOutcome
from segmend.report import text
from segmend.report.style import Style
from segmend.wording import plural

_SHOWN = 40


def lines(findings: Iterable[dict[str, Any]], outcome: AuditOutcome, look: Style) -> Iterator[str]:
    """One line a code with its first place, the worst first, and what was looked at."""
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        key = (finding["severity"], finding["code"])
        counts[key] += 1
        if key not in groups or (groups[key]["cause"] is not None and finding["cause"] is None):
            groups[key] = finding
    for (severity, code), first in list(groups.items())[:_SHOWN]:
        times = f" (and {counts[severity, code] - 1:,} more)" if counts[severity, code] > 1 else ""
        head = f"{look.severity(severity, f'{severity:<7}')} {look('bold', f'{code:<4}')}"
        yield f"{head} {_where(first)}{times}"
        yield f"             {text.clean(first['message'])}{_told_by(first)}"
        if first["cause"] is not None:
            cause = first["cause"]
            yield f"             because of {cause['code']} {text.clean(cause['file'] or '')}"
        elif first["remedy"] and severity != "info":
            yield f"             next: {look.command(first['remedy']['command'])}"
    if len(groups) > _SHOWN:
        yield f"... and {plural(len(groups) - _SHOWN, 'more code')}; the report has all of them"
    if groups:
        yield ""
    yield from _totals(outcome.row)
    if outcome.unreadable:
        shown = ", ".join(map(text.clean, outcome.unreadable[:3]))
        more = f" and {len(outcome.unreadable) - 3} more" if len(outcome.unreadable) > 3 else ""
        yield f"could not be read with this user's permissions: {shown}{more}"


def _told_by(finding: Mapping[str, Any]) -> str:
    reader = finding["carried_from"]
    return "" if reader is None else f" (as {reader} read it; not read again)"


def _where(finding: Mapping[str, Any]) -> str:
    place = text.clean(f"{finding['dir'].rstrip('/')}/{finding['file'] or ''}".rstrip("/"))
    return f"broker {finding['broker']}  {place}"


def _totals(row: Mapping[str, Any]) -> Iterator[str]:
    counts = [
        plural(row["errors"], "error"),
        plural(row["warnings"], "warning"),
        plural(row["infos"], "note"),
    ]
    verdict = ", ".join(counts) if row["errors"] or row["warnings"] or row["infos"] else "nothing wrong"
    looked = [
        plural(row["brokers"], "broker"),
        plural(row["log_dirs"], "log dir"),
        plural(row["partitions"], "partition"),
        plural(row["segments"], "segment"),
        text.size(row["bytes"]),
    ]
    carried = row["carried_segments"]
    yield f"{verdict} in {', '.join(looked)}; {text.duration(row['seconds'])} on {row['driver']}"
    if row["new_findings"] is not None:
        yield f"since the run before: {row['new_findings']} new, {row['gone_findings']} gone"
    unseen = SKIPPED[Level[row["level"].upper()]]
    if unseen:
        yield f"not looked at: {', '.join(unseen)} (--deep)"
    for words in row["skipped"][len(unseen) : -1 if carried else None]:
        yield f"not compared: {text.clean(words)}"
    if carried:
        yield f"not read again: {row['skipped'][-1]} (--full)"
