"""`segmend fleet pack`: what workers need, in one archive."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from types import ModuleType

from segmend.cli.options import add_output_options
from segmend.cli.output import emit, emit_json
from segmend.errors import ExitCode
from segmend.report import text

PACK = """\
examples:
  segmend fleet pack -o workers.tar.gz
  segmend fleet audit '/brokers/*' --out /shared/report --master spark://host:7077    brings it along

The archive has segmend and the packages it computes with (pyarrow, deltalake, ...), for the Python and the
kind of machine it was made on; workers need Spark and that Python, nothing else. For a session of your own:

  spark-submit --archives workers.tar.gz#segmend_workers --conf spark.executorEnv.PYTHONPATH=segmend_workers

exit codes: 0 written, 8 it could not be written, 16 usage"""


def configure_pack(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to (default: a name that tells what is in it)"
    )
    add_output_options(parser)


def pack(args: argparse.Namespace, bundle: ModuleType) -> ExitCode:
    """Write the archive; `bundle` is `segmend.fleet.bundle`, an extra's."""
    target = Path(args.output or bundle.bundle_name())
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
