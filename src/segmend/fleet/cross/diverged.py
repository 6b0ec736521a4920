"""Two replicas hold different batches at the same offsets."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.checks import remedies
from segmend.checks.manual import ERROR, NONE, Code, Page
from segmend.findings import Finding, Severity, Where
from segmend.fleet.cross.replica import Divergence, Group, ListedReplica

CODES = (
    Code("R02", ERROR, "a replica differs from the reference: other bytes, or another leader epoch", NONE),
)
PAGE = Page(
    meaning="""
        Replicas are copies batch by batch, so size, checksum and epoch must agree wherever both have an
        offset. They do not from the given offset on: two leaders wrote there (an unclean election), a
        follower did not truncate, or a disk was restored from an older time. Batches that compaction may have
        rewritten are not compared.""",
    broker="""
        It truncates a follower by leader epochs. Where the epochs agree and the bytes do not, it notices
        nothing, and consumers read whichever copy leads.""",
    advice="""
        Compare the two with `segmend show --records` at the offset; the one with the higher epoch is what the
        cluster agreed on. Set the other aside before it can lead.""",
    kafka="""
        KIP-101, KIP-279. Below the high watermark both versions may have been read by consumers.""",
)

_WORDS = {
    "content": "the batches are not the same",
    "epoch": "the batches are of different leader epochs",
    "boundary": "the batches do not begin and end at the same offsets",
    "absent-here": "it lacks the batch",
    "absent-there": "it has a batch that broker {reference} lacks",
}


def run(group: Group) -> Iterator[Finding]:
    """One finding for each replica that differs, at the first offset that does."""
    for replica in group.replicas:
        if replica.divergence is not None:
            yield _finding(group, replica, replica.divergence)


def _finding(group: Group, replica: ListedReplica, divergence: Divergence) -> Finding:
    committed = group.high_watermark
    above = committed is not None and divergence.offset >= committed
    words = _WORDS[divergence.difference].format(reference=divergence.reference)
    file = divergence.file or replica.dir_name
    return replica.finding(
        "R02",
        Severity.WARNING if above else Severity.ERROR,
        f"{group.name} on broker {replica.broker} differs from broker {divergence.reference} from offset "
        f"{divergence.offset}: {words}" + (" (above the high watermark)" if above else ""),
        Where(file, position=divergence.position, offset=divergence.offset),
        remedy=remedies.show(replica.dir, file),
        difference=divergence.difference,
        reference=divergence.reference,
        batches=dict(divergence.detail),
    )
