"""Records out of a batch: every magic, every codec, nested legacy wrappers.

Where Kafka's iterators throw at the first fault, these note a `Damage` and go on as far as
lengths can be trusted, for what is still readable is worth having.

Damage kinds: `unknown-codec`, `undecodable`, `over-limit` (see `codec`), `record-structure`,
`count-mismatch`, `bad-magic`, and those of `legacy`. Positions are in the batch; what lies
inside a compressed payload has a position in the payload's bytes, and the reason tells the
place in the decompressed ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.formats.batch import RecordBatch
from segmend.formats.codec import DEFAULT_LIMIT
from segmend.formats.damage import Damage
from segmend.formats.default_record import Headers, Record, iter_v2
from segmend.formats.legacy import iter_legacy

__all__ = ["Headers", "Record", "decode", "iter_records"]


def decode(
    data: bytes | memoryview, batch: RecordBatch, *, limit: int = DEFAULT_LIMIT
) -> tuple[list[Record], tuple[Damage, ...]]:
    """All records of the batch whose bytes are `data`, in a list; for batches of ordinary size."""
    damages: list[Damage] = []
    records = list(iter_records(data, batch, damages, limit=limit))
    return records, tuple(damages)


def iter_records(
    data: bytes | memoryview, batch: RecordBatch, damages: list[Damage], *, limit: int = DEFAULT_LIMIT
) -> Iterator[Record]:
    """The records one by one; faults are appended to `damages` on the way.

    At most `limit` bytes are decompressed and no record is kept, so memory stays bounded
    whatever the batch says about itself.
    """
    raw = bytes(data[: batch.size])
    return (iter_v2 if batch.magic >= 2 else iter_legacy)(raw, batch, damages, limit)
