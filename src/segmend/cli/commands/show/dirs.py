"""`segmend show DIR...`: the log dirs of one broker."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from segmend.cli.output import emit, emit_json, style
from segmend.cli.targets import broker_of, open_log_dirs
from segmend.errors import SegmendError
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable
from segmend.logdir.overview import PartitionOverview, dir_overview, partition_overview
from segmend.logdir.tree import LOG_DIR_FILES, LogDir, PartitionDir
from segmend.report import partitions
from segmend.report.partitions import Choice, Disks
from segmend.report.progress import Progress


def choice(args: argparse.Namespace) -> Choice:
    """Which partitions, and in which order."""
    return Choice(
        topic=args.topic, partition=args.partition, sort=args.sort, reverse=args.reverse, top=args.top
    )


def show_dirs(paths: Sequence[str], args: argparse.Namespace) -> int:
    """The page of one broker's dirs."""
    log_dirs = open_log_dirs(paths)
    for log_dir in log_dirs:
        require_kafka(log_dir)
    broker = broker_of(args, log_dirs)
    wanted = choice(args)
    disks = Disks(
        dirs=[dir_overview(log_dir) for log_dir in log_dirs],
        partitions=_overviews(wanted_partitions(log_dirs, wanted)),
        release=str(broker.release),
        release_reason=broker.release_reason,
    )
    if args.json:
        emit_json(partitions.json_rows(disks, wanted))
    else:
        emit(partitions.lines(disks, wanted, style(args)))
    return 0


def wanted_partitions(log_dirs: Sequence[LogDir], wanted: Choice) -> list[PartitionDir]:
    return [p for d in log_dirs for p in d.partitions if wanted.wants(p.topic, p.partition)]


def _overviews(wanted: Sequence[PartitionDir]) -> list[PartitionOverview]:
    progress = Progress(sys.stderr)
    rows = []
    for number, partition in enumerate(wanted):
        progress.say(f"{number} of {len(wanted)} partitions  {partition.name}")
        rows.append(partition_overview(partition))
    progress.done()
    return sorted(rows, key=lambda row: (row.topic, row.partition, row.dir, row.name))


def require_kafka(log_dir: LogDir) -> None:
    """Raise `SegmendError` for a directory that holds nothing of Kafka's, with a hint where to look."""
    if log_dir.partitions or not LOG_DIR_FILES.isdisjoint(log_dir.entries):
        return
    what = "nothing of Kafka's in it" if log_dir.entries else "an empty directory"
    inside = [name for name in log_dir.foreign if _looks_like_log_dir(f"{log_dir.path}/{name}")]
    hint = f"; did you mean {', '.join(f'{log_dir.path}/{name}' for name in inside[:3])}?" if inside else ""
    raise SegmendError(f"{log_dir.path}: {what}; a log dir has meta.properties and partitions{hint}")


def _looks_like_log_dir(path: str) -> bool:
    try:
        return not LOG_DIR_FILES.isdisjoint(disk.listing(path))
    except Unreadable:
        return False
