"""The log dirs in which a broker has topics: all, but a `metadata.log.dir` that is none of its `log.dirs`.

A broker never looks there for partitions (`LogManager` gets `log.dirs` alone); one that is brought there
comes back empty elsewhere, or is read from another replica.
"""

from __future__ import annotations

from collections.abc import Sequence

from segmend.checks.cluster import DIRECTORY, Cluster, read_cluster
from segmend.errors import UsageError
from segmend.formats.offset_checkpoint import RECOVERY_POINT
from segmend.logdir.tree import LogDir


def topic_dirs(dirs: Sequence[LogDir]) -> list[LogDir]:
    """Those of `dirs` in which a broker looks for partitions, in the same order."""
    cluster = read_cluster(tuple(dirs)) if any(DIRECTORY in each.entries for each in dirs) else None
    return [log_dir for log_dir in dirs if _has_topics(log_dir, cluster)]


def check_target(dirs: Sequence[LogDir], target: LogDir) -> None:
    """Raise `UsageError` if a broker of these dirs does not look for partitions in `target`."""
    if target not in topic_dirs(dirs):
        raise UsageError(
            f"{target.path}: has the cluster's metadata only (metadata.log.dir), "
            "a broker looks for no partition there; choose one of log.dirs"
        )


def _has_topics(log_dir: LogDir, cluster: Cluster | None) -> bool:
    """By the directory ids that the broker registered; else by a file that all of `log.dirs` have.

    `LogManager` writes recovery points into each of them once a minute and when it stops.
    """
    if DIRECTORY not in log_dir.entries:
        return True
    stamp = log_dir.meta_properties.value
    if cluster is not None and stamp is not None and stamp.node_id is not None and stamp.directory_id:
        registered = cluster.log_dirs.get(stamp.node_id)
        if registered:
            return stamp.directory_id in registered
    return RECOVERY_POINT in log_dir.entries
