"""OUT/report.html of an audit."""

from __future__ import annotations

from segmend import __version__
from segmend.fleet import growth, publish
from segmend.fleet.audit import AuditOutcome
from segmend.fleet.cross import whole_manual
from segmend.fleet.history import finished
from segmend.report.html import DRAWN, Past, build, render

from ..caching import cache_folder


def write_page(outcome: AuditOutcome, out: str) -> str:
    kept = cache_folder()
    report = build(
        publish.tables_of(out, outcome.run.run_id),
        title="Kafka fleet audit",
        generated_at=outcome.row["started"],
        tool_version=__version__,
        level=outcome.row["level"],
        manual=whole_manual(),
        past=_past(outcome, out),
    )
    return publish.write_report(out, render(report, None if kept is None else str(kept)))


def _past(outcome: AuditOutcome, out: str) -> Past:
    """The audits of this OUT up to this one, which is told beside the oldest of the last 30 days."""
    every = finished(out, DRAWN)
    runs = every[: [row["run_id"] for row in every].index(outcome.run.run_id) + 1]
    if len(runs) < 2:
        return Past(runs=runs)
    before = growth.earlier_of(runs, None)
    return Past(runs=runs, dirs=growth.dirs(out, before, runs[-1]), since=before)
