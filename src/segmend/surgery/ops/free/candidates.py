"""What can leave a disk, in the order of the harm that it does: the first does none at all."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from segmend.formats.names import REMOTE_INDEX_CACHE, RENAMED_KINDS
from segmend.frozen import frozen
from segmend.grouping import grouped
from segmend.loading.values import Later
from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.fingerprint import below
from segmend.surgery.replicas.comparison import has_all
from segmend.surgery.replicas.replica_log import ReplicaLog


class CandidateKind(StrEnum):
    """What there is to free, least harm first."""

    DELETED = "deleted"
    CACHE = "cache"
    DELETE = "delete"
    STRAY = "stray"
    FUTURE = "future"
    ABANDONED = "abandoned"
    DOOMED = "doomed"


REASONS: Final = {
    CandidateKind.DELETED: "waits for its deletion: a start removes it when it loads the partition",
    CandidateKind.CACHE: "a cache: the broker fetches it again from the remote storage",
    CandidateKind.DELETE: "waits for its deletion: a broker removes it a minute after its start",
    CandidateKind.STRAY: "the cluster expects no such replica here; no broker serves it",
    CandidateKind.FUTURE: "an unfinished copy to another log dir; ask for that move again afterwards",
    CandidateKind.ABANDONED: "an unfinished copy, and no other of this partition here",
    CandidateKind.DOOMED: "retention deletes it within half a minute of the start",
}
"""Why each may go."""

HOLD_RECORDS: Final = frozenset((CandidateKind.STRAY, CandidateKind.FUTURE, CandidateKind.ABANDONED))
"""Directories with records that may be nowhere else."""


@frozen
class Candidate:
    """Files or a directory that go together; `bytes` are those on the disk.

    Of a segment `first_offset` and `next_offset` say what it holds.
    """

    kind: CandidateKind
    paths: tuple[str, ...]
    bytes: int
    partition: PartitionDir | None = None
    reason: str = ""
    first_offset: int | None = None
    next_offset: int | None = None

    @property
    def words(self) -> str:
        """Why it may go."""
        return self.reason or REASONS[self.kind]


def candidates(
    dirs: Sequence[LogDir], broker: BrokerDirs, later: Iterable[Later], remote: frozenset[str]
) -> list[Candidate]:
    """All that can go from `dirs`, which are those of the broker on one disk.

    `later` are the deletions by retention that count; topics in `remote` have tiered storage and
    other rules. Files with other hard links are left out: they would free nothing.
    """
    unordered = [*_files(dirs), *_caches(dirs), *_directories(dirs, broker), *_doomed(dirs, later, remote)]
    order = list(CandidateKind)
    kept = (each for each in unordered if each.bytes > 0)
    return sorted(
        kept,
        key=lambda c: (
            order.index(c.kind),
            -c.bytes if c.kind is not CandidateKind.DOOMED else 0,
            c.paths[0],
        ),
    )


def held(path: str) -> int:
    """Bytes that come free when a file, or all below a directory, goes."""
    own = disk.file_stat(path, follow=False)
    rows = [own, *(status for _, status in below(path))] if stat.S_ISDIR(own.mode) else [own]
    return sum(row.allocated for row in rows if stat.S_ISDIR(row.mode) or row.nlink == 1)


def _files(dirs: Sequence[LogDir]) -> Iterator[Candidate]:
    for partition in (p for d in dirs for p in d.partitions if p.kind not in RENAMED_KINDS):
        for entry in partition.deleted:
            yield Candidate(
                kind=CandidateKind.DELETED, paths=(entry.path,), bytes=held(entry.path), partition=partition
            )


def _caches(dirs: Sequence[LogDir]) -> Iterator[Candidate]:
    for log_dir in dirs:
        if log_dir.entries.get(REMOTE_INDEX_CACHE) == "dir":
            path = f"{log_dir.path}/{REMOTE_INDEX_CACHE}"
            yield Candidate(kind=CandidateKind.CACHE, paths=(path,), bytes=held(path))


def _directories(dirs: Sequence[LogDir], broker: BrokerDirs) -> Iterator[Candidate]:
    served = {each.key for each in broker.current}
    for partition in (p for d in dirs for p in d.partitions):
        if partition.kind not in RENAMED_KINDS or partition.is_link:
            continue
        abandoned = partition.kind == "future" and partition.key not in served
        kind = CandidateKind.ABANDONED if abandoned else CandidateKind(partition.kind)
        yield Candidate(kind=kind, paths=(partition.path,), bytes=held(partition.path), partition=partition)


def _doomed(dirs: Sequence[LogDir], later: Iterable[Later], remote: frozenset[str]) -> Iterator[Candidate]:
    """The oldest segments that retention takes at once, never the active one."""
    homes = {log_dir.path: log_dir for log_dir in dirs}
    counts = (line for line in later if line.dir in homes and line.limit is not None)
    for (home, name), lines in grouped(counts, lambda line: (line.dir, line.file)).items():
        partition = homes[home].partition(name)
        if partition is None or partition.topic in remote or not _plain(partition):
            continue
        bases = partition.base_offsets
        mark = homes[home].high_watermarks.get(partition.key, 0)
        count = min(sum(line.segments for line in lines), len(bases) - 1)
        for number in range(count):
            if bases[number + 1] > mark:
                break
            yield _segment(partition, bases[number], bases[number + 1], _why(lines, number))


def _plain(partition: PartitionDir) -> bool:
    """Whether the segments that are there are those that will be loaded."""
    layout = partition.layout
    return not (layout.shadowed or layout.unpadded or layout.swap or layout.cleaned or layout.unparsable)


def _why(lines: Sequence[Later], number: int) -> str:
    for line in lines:
        if number < line.segments:
            return f"{REASONS[CandidateKind.DOOMED]} ({line.limit})"
        number -= line.segments
    return REASONS[CandidateKind.DOOMED]


def _segment(partition: PartitionDir, base: int, following: int, reason: str) -> Candidate:
    layout = partition.layout
    groups: tuple[Mapping[int, str], ...] = (
        layout.logs, layout.index, layout.timeindex, layout.txnindex, layout.snapshots,
    )  # fmt: skip
    paths = tuple(f"{partition.path}/{group[base]}" for group in groups if base in group)
    return Candidate(
        kind=CandidateKind.DOOMED, paths=paths, bytes=sum(map(held, paths)), partition=partition,
        reason=reason, first_offset=base, next_offset=following,
    )  # fmt: skip


def given_up(candidate: Candidate, broker: BrokerDirs) -> int:
    """Records in a directory that no current replica of the broker proves to have; reads it all.

    Proven is what has the same topic id and the same batches by header and checksum.
    """
    partition = candidate.partition
    if partition is None or candidate.kind not in HOLD_RECORDS:
        return 0
    own, known = ReplicaLog.of(partition), (partition.key, partition.topic_id)
    twins = (each for each in broker.current if (each.key, each.topic_id) == known)
    return 0 if any(has_all(own, ReplicaLog.of(twin)) for twin in twins) else own.records()


def first_that_reach(offered: Sequence[Candidate], wanted: int) -> list[Candidate]:
    """As many as it takes, in order."""
    taken, total = [], 0
    for each in offered:
        if total >= wanted:
            break
        taken.append(each)
        total += each.bytes
    return taken
