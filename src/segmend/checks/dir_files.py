"""A file at the top of a log dir that is not Kafka's."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Severity, Where
from segmend.logdir.layout import UNFINISHED
from segmend.logdir.log_dir import LogDir

from . import remedies
from .context import DirContext
from .file_names import HALF
from .manual import INFO, NONE, Code, Level, Page, Scope

CODES = (
    Code("N28", INFO,
         "a file at the top of a log dir that is not Kafka's, or a name that is no UTF-8: ignored", NONE,
         ignored=True),
)  # fmt: skip
PAGE = Page(
    meaning="""
        A dump, an archive, an editor's copy of a checkpoint. It takes room that the logs need, and no
        retention ever removes it.""",
    broker="Nothing: only directories count.",
    advice="Move it to another disk, if nobody needs it there.",
    kafka="LogManager.loadLogs.",
)
SCOPE = Scope.DIR
LEVEL = Level.STARTUP

# A dir full of them tells its story in the first.
_MOST = 20


def run(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    for name in log_dir.not_found[:_MOST]:
        message = "a directory whose name is no UTF-8: a broker lists it, and finds nothing there"
        yield context.finding("N28", message, Where(name), remedy=remedies.set_aside(context.path, name))
    names = log_dir.foreign_files
    for name in names[:_MOST]:
        entry = log_dir.entry(name)
        size = 0 if entry is None else entry.stat().size
        more = (
            f", as {len(names) - _MOST} more are" if len(names) > _MOST and name == names[_MOST - 1] else ""
        )
        half = name.endswith(UNFINISHED)
        yield context.finding(
            "N28",
            HALF if half else f"not a file of Kafka, {size:,} bytes{more}",
            Where(name),
            remedy=remedies.set_aside(context.path, name),
            severity=Severity.WARNING if half else None,
            size=size,
        )
