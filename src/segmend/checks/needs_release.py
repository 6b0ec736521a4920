"""The data is newer than the broker that is to read it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from segmend.broker.serving import CODEC_SINCE, MAGIC_SINCE
from segmend.findings import Finding
from segmend.formats import quorum_state
from segmend.formats.offset_checkpoint import CLEANER_OFFSET
from segmend.kernel.scan import iter_batches
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.second_looks import look_again

from .context import PartitionContext
from .manual import ERROR, NONE, Code, Level, Page, Scope

CODES = (
    Code("K19", ERROR,
         "a message format, codec, batch attribute or file version that this release does not know", NONE),
)  # fmt: skip
PAGE = Page(
    meaning="""
        A broker was downgraded, or the disk was moved to an older cluster, or `--kafka` names the wrong
        release.""",
    broker="It fails in its own way: it does not start, or consumers get errors.",
    advice="Start at least the release that the finding names.",
    kafka="""
        Magic 1 since 0.10 (KIP-32), magic 2 since 0.11 (KIP-98), zstd since 2.1 (KIP-110), the delete horizon
        of compacted batches since 3.1 (KAFKA-8522), version 1 of quorum-state since 3.9 (KIP-853).""",
)
SCOPE = Scope.PARTITION
LEVEL = Level.DEFAULT

_HORIZON_SINCE: Final = (3, 1)
"""`DefaultRecordBatch.deleteHorizonMs`; KIP-534."""
_QUORUM_VERSION_SINCE: Final = (3, 9)
"""`FileQuorumStateStore`, version 1: KIP-853."""


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """The highest need of the whole partition."""
    needs: dict[tuple[int, ...], str] = {}
    for scan in filter(None, context.scans):
        magics = ((MAGIC_SINCE.get(magic), f"magic {magic}") for magic, _ in scan.magics)
        codecs = ((CODEC_SINCE.get(codec), "zstd") for codec, _ in scan.codecs)
        needs.update((since, what) for since, what in chain(magics, codecs) if since)
    if context.release < _HORIZON_SINCE and _has_horizon(context):
        needs[_HORIZON_SINCE] = "a delete horizon"
    if _quorum_version(partition) == 1:
        needs[_QUORUM_VERSION_SINCE] = f"version 1 of {quorum_state.FILE_NAME}"
    if needs and context.release < max(needs):
        since = max(needs)
        release = ".".join(map(str, since))
        message = f"holds {needs[since]}, which Kafka {context.release} cannot read; {release} or later can"
        yield context.finding("K19", message)


def _has_horizon(context: PartitionContext) -> bool:
    """Only the cleaner sets it, so only partitions that it has cleaned are looked at once more."""
    cleaned = context.checkpointed(CLEANER_OFFSET)
    if cleaned is None:
        return False
    for view in context.views:
        if view.base_offset >= cleaned:
            return False
        with look_again(view.log) as reader:
            if any(batch.has_delete_horizon for batch in iter_batches(reader)):
                return True
    return False


def _quorum_version(partition: PartitionDir) -> int | None:
    if partition.kind != "cluster-metadata":
        return None
    state = partition.quorum_state
    return state.value.data_version if state.value else None
