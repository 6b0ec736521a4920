"""`segmend fleet runs`: the audits that lie in one OUT."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from segmend.cli.output import emit, emit_json, style
from segmend.errors import ExitCode
from segmend.fleet.history import finished
from segmend.report import text
from segmend.report.table import Column, table

_COLUMNS = (
    *(Column("run"), Column("level"), Column("brokers", right=True), Column("partitions", right=True)),
    *(Column("bytes", right=True), Column("errors", right=True), Column("warnings", right=True)),
    *(Column("new", right=True), Column("gone", right=True)),
)


def run(args: argparse.Namespace) -> ExitCode:
    """Every finished audit."""
    rows = finished(args.out)
    if args.json:
        emit_json({"type": "run", **row} | {"started": row["started"].isoformat()} for row in rows)
    else:
        emit(table(_COLUMNS, map(_cells, rows), style(args)))
    return ExitCode.NOTHING_WRONG


def _cells(row: Mapping[str, Any]) -> Sequence[str]:
    counts = [row[name] for name in ("brokers", "partitions")]
    ends = [row[name] for name in ("errors", "warnings", "new_findings", "gone_findings")]
    shown = [text.number(value) for value in (*counts, *ends)]
    return (row["run_id"], row["level"], *shown[:2], text.size(row["bytes"]), *shown[2:])
