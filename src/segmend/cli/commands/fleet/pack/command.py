"""`segmend fleet pack`: what workers need, in one archive."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Final

from segmend.cli.output import emit, emit_json
from segmend.cli.overwriting import refuse_overwriting
from segmend.errors import ExitCode
from segmend.fleet import bundle
from segmend.report import text

_GZIP: Final = b"\x1f\x8b"


def run(args: argparse.Namespace) -> ExitCode:
    name = bundle.bundle_name() if args.output is None else args.output
    refuse_overwriting("-o", name, "archive", lambda begin: begin.startswith(_GZIP))
    target = Path(name)
    bundle.make_bundle(target)
    size = os.path.getsize(target)
    if args.json:
        emit_json([{"type": "bundle", "file": str(target), "bytes": size, "directory": bundle.NAME}])
        return ExitCode.NOTHING_WRONG
    emit(
        [
            f"{target}: {text.size(size)}",
            f"next: spark-submit --archives {target}#{bundle.NAME} "
            f"--conf spark.executorEnv.PYTHONPATH={bundle.NAME} ...",
        ]
    )
    return ExitCode.NOTHING_WRONG
