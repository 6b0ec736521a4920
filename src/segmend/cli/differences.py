"""What replicas are beside each other, told for `segmend diff` and `segmend fleet diff`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from segmend.broker.cleanup_policy import COMPACTED_TOPICS
from segmend.cli.options import policies_of
from segmend.cli.output import emit, emit_json, emit_long_json, style
from segmend.cli.replicas import asks_for
from segmend.cluster.cluster_dirs import FleetDirs
from segmend.cluster.gathered import PassedOver
from segmend.cluster.policies import Policies
from segmend.cluster.vanished import in_checkpoints
from segmend.errors import ExitCode
from segmend.fleet.surroundings import Surroundings
from segmend.frozen import frozen
from segmend.logdir.partition_dir import Key
from segmend.merge.compared import Compared
from segmend.node.metadata_image import MetadataImage
from segmend.report.diff import (
    partition_json,
    partition_lines,
    passed_over_lines,
    replica_json,
    summary_json,
    summary_line,
    vanished_lines,
    verdict,
)
from segmend.report.progress import Progress


@frozen
class _Metadata:
    """What the newest metadata log among the dirs says, and the brokers whose dirs were given."""

    image: MetadataImage | None
    brokers: frozenset[int]
    lines: Mapping[Key, Collection[int]]
    """By the checkpoints of the dirs, brokers that had a replica."""

    def leader(self, partition: Compared) -> int | None:
        """Who leads the partition; None where nobody does, or nothing tells."""
        leader = None if self.image is None else self.image.leaders.get(self._key(partition))
        return None if leader is None or leader.leader < 0 else leader.leader

    def absent(self, partition: Compared) -> list[int]:
        """Brokers that are to have a replica, or had one, whose dirs are here, and that have none."""
        here = {replica.broker for replica in partition.replicas}
        had = self.lines.get((partition.topic, partition.partition), ())
        assigned = () if self.image is None else self.image.replicas.get(self._key(partition), ())
        due = dict.fromkeys((*assigned, *sorted(had)))
        return [broker for broker in due if broker in self.brokers and broker not in here]

    def _key(self, partition: Compared) -> Key:
        assert self.image is not None
        return self.image.ids.get(partition.topic, ""), partition.partition


def tell(
    args: argparse.Namespace,
    fleet: FleetDirs,
    every: Callable[[Callable[[str], bool | None]], Iterable[Compared]],
    number: int,
    *,
    whole: bool = True,
) -> int:
    """Tell of each partition of `fleet` as it comes, and by the exit code whether all are equal.

    `every` compares that `number` of them, and is given what tells whether a topic is compacted. `whole`: the
    dirs were given, and not some partitions in them.
    """
    begun = time.monotonic()
    cluster = fleet.only_cluster
    image = cluster.image
    lines = dict[Key, set[int]]()
    for node, broker in cluster.brokers.items() if whole else ():
        for key, _ in chain.from_iterable(in_checkpoints(each, image) for each in broker.dirs):
            lines.setdefault(key, set()).add(node)
    metadata = _Metadata(image=image, brokers=frozenset(cluster.brokers), lines=lines)
    counts: Counter[str] = Counter(partitions=0, replicas=0, batches=0, bytes=0, alone=0, doubtful=0)
    code, unlike = ExitCode.NOTHING_WRONG, set[str]()
    progress, compacts = Progress(sys.stderr, sizes=False), Policies([fleet], policies_of(args))
    around = Surroundings(fleet, partial(asks_for, args), whole=whole)
    try:
        for partition in map(around.beyond, every(compacts)):
            progress.update(counts["partitions"], number, f"{partition.topic}-{partition.partition}")
            absent = metadata.absent(partition)
            code |= _code(partition, absent)
            _count(counts, partition, absent)
            if _is_different(partition, absent):
                unlike.add(partition.topic)
            if args.json or args.all or _is_different(partition, absent):
                progress.done()
                _tell(args, partition, metadata.leader(partition), absent)
    finally:
        progress.done()
    gone = [*around.gone().values()]
    counts["vanished"] = len(gone)
    notes = [*_notes(metadata), *_untold(args, metadata, unlike), *cluster.by_node_id_alone]
    beside = around.passed_over()
    _end(args, counts, gone, notes, beside, time.monotonic() - begun)
    left = gone or beside.strays or beside.shared or cluster.by_node_id_alone
    return code | ExitCode.of(left=left, unread=beside.broken)


def _is_different(partition: Compared, absent: Sequence[int]) -> bool:
    return (
        partition.merged is None
        or bool(partition.merged.doubts)
        or verdict(partition.merged, absent) != "equal"
    )


def _code(partition: Compared, absent: Sequence[int]) -> ExitCode:
    if partition.merged is None:
        return ExitCode.OPERATIONAL
    unread = any(replica.unreadable for replica in partition.replicas)
    return ExitCode.of(left=_is_different(partition, absent), unread=unread)


def _count(counts: Counter[str], partition: Compared, absent: Sequence[int]) -> None:
    counts["partitions"] += 1
    counts["replicas"] += len(partition.replicas)
    if partition.merged is None:
        counts["refused"] += 1
    else:
        counts["doubtful"] += bool(partition.merged.doubts)
        counts[
            "alone" if len(partition.replicas) + len(absent) == 1 else verdict(partition.merged, absent)
        ] += 1
    for replica in partition.replicas:
        counts["batches"] += replica.batches
        counts["bytes"] += sum(replica.runs.column("end_position")) - sum(
            replica.runs.column("first_position")
        )


def _tell(args: argparse.Namespace, partition: Compared, leader: int | None, absent: Sequence[int]) -> None:
    if not args.json:
        emit([*partition_lines(partition, leader, absent, style(args)), ""])
        return
    if partition.merged is not None:
        for number in range(len(partition.replicas)):
            emit_long_json(replica_json(partition, number))
    emit_long_json(partition_json(partition, leader, absent))


def _notes(metadata: _Metadata) -> list[str]:
    if metadata.image is None:
        return ["no metadata log is among these dirs: who leads, and who should have a replica, is not known"]
    return []


def _untold(args: argparse.Namespace, metadata: _Metadata, topics: Iterable[str]) -> Iterator[str]:
    """Which of these may be compacted for all that is known, in words."""
    image = metadata.image
    if image is None or args.config:
        return
    there = set(topics).intersection(image.ids).difference(COMPACTED_TOPICS)
    if taken := sorted(topic for topic in there if not image.has_policy(topic)):
        yield (
            f"{', '.join(taken)}: without a cleanup.policy of its own; that of the brokers, taken to be "
            "Kafka's default (delete), is told by --config server.properties"
        )


def _end(
    args: argparse.Namespace,
    counts: Counter[str],
    gone: Sequence[str],
    notes: Sequence[str],
    beside: PassedOver,
    seconds: float,
) -> None:
    if args.json:
        emit_json([summary_json(counts, [*gone, *notes], beside, seconds)])
        return
    # Where no metadata is here, the notes say so.
    besides = passed_over_lines({**beside.to_json(), "not_here": beside.not_here or ()})
    emit([summary_line(counts, seconds, style(args)), *vanished_lines(gone), *besides, *notes])
