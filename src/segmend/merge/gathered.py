"""The replicas of each partition among directories of any number of brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from segmend.logdir.file_system import place_of
from segmend.logdir.tree import LogDir, PartitionDir

Key = tuple[str, int]


def gathered(
    dirs: Sequence[LogDir], names: Iterable[str] = (), kinds: Iterable[str] = ("current",)
) -> tuple[Mapping[Key, Sequence[PartitionDir]], tuple[str, ...]]:
    """The directories of each partition, sorted; and those that are the same one under another name.

    Those of a partition are sorted, too, alone as in the fleet, however they were given: by broker id and
    path, last those that name no broker. With `names` only directories of these names count, whatever their
    kind.
    """
    wanted, taken = frozenset(names), frozenset(kinds)
    by_key: dict[Key, list[PartitionDir]] = {}
    seen: dict[tuple[int, int] | str, str] = {}
    twice: list[str] = []
    for log_dir in sorted(dirs, key=_whose):
        for partition in log_dir.partitions:
            if partition.name not in wanted if wanted else partition.kind not in taken:
                continue
            place = place_of(partition.log_dir.files, partition.path)
            if place in seen:
                twice.append(f"{partition.path}: the same directory as {seen[place]}")
                continue
            seen[place] = partition.path
            by_key.setdefault(partition.key, []).append(partition)
    return {key: by_key[key] for key in sorted(by_key)}, tuple(twice)


def _whose(log_dir: LogDir) -> tuple[float, str]:
    identity = log_dir.meta_properties.value
    broker = None if identity is None else identity.node_id
    return float("inf") if broker is None else broker, log_dir.real_path
