"""The data is newer than the broker that is to read it.

Codes
    K19  a message format, codec or file version that this release does not know

What it means
    A broker was downgraded, or the disk was moved to an older cluster, or `--kafka`
    names the wrong release.
What the broker does
    It fails in its own way: it does not start, or consumers get errors.
What to do
    Start at least the release that the finding names.
Kafka
    Magic 1 since 0.10 (KIP-32), magic 2 since 0.11 (KIP-98), zstd since 2.1 (KIP-110).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from segmend.findings import Finding, Severity
from segmend.logdir.tree import PartitionDir

from .context import PartitionContext
from .levels import Level, Scope

CODES = {"K19": Severity.ERROR}
SCOPE = Scope.PARTITION
LEVEL = Level.DEFAULT

_MAGIC_SINCE = {1: (0, 10), 2: (0, 11)}
_CODEC_SINCE = {4: (2, 1)}


def run(_partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """The highest need of the whole partition."""
    needs: dict[tuple[int, ...], str] = {}
    for scan in filter(None, context.scans):
        magics = ((_MAGIC_SINCE.get(magic), f"magic {magic}") for magic, _ in scan.magics)
        codecs = ((_CODEC_SINCE.get(codec), "zstd") for codec, _ in scan.codecs)
        needs.update((since, what) for since, what in chain(magics, codecs) if since)
    if needs and context.release < max(needs):
        since = max(needs)
        release = ".".join(map(str, since))
        message = f"holds {needs[since]}, which Kafka {context.release} cannot read; {release} or later can"
        yield context.finding("K19", message)
