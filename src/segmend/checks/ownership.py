"""Files that the broker's user cannot read and write."""

from __future__ import annotations

import os
from collections.abc import Iterator

from segmend.broker.failures import NOT_READABLE
from segmend.findings import Finding, Remedy, Where
from segmend.logdir.file_system import FileStat
from segmend.logdir.tree import LOCK, LogDir, PartitionDir

from . import remedies
from .context import DirContext
from .manual import ERROR, OFFLINE, Code, Level, Page, Scope

CODES = (
    Code("K13", ERROR, "a file or directory that the user who owns the log dir cannot read or write", OFFLINE,
         unplayed=True, explains=("K13",)),
)  # fmt: skip
PAGE = Page(
    meaning="""
        A broker opens every .log and index for reading and writing and renames them, so it must own them or
        be let in by their mode. A tool run as root leaves files behind that it cannot open. The user is taken
        to be the owner of the log dir or, if that is root, of most of what lies in it.""",
    broker="The whole log dir goes offline; in `__cluster_metadata-0` the process ends.",
    advice="Give the file back to the user, keeping everything else.",
    kafka="LogLoader.removeTempFilesAndCollectSwapFiles, KafkaStorageException.",
)
SCOPE = Scope.DIR
LEVEL = Level.STARTUP

ROOT = 0
# As many as this a directory: after `chown -R` the next would say the same.
MAX_SHOWN = 100


def run(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    """Findings for what the broker's user cannot use, at most one hundred a directory."""
    user = context.owner
    if user is None or user.uid == ROOT:
        return
    unusable = list(_unusable(log_dir, context, user))
    for mended in (True, False):
        alike = [each for each in unusable if (each[1].uid == user.uid) is mended]
        remedy = _remedy(context, [name for name, _, _ in alike], user, owned=mended)
        for name, status, partition in alike:
            yield _finding(context, name, status, user, partition, remedy)


Unusable = tuple[str, FileStat, PartitionDir | None]


def _unusable(log_dir: LogDir, context: DirContext, user: FileStat) -> Iterator[Unusable]:
    for name in log_dir.others:
        entry = log_dir.entry(name)
        if entry and entry.type == "file" and name != LOCK and not may_use(entry.stat(), user):
            yield name, entry.stat(), None
    for partition in log_dir.partitions:
        yield from _partition(partition, context, user)


def _remedy(context: DirContext, names: list[str], user: FileStat, *, owned: bool) -> Remedy:
    """One command for all that is in the same way."""
    common = os.path.commonpath(names) if names else ""
    path = f"{context.path}/{common}" if common else context.path
    whole = len(names) > 1
    if owned:
        return remedies.chmod(path, whole=whole)
    return remedies.chown(path, user.uid, user.gid, whole=whole)


def _partition(partition: PartitionDir, context: DirContext, user: FileStat) -> Iterator[Unusable]:
    status = context.stat(partition.name)
    if not may_use(status, user):
        yield partition.name, status, None
    if context.level == Level.STARTUP:
        return
    shown = 0
    for name, entry in sorted(partition.files.items()):
        if shown < MAX_SHOWN and entry.type == "file" and not may_use(entry.stat(), user):
            shown += 1
            yield f"{partition.name}/{name}", entry.stat(), partition


def may_use(status: FileStat, user: FileStat) -> bool:
    """Whether the owner of `user` may read and write: by owner, by the log dir's group, or as anybody."""
    if status.uid == user.uid:
        return status.mode & 0o600 == 0o600
    if status.gid == user.gid and status.mode & 0o060 == 0o060:
        return True
    return status.mode & 0o006 == 0o006


def _finding(
    context: DirContext,
    name: str,
    status: FileStat,
    user: FileStat,
    partition: PartitionDir | None,
    remedy: Remedy,
) -> Finding:
    owned = status.uid == user.uid
    what = f"{'' if owned else f'owner {status.uid}, '}mode {status.mode & 0o7777:04o}"
    return context.finding(
        "K13",
        f"the broker's user {user.uid} cannot read and write it ({what})",
        Where(name),
        of=partition.key if partition else None,
        broker_says=NOT_READABLE.format(f"{context.path}/{name}"),
        remedy=remedy,
    )
