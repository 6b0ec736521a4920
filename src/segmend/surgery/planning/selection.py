"""Which directories an operation is about: names and globs as a person gives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Final

from segmend.errors import UsageError
from segmend.formats.names import RENAMED_KINDS
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.request import Request

INTERNAL: Final = "__"


def by_topic(request: Request[object], patterns: Sequence[str]) -> list[PartitionDir]:
    """The partitions that a broker serves of topics that `--topic` names; raises `UsageError` for none."""
    return _selected(request, patterns, "--topic", lambda p: p.topic if p.kind == "current" else None)


def by_name(request: Request[object], patterns: Sequence[str]) -> list[PartitionDir]:
    """The partition directories that `--partition` names; raises `UsageError` for a name of none.

    A glob means those that a broker serves; any other directory is meant by its whole name only.
    """
    plain = [name.rstrip("/").rpartition("/")[2] for name in patterns]
    return _selected(request, plain, "--partition", lambda p: _name(p, plain))


def _name(partition: PartitionDir, plain: Sequence[str]) -> str | None:
    if partition.kind in RENAMED_KINDS:
        return partition.name if partition.name in plain else None
    return partition.name if partition.kind == "current" else None


def _selected(
    request: Request[object], patterns: Sequence[str], option: str, word: Callable[[PartitionDir], str | None]
) -> list[PartitionDir]:
    asked = request.broker.partitions
    words = [(p, word(p)) for p in asked if not request.names or p.name in request.names]
    selected: dict[str, PartitionDir] = {}
    for pattern in patterns:
        matched = [p for p, said in words if said is not None and _matches(said, pattern)]
        if not matched:
            internal = any(said is not None and fnmatchcase(said, pattern) for _, said in words)
            hint = f"; Kafka's own topics are meant only by {INTERNAL}*" if internal else ""
            raise UsageError(f"{option} {pattern}: no such partition in {', '.join(request.given)}{hint}")
        selected.update((p.path, p) for p in matched)
    return sorted(selected.values(), key=lambda p: (p.topic, p.partition, p.path))


def _matches(word: str, pattern: str) -> bool:
    """As a shell does with files that begin with a dot: no glob means an internal topic by accident."""
    if word == pattern:
        return True
    internal = word.startswith(INTERNAL) and not pattern.startswith(INTERNAL)
    return not internal and fnmatchcase(word, pattern)
