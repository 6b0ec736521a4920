"""An offset checkpoint is missing, or says odd things that do no harm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from segmend.findings import Finding, Where
from segmend.formats.offset_checkpoint import FILE_NAMES, LOG_START_OFFSET, RECOVERY_POINT
from segmend.logdir.log_dir import LogDir

from . import remedies
from .context import DirContext
from .manual import INFO, NONE, SLOW, WARNING, Code, Level, Page, Scope

CODES = (
    Code("C03", WARNING, "recovery-point-offset-checkpoint is missing after an unclean stop", NONE, SLOW),
    Code(
        "C06", INFO, "duplicate, negative or Windows-style lines: read as they are meant", NONE, ignored=True
    ),
)
PAGE = Page(
    meaning="""
        C03: without recovery points nothing on this disk counts as flushed. C06: somebody edited the file;
        the last of several lines for a partition wins.""",
    own={
        "C03": """
            it scans every segment of every partition with its CRCs, which may take hours, and truncates at
            each bad one.""",
        "C06": "nothing.",
    },
    advice="""
        C03: run `segmend check --deep` first, so that you know what the scan will cut off. C06: nothing.""",
    kafka="LogManager.loadLogs, LogLoader.recoverLog.",
)
SCOPE = Scope.DIR
LEVEL = Level.STARTUP


def run(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    """Against the marker and the lines themselves."""
    sealed = any(p.kind == "current" and len(p.base_offsets) > 1 for p in log_dir.partitions)
    if not context.clean and not context.running and RECOVERY_POINT not in log_dir.entries and sealed:
        message = "no recovery points and no clean shutdown marker: the next start scans every segment"
        remedy = remedies.check_deep(context.path)
        yield context.finding("C03", message, Where(RECOVERY_POINT), remedy=remedy)
    for name in FILE_NAMES:
        odd = _odd(name, context)
        if odd:
            yield context.finding("C06", odd, Where(name))


def _odd(name: str, context: DirContext) -> str | None:
    checkpoint = context.checkpoint(name)
    if checkpoint.value is None or checkpoint.damages:
        return None
    entries = checkpoint.value.entries
    for (topic, partition), count in Counter((e.topic, e.partition) for e in entries).most_common(1):
        if count > 1:
            return f"{count} lines for {topic}-{partition}; the last one counts"
    negative = next((e for e in entries if e.offset < 0), None)
    if negative is not None and name != LOG_START_OFFSET:
        return f"offset {negative.offset} of {negative.topic}-{negative.partition} is negative"
    return "the lines end with carriage returns" if b"\r" in (checkpoint.data or b"") else None
