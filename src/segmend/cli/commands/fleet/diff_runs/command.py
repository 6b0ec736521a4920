"""`segmend fleet diff-runs`: what changed between two audits of one OUT."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import chain, islice

from segmend.cli.output import emit, emit_json, style
from segmend.errors import ExitCode
from segmend.fleet import delta
from segmend.fleet.history import changes, finished, pick, sight
from segmend.fleet.publish import finding_objects
from segmend.long_json import JsonObject
from segmend.report import text
from segmend.report.style import Style

_SHOWN = 40


@delta.kept_open()
def run(args: argparse.Namespace) -> ExitCode:
    """What changed between two audits."""
    pair = pick(finished(args.out, ("run_id", "started", "level")), args.runs)
    before, after = (sight(args.out, each.run_id, each.level) for each in pair)
    changed = changes(args.out, before, after)
    rows = {"new": (after, changed.new), "gone": (before, changed.gone), "unseen": (before, changed.unseen)}
    told = {name: finding_objects(args.out, run.run_id, kept) for name, (run, kept) in rows.items()}
    first = {name: list(islice(findings, _SHOWN)) for name, findings in told.items()}
    summary: dict[str, object] = {"type": "summary", "before": before.run_id, "after": after.run_id}
    summary |= {name: int(kept.sum()) for name, (_, kept) in rows.items()}
    if args.json:
        each = ((name, finding) for name in told for finding in chain(first[name], told[name]))
        emit_json({**finding, "change": name} for name, finding in each)
        emit_json([summary])
    else:
        emit(_lines(first, summary, style(args)))
    # The worst come first.
    worse = any(finding["severity"] in ("error", "warning") for finding in first["new"])
    return ExitCode.FINDINGS if worse else ExitCode.NOTHING_WRONG


def _lines(told: Mapping[str, list[JsonObject]], summary: JsonObject, look: Style) -> Iterator[str]:
    for name, findings in told.items():
        for finding in findings:
            place = text.clean(f"{finding['dir'].rstrip('/')}/{finding['file'] or ''}".rstrip("/"))
            severity = look.severity(finding["severity"], f"{finding['severity']:<7}")
            code = look("bold", f"{finding['code']:<4}")
            yield f"{name:<6} {severity} {code} broker {finding['broker']}  {place}"
            yield f"                    {text.clean(finding['message'])}"
        if summary[name] > _SHOWN:
            yield f"... and {summary[name] - _SHOWN:,} more {name} (--json has all of them)"
    unseen = summary["unseen"]
    kept = f", {unseen} not looked at again" if unseen else ""
    yield f"{summary['before']} to {summary['after']}: {summary['new']} new, {summary['gone']} gone{kept}"
