"""What the start of a broker takes up on a disk, so that there is something left for it.

Follows `LogLoader.load` and `AbstractIndex`: the two indexes of each active segment are set to
their greatest length (segment.index.bytes, 10 MiB), as holes where the file system has them; an unclean start
writes the indexes of what it recovers anew, and a producer snapshot for each; checkpoints are
written beside the old ones; a KRaft node may write a metadata snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from segmend.broker.index_room import longest_index
from segmend.formats import offset_checkpoint, offset_index, time_index
from segmend.frozen import frozen
from segmend.loading.values import DirectoryOutcome, PartitionOutcome
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir

BLOCK: Final = 4096
_NEW_BLOCKS: Final = 3
"""Blocks that a partition takes as soon as it is written to: of the log and of its two indexes."""
_READ: Final = frozenset({"recovery-scan", "index-rebuilt"})


@frozen
class Room:
    """Bytes: `first_writes` and `recovery` are real blocks; `lengths` is what holes may grow to."""

    partitions: int
    first_writes: int
    recovery: int
    metadata: int
    lengths: int

    @property
    def least(self) -> int:
        """What a start surely takes, or nearly so."""
        return self.first_writes + self.recovery + self.metadata


def room_for(
    dirs: Sequence[LogDir], outcomes: Iterable[PartitionOutcome | DirectoryOutcome], config: ServerConfig,
    topics: Mapping[str, Mapping[str, str]],
) -> Room:  # fmt: skip
    """What a start takes in these dirs, which lie on one disk; `topics` are the topics' own settings."""
    paths = {log_dir.path: log_dir for log_dir in dirs}
    loaded = [p for d in dirs for p in d.partitions if p.kind != "delete"]
    files = {
        f"{outcome.dir}/{effect.file}"
        for outcome in outcomes if outcome.dir in paths
        for effect in outcome.effects if effect.effect in _READ and effect.file is not None
    }  # fmt: skip
    interval = config.number("log.index.interval.bytes")
    return Room(
        partitions=len(loaded),
        first_writes=_NEW_BLOCKS * BLOCK * len(loaded) + sum(map(_checkpoints, dirs)),
        recovery=sum(_rebuilt(paths, path, interval) for path in sorted(files)),
        metadata=max((_snapshot(p) for p in loaded if p.kind == "cluster-metadata"), default=0),
        lengths=sum(_grows(p, longest_index(config, topics.get(p.topic, {}))) for p in loaded),
    )


def _checkpoints(log_dir: LogDir) -> int:
    """Each is written whole beside the old one."""
    names = offset_checkpoint.FILE_NAMES
    return len(names) * BLOCK + sum(entry.known_size for name in names if (entry := log_dir.entry(name)))


def _rebuilt(paths: Mapping[str, LogDir], path: str, interval: int) -> int:
    """At most an entry in both indexes for every `interval` bytes, and a snapshot."""
    folder, _, name = path.rpartition("/")
    home, _, directory = folder.rpartition("/")
    log_dir = paths.get(home)
    partition = None if log_dir is None else log_dir.partition(directory)
    entry = None if partition is None else partition.file(f"{name.partition('.')[0]}.log")
    entries = 1 + (0 if entry is None else entry.known_size) // max(interval, 1)
    return entries * (offset_index.ENTRY_SIZE + time_index.ENTRY_SIZE) + BLOCK


def _snapshot(partition: PartitionDir) -> int:
    return max((entry.known_size for entry in partition.kraft_snapshots), default=BLOCK)


def _grows(partition: PartitionDir, longest: int) -> int:
    if not partition.layout.logs:
        return 2 * longest
    active = partition.segments[-1]
    return sum(max(longest - (0 if e is None else e.known_size), 0) for e in (active.index, active.timeindex))
