"""The directories of other nodes that `--replica` names: what they prove to have is not lost here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from segmend.errors import UsageError
from segmend.formats.names import parse_dir_name
from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir


def given_replicas(
    partition: PartitionDir, paths: Sequence[str], ids: Collection[str]
) -> Iterator[PartitionDir]:
    """Those of this partition with one of these topic ids, or none; any if `ids` are empty. `UsageError`."""
    for path in paths:
        real = disk.real_path(path)
        if disk.path_type(real) != "dir":
            raise UsageError(f"--replica {path}: no such directory")
        home, _, name = real.rpartition("/")
        parsed = parse_dir_name(name)
        inner = LogDir.open(real).partition(f"{partition.topic}-{partition.partition}")
        if inner is None and (parsed.topic, parsed.partition) == partition.key:
            inner = PartitionDir.forced(LogDir.open(home), name)
        if inner is None or not inner.layout.logs:
            continue
        if disk.real_path(inner.path) == disk.real_path(partition.path):
            raise UsageError(f"--replica {path}: is the replica itself")
        if not ids or inner.topic_id is None or inner.topic_id in ids:
            yield inner
