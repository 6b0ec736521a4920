"""A symbolic link to nothing stands where a file of the log dir should be."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from segmend.findings import Finding, Severity, Where
from segmend.formats import clean_shutdown
from segmend.formats.names import BOOTSTRAP_CHECKPOINT
from segmend.logdir.log_dir import LOCK, LogDir

from . import remedies
from .context import DirContext
from .manual import ERROR, OFFLINE, Code, Level, Page, Scope

CODES = (
    Code("N32", ERROR, "a symbolic link to nothing, in place of a file of the log dir", OFFLINE,
         in_the_way=True, explains=("C13", "K01", "K14b")),
)  # fmt: skip
PAGE = Page(
    meaning="""
        A checkpoint, meta.properties, `.lock` or the clean shutdown marker is a link, and what it leads to is
        not there: a volume that is not mounted, a file that was moved away, a loop of links.""",
    broker="""
        A checkpoint: it finds the name, cannot read it, and the log dir goes offline; so it does over a
        `.lock` that cannot be made there. meta.properties counts as missing (K01), and so do
        bootstrap.checkpoint and the marker, of which none is written at the next stop either.""",
    advice="Mount what the link leads to, or remove the link, before a broker starts.",
    kafka="CheckpointFile.read, FileLock, MetaPropertiesEnsemble.Loader, CleanShutdownFileHandler.",
)
SCOPE = Scope.DIR
LEVEL = Level.STARTUP

# A start is the same as without them.
_SPARED = (clean_shutdown.FILE_NAME, BOOTSTRAP_CHECKPOINT)


def run(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    """From names; a `.lock` that can be made where its link leads to is none."""
    for name in log_dir.dangling:
        if name == LOCK and log_dir.lock_refusal is None:
            continue
        yield context.finding(
            "N32",
            "a symbolic link to nothing, or in a circle",
            Where(name),
            remedy=remedies.advice(f"readlink -m {shlex.quote(f'{context.path}/{name}')}"),
            severity=Severity.WARNING if name in _SPARED else None,
        )
