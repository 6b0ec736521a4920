"""Files that the broker's user cannot read and write."""

from __future__ import annotations

import os
from collections.abc import Iterator

from segmend.broker.failures import NOT_READABLE
from segmend.findings import Finding, Remedy, Where
from segmend.logdir.as_user import access_list
from segmend.logdir.file_system import READ, SEARCH, WRITE, FileStat
from segmend.logdir.tree import LOCK, LogDir, PartitionDir
from segmend.logdir.user import ROOT, User

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
        be let in by their mode or access list. A tool run as root leaves files behind that it cannot open.
        The user is the one of `--as-user`, else the owner of the log dir or, if that is root, of most of what
        lies in it.""",
    broker="The whole log dir goes offline; in `__cluster_metadata-0` the process ends.",
    advice="Give the file back to the user, keeping everything else.",
    kafka="LogLoader.removeTempFilesAndCollectSwapFiles, KafkaStorageException.",
)
SCOPE = Scope.DIR
LEVEL = Level.STARTUP

# As many as this a directory: after `chown -R` the next would say the same.
MAX_SHOWN = 100


def run(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    """Findings for what the broker's user cannot use, at most one hundred a directory."""
    user = context.user
    if user is None or user.uid == ROOT:
        return
    unusable = list(_unusable(log_dir, context, user))
    for mended in (True, False):
        alike = [each for each in unusable if (each[1].uid == user.uid) is mended]
        remedy = _remedy(context, [name for name, _, _ in alike], user, owned=mended)
        for name, status, partition in alike:
            yield _finding(context, name, status, user, partition, remedy)


Unusable = tuple[str, FileStat, PartitionDir | None]


def _unusable(log_dir: LogDir, context: DirContext, user: User) -> Iterator[Unusable]:
    if not may_use(context.path, context.stat(), user):
        yield "", context.stat(), None
    for name in log_dir.others:
        entry = log_dir.entry(name)
        if entry is None or entry.type != "file" or name == LOCK:
            continue
        if not may_use(f"{context.path}/{name}", entry.stat(), user):
            yield name, entry.stat(), None
    for partition in log_dir.partitions:
        yield from _partition(partition, context, user)


def _remedy(context: DirContext, names: list[str], user: User, *, owned: bool) -> Remedy:
    """One command for all that is in the same way."""
    common = os.path.commonpath(names) if names else ""
    path = f"{context.path}/{common}" if common else context.path
    whole = len(names) > 1
    if owned:
        return remedies.chmod(path, whole=whole)
    return remedies.chown(path, user.uid, user.gid, whole=whole)


def _partition(partition: PartitionDir, context: DirContext, user: User) -> Iterator[Unusable]:
    status = context.stat(partition.name)
    if not may_use(partition.path, status, user):
        yield partition.name, status, None
    if context.level == Level.STARTUP:
        return
    shown = 0
    for name, entry in sorted(partition.files.items()):
        if shown == MAX_SHOWN:
            break
        if entry.type == "file" and not may_use(f"{partition.path}/{name}", entry.stat(), user):
            shown += 1
            yield f"{partition.name}/{name}", entry.stat(), partition


def may_use(path: str, status: FileStat, user: User) -> bool:
    """Whether he may read and write it and, if it is a directory, enter."""
    wanted = READ | WRITE | (SEARCH if status.type == "dir" else 0)
    acl = None if status.uid == user.uid else access_list(path)
    return user.may(wanted, status.mode, status.uid, status.gid, acl)


def _finding(
    context: DirContext,
    name: str,
    status: FileStat,
    user: User,
    partition: PartitionDir | None,
    remedy: Remedy,
) -> Finding:
    owned = status.uid == user.uid
    what = f"{'' if owned else f'owner {status.uid}, '}mode {status.mode & 0o7777:04o}"
    return context.finding(
        "K13",
        f"the broker's user {user.uid} cannot read and write it ({what})",
        Where(name or None),
        of=partition.key if partition else None,
        broker_says=NOT_READABLE.format(f"{context.path}/{name}" if name else context.path),
        remedy=remedy,
    )
