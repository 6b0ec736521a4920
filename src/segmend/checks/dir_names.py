"""A directory in the log dir whose name is no partition's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from segmend.broker.failures import DIR_FAILED, NOT_A_PARTITION
from segmend.broker.log_dirs import goes_first, is_minded
from segmend.broker.strays import knows
from segmend.findings import Finding, Remedy, Safety, Where
from segmend.formats.names import parse_dir_name
from segmend.logdir.file_system import is_full
from segmend.logdir.log_dir import LogDir

from . import remedies
from .context import DirContext
from .manual import ERROR, REFUSES, Code, Level, Page, Scope

CODES = (
    Code("N01", ERROR, "a directory that is no partition: the broker does not start", REFUSES),
    Code("N21", ERROR,
         "a `-delete`, `-future` or `-stray` name without its unique id: the broker does not start", REFUSES),
    Code("N24", ERROR, "the name of a partition, mangled by a copy: the broker does not start", REFUSES),
)  # fmt: skip
PAGE = Page(
    meaning="""
        A broker takes every directory in a log dir for a partition. `lost+found`, a backup like `t-0.bak` or
        a copy like `t-0 (1)` is not of the form <topic>-<number>, so it gives up. Plain files are ignored.
    """,
    broker="""
        It does not start, whatever else is healthy. A directory made while it runs has no effect until the
        next start. An empty directory in place of the clean shutdown marker is one, since 2.8.""",
    advice="""
        Move the directory out of the log dir; not to a name like `backup-7`, which the broker would adopt
        (N02). If a mount point's `lost+found` is the culprit, let log.dirs point to a directory below the
        mount.""",
    kafka="""
        LogManager.loadLogs, UnifiedLog.parseTopicPartitionName. `-delete` since 0.10.2, `-future` since 1.1
        (KIP-113), `-stray` since 3.6.1.""",
)
SCOPE = Scope.DIR
LEVEL = Level.STARTUP

_SUFFIX = re.compile(r"-(delete|future|stray)$")
# What file managers, Windows shares and editors append to or make of a copied name.
_MANGLED = re.compile(r"(?P<name>.+-\d+)( \(\d+\)| ?- ?[Cc]opy.*|~\d*|:.*|%3[aA].*|\s+)$")


def run(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    apart = bool(context.broker_dirs.is_apart(log_dir))
    for name in log_dir.foreign:
        if is_minded(name, apart=apart) and not _goes_first(log_dir, name, context):
            yield _finding(name, context)
    for partition in log_dir.partitions:
        if not apart and not knows(partition.kind, context.release):
            yield _finding(partition.name, context)


def _goes_first(log_dir: LogDir, name: str, context: DirContext) -> bool:
    """Whether an empty directory, or a link, is in place of what a start deletes first."""
    goes = name in goes_first(context.release)
    return goes and not (log_dir.entries[name] == "dir" and is_full(log_dir.files, f"{log_dir.path}/{name}"))


def _finding(name: str, context: DirContext) -> Finding:
    code, message = "N01", f"directory {name!r} is no partition"
    mangled = _MANGLED.match(name)
    kind = parse_dir_name(name).kind
    if kind != "foreign":
        message = f"directory {name!r} is no partition to Kafka {context.release}, which knows no -{kind}"
    elif _SUFFIX.search(name):
        code, message = "N21", f"directory {name!r} ends like a renamed partition but has no unique id"
    elif mangled and parse_dir_name(mangled["name"]).kind == "current":
        code, message = "N24", f"directory {name!r} looks like a mangled copy of {mangled['name']!r}"
    goes = name in goes_first(context.release)
    words = DIR_FAILED if goes else NOT_A_PARTITION.of(context.release)
    place = context.path if goes else f"{context.path}/{name}"
    return context.finding(
        code, message, Where(name), broker_says=words.format(place, name), remedy=_remedy(name, context)
    )


def _remedy(name: str, context: DirContext) -> Remedy:
    """Its name back, where the checkpoints have lines of that partition and it is nowhere else."""
    parsed = parse_dir_name(name)
    if parsed.kind == "stray" and not context.broker.has_current((parsed.topic, parsed.partition)):
        return remedies.adopt(context.path, name, replace=False, safety=Safety.ADVICE)
    former = context.broker.former_names.get((context.path, name))
    if former is not None:
        return remedies.rename(context.path, name, former)
    return remedies.set_aside(context.path, name)
