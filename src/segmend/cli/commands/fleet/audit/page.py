"""OUT/report.html of an audit."""

from __future__ import annotations

from segmend import __version__
from segmend.fleet import publish
from segmend.fleet.audit import AuditOutcome
from segmend.fleet.cross import whole_manual
from segmend.report.html import render


def write_page(outcome: AuditOutcome, out: str) -> str:
    """Write it; its path."""
    page = render(
        publish.tables_of(out, outcome.run.run_id),
        title="Kafka fleet audit",
        generated_at=outcome.row["started"],
        tool_version=__version__,
        level=outcome.row["level"],
        manual=whole_manual(),
    )
    return publish.write_report(out, page)
