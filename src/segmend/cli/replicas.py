"""The replicas that directories of several brokers hold, as the command line names them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from segmend.cli.output import note
from segmend.cli.selection import refuse_topic
from segmend.cli.targets import Targets, open_targets
from segmend.cluster.cluster_dirs import FleetDirs
from segmend.cluster.gathered import gathered
from segmend.errors import UsageError
from segmend.formats.names import CLUSTER_METADATA_TOPIC
from segmend.logdir.partition_dir import Key, PartitionDir


def targets_of(paths: Sequence[str]) -> Targets:
    """What the paths stand for; a directory that is given twice counts once, as in the fleet."""
    return open_targets(paths, twice=_counted_once)


def _counted_once(same: str) -> None:
    note(f"{same}; counted once")


def asks_for(args: argparse.Namespace, key: Key) -> bool:
    """Whether `--topic` and `--partition` leave a partition."""
    named = getattr(args, "partition", None) in (None, f"{key[0]}-{key[1]}")
    return named and fnmatchcase(key[0], args.topic or "*")


def replicas_in(
    args: argparse.Namespace, fleet: FleetDirs, places: Iterable[str] = ()
) -> Mapping[Key, Sequence[PartitionDir]]:
    """The directories of each partition that is asked for; with `places` only these directories count.

    Raises `SegmendError`, and `UsageError` where the dirs are of more than one cluster.
    """
    fleet.refuse_several()
    refuse_topic(args.topic, (each for log_dir in fleet.dirs for each in log_dir.partitions))
    metadata = ("cluster-metadata",) if args.topic == CLUSTER_METADATA_TOPIC else ()
    groups, twice, _ = gathered(fleet, places, ("current", *metadata))
    for each in twice:
        _counted_once(each)
    chosen = {key: replicas for key, replicas in groups.items() if asks_for(args, key)}
    if not chosen:
        raise UsageError("no partition here was asked for; give the log dirs of brokers (`segmend show DIR`)")
    return chosen
