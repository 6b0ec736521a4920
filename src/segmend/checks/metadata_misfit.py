"""Records of the cluster's metadata that do not fit those before them, under right checksums."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Severity, Where
from segmend.formats.names import CLUSTER_METADATA
from segmend.node.metadata_misfits import misfits, passed_over

from . import remedies
from .context import BrokerContext
from .manual import ERROR, REFUSES, Code, Level, Page, Scope

CODES = (
    Code(
        "K29", ERROR, "a record of the cluster's metadata cannot be read, or does not fit those before it",
        REFUSES, explains=("K25",),
    ),
)  # fmt: skip
PAGE = Page(
    meaning="""
        The batches of `__cluster_metadata-0`, or of its newest snapshot, have right checksums, and a record
        in them is of no kind that is known, has bytes too many or too few, or changes what is not there: a
        topic, a partition, a broker, an access list. No controller is known to write that: it comes of a
        fault of one, or of a tool.""",
    broker="""
        A node ends as it replays the record, as broker and as controller, at each start. Up to 3.3 one that
        cannot be read is logged, and its batch left out.""",
    advice="""
        Bring the metadata of another voter (`plan quorum --from`), or the node's own from a backup of before
        the record.""",
    kafka="MetadataBatchLoader, ClusterDelta, ReplicationControlManager, MetadataRecordSerde.",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP


def run(broker: BrokerContext, context: BrokerContext) -> Iterator[Finding]:
    """The first of them that this release minds."""
    dirs = context.broker_dirs
    home, log = dirs.metadata_dir, dirs.own_metadata_log
    if home is None or log is None or not dirs.kraft or broker.of(home).running:
        return
    says = next(misfits(log, dirs), None)
    left_out = passed_over(dirs) if log.has_unread else None  # of a newer release K21 tells
    if says is None and left_out is None:
        return
    yield broker.of(home).finding(
        "K29",
        says or str(left_out),
        Where(CLUSTER_METADATA),
        broker_says=says,
        remedy=remedies.play(*(log_dir.path for log_dir in broker.dirs)),
        severity=None if says else Severity.WARNING,
    )
