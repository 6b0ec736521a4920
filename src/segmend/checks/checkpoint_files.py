"""An offset checkpoint of the log dir cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.checkpoints import RESETTING, UNREADABLE_CHECKPOINT, kind_of
from segmend.findings import Finding, Severity, Where
from segmend.formats.damage import Damage
from segmend.formats.offset_checkpoint import CLEANER_OFFSET, HIGH_WATERMARK, LOG_START_OFFSET, RECOVERY_POINT
from segmend.logdir.log_dir import LogDir

from . import remedies
from .context import DirContext
from .manual import ERROR, LOSES, OFFLINE, REFUSES, SLOW, WARNING, WRONG, Code, Level, Page, Scope

CODES = (
    Code("C01", ERROR, "recovery-point-offset-checkpoint is malformed: the log dir goes offline", OFFLINE),
    Code("C02", WARNING, "a token of it is no number: every recovery point counts as 0", SLOW, LOSES),
    Code(
        "C05", ERROR, "a checkpoint declares a huge number of entries: the broker runs out of memory", REFUSES
    ),
    Code("C07", ERROR, "log-start-offset-checkpoint is malformed: deleted records may come back", OFFLINE),
    Code("C10", ERROR, "replication-offset-checkpoint is malformed: no high watermark can be read", WRONG),
    Code("C11", ERROR, "cleaner-offset-checkpoint is malformed: compaction stops in this dir", SLOW),
)
PAGE = Page(
    meaning="""
        The file is text: a version, a count, one `topic partition offset` a line. A wrong count, a missing
        token, even a blank line at the end makes it unreadable. An empty file is fine.""",
    broker="""
        Malformed: the log dir goes offline after loading, and if a partition in it has an open transaction
        the broker does not start.""",
    own={
        "C02": """
            the values count as missing; without the clean marker every segment of the dir is then scanned,
            and each old CRC error found becomes a truncation.""",
        "C05": "it runs out of memory and does not start.",
    },
    advice="""
        Write the file anew from the entries that can be read, or remove it. Without the recovery points an
        unclean start takes long; without the log start offsets records deleted by DeleteRecords are visible
        again; without high watermarks consumers wait until the first fetch of the followers.""",
    kafka="CheckpointFile.read, CheckpointFileWithFailureHandler, LogManager.loadLogs.",
)
SCOPE = Scope.DIR
LEVEL = Level.STARTUP

_CODES = {RECOVERY_POINT: "C01", LOG_START_OFFSET: "C07", HIGH_WATERMARK: "C10", CLEANER_OFFSET: "C11"}


def run(_log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    """One finding a file: the first damage is what the broker's reader stops at."""
    for name in _CODES:
        for damage in context.checkpoint(name).damages[:1]:
            yield _finding(context, name, damage)


def _finding(context: DirContext, name: str, damage: Damage) -> Finding:
    code = _code(context, name, damage)
    reset, release = RESETTING.get(name), context.release
    failing = UNREADABLE_CHECKPOINT.say(release, f"{context.path}/{name}")
    return context.finding(
        code,
        damage.reason,
        Where(name, position=damage.position),
        severity=Severity.WARNING if damage.kind == "not-a-number" and name == LOG_START_OFFSET else None,
        broker_says=reset.say(release, context.path) if reset else failing,
        remedy=remedies.repair(context.path),
    )


def _code(context: DirContext, name: str, damage: Damage) -> str:
    if damage.kind == "huge-count":
        return "C05"
    if name == RECOVERY_POINT and kind_of(damage, context.release) == "not-a-number":
        return "C02"
    return _CODES[name]
