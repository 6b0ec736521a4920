"""`segmend fleet diff-runs`: what changed between two audits of one OUT."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from segmend.cli.output import emit, emit_json, style
from segmend.errors import ExitCode
from segmend.fleet.history import changes, finished, pick, sight
from segmend.fleet.publish import objects
from segmend.report import text
from segmend.report.style import Style

_SHOWN = 40


def run(args: argparse.Namespace) -> ExitCode:
    """What changed between two audits."""
    pair = pick(finished(args.out), args.runs)
    before, after = (sight(args.out, each.run_id, each.level) for each in pair)
    changed = changes(args.out, before, after)
    told = {
        name: list(objects(rows))
        for name, rows in (("new", changed.new), ("gone", changed.gone), ("unseen", changed.unseen))
    }
    summary: dict[str, Any] = {"type": "summary", "before": before.run_id, "after": after.run_id}
    summary |= {name: len(rows) for name, rows in told.items()}
    if args.json:
        emit_json(finding | {"change": name} for name, rows in told.items() for finding in rows)
        emit_json([summary])
    else:
        emit(_lines(told, summary, style(args)))
    worse = any(finding["severity"] in ("error", "warning") for finding in told["new"])
    return ExitCode.FINDINGS if worse else ExitCode.NOTHING_WRONG


def _lines(
    told: Mapping[str, list[dict[str, Any]]], summary: Mapping[str, Any], look: Style
) -> Iterator[str]:
    for name, rows in told.items():
        for finding in rows[:_SHOWN]:
            place = text.clean(f"{finding['dir'].rstrip('/')}/{finding['file'] or ''}".rstrip("/"))
            severity = look.severity(finding["severity"], f"{finding['severity']:<7}")
            code = look("bold", f"{finding['code']:<4}")
            yield f"{name:<6} {severity} {code} broker {finding['broker']}  {place}"
            yield f"                    {text.clean(finding['message'])}"
        if len(rows) > _SHOWN:
            yield f"... and {len(rows) - _SHOWN:,} more {name} (--json has all of them)"
    unseen = summary["unseen"]
    kept = f", {unseen} not looked at again" if unseen else ""
    yield f"{summary['before']} to {summary['after']}: {summary['new']} new, {summary['gone']} gone{kept}"
