"""`segmend fleet pack`."""

from __future__ import annotations

import argparse

from segmend.cli.options import add_output_options

HELP = "one archive with all that workers need beside Spark and Python"
NEEDS = ("pyarrow",)
EXAMPLES = """\
examples:
  segmend fleet pack -o workers.tar.gz
  segmend fleet audit '/brokers/*' --out /shared/report --master spark://host:7077    brings it along

The archive has segmend and the packages it computes with (pyarrow, deltalake, ...), for the Python and the
kind of machine it was made on; workers need Spark and that Python, nothing else. For a session of your own:

  spark-submit --archives workers.tar.gz#segmend_workers --conf spark.executorEnv.PYTHONPATH=segmend_workers

exit codes: 0 written, 8 it could not be written, 16 usage"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to (default: a name that tells what is in it)"
    )
    add_output_options(parser)
