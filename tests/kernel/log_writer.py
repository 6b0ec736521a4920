"""Bytes of `.log` files for the kernel's tests, written without any of segmend's formats."""

import gzip
import random
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cramjam
import lz4.frame
import zstandard
from crc32c import crc32c
from tests.checks.build_partition import START_MS, nullable, varint

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
TRANSACTIONAL, CONTROL, APPEND_TIME, DELETE_HORIZON = 0x10, 0x20, 0x08, 0x40


@dataclass(frozen=True)
class Message:
    """One record: `delta` is its offset delta."""

    delta: int
    key: bytes | None = b"k"
    value: bytes | None = b"v"
    timestamp: int = 0
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


def record_bytes(message: Message) -> bytes:
    headers = b"".join(varint(len(key)) + key + nullable(value) for key, value in message.headers)
    body = b"\0" + varint(message.timestamp) + varint(message.delta) + nullable(message.key)
    body += nullable(message.value) + varint(len(message.headers)) + headers
    return varint(len(body)) + body


def xerial(data: bytes, block: int = 32 << 10) -> bytes:
    out = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    for at in range(0, len(data), block):
        packed = bytes(cramjam.snappy.compress_raw(data[at : at + block]))
        out += struct.pack(">i", len(packed)) + packed
    return out


def lz4_frame(data: bytes) -> bytes:
    return bytes(lz4.frame.compress(data, block_linked=False, store_size=False, block_size=4))


COMPRESS: dict[int, Callable[[bytes], bytes]] = {
    NONE: lambda data: data,
    GZIP: lambda data: gzip.compress(data, mtime=0),
    SNAPPY: xerial,
    LZ4: lz4_frame,
    ZSTD: lambda data: bytes(zstandard.ZstdCompressor().compress(data)),
}


def seal(batch: bytes) -> bytes:
    """The batch with its checksum put right."""
    if batch[16] == 2:
        return batch[:17] + struct.pack(">I", crc32c(batch[21:])) + batch[21:]
    return batch[:12] + struct.pack(">I", zlib.crc32(batch[16:])) + batch[16:]


def batch_bytes(
    base: int,
    messages: Sequence[Message],
    *,
    codec: int = NONE,
    flags: int = 0,
    epoch: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    time: int = START_MS,
    last_delta: int | None = None,
    count: int | None = None,
    max_time: int | None = None,
    payload: bytes | None = None,
) -> bytes:
    """One magic 2 batch; `producer` is (id, epoch, base sequence), `payload` replaces the records."""
    if payload is None:
        payload = COMPRESS[codec](b"".join(map(record_bytes, messages)))
    if last_delta is None:
        last_delta = messages[-1].delta if messages else 0
    if max_time is None:
        max_time = max((time + message.timestamp for message in messages), default=-1)
    head = struct.pack(
        ">qiibIhiqqqhii", base, 49 + len(payload), epoch, 2, 0, codec | flags, last_delta, time, max_time,
        *producer, len(messages) if count is None else count,
    )  # fmt: skip
    return seal(head + payload)


def marker(base: int, producer: tuple[int, int], kind: int, *, epoch: int = 0, coordinator: int = 0) -> bytes:
    """An end-of-transaction control batch."""
    message = Message(0, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, coordinator))
    return batch_bytes(base, [message], flags=TRANSACTIONAL | CONTROL, epoch=epoch, producer=(*producer, -1))


def legacy_message(
    offset: int, magic: int, key: bytes | None, value: bytes | None, *, attributes: int = 0
) -> bytes:
    stamp = struct.pack(">q", START_MS) if magic else b""
    parts = b"".join(struct.pack(">i", -1 if p is None else len(p)) + (p or b"") for p in (key, value))
    body = struct.pack(">Ibb", 0, magic, attributes) + stamp + parts
    return seal(struct.pack(">qi", offset, len(body)) + body)


def legacy_wrapper(
    first: int, magic: int, codec: int, values: Sequence[bytes], *, inner_magic: int | None = None
) -> bytes:
    """A compressed wrapper of the messages first, first + 1, ..."""
    inner = magic if inner_magic is None else inner_magic
    start = first if magic == 0 else 0
    payload = b"".join(legacy_message(start + n, inner, None, value) for n, value in enumerate(values))
    packed = COMPRESS[codec](payload)
    return legacy_message(first + len(values) - 1, magic, None, packed, attributes=codec)


def text(random_: random.Random, size: int) -> bytes:
    return bytes(random_.choices(b'abcdefgh {}":,0123456789', k=size))


def messages_of(random_: random.Random, count: int) -> list[Message]:
    def one(delta: int) -> Message:
        key = None if random_.random() < 0.1 else text(random_, random_.randrange(0, 12))
        value = None if random_.random() < 0.1 else text(random_, random_.randrange(0, 80))
        headers = tuple((b"h%d" % n, None if n == 2 else b"x" * n) for n in range(random_.randrange(0, 4)))
        return Message(delta, key, value, random_.randrange(-5, 1000), headers)

    return [one(delta) for delta in range(count)]


def varied_log(seed: int, batches: int = 30) -> bytes:
    """A healthy log of all kinds of batches: codecs, transactions, gaps, magic 0, 1 and 2."""
    random_ = random.Random(seed)
    offset, out = 100, []
    sequences: dict[int, int] = {}
    opened: set[int] = set()
    for n in range(batches):
        kind, epoch = random_.random(), n // 10
        codec = random_.choice(range(5))
        if kind < 0.15 and opened:
            producer = opened.pop()
            out.append(marker(offset, (producer, 0), random_.randrange(2), epoch=epoch, coordinator=3))
            offset += 1
        elif kind < 0.25 and n < batches // 3:
            magic, count = random_.randrange(2), random_.randrange(1, 5)
            if codec in (GZIP, SNAPPY, LZ4):
                values = [text(random_, 30) for _ in range(count)]
                out.append(legacy_wrapper(offset, magic, codec, values) if codec != LZ4 or magic else b"")
                offset += count if out[-1] else 0
            else:
                out.append(legacy_message(offset, magic, None, text(random_, 30)))
                offset += 1
        else:
            messages = messages_of(random_, random_.randrange(1, 20))
            producer, flags = random_.choice([-1, 5, 7, 9]), random_.choice([0, 0, APPEND_TIME])
            if producer in (7, 9):
                flags |= TRANSACTIONAL
                opened.add(producer)
            who = (producer, 0, sequences.get(producer, 0)) if producer >= 0 else (-1, -1, -1)
            sequences[producer] = sequences.get(producer, 0) + len(messages)
            out.append(batch_bytes(offset, messages, codec=codec, flags=flags, epoch=epoch, producer=who))
            offset += len(messages) + random_.choice([0, 0, 0, 3])
    return b"".join(out)
