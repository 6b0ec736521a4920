"""Logs of other replicas that prove that nothing is lost by a plan: they are to be there when it is applied.

Between a plan and its `apply` the other broker may have run: another one led, and had it cut its log; or the
partition was given to others, and it removed its own. No step touches these logs, so no step would miss them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from segmend.errors import SegmendError
from segmend.json_values import JsonObject
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.fingerprint import hash_of
from segmend.surgery.plan import MADE_AGAIN, Plan

WITNESSES: Final = "witnesses"
"""In `extra` of a plan: by path of a log its size and time, and a hash of the last one, which may grow."""


def witnesses(partitions: Iterable[PartitionDir]) -> JsonObject:
    """What a plan has of them in `extra`, by real path; nothing without one. Raises `Unreadable`."""
    logs = {path: row for partition in partitions for path, row in _logs(partition)}
    return {WITNESSES: logs} if logs else {}


def _logs(partition: PartitionDir) -> Iterator[tuple[str, JsonObject]]:
    names = partition.layout.logs
    for base, name in sorted(names.items()):
        path = disk.real_path(f"{partition.path}/{name}")
        now = disk.file_stat(path)
        sha256 = hash_of(path, 0, now.size) if base == max(names) else None
        yield path, {"size": now.size, "mtime_ns": now.mtime_ns, "sha256": sha256}


def refuse_changed_witnesses(plan: Plan) -> None:
    """Raise `SegmendError` where one is not what it was; it may have grown."""
    told = (each for each in plan.said(WITNESSES) if isinstance(each, dict))
    for path, row in (pair for each in told for pair in each.items()):
        why = _changed(str(path), row if isinstance(row, dict) else {})
        if why is not None:
            raise SegmendError(
                f"refused: {path}: {why} since it proved to have what this plan gives up here; nothing was "
                f"changed{MADE_AGAIN}"
            )


def _changed(path: str, row: JsonObject) -> str | None:
    size = row.get("size")
    try:
        now = disk.file_stat(path)
        if (now.size, now.mtime_ns) == (size, row.get("mtime_ns")):
            return None
        if row.get("sha256") is None or not isinstance(size, int) or now.size < size:
            return "was changed"
        return None if hash_of(path, 0, size) == row.get("sha256") else "was changed"
    except Unreadable as refused:
        return "is gone" if refused.missing else f"can not be read any more ({refused})"
