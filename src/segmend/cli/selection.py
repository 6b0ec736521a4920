"""`--topic` and `--partition`: which partitions of the log dirs are asked about."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from segmend.cli.nearest import did_you_mean
from segmend.cli.options import given
from segmend.cli.targets import broker_of, open_log_dirs
from segmend.errors import UsageError
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.broker_dirs import BrokerDirs


def add_selection(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--topic", type=given, metavar="GLOB", help="partitions of these topics only")
    parser.add_argument("--partition", metavar="TOPIC-N", help="this partition only")


def is_wanted(args: argparse.Namespace, partition: PartitionDir) -> bool:
    """Whether the options select it."""
    if args.partition is not None and partition.name != args.partition:
        return False
    return args.topic is None or fnmatchcase(partition.topic, args.topic)


def asked(args: argparse.Namespace, paths: Sequence[str]) -> BrokerDirs:
    """The log dirs of one broker; raises `SegmendError` and `UsageError`."""
    dirs = open_log_dirs(paths)
    current = [p for d in dirs for p in d.partitions if p.kind == "current"]
    if args.partition is not None and not any(is_wanted(args, each) for each in current):
        raise _unknown(args.partition, (each.name for each in current))
    refuse_topic(args.topic, current)
    return broker_of(args, dirs)


def refuse_topic(glob: str | None, partitions: Iterable[PartitionDir]) -> None:
    """Raise `UsageError` if none of the partitions is of a topic that was asked for."""
    topics = {each.topic for each in partitions}
    if glob is not None and not any(fnmatchcase(topic, glob) for topic in topics):
        raise _unknown(glob, topics)


def _unknown(asked: str, known: Iterable[str]) -> UsageError:
    question = did_you_mean(asked, known) or " (`segmend show DIR` lists them)"
    return UsageError(f"no partition here is called '{asked}'{question}")
