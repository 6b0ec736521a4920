"""Who runs the tasks of a fleet command, and what it needs; for the sub-commands, once they are asked for."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from segmend.errors import SegmendError
from segmend.fleet.driver import Driver, LocalDriver
from segmend.fleet.listing import absolute
from segmend.frozen import replace

from .caching import cache_folder
from .needs import need

_HERE: Final = "local[*]"
"""The Spark master if none is given."""


def _is_here(args: argparse.Namespace) -> bool:
    """Whether the workers are children of this process, and end with it."""
    master = args.master or _HERE
    return "local" in (args.driver, master) or master.startswith("local[")


def paths_for_tasks(args: argparse.Namespace) -> list[str]:
    """As given where the workers stand where we do, else as they find them, too."""
    return list(args.paths) if _is_here(args) else absolute(args.paths)


def as_tasks_find_them(args: argparse.Namespace) -> None:
    """The paths, OUT and schemas, for those who stand elsewhere."""
    args.paths = paths_for_tasks(args)
    args.out = absolute([args.out])[0]
    args.decode = [
        replace(each, path=os.path.abspath(each.path)) if each.path else each for each in args.decode
    ]


@contextmanager
def driver_of(args: argparse.Namespace) -> Iterator[Driver]:
    """What `--driver` and `--master` ask for."""
    if args.driver == "local":
        yield LocalDriver(workers=args.workers)
        return
    need("pyspark")
    # The extra was looked for just now.
    from segmend.spark.cancelled import quietly
    from segmend.spark.driver import SparkDriver
    from segmend.spark.session import plain_session

    with quietly(here=_is_here(args)) as keep:
        spark = plain_session(args.master or _HERE, cache=cache_folder(), connected=keep)
        if _is_here(args):
            yield SparkDriver(
                spark
            )  # the JVM ends with this process, and a stop would only make the user wait
            return
        # A cluster is told, or it starts executors anew for one that has gone, and complains. That comes
        # before our error is said, behind all that Spark's processes say of their end.
        try:
            yield SparkDriver(spark)
        except SegmendError:
            with suppress(Exception):  # what is wrong may be that the cluster is gone
                spark.stop()
            raise
        spark.stop()
