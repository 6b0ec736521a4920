"""The report as one value: what the templates print, built from an audit's tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from segmend.checks.manual import Entry
from segmend.frozen import frozen
from segmend.wording import plural

from .brokers import Fleet, Headline, bytes_of, fleet, verdict
from .columns import TableRow, Tables, newest_run, rows, told_apart, total
from .disks import DisksSection, disks
from .explorer import Explorer, explorer
from .findings import Findings, findings
from .growth import GrowthSection, Past, growth
from .places import places
from .replicas import Replication, replication
from .segments import SegmentsSection, segments
from .times import Times, times
from .topics import Palette, palette
from .units import seconds

_LEVELS: Final = {
    "startup": "what a broker looks at when it starts",
    "default": "all metadata, every index against the batch headers",
    "deep": "every CRC, every record",
}
_RUN: Final = ["seconds", "paths", "skipped", "new_findings", "gone_findings"]


@frozen
class Report:
    """Everything the page says."""

    title: str
    generated_at: str
    tool_version: str
    level: str
    level_means: str
    took: str
    scope: str
    paths: tuple[str, ...]
    skipped: tuple[str, ...]
    change: str
    verdict: Headline
    findings: Findings
    fleet: Fleet
    palette: Palette
    disks: DisksSection
    times: Times
    replication: Replication
    segments: SegmentsSection
    explorer: Explorer
    growth: GrowthSection

    def data(self) -> dict[str, object]:
        """The JSON that travels in the page: for its filters, and for programs that read reports."""
        return {
            "title": self.title,
            "generated_at": self.generated_at,
            "version": self.tool_version,
            "level": self.level,
            "verdict": self.verdict.headline,
            "counts": dict(self.findings.counts),
            "findings": self.findings.facets(),
        }


def build(
    tables: Tables,
    *,
    title: str,
    generated_at: datetime,
    tool_version: str,
    level: str,
    manual: Mapping[str, Entry],
    past: Past | None = None,
) -> Report:
    """Every section of the report of an audit, for `render`.

    `tables` are those of `segmend.fleet.schemas`, by name: `log_dirs partitions segments findings
    replicas runs`. One that is missing leaves its section empty; of several runs the newest counts.
    `generated_at` carries its time zone, `level` is `startup`, `default` or `deep`. `manual`
    gives codes the headline and the text behind it; without it the first message is the headline.
    `past` is what earlier audits tell.
    """
    tables = told_apart(newest_run(tables))
    where, colours = places(tables), palette(tables)
    told = findings(tables, where, manual)
    brokers = fleet(tables, where)
    run = next(iter(rows(tables, "runs", _RUN)), TableRow())
    return Report(
        title=title,
        generated_at=generated_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        tool_version=tool_version,
        level=level,
        level_means=_LEVELS.get(level, ""),
        took=seconds(run.get("seconds")) if run else "",
        scope=_scope(tables, brokers),
        paths=tuple(run.get("paths") or ())[:12],
        skipped=tuple(run.get("skipped") or ())[:20],
        change=_change(run),
        verdict=verdict(brokers.everyone, told.counts),
        findings=told,
        fleet=brokers,
        palette=colours,
        disks=disks(tables, where, colours),
        times=times(tables, colours, generated_at),
        replication=replication(tables),
        segments=segments(tables),
        explorer=explorer(tables, where),
        growth=growth(past),
    )


def _scope(tables: Tables, brokers: Fleet) -> str:
    counted = (("log_dirs", "log dir"), ("partitions", "partition"), ("segments", "segment"))
    parts = [plural(len(brokers.everyone), "broker")]
    parts += [plural(tables[name].num_rows, noun) for name, noun in counted if name in tables]
    if records := total(tables, "segments", "records"):
        parts.append(plural(records, "record"))
    return " · ".join([*parts, bytes_of(brokers.everyone) + " of logs"])


def _change(run: TableRow) -> str:
    """Against the run before, where there was one."""
    new, gone = run.get("new_findings"), run.get("gone_findings")
    if new is None or gone is None:
        return ""
    return f"{new:,} new and {gone:,} gone since the run before"
