"""`segmend fleet runs`: the audits that lie in one OUT."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from segmend.cli.output import emit_asked, style
from segmend.errors import ExitCode
from segmend.fleet.history import finished
from segmend.fleet.typed_rows import RunRow
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


def _cells(row: RunRow) -> Sequence[str]:
    ends = (row["errors"], row["warnings"], row["new_findings"], row["gone_findings"])
    return (
        row["run_id"], row["level"], text.number(row["brokers"]), text.number(row["partitions"]),
        text.size(row["bytes"]), *map(text.number, ends),
    )  # fmt: skip
