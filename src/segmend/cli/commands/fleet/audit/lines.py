"""The findings of an audit for people: a line a code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from segmend.checks import Level
from segmend.fleet.audit import SKIPPED, AuditOutcome
from segmend.report import text
from segmend.report.style import Style
from segmend.wording import plural

_SHOWN = 40


def lines(groups: Sequence[tuple[dict[str, Any], int]], outcome: AuditOutcome, look: Style) -> Iterator[str]:
    """One line a code with its first place, the worst first, and what was looked at."""
    for first, count in groups[:_SHOWN]:
        severity, code = first["severity"], first["code"]
        times = f" (and {count - 1:,} more)" if count > 1 else ""
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
