"""A transaction index cannot be read, or not to its end."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import CORRUPT_INDEX
from segmend.broker.sanity import less_than_start, txn_version_fault
from segmend.findings import Finding, Where
from segmend.formats.txn_index import ENTRY_SIZE, VERSION, TransactionIndex, parse
from segmend.logdir.partition_dir import PartitionDir
from segmend.wording import plural

from .context import PartitionContext
from .evidence import in_flight
from .manual import ERROR, REFUSES, SLOW, WARNING, WRONG, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("I18", ERROR, "an entry has an unknown version", REFUSES, fatal=True),
    Code("I19", WARNING, "an entry's last offset is below the segment's base offset", SLOW),
    Code("I20", WARNING, "the length is no multiple of 34 bytes", WRONG),
)
PAGE = Page(
    meaning="The file was damaged, belongs to another segment, or was cut.",
    broker="""
        It reads the whole file at every start. I18 kills it: "Unexpected aborted transaction version 1 in
        transaction index ..., current version is 0"; up to 4.3 it looks at the high byte of the version only.
    """,
    own={
        "I19": """
            "Found a corrupted index file corresponding to log file ...", and it rescans the segment and
            rebuilds its indexes.""",
        "I20": """
            it ignores the partial entry and appends behind it, so that all later entries are misread.""",
    },
    advice="Rebuild the transaction index from the log. I20: cut the partial entry off.",
    kafka="TransactionIndex.sanityCheck, AbortedTxn.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """All entries: what a broker does at every start, in directories marked for deletion, too."""
    for view in context.views if partition.layout.txnindex else ():
        for finding in _check(view, context):
            if finding.code == "I18" or partition.kind != "delete":
                yield finding


def _check(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    if in_flight(view) or not view.txn_index:
        return
    index, _ = parse(view.txn_index)
    name = view.named("txnindex")
    yield from _unreadable(view, context, index, name)
    if index.trailing:
        yield context.finding(
            "I20",
            f"{plural(len(index.trailing), 'byte')} after the last whole entry; later ones are misread",
            Where(name, position=len(index.entries) * ENTRY_SIZE),
            remedy=context.repair(),
        )


def _unreadable(
    view: SegmentView, context: PartitionContext, index: TransactionIndex, name: str
) -> Iterator[Finding]:
    """The first entry a broker stops at."""
    for row, entry in enumerate(index.entries):
        if entry.version != VERSION:
            words = txn_version_fault(context.release, name, entry)
            fate = "the broker does not start" if words else "only 4.4 and later see it, and do not start"
            yield context.finding(
                "I18",
                f"entry {row} has version {entry.version}: {fate}",
                Where(name, position=row * ENTRY_SIZE),
                broker_says=words,
                remedy=context.repair(),
            )
            return
        if entry.last_offset < view.base_offset:
            why = less_than_start(entry, view.base_offset)
            words = CORRUPT_INDEX.of(context.release).format(why=why, files="...", log=view.segment.name)
            yield context.finding(
                "I19",
                f"entry {row} ends at offset {entry.last_offset}, before the segment; a start rescans it",
                Where(name, position=row * ENTRY_SIZE, offset=entry.last_offset),
                broker_says=words,
                remedy=context.repair(),
            )
            return
