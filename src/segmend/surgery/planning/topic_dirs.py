"""Where partitions may come: the log dirs in which a broker has topics, and what stands in the way there.

The first are all but a `metadata.log.dir` that is none of its `log.dirs`: a broker never looks for
partitions there (`LogManager` gets `log.dirs` alone), and one that is brought there comes back empty
elsewhere, or is read from another replica.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator

from segmend.errors import SegmendError, UsageError
from segmend.formats.offset_checkpoint import RECOVERY_POINT
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.broker_dirs import BrokerDirs


def topic_dirs(broker: BrokerDirs) -> list[LogDir]:
    """The dirs in which the broker looks for partitions, in the same order."""
    return [log_dir for log_dir in broker.dirs if _has_topics(log_dir, broker.registered_dirs)]


def check_target(broker: BrokerDirs, target: LogDir) -> None:
    """Raise `UsageError` if the broker does not look for partitions in `target`."""
    if target not in topic_dirs(broker):
        raise UsageError(
            f"{target.path}: has the cluster's metadata only (metadata.log.dir), "
            "a broker looks for no partition there; choose one of log.dirs"
        )


def _has_topics(log_dir: LogDir, registered: Collection[str]) -> bool:
    """By the directory ids that the broker registered; else by a file that all of `log.dirs` have.

    `LogManager` writes recovery points into each of them once a minute and when it stops.
    """
    if log_dir.cluster_metadata is None:
        return True
    if registered and log_dir.directory_id is not None:
        return log_dir.directory_id in registered
    return RECOVERY_POINT in log_dir.entries


def replaced(
    broker: BrokerDirs, key: tuple[str, int], source: str, *, allowed: bool
) -> Iterator[PartitionDir]:
    """Directories, in any log dir, that a broker takes for the partition `key`, which comes out of `source`.

    Raises `SegmendError` for one that has records, and for all unless they may go (`--replace`).
    """
    for other in (each for each in broker.current if each.key == key):
        if not is_empty(other):
            raise SegmendError(
                f"{other.path}: is there, and has records; a broker refuses two of {other.name} (to compare: "
                f"segmend show {shlex.join([other.path, source])})"
            )
        if not allowed:
            raise SegmendError(f"{other.path}: is there, and is empty: --replace sets it aside")
        yield other


def is_empty(partition: PartitionDir) -> bool:
    """Whether nothing in it could be a record."""
    layout = partition.layout
    return partition.size == 0 and not (layout.shadowed or layout.swap or layout.cleaned)
