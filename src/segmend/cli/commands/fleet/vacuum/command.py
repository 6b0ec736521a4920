"""`segmend fleet vacuum`: makes room in one OUT."""

from __future__ import annotations

import argparse

from segmend.cli.output import emit_asked
from segmend.errors import ExitCode
from segmend.fleet.vacuum import vacuum
from segmend.report import text
from segmend.wording import plural


def run(args: argparse.Namespace) -> ExitCode:
    """Drop old audits and the files that nothing names."""
    if args.keep is None and args.older_than is None:
        # Nothing was said of whole runs: only what killed audits left goes.
        args.older_than = 0
    swept = vacuum(args.out, keep=args.keep, older_than_ms=args.older_than, dry_run=args.dry_run)
    counts = {"runs": list(swept.runs), "files": swept.files, "bytes": swept.bytes}
    verb, runs = "would go" if args.dry_run else "gone", plural(len(swept.runs), "run")
    words = f"{verb}: {runs}, {plural(swept.files, 'file')}, {text.size(swept.bytes)}"
    emit_asked(args, [{"type": "summary", "dry_run": args.dry_run} | counts], [words])
    return ExitCode.NOTHING_WRONG
