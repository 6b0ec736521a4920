"""What other codecs and larger batches would make of a topic: a few batches of it encoded again, and counted.

The figures are of the sample, by the libraries that segmend has (Kafka's clients may use other levels).
Only batches of magic 2 are looked at, and none of transaction markers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from segmend.formats import offset_index
from segmend.formats.batch import CODEC_NAMES, HEADER_SIZE_V2, RecordBatch
from segmend.formats.codec_write import compress
from segmend.frozen import frozen
from segmend.kernel.records import unpack_payload
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import OpenFile, Unreadable
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir

FULL_BATCH: Final = 16 << 10
"""Kafka's default of `batch.size`: what small batches are put together to."""
_LONGEST: Final = 4 << 20
"""A larger batch is not sampled; what one inflates to is bounded as well."""
_INFLATED: Final = 64 << 20
LEAST_RECORDS: Final = 20
WORTH: Final = 0.10
"""So much of a topic's bytes must go for an advice."""
_NEARLY: Final = 1.05
"""A codec that costs less time is as good as the best one, if it takes no more than this of its bytes."""
_CHEAPEST: Final = ("none", "lz4", "snappy", "zstd", "gzip")


@frozen
class Sample:
    """Batches of one or more partitions as they are (`bytes` with their headers), and as they could be.

    `encoded` are bytes by codec with the batches as they are, `joined` with small ones put together
    up to `FULL_BATCH` (of plain records). `skipped` batches were not looked at: old formats, markers, damage.
    """

    partitions: int
    batches: int
    records: int
    bytes: int
    plain: int
    codecs: Mapping[str, int]
    encoded: Mapping[str, int]
    joined: Mapping[str, int]
    joined_batches: int
    skipped: int


@frozen
class CodecAdvice:
    """A `codec` for a topic, and whether to fill `batches`; `saves` is the part of the sample that goes."""

    codec: str | None
    batches: bool
    saves: float


def sample(partition: PartitionDir, limit: int) -> Sample | None:
    """About the newest `limit` bytes of a partition; None where there is nothing to look at."""
    for segment in reversed(partition.segments):
        try:
            taken = _of_segment(segment, limit)
        except Unreadable:
            continue
        if taken is not None:
            return taken
    return None


def _of_segment(segment: LogSegment, limit: int) -> Sample | None:
    if segment.log is None:
        return None
    with segment.log.reader() as reader:
        headers = iter_batches(reader, start=_start(segment, reader.size - limit), crc=True)
        batches, skipped = [], 0
        for batch, data in _read(reader, headers, limit):
            payload = b"" if data is None else plain_of(batch, data)
            if payload:
                batches.append((batch, payload))
            else:
                skipped += 1
    return encode(batches, skipped) if batches else None


def _start(segment: LogSegment, wanted: int) -> int:
    """A batch at or after the byte `wanted`, by the index; the beginning without one."""
    if wanted <= 0 or segment.index is None:
        return 0
    positions = offset_index.parse(segment.index.read())[0].positions
    at = min(bisect_left(positions, wanted), len(positions) - 1)
    return positions[at] if positions else 0


def _read(
    reader: OpenFile, headers: Iterable[RecordBatch], limit: int
) -> Iterator[tuple[RecordBatch, bytes | None]]:
    """The batches of so many bytes, those that are not to be looked at without theirs."""
    total = 0
    for batch in headers:
        if total >= limit:
            return
        total += batch.size
        wanted = batch.magic == 2 and not batch.is_control and batch.size <= _LONGEST
        yield batch, reader.read(batch.size, batch.position) if wanted else None


def plain_of(batch: RecordBatch, data: bytes) -> bytes:
    """The records of a batch without compression; nothing where they cannot be had."""
    if not batch.codec:
        return data[HEADER_SIZE_V2:]
    payload, problem = unpack_payload(batch, data)
    return b"" if problem is not None or len(payload) > _INFLATED else payload


def encode(batches: Sequence[tuple[RecordBatch, bytes]], skipped: int) -> Sample:
    """Encode them again in every way."""
    plains = [payload for _, payload in batches]
    joined = list(_joined(plains))
    return Sample(
        partitions=1,
        batches=len(batches),
        records=sum(batch.records_count for batch, _ in batches),
        bytes=sum(batch.size for batch, _ in batches),
        plain=sum(map(len, plains)),
        codecs=dict(Counter(CODEC_NAMES[batch.codec] for batch, _ in batches)),
        encoded=_sizes(plains),
        joined=_sizes(joined),
        joined_batches=len(joined),
        skipped=skipped,
    )


def _joined(plains: Sequence[bytes]) -> Iterator[bytes]:
    """As a producer puts records together that waits for a full batch (`linger.ms`)."""
    waiting: list[bytes] = []
    size = 0
    for payload in plains:
        if waiting and size + len(payload) > FULL_BATCH:
            yield b"".join(waiting)
            waiting, size = [], 0
        waiting.append(payload)
        size += len(payload)
    if waiting:
        yield b"".join(waiting)


def _sizes(payloads: Sequence[bytes]) -> dict[str, int]:
    headers = HEADER_SIZE_V2 * len(payloads)
    return {
        name: headers + sum(len(compress(codec, payload)) for payload in payloads)
        for codec, name in enumerate(CODEC_NAMES)
    }


def added(samples: Iterable[Sample]) -> Sample | None:
    """Several samples of one topic as one; None of none."""
    every = list(samples)
    if not every:
        return None
    return Sample(
        partitions=sum(each.partitions for each in every),
        batches=sum(each.batches for each in every),
        records=sum(each.records for each in every),
        bytes=sum(each.bytes for each in every),
        plain=sum(each.plain for each in every),
        codecs=_totals(each.codecs for each in every),
        encoded=_totals(each.encoded for each in every),
        joined=_totals(each.joined for each in every),
        joined_batches=sum(each.joined_batches for each in every),
        skipped=sum(each.skipped for each in every),
    )


def _totals(counts: Iterable[Mapping[str, int]]) -> Mapping[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def advice(measured: Sample) -> CodecAdvice | None:
    """What would save a tenth or more; None where nothing does, or too few records were seen."""
    if measured.records < LEAST_RECORDS:
        return None
    codec = _best(measured.encoded)
    alone = 1 - measured.encoded[codec] / measured.bytes
    fuller = _best(measured.joined)
    together = 1 - measured.joined[fuller] / measured.bytes
    used = max(measured.codecs, key=lambda name: measured.codecs[name])
    if together - max(alone, 0.0) >= WORTH:
        return CodecAdvice(codec=None if fuller == used else fuller, batches=True, saves=together)
    if alone >= WORTH and codec != used:
        return CodecAdvice(codec=codec, batches=False, saves=alone)
    return None


def _best(sizes: Mapping[str, int]) -> str:
    """The codec of fewest bytes, or a quicker one that is nearly as good."""
    least = min(sizes.values())
    return next(name for name in _CHEAPEST if sizes[name] <= least * _NEARLY)
