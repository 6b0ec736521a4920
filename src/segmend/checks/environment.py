"""The disk or the machine will not let a broker run here."""

from __future__ import annotations

import errno
import shlex
from collections.abc import Iterator

from segmend.broker.failures import DISK_FULL, LOCKED, READ_ONLY
from segmend.broker.recovery import EMPTIED_UNWRITTEN, UNWRITTEN
from segmend.findings import Finding, Where
from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_dir import LOCK, LogDir

from . import remedies
from .context import DirContext
from .manual import FAILING, INFO, REFUSES, WARNING, Code, Level, Page, Scope

CODES = (
    Code("K14", WARNING, "the file system is read-only, full, or has no inode left", FAILING),
    Code("K15", INFO, "a running process holds the dir's lock", REFUSES),
)
PAGE = Page(
    meaning="""
        A kernel mounts a file system read-only after an I/O error; a broker needs to write at once. K15 only
        says that a broker runs on this dir: bytes of active segments are in flight and not judged.""",
    own={
        "K14": f"""
            {UNWRITTEN};
            on a read-only file system that is the lock. What it writes depends on what it finds to do, and
            {EMPTIED_UNWRITTEN}: on a full XFS 4.3.1 lost all metadata so, and set
            every partition aside as a stray. Make room before the next start.""",
        "K15": "a second broker does not start.",
    },
    advice="""
        K14: look at the kernel's log and copy what can be read off the disk before anything else. A snapshot
        mounted read-only on purpose is fine: `--ignore K14`. K15: nothing for looking; stop the broker before
        mending. Never delete `.lock`.""",
    kafka="LogManager.lockLogDirs, LogDirFailureChannel.",
)
SCOPE = Scope.DIR
LEVEL = Level.STARTUP


def run(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    try:
        space = log_dir.space()
    except Unreadable as error:
        if error.errno == errno.ENOTSUP:  # an object store, in which no broker runs
            return
        raise
    if space.read_only:
        yield context.finding(
            "K14",
            "the file system is mounted read-only",
            broker_says=READ_ONLY,
            remedy=remedies.advice("dmesg | grep -i -e 'remount' -e 'I/O error'"),
        )
    elif space.has_no_room:
        yield context.finding(
            "K14",
            f"the file system is full{_foreign(log_dir)}",
            broker_says=DISK_FULL,
            remedy=remedies.free(context.path, *(each.path for each in context.broker_dirs.dirs)),
        )
    elif space.has_no_more_files:
        yield context.finding(
            "K14",
            f"no room for more files: {space.files_left:,} of {space.files:,} inodes are left",
            broker_says=DISK_FULL,
            remedy=remedies.advice(f"df -i {shlex.quote(context.path)}"),
        )
    if context.running:
        yield context.finding(
            "K15",
            "a running process holds .lock; what it is writing right now is not judged",
            Where(LOCK),
            broker_says=LOCKED.format(context.path),
        )


def _foreign(log_dir: LogDir) -> str:
    """What is at the top of the dir and has nothing to do with Kafka: it can go first."""
    sizes = {name: entry.stat().size for name in log_dir.foreign_files if (entry := log_dir.entry(name))}
    if not any(sizes.values()):
        return ""
    largest = max(sizes, key=lambda name: sizes[name])
    return f"; {sum(sizes.values()):,} bytes are in files that Kafka did not make (the largest: {largest})"
