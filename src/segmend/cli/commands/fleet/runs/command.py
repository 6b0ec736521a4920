"""`segmend fleet runs`: the audits that lie in one OUT."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from segmend.cli.output import emit_asked, style
from segmend.errors import ExitCode
from segmend.fleet.history import finished
from segmend.long_json import JsonObject
from segmend.report import text
from segmend.report.table import columns, table

_COLUMNS = columns(
    "run", "level", ">brokers", ">partitions", ">bytes", ">errors", ">warnings", ">new", ">gone",
)  # fmt: skip


def run(args: argparse.Namespace) -> ExitCode:
    """Every finished audit."""
    rows = finished(args.out)
    objects = ({"type": "run", **row} | {"started": row["started"].isoformat()} for row in rows)
    emit_asked(args, objects, table(_COLUMNS, map(_cells, rows), style(args)))
    return ExitCode.NOTHING_WRONG


def _cells(row: JsonObject) -> Sequence[str]:
    counts = [row[name] for name in ("brokers", "partitions")]
    ends = [row[name] for name in ("errors", "warnings", "new_findings", "gone_findings")]
    shown = [text.number(value) for value in (*counts, *ends)]
    return (row["run_id"], row["level"], *shown[:2], text.size(row["bytes"]), *shown[2:])
