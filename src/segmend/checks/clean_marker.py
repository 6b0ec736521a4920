"""The clean shutdown marker does not fit the rest of the dir, or the dir the last run of its broker."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from segmend.broker.checkpoints import BROKER_EPOCHS, EPOCHS_DIFFER, NO_BROKER_EPOCH
from segmend.broker.recovery import RECOVERING_LOGS, SKIPPING_RECOVERY
from segmend.broker.rule import Words
from segmend.findings import Finding, Severity, Where
from segmend.formats import clean_shutdown
from segmend.logdir.log_dir import LogDir
from segmend.logdir.stops import active_indexes

from . import remedies
from .context import DirContext
from .manual import ERROR, INFO, LOSES, NONE, SLOW, Code, Level, Page, Scope

CODES = (
    Code("C12", ERROR, "the marker is there, but the files look like those of a broker that was killed",
         LOSES, NONE, explains=("I12", "I14", "I26", "P03")),
    Code("C13", INFO, "the marker is missing, but the files look like those of a clean stop", NONE, SLOW),
    Code("C14", INFO, "the marker's broker epoch cannot be read, or the dir is not of the broker's last run",
         NONE),
)  # fmt: skip
PAGE = Page(
    meaning="""
        The marker alone decides whether a broker recovers. A broker that stops in order trims the indexes of
        active segments; one that is killed leaves them preallocated with zeros. C12 is what a disk snapshot,
        a copy of a running dir, or (before 2.8) a crash during loading leaves.""",
    own={
        "C12": """
            it skips recovery. Torn tails stay, the zero-filled time index makes every record look as if it
            were from 1970, and time retention deletes the log within a minute.""",
        "C13": """
            it scans the last segment of each partition and is treated as unclean by the controller.""",
        "C14": """
            it loses its broker epoch and is taken for unclean where eligible leader replicas are on. A dir
            that is older than its broker's last run with it (by the metadata, or the marker of another dir)
            is a copy of earlier, and the broker takes its logs as they are. One that was only away, as a stop
            in order left it, or that failed as the broker ran, is a note. Of one that was away since a kill
            nobody can tell whether it is the same.""",
    },
    advice="""
        C12: remove the marker before the broker starts; recovery then mends the rest. C13: nothing. C14:
        look for the newer copy of an older dir before the broker starts.""",
    kafka="LogManager.loadLogs, CleanShutdownFileHandler, KAFKA-10471 (2.8), KIP-966.",
)
SCOPE = Scope.DIR
LEVEL = Level.STARTUP

_MARKER = clean_shutdown.FILE_NAME
# As many active segments as this are looked at; a broker trims all of them or none.
_LOOKED_AT = 64


def run(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    """Compare the marker with the active segments' indexes."""
    if context.running:
        return
    indexes = list(islice(active_indexes(log_dir), _LOOKED_AT))
    preallocated = [name for name, padded in indexes if padded]
    if context.clean and preallocated:
        yield context.finding(
            "C12",
            f"the marker says that the broker stopped in order, but {preallocated[0]} was not trimmed",
            Where(_MARKER),
            broker_says=_of_all_logs(SKIPPING_RECOVERY, context),
            remedy=remedies.remove(context.path, _MARKER),
            detail={"untrimmed": len(preallocated)},
        )
    elif not context.clean and indexes and not preallocated:
        message = "the marker is missing although all indexes were trimmed as in a clean stop"
        says = _of_all_logs(RECOVERING_LOGS, context)
        yield context.finding("C13", message, Where(_MARKER), broker_says=says)
    yield from _content(log_dir, context)


def _of_all_logs(words: Words, context: DirContext) -> str | None:
    number = sum(partition.kind != "cluster-metadata" for partition in context.log_dir.partitions)
    return words.say(context.release, number=number, dir=context.path)


def _content(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    file = log_dir.clean_shutdown.readable()
    earlier = context.broker.broker_dirs.earlier_dirs.get(context.path)
    for damage in file.damages if file.data and BROKER_EPOCHS.of(context.release) else ():
        says = NO_BROKER_EPOCH.say(context.release, context.path)
        yield context.finding(
            "C14", damage.reason, Where(_MARKER, position=damage.position), broker_says=says
        )
    if earlier is not None and earlier.proven:
        says = None
        if earlier.epochs is not None:
            own, newest = earlier.epochs
            says = EPOCHS_DIFFER.say(context.release, dir=context.path, other=newest, current=own)
        worst = Severity.INFO if earlier.complete else Severity.WARNING
        yield context.finding("C14", earlier.words, Where(earlier.file), broker_says=says, severity=worst)
