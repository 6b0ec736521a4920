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
from segmend.fleet.typed_rows import FindingObject
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
    counts = {name: int(kept.sum()) for name, (_, kept) in rows.items()}
    if args.json:
        each = ((name, finding) for name in told for finding in chain(first[name], told[name]))
        emit_json({**finding, "change": name} for name, finding in each)
        emit_json([{"type": "summary", "before": before.run_id, "after": after.run_id, **counts}])
    else:
        emit(_lines(first, counts, style(args)))
        unseen = f", {counts['unseen']} not looked at again" if counts["unseen"] else ""
        changed_in_all = f"{counts['new']} new, {counts['gone']} gone{unseen}"
        emit([f"{before.run_id} to {after.run_id}: {changed_in_all}"])
    # The worst come first.
    worse = any(finding["severity"] in ("error", "warning") for finding in first["new"])
    return ExitCode.FINDINGS if worse else ExitCode.NOTHING_WRONG


def _lines(told: Mapping[str, list[FindingObject]], counts: Mapping[str, int], look: Style) -> Iterator[str]:
    for name, findings in told.items():
        for finding in findings:
            place = text.clean(f"{finding['dir'].rstrip('/')}/{finding['file'] or ''}".rstrip("/"))
            severity = look.severity(finding["severity"], f"{finding['severity']:<7}")
            code = look("bold", f"{finding['code']:<4}")
            yield f"{name:<6} {severity} {code} broker {finding['broker']}  {place}"
            yield f"                    {text.clean(finding['message'])}"
        if counts[name] > _SHOWN:
            yield f"... and {counts[name] - _SHOWN:,} more {name} (--json has all of them)"
