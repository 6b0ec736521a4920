"""Files that the broker's user cannot read and write, or nobody can change."""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from segmend.broker.failures import CANNOT_LOCK, CANNOT_REPLACE, NOT_READABLE
from segmend.broker.identity import REWRITING, Rewriting
from segmend.findings import Finding, Remedy, Where
from segmend.formats import partition_metadata
from segmend.formats.meta_properties import FILE_NAME as META_PROPERTIES
from segmend.formats.names import BOOTSTRAP_CHECKPOINT, SEGMENT_SUFFIXES
from segmend.logdir.as_user import READ_ONLY, access_list, mount_point, on_this_disk, unchangeable
from segmend.logdir.file_system import FILES, READ, SEARCH, WRITE, FileStat
from segmend.logdir.log_dir import LOCK, LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.user import ROOT, User

from . import remedies
from .context import DirContext
from .manual import ERROR, OFFLINE, WARNING, Code, Level, Page, Scope

CODES = (
    Code("K13", ERROR, "a file or directory that the user who owns the log dir cannot read or write", OFFLINE,
         unplayed=True, explains=("K13",)),
)  # fmt: skip
PAGE = Page(
    meaning="""
        A broker opens every .log and index for reading and writing, so it must own them or be let in by
        their mode or access list. Other files it reads, and renames a new one into their place. A tool run
        as root leaves files behind that it cannot open. What `chattr +i` or `+a` keeps, and a read-only mount
        within the log dir, nobody can replace or remove.
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
# What would be four more looks for each segment.
_OF_SEGMENTS = (*SEGMENT_SUFFIXES, ".snapshot")
_FAILS = "a start, retention or the removal of its topic fails over that"
_QUIET = "no start fails over that; what is to replace or remove it does"
_UNTOUCHED = {
    META_PROPERTIES: "no start fails over that unless it has to change what is in it",
    BOOTSTRAP_CHECKPOINT: _QUIET,
    partition_metadata.FILE_NAME: _QUIET,
}
_WRITTEN_IN_PLACE = (*SEGMENT_SUFFIXES, ".swap", ".tmp", f"/{LOCK}")


def run(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    """Findings for what the broker's user cannot use, at most one hundred a directory."""
    yield from _unchangeable(log_dir, context)
    user = context.user
    if user is None or user.uid == ROOT:
        return
    unusable = list(_unusable(log_dir, context, user))
    for linked in (each for each in unusable if each.linked):
        remedy = remedies.advice(f"readlink -f {shlex.quote(f'{context.path}/{linked.name}')}")
        yield _finding(context, linked, user, remedy)
    for mended in (True, False):
        here = (each for each in unusable if not each.linked)
        alike = [each for each in here if (each.status.uid == user.uid) is mended]
        remedy = _remedy(context, [each.name for each in alike], user, owned=mended)
        for each in alike:
            yield _finding(context, each, user, remedy)


def _unchangeable(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    """What even root cannot change: by an attribute, or by a read-only mount within the log dir."""
    for name, words, partition in _kept(log_dir, context):
        path = f"{context.path}/{name}" if name else context.path
        mounted = words == READ_ONLY
        quiet = _UNTOUCHED.get(posixpath.basename(name)) if not _is_written_anew(name, context) else None
        fix = "mount -o remount,rw" if mounted else "chattr -i -a"
        yield context.finding(
            "K13",
            f"nobody, root not either, can write, replace or remove it ({words}): {quiet or _FAILS}",
            Where(name or None),
            of=partition.key if partition else None,
            broker_says=CANNOT_REPLACE.format(path, words),
            remedy=remedies.advice(f"{fix} {shlex.quote(mount_point(path) if mounted else path)}"),
            severity=None if quiet is None else WARNING,
        )


def _is_written_anew(name: str, context: DirContext) -> bool:
    """Whether the release writes this meta.properties at each start."""
    how = REWRITING.of(context.release)
    at_each_start = how not in (Rewriting.NEVER, Rewriting.IF_OTHER)
    return name == META_PROPERTIES and at_each_start and not context.broker_dirs.kraft


def _kept(log_dir: LogDir, context: DirContext) -> Iterator[tuple[str, str, PartitionDir | None]]:
    """(its path in the log dir, why, its partition); of a directory that is so, not each file in it.

    Nothing of what no broker runs over as it is: an object store, a planned view.
    """
    if not on_this_disk(log_dir):
        return
    if words := unchangeable(context.path):
        yield "", words, None
    foreign, below = {*log_dir.foreign_files}, log_dir.space().read_only
    for name in (name for name in log_dir.others if name not in foreign):
        if words := unchangeable(f"{context.path}/{name}"):
            yield name, words, None
    startup = context.level == Level.STARTUP
    for partition in log_dir.partitions:
        mounted = not below and partition.log_dir.files.space(partition.path).read_only
        if words := READ_ONLY if mounted else unchangeable(partition.path):
            yield partition.name, words, partition
        names = (n for n in sorted(partition.entries) if not (startup and n.endswith(_OF_SEGMENTS)))
        kept = ((n, unchangeable(f"{partition.path}/{n}")) for n in names)
        for name, words in islice(((n, w) for n, w in kept if w), MAX_SHOWN):
            yield f"{partition.name}/{name}", words, partition


class _Unusable(NamedTuple):
    """A path in the log dir, its status, its partition; `linked`: of what a link leads to."""

    name: str
    status: FileStat
    partition: PartitionDir | None = None
    linked: bool = False


def _unusable(log_dir: LogDir, context: DirContext, user: User) -> Iterator[_Unusable]:
    if not may_use(context.path, context.stat(), user):
        yield _Unusable("", context.stat())
    foreign = {*log_dir.foreign_files}
    for name in log_dir.others:
        entry = log_dir.entry(name)
        if entry is None or entry.type not in FILES or name in foreign:
            continue
        if not may_use(f"{context.path}/{name}", entry.stat(), user):
            yield _Unusable(name, entry.stat(), linked=entry.type != "file")
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


def _partition(partition: PartitionDir, context: DirContext, user: User) -> Iterator[_Unusable]:
    status = context.stat(partition.name)
    if not may_use(partition.path, status, user):
        yield _Unusable(partition.name, status)
    startup = context.level == Level.STARTUP
    files = (name for name, type in partition.entries.items() if type in FILES)
    shown = 0
    for name in sorted(name for name in files if not (startup and name.endswith(_OF_SEGMENTS))):
        if shown == MAX_SHOWN:
            break
        entry = partition.entry(name)
        if not may_use(entry.path, entry.stat(), user):
            shown += 1
            yield _Unusable(f"{partition.name}/{name}", entry.stat(), partition, linked=entry.type != "file")


def may_use(path: str, status: FileStat, user: User) -> bool:
    """Whether he may read it, write it if a broker does that in place and, if it is a directory, enter."""
    wanted = READ | WRITE | SEARCH if status.type == "dir" else READ
    if path.endswith(_WRITTEN_IN_PLACE):
        wanted |= WRITE
    acl = None if status.uid == user.uid else access_list(path)
    return user.may(wanted, status.mode, status.uid, status.gid, acl)


def _finding(context: DirContext, unusable: _Unusable, user: User, remedy: Remedy) -> Finding:
    name, status = unusable.name, unusable.status
    owned = status.uid == user.uid
    led = "where it leads to: " if unusable.linked else ""
    what = f"{led}{'' if owned else f'owner {status.uid}, '}mode {status.mode & 0o7777:04o}"
    return context.finding(
        "K13",
        f"the broker's user {user.uid} cannot read and write it ({what})",
        Where(name or None),
        of=unusable.partition.key if unusable.partition else None,
        broker_says=CANNOT_LOCK.format(context.path)
        if name == LOCK
        else NOT_READABLE.format(f"{context.path}/{name}" if name else context.path),
        remedy=remedy,
    )
