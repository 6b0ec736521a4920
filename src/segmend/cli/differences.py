"""What replicas are beside each other, told for `segmend diff` and `segmend fleet diff`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from segmend.cli.output import emit, emit_json, style
from segmend.cluster.members import members
from segmend.cluster.nodes import image_of
from segmend.errors import ExitCode
from segmend.frozen import frozen
from segmend.logdir.tree import LogDir
from segmend.merge.compared import Compared
from segmend.node.metadata_image import MetadataImage
from segmend.report.diff import (
    partition_json,
    partition_lines,
    replica_json,
    summary_json,
    summary_line,
    verdict,
)
from segmend.report.progress import Progress


def add_diff_options(parser: argparse.ArgumentParser) -> None:
    """Which partitions are compared, and which of them told."""
    parser.add_argument("--topic", metavar="GLOB", help="partitions of these topics only")
    parser.add_argument("--all", action="store_true", help="show also partitions whose replicas are equal")


@frozen
class _Metadata:
    """What the newest metadata log among the dirs says, and the brokers whose dirs were given."""

    image: MetadataImage | None
    brokers: frozenset[int]

    def leader(self, found: Compared) -> int | None:
        """Who leads the partition; None where nobody does, or nothing tells."""
        leader = None if self.image is None else self.image.leaders.get(self._key(found))
        return None if leader is None or leader.leader < 0 else leader.leader

    def absent(self, found: Compared) -> list[int]:
        """Brokers that are to have a replica, whose dirs are here, and that have none."""
        if self.image is None:
            return []
        here = {replica.broker for replica in found.replicas}
        assigned = self.image.replicas.get(self._key(found), ())
        return [broker for broker in assigned if broker in self.brokers and broker not in here]

    def _key(self, found: Compared) -> tuple[str, int]:
        assert self.image is not None
        return self.image.ids.get(found.topic, ""), found.partition


def tell(args: argparse.Namespace, dirs: Sequence[LogDir], every: Iterable[Compared]) -> int:
    """Tell of each partition of `dirs` as it comes, and by the exit code whether all are equal."""
    begun = time.monotonic()
    metadata = _metadata(dirs)
    counts: Counter[str] = Counter(partitions=0, replicas=0, batches=0, bytes=0, alone=0, doubtful=0)
    code = ExitCode.NOTHING_WRONG
    progress = Progress(sys.stderr)
    try:
        for found in every:
            progress.update(counts["partitions"], 0, f"{found.topic}-{found.partition}")
            absent = metadata.absent(found)
            code |= _code(found, absent)
            _count(counts, found, absent)
            if args.json or args.all or _is_different(found, absent):
                progress.done()
                _tell(args, found, metadata.leader(found), absent)
    finally:
        progress.done()
    _end(args, counts, _notes(metadata), time.monotonic() - begun)
    return code


def _metadata(dirs: Sequence[LogDir]) -> _Metadata:
    found = members(dirs)
    newest: tuple[tuple[int, int], MetadataImage] | None = None
    for broker in found.brokers.values():
        home = broker.metadata_dir
        log = None if home is None else broker.metadata_log(home)
        image = image_of(broker)
        if log is not None and image is not None and log.position is not None:
            newest = max(newest or (log.position, image), (log.position, image), key=lambda each: each[0])
    return _Metadata(image=newest and newest[1], brokers=frozenset(found.brokers))


def _is_different(found: Compared, absent: Sequence[int]) -> bool:
    return found.merged is None or bool(found.merged.doubts) or verdict(found.merged, absent) != "equal"


def _code(found: Compared, absent: Sequence[int]) -> ExitCode:
    if found.merged is None:
        return ExitCode.OPERATIONAL
    code = ExitCode.FINDINGS if _is_different(found, absent) else ExitCode.NOTHING_WRONG
    unread = any(replica.unreadable for replica in found.replicas)
    return code | ExitCode.OPERATIONAL if unread else code


def _count(counts: Counter[str], found: Compared, absent: Sequence[int]) -> None:
    counts["partitions"] += 1
    counts["replicas"] += len(found.replicas)
    if found.merged is None:
        counts["refused"] += 1
    else:
        counts["doubtful"] += bool(found.merged.doubts)
        counts["alone" if len(found.replicas) + len(absent) == 1 else verdict(found.merged, absent)] += 1
    for replica in found.replicas:
        counts["batches"] += replica.batches
        counts["bytes"] += sum(run.end_position - run.first_position for run in replica.runs)


def _tell(args: argparse.Namespace, found: Compared, leader: int | None, absent: Sequence[int]) -> None:
    if not args.json:
        emit([*partition_lines(found, leader, absent, style(args)), ""])
        return
    if found.merged is not None:
        emit_json(replica_json(found, number) for number in range(len(found.replicas)))
    emit_json([partition_json(found, leader, absent)])


def _notes(metadata: _Metadata) -> list[str]:
    if metadata.image is None:
        return ["no metadata log is among these dirs: who leads, and who should have a replica, is not known"]
    return []


def _end(args: argparse.Namespace, counts: Counter[str], notes: Sequence[str], seconds: float) -> None:
    if args.json:
        emit_json([summary_json(counts, notes, seconds)])
        return
    emit([summary_line(counts, seconds, style(args)), *notes])
