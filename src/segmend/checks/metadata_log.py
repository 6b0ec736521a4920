"""The log of the cluster's metadata is damaged."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import INVALID_MESSAGES
from segmend.findings import Finding, Where
from segmend.kernel.types import CHAIN_KINDS
from segmend.logdir.scans import whole_scan

from . import metadata_mends
from .context import PartitionContext
from .manual import ERROR, LOSES, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("K07", ERROR, "a batch of `__cluster_metadata-0` is damaged: everything after it is cut off", LOSES),
)
PAGE = Page(
    meaning="The KRaft log holds every topic, id and assignment since the last snapshot.",
    broker="""
        It checks every CRC of this log at every start, even after a clean stop, truncates at the first bad
        batch and deletes all later segments.""",
    more="""
        If other controllers are there it fetches the rest again; a single controller forgets what it
        committed, and data directories of forgotten topics become strays.""",
    advice="""
        `plan quorum`: a snapshot that covers the damage makes the log whole. Else restore it from another
        controller or broker (`--from`); moving the directory away would lose this node's vote with it.""",
    kafka="KafkaMetadataLog, KafkaRaftLog (4.x); lastShutdownClean is false on every start.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.STARTUP


def applies(context: PartitionContext) -> bool:
    return context.partition.kind == "cluster-metadata"


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """With CRCs at every level, since the broker does so."""
    scan = whole_scan(view.log, base_offset=view.base_offset)
    damage = next((problem for problem in scan.problems if problem.kind in CHAIN_KINDS), None)
    # A torn end is what a killed controller leaves; it was never committed.
    if damage is None or (damage is scan.tail and view.is_active):
        return
    yield context.finding(
        "K07",
        f"{damage.kind}: the log is cut off here at the next start, with all later segments",
        Where(view.log.name, position=damage.position, offset=damage.offset),
        broker_says=INVALID_MESSAGES.format(f"{context.partition.path}/{view.log.name}", damage.position),
        remedy=metadata_mends.mend(context),
    )
