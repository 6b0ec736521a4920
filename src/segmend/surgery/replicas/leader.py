"""A directory that is copied from, by graft or merge: whose it is, who uses it, how far it may be read.

The rule. Without a broker on it all of it may be read, to its last whole batch. While a broker
runs, its log only grows at the end, but what lies above the high watermark may be taken back by the
next leader; so `--live-source` reads up to the high watermark of its checkpoint, which the broker
writes every five seconds and never lowers while it leads. Below it a log changes only where the cleaner
replaces segments, so a compacted log cannot be read while its broker runs, and where retention
deletes them, which `apply` sees: it compares the bytes with the hashes in the plan.
"""

from __future__ import annotations

import posixpath

from segmend.errors import BrokerRunning, SegmendError, UsageError
from segmend.formats.names import parse_dir_name
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_dir import LOG_DIR_FILES, LogDir
from segmend.logdir.partition_dir import PARTITION_KINDS, PartitionDir
from segmend.logdir.processes import writers
from segmend.surgery.derive.log_starts import is_lost, told_by_epochs


@frozen
class Leader:
    """The directory, and the log dir around it if it still lies in one (a copied one may not)."""

    partition: PartitionDir
    home: LogDir | None
    key: tuple[str, int]

    @classmethod
    def open(cls, path: str, topic: str, number: int) -> Leader:
        """Open it; raises `UsageError` for the directory of another partition, `Unreadable`."""
        real = disk.real_path(path)
        if disk.path_type(real) is None:
            raise Unreadable(path, "no such directory")
        parent, name = posixpath.split(real)
        parsed = parse_dir_name(name)
        ours = (parsed.topic, parsed.partition) == (topic, number)
        if parsed.kind in PARTITION_KINDS and not ours and _is_log_dir(_parent(parent)):
            raise UsageError(
                f"{path}: is a replica of {parsed.topic}-{parsed.partition}, not {topic}-{number}"
            )
        around = _parent(parent)
        partition = PartitionDir.forced(around, name)
        if not partition.layout.logs:
            raise partition.unreadable or UsageError(
                f"{path}: no directory of a partition: it has no .log file"
            )
        return cls(
            partition=partition, home=around if ours and _is_log_dir(around) else None, key=(topic, number)
        )

    @property
    def path(self) -> str:
        return self.partition.path

    @property
    def high_watermark(self) -> int | None:
        """The line in the checkpoint around it, None if there is none."""
        return None if self.home is None else self.home.high_watermarks.get(self.key)

    @property
    def log_start_offset(self) -> int:
        """Where readers of it begin: the checkpoint, or the first segment; raises `Unreadable`.

        Of a copy without its checkpoint, the leader epochs tell it.
        """
        first = min(self.partition.layout.logs)
        if self.home is None or is_lost(self.partition):
            return told_by_epochs(self.partition) or first
        return max(first, self.home.log_start_offsets.get(self.key, first))

    @property
    def first_dirty_offset(self) -> int:
        """Below it the cleaner of its broker may have removed records; 0 if it never did."""
        return 0 if self.home is None else self.home.cleaner_offsets.get(self.key, 0)

    def limit(self, *, live: bool) -> int | None:
        """The offset to read up to, None for all of it; see the module.

        Raises `BrokerRunning` if a broker uses it and `live` is not set; `SegmendError` if it
        cannot be read while one does.
        """
        why = self.in_use()
        if why is not None and not live:
            raise BrokerRunning(f"{self.path}: {why}; stop it, or read only what is committed: --live-source")
        if not live:
            return None
        if self.first_dirty_offset:
            raise SegmendError(
                f"{self.path}: is compacted, and its broker may replace segments at any time; stop it first"
            )
        if self.high_watermark is None:
            raise SegmendError(
                f"{self.path}: its high watermark is not known: no replication-offset-checkpoint beside it "
                "has a line for it; stop the broker, or copy that file too"
            )
        return self.high_watermark

    def in_use(self) -> str | None:
        """Which broker or process writes to it; None if none does."""
        if self.partition.log_dir.broker_running():
            return "a broker runs on its log dir"
        writer = next(iter(writers([self.path])), None)
        return None if writer is None else f"process {writer.pid} has it open for writing"


def _parent(path: str) -> LogDir:
    """The directory around it, without names if it cannot be listed."""
    try:
        return LogDir.open(path)
    except Unreadable:
        return LogDir(path, {})


def _is_log_dir(log_dir: LogDir) -> bool:
    return not LOG_DIR_FILES.isdisjoint(log_dir.entries)
