"""The system gives an error where a file should be read."""

from __future__ import annotations

import errno
import shlex
from collections.abc import Iterator

from segmend.broker.failures import DIR_FAILED, IO_ERROR, READ_UNCHECKED, Fate
from segmend.findings import Finding, Where

from . import remedies
from .context import DirContext, ReadFailure
from .manual import ERROR, OFFLINE, Code, Level, Page, Scope

CODES = (
    Code(
        "K14b", ERROR, "a file or directory that cannot be read: an I/O error, a loop of links", OFFLINE,
        lasting=True,
    ),
)  # fmt: skip
PAGE = Page(
    meaning="""
        An input/output error comes from a failing disk or file system; the bytes behind it are gone or soon
        will be. Other errors name something that is not a plain file. What only the user of this command may
        not read is no finding: the summary says that it was not looked at.""",
    broker="""
        Over a log or a transaction index that the start reads, it ends; over other files the whole log dir
        goes offline. What a start does not read fails when a consumer or the cleaner comes there.""",
    advice="""
        Copy everything that can still be read to another disk, then look at the kernel's log and replace the
        disk. Never repair in place.""",
    kafka="LogDirFailureChannel, KIP-112.",
)
SCOPE = Scope.FAILURE
LEVEL = Level.STARTUP


def run(failure: ReadFailure, context: DirContext) -> Iterator[Finding]:
    """Neither a lack of our own permission nor a file that vanished is a fault; a directory is N30, and what
    is no file in a log N29."""
    if failure.errno in (errno.EACCES, errno.EPERM, errno.ENOENT, errno.EISDIR):
        return
    if failure.errno == 0 and "/" in (failure.file or ""):
        return
    unchecked = failure.errno == 0 or (failure.file or "").endswith(READ_UNCHECKED)
    look = f"ls -l {shlex.quote(f'{context.path}/{failure.file}')}"
    yield context.finding(
        "K14b",
        f"cannot be read: {failure.reason}",
        Where(failure.file),
        broker_says=None
        if unchecked or IO_ERROR.of(context.release) is Fate.BROKER
        else DIR_FAILED.format(context.path),
        remedy=remedies.advice("dmesg | grep -i -e 'I/O error' -e ext4 -e xfs" if failure.errno else look),
    )
