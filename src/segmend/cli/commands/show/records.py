"""`segmend show ... --records` and `--batches`: the logs of whole partitions, one after the other."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

from segmend.cli.commands.show.dirs import choice, require_kafka, wanted_partitions
from segmend.cli.commands.show.file import show_file
from segmend.cli.commands.show.partition import open_partition
from segmend.cli.commands.show.select import selection
from segmend.cli.output import note
from segmend.cli.targets import open_log_dirs
from segmend.logdir.file_system import Unreadable
from segmend.logdir.tree import LogSegment, PartitionDir


def show_records(args: argparse.Namespace, shapes: Mapping[str, str]) -> int:
    """Each log of each partition asked for, those that cannot hold a wanted offset left out."""
    failed: Unreadable | None = None
    for path in _paths(args, shapes):
        try:
            show_file(path, args)
        except Unreadable as error:
            note(str(error))
            failed = error
    return failed.exit_code if failed else 0


def _paths(args: argparse.Namespace, shapes: Mapping[str, str]) -> Iterator[str]:
    log_dirs = open_log_dirs([path for path in args.paths if shapes[path] == "log-dir"])
    for log_dir in log_dirs:
        require_kafka(log_dir)
    for partition in wanted_partitions(log_dirs, choice(args)):
        yield from _logs(partition, args)
    for path in args.paths:
        if shapes[path] == "partition":
            yield from _logs(open_partition(path), args)
        elif shapes[path] == "file":
            yield path


def _logs(partition: PartitionDir, args: argparse.Namespace) -> Iterator[str]:
    if partition.unreadable is not None:
        raise partition.unreadable
    wanted = selection(args)
    for segment in partition.segments:
        if segment.log is not None and _may_hold(segment, wanted.first_offset, wanted.last_offset):
            yield segment.log.path


def _may_hold(segment: LogSegment, first: int, last: int) -> bool:
    following = segment.next_base_offset
    return segment.base_offset <= last and (following is None or first < following)
