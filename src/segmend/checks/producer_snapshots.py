"""A producer snapshot is damaged, missing, misnamed or out of place."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.failures import LOADING_FAILED, NUMBER_FORMAT
from segmend.broker.producer_state import FAILED_SNAPSHOT, LOADING_STATE, NO_ARRAY
from segmend.broker.recovery import MAX_FILE_BYTES, PRODUCER_STATE
from segmend.findings import Finding, Severity, Where
from segmend.formats.names import file_prefix
from segmend.formats.offset_checkpoint import HIGH_WATERMARK, RECOVERY_POINT
from segmend.formats.producer_snapshot import LIMIT, parse
from segmend.logdir.files import FileEntry
from segmend.logdir.partition_dir import PartitionDir

from .context import PartitionContext
from .manual import ERROR, INFO, NONE, REFUSES, SLOW, WARNING, WRONG, Code, Level, Page, Scope
from .producer_replay import replay_of

CODES = (
    Code("P01", WARNING, "a snapshot cannot be read: wrong CRC, version or length", SLOW),
    Code("P02", ERROR, "there is no snapshot at all, and the clean marker is there", WRONG, SLOW),
    Code("P03", INFO, "the newest snapshot is missing", SLOW),
    Code("P04", ERROR, "a snapshot's name is no number, or the newest has 2 GiB", REFUSES, fatal=True),
    Code("P05", INFO, "a snapshot lies beyond the end of the log", NONE),
)
PAGE = Page(
    meaning="""
        A snapshot `<offset>.snapshot` is the state of all idempotent and transactional producers before that
        offset. One is written at each roll, and one when the broker stops cleanly.""",
    own={
        "P01": """
            "Failed to load producer snapshot from '...'": it deletes the file and replays from an older one.
        """,
        "P02": """
            without the marker it replays the whole log; with it, it takes the log for one written before 0.11
            and starts from nothing: open transactions are forgotten (their records become visible to
            consumers that read committed ones, and stay so once they are aborted) and producers may repeat
            batches. Without an open transaction it is a warning.""",
        "P03": "it replays from an older one.",
        "P04": "it dies with a NumberFormatException, or an OutOfMemoryError.",
        "P05": """
            it deletes the file. Unless a clean stop left the log so, the newest one tells of records that may
            be gone, a warning; without a high watermark of the partition that are gone, an error.""",
    },
    advice="""
        P02: regenerate the snapshot, or remove the clean marker, before the start. P04: move the file away.
        The others need nothing.""",
    kafka="ProducerStateManager.loadFromSnapshot, UnifiedLog.rebuildProducerState.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """Names and the newest snapshot at --startup; all snapshots and the replay above."""
    for entry in partition.unparsable:
        if entry.name.endswith(".snapshot"):
            yield _misnamed(context, entry)
    if partition.kind in ("cluster-metadata", "delete"):
        return
    snapshots = partition.snapshots
    looked_at = snapshots[-1:] if context.level == Level.STARTUP else snapshots
    for offset, entry in looked_at:
        if not (context.running and offset == snapshots[-1][0]):
            yield from _damaged(context, offset, entry)
    yield from _beyond(context, [*snapshots])
    if context.level > Level.STARTUP and context.clean and not context.running:
        yield from _absent(context, snapshots[-1][0] if snapshots else None)


def _misnamed(context: PartitionContext, entry: FileEntry) -> Finding:
    return context.finding(
        "P04",
        "the name is no offset: the broker does not start",
        Where(entry.name),
        broker_says=LOADING_FAILED.format(NUMBER_FORMAT.format(entry.name.partition(".")[0])),
        remedy=context.set_aside(entry.name),
    )


def _damaged(context: PartitionContext, offset: int, entry: FileEntry) -> Iterator[Finding]:
    newest = offset == context.partition.snapshots[-1][0]
    damages = context.partition.newest_snapshot[1] if newest else parse(entry.read(LIMIT))[1]
    if newest and entry.size >= MAX_FILE_BYTES and PRODUCER_STATE.of(context.release):
        yield context.finding(
            "P04",
            f"the newest snapshot is {entry.size:,} bytes long: the broker cannot hold it and does not start",
            Where(entry.name, offset=offset),
            broker_says=LOADING_FAILED.format(f"java.lang.OutOfMemoryError: {NO_ARRAY}"),
            remedy=context.set_aside(entry.name),
        )
    elif entry.size > LIMIT:
        words = f"{entry.size:,} bytes are more than is read here: whether it is right is not known"
        where = Where(entry.name, offset=offset)
        yield context.finding("P01", words, where, severity=Severity.WARNING, remedy=context.repair())
    elif damages:
        words = "; ".join(damage.reason for damage in damages)
        yield context.finding(
            "P01",
            f"{words}. A start deletes it and replays from an older one",
            Where(entry.name, position=damages[0].position, offset=offset),
            broker_says=FAILED_SNAPSHOT.say(context.release, entry.name, damages[0].reason),
            remedy=context.repair(),
        )


def _beyond(context: PartitionContext, snapshots: list[tuple[int, FileEntry]]) -> Iterator[Finding]:
    """Only where nothing else says that the log once went so far: then the log is cut (L25)."""
    if not context.views or context.running:
        return
    end = context.log_end_offset
    reached = max(context.checkpointed(name) or 0 for name in (RECOVERY_POINT, HIGH_WATERMARK))
    if context.unmarked and snapshots and snapshots[-1][0] > end >= reached:
        offset, entry = snapshots.pop()
        yield context.finding(
            "P05",
            f"the log ends at offset {end}: records are missing there, and no high watermark tells of them",
            Where(entry.name, offset=offset),
            severity=Severity.ERROR,
            remedy=context.graft(),
        )
    left_so = context.clean and context.checkpointed(RECOVERY_POINT) == end
    for offset, entry in snapshots:
        if offset > end >= reached:
            yield context.finding(
                "P05",
                f"the log ends at offset {end}; a start deletes this snapshot",
                Where(entry.name, offset=offset),
                remedy=context.set_aside(entry.name),
                severity=None if left_so else Severity.WARNING,
            )


def _absent(context: PartitionContext, newest: int | None) -> Iterator[Finding]:
    states = replay_of(context).states
    end = context.log_end_offset
    if not states or not PRODUCER_STATE.of(context.release):
        return
    if newest is None:
        opened = [state for state in states.values() if state.current_txn_first_offset >= 0]
        yield context.finding(
            "P02",
            f"there is no producer snapshot; the next start forgets {len(states):,} producers"
            + (f" and {len(opened)} open transactions" if opened else ""),
            Where(offset=end),
            broker_says=LOADING_STATE.say(context.release, end),
            remedy=context.repair(),
            severity=None if opened else Severity.WARNING,
            producers=len(states),
            open_transactions=len(opened),
        )
    elif newest < end and any(state.last_offset >= newest for state in states.values()):
        yield context.finding(
            "P03",
            f"no producer snapshot at the log end offset {end}; the next start replays from offset {newest}",
            Where(f"{file_prefix(end)}.snapshot", offset=end),
        )
