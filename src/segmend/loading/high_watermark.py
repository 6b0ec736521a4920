"""Where the high watermark of a replica will be when retention first looks.

Follows `Partition.maybeIncrementLeaderHW`: a leader lifts it to the end that all in sync have.
"""

from __future__ import annotations

from segmend.broker.retention import HELD_BELOW_MIN_ISR, MARK_FROM_LOG_START
from segmend.frozen import frozen
from segmend.loading.values import Extent
from segmend.logdir.release import Release
from segmend.node.metadata_image import MetadataImage, PartitionLeader


@frozen
class Watermark:
    """The high watermark by the time of the first look: `offset` at least, `reach` at most.

    `why` is a key of `MARKS`.
    """

    offset: int = 0
    reach: int = 0
    why: str = "unknown"


MARKS = {
    "stored": "its checkpoint is at the end",
    "below-start": "its checkpoint is below the log start, which is the end: up to 2.3 a write lifts it",
    "alone": "the only replica: the end counts once it leads",
    "leads": "its ISR is this replica alone: the end counts once it leads",
    "under-min-isr": "fewer replicas are in sync than min.insync.replicas: it stays until others are",
    "eligible": "too few replicas are in sync for min.insync.replicas: it stays until others are (KIP-966)",
    "followers": "other replicas are in sync, or lead: it follows them",
    "unknown": "who is in sync is not on this disk",
}
"""Why the high watermark is where it is."""


@frozen
class AssignedReplicas:
    """Who has the partition, as far as the metadata tells; `min_isr` is `min.insync.replicas`."""

    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    min_isr: int = 1
    node_id: int | None = None


def replicas_of(
    image: MetadataImage, topic: str, partition: int, node_id: int | None, min_isr: int
) -> AssignedReplicas:
    key = image.ids.get(topic, ""), partition
    leader = image.leaders.get(key, PartitionLeader())
    return AssignedReplicas(
        replicas=image.replicas.get(key, ()), isr=leader.isr, elr=leader.elr, min_isr=min_isr,
        node_id=node_id,
    )  # fmt: skip


def high_watermark(
    after: Extent, stored: int | None, known: AssignedReplicas | None, release: Release
) -> Watermark:
    """Where it will be; `stored` is the checkpoint's. Without any trace of it, the end is taken for it.

    With nobody in sync, the only eligible replica leads and is alone in sync (KIP-966).
    """
    start, end = after.log_start_offset or 0, after.log_end_offset or 0
    sure = min(stored or 0, end)
    if (
        not MARK_FROM_LOG_START.of(release)
        and sure < start == end
        and (stored is not None or known is not None)
    ):
        return Watermark(offset=sure, reach=end, why="below-start")
    sure = max(sure, start)
    if known is not None and len(known.replicas) == 1:
        return Watermark(offset=end, reach=end, why="alone")
    if stored is not None and sure == end:
        return Watermark(offset=end, reach=end, why="stored")
    in_sync = () if known is None else known.isr or known.elr
    if known is not None and not known.isr and len(in_sync) > 1:
        return Watermark(offset=sure, reach=end, why="eligible")
    if known is None or not in_sync:
        return Watermark(offset=end if stored is None and known is None else sure, reach=end, why="unknown")
    if set(in_sync) != {known.node_id}:
        return Watermark(offset=sure, reach=end, why="followers")
    if HELD_BELOW_MIN_ISR.of(release) and min(known.min_isr, len(known.replicas)) > 1:
        return Watermark(offset=sure, reach=end, why="under-min-isr")
    return Watermark(offset=end, reach=end, why="leads")
