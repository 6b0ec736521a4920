"""Healthy log directories, byte for byte as a broker leaves them, without a broker.

`PartitionWriter` plays the leader of one partition: it appends batches of idempotent and
transactional producers and their markers, keeps the sparse indexes, the transaction index,
the producer state and the leader epochs as `LogSegment.append` does, rolls, and takes a
snapshot at every roll. `write_log_dir` puts partitions, checkpoints and the clean shutdown
marker on disk. Nothing here uses segmend's formats, so a mistake there is not hidden.

    writer = PartitionWriter("t", 0)
    writer.append(3); writer.append(2, producer=9, transactional=True); writer.abort(9)
    writer.roll()
    write_log_dir(tmp_path / "d", [writer])
"""

import base64
import gzip
import hashlib
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crc32c import crc32c

from segmend.formats.byte_columns import nonzero_size

START_MS = 1_700_000_000_000
ABORT, COMMIT = 0, 1
INDEX_BYTES = 10 * 1024 * 1024
META_V1 = """#
#Tue Nov 14 22:13:20 UTC 2023
version=1
cluster.id=lAb5pZ9vTWWx4JmKu0o3Ng
node.id=1
directory.id={}
"""
DIRECTORY_ID = "JKf3ybmxTp6ZRMVaHZWYLA"


def topic_id(topic: str) -> str:
    """An id of its own for each topic, as 22 characters of base64; that of the metadata is Kafka's."""
    if topic == "__cluster_metadata":
        return "AAAAAAAAAAAAAAAAAAAAAQ"
    digest = hashlib.md5(topic.encode(), usedforsecurity=False).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def varint(value: int) -> bytes:
    """Zig-zag varint of a signed integer."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def nullable(value: bytes | None) -> bytes:
    """Bytes with their size before them, -1 for none."""
    return varint(-1) if value is None else varint(len(value)) + value


def record(offset_delta: int, key: bytes | None, value: bytes | None, *, timestamp_delta: int = 0) -> bytes:
    """One record of a v2 batch (DefaultRecord)."""
    body = (
        b"\0" + varint(timestamp_delta) + varint(offset_delta) + nullable(key) + nullable(value) + varint(0)
    )
    return varint(len(body)) + body


def batch(
    base_offset: int,
    records: Sequence[bytes],
    *,
    last_delta: int | None = None,
    epoch: int = 0,
    attributes: int = 0,
    base_timestamp: int = START_MS,
    max_timestamp: int | None = None,
    producer: int = -1,
    producer_epoch: int = -1,
    sequence: int = -1,
    count: int | None = None,
) -> bytes:
    """One v2 batch with a right CRC; gzip when the attributes say codec 1."""
    payload = b"".join(records)
    if attributes & 7 == 1:
        payload = gzip.compress(payload, mtime=0)
    last = len(records) - 1 if last_delta is None else last_delta
    highest = base_timestamp + max(last, 0) if max_timestamp is None else max_timestamp
    numbers = len(records) if count is None else count
    covered = struct.pack(
        ">hiqqqhii", attributes, last, base_timestamp, highest, producer, producer_epoch, sequence, numbers
    )
    return seal(struct.pack(">qiibI", base_offset, 0, epoch, 2, 0) + covered + payload)


def seal(data: bytes) -> bytes:
    """The same v2 batch with its size and CRC made right."""
    size, crc = struct.pack(">i", len(data) - 12), struct.pack(">I", crc32c(data[21:]))
    return data[:8] + size + data[12:17] + crc + data[21:]


def marker_batch(offset: int, producer: int, kind: int, *, producer_epoch: int = 0, coordinator: int = 0,
                 epoch: int = 0, timestamp: int = START_MS) -> bytes:  # fmt: skip
    """An ABORT or COMMIT marker, 78 bytes."""
    body = record(0, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, coordinator))
    return batch(offset, [body], epoch=epoch, attributes=0x30, base_timestamp=timestamp, producer=producer,
                 producer_epoch=producer_epoch)  # fmt: skip


@dataclass
class ProducerEntry:
    """What a snapshot holds of one producer (ProducerStateEntry)."""

    epoch: int = 0
    last_sequence: int = -1
    last_offset: int = -1
    offset_delta: int = 0
    timestamp: int = -1
    coordinator_epoch: int = -1
    open_offset: int = -1


@dataclass
class Segment:
    """One segment while it is written."""

    base: int
    log: bytearray = field(default_factory=bytearray)
    index: bytearray = field(default_factory=bytearray)
    timeindex: bytearray = field(default_factory=bytearray)
    txnindex: bytearray = field(default_factory=bytearray)
    positions: list[int] = field(default_factory=list)
    max_timestamp: int = -1
    offset_of_max: int = -1
    since_entry: int = 0

    def add_time_entry(self) -> None:
        """TimeIndex.maybeAppend: only a timestamp above the last entry's."""
        last = struct.unpack(">q", self.timeindex[-12:-4])[0] if self.timeindex else -1
        if self.max_timestamp > last:
            self.timeindex += struct.pack(">qi", self.max_timestamp, self.offset_of_max - self.base)

    @property
    def name(self) -> str:
        """20 digits of the base offset."""
        return f"{self.base:020d}"


class PartitionWriter:
    """The leader of one partition; see the module."""

    def __init__(
        self, topic: str = "t", partition: int = 0, *, base: int = 0, epoch: int = 0, interval: int = 256
    ) -> None:
        self.topic, self.partition = topic, partition
        self.interval = interval
        self.next_offset = base
        self.epoch = epoch
        self.clock = START_MS
        self.segments = [Segment(base)]
        self.epochs: list[tuple[int, int]] = []
        self.producers: dict[int, ProducerEntry] = {}
        self.snapshots: dict[int, bytes] = {}
        self.log_start = base
        self.compacted = False

    @property
    def name(self) -> str:
        """The directory's name."""
        return f"{self.topic}-{self.partition}"

    def append(
        self,
        count: int = 1,
        *,
        producer: int | None = None,
        transactional: bool = False,
        codec: int = 0,
        size: int = 20,
        keys: bool = True,
        value: bytes | None = None,
    ) -> int:
        """Append a data batch of `count` records, of that value if one is given; returns its base offset."""
        base, entry = self.next_offset, None
        if producer is not None:
            entry = self.producers.setdefault(producer, ProducerEntry())
        records = [
            record(i, b"k%d" % (base + i) if keys else None, value or b"v" * size, timestamp_delta=i)
            for i in range(count)
        ]
        sequence = -1 if entry is None else entry.last_sequence + 1
        data = batch(
            base,
            records,
            epoch=self.epoch,
            attributes=codec | (16 if transactional else 0),
            base_timestamp=self.clock,
            producer=-1 if producer is None else producer,
            producer_epoch=-1 if entry is None else entry.epoch,
            sequence=sequence,
        )
        if entry is not None:
            entry.last_sequence, entry.offset_delta = sequence + count - 1, count - 1
            entry.last_offset, entry.timestamp = base + count - 1, self.clock + count - 1
            if transactional and entry.open_offset < 0:
                entry.open_offset = base
        self.write(data, count, self.clock + count - 1)
        return base

    def commit(self, producer: int, **more: int) -> int:
        """Append a COMMIT marker; returns its offset."""
        return self._end(producer, COMMIT, **more)

    def abort(self, producer: int, **more: int) -> int:
        """Append an ABORT marker and its transaction index entry; returns its offset."""
        return self._end(producer, ABORT, **more)

    def _end(self, producer: int, kind: int, *, coordinator: int = 0) -> int:
        entry, offset = self.producers[producer], self.next_offset
        data = marker_batch(offset, producer, kind, producer_epoch=entry.epoch, coordinator=coordinator,
                            epoch=self.epoch, timestamp=self.clock)  # fmt: skip
        first, entry.open_offset = entry.open_offset, -1
        entry.coordinator_epoch, entry.timestamp = coordinator, self.clock
        self.write(data, 1, self.clock)
        if kind == ABORT and first >= 0:
            others = [other.open_offset for other in self.producers.values() if other.open_offset >= 0]
            stable = min(others, default=offset + 1)
            self.segments[-1].txnindex += struct.pack(">hqqqq", 0, producer, first, offset, stable)
        return offset

    def write(self, data: bytes, offsets: int, max_timestamp: int) -> None:
        """Append ready bytes that hold `offsets` offsets (LogSegment.append)."""
        segment = self.segments[-1]
        last, position = self.next_offset + offsets - 1, len(segment.log)
        segment.positions.append(position)
        segment.log += data
        if max_timestamp > segment.max_timestamp:
            segment.max_timestamp, segment.offset_of_max = max_timestamp, last
        if segment.since_entry > self.interval:
            segment.index += struct.pack(">ii", last - segment.base, position)
            segment.add_time_entry()
            segment.since_entry = 0
        segment.since_entry += len(data)
        if not self.epochs or self.epochs[-1][0] < self.epoch:
            self.epochs.append((self.epoch, self.next_offset))
        self.next_offset = last + 1
        self.clock += 1000

    def fetch(self, batches: int) -> None:
        """Append several batches in one call, as a follower does: one index entry at most, that names
        the last offset of the whole call and the position of its beginning."""
        segment = self.segments[-1]
        last = self.next_offset + batches * 2 - 1
        if segment.since_entry > self.interval:
            segment.index += struct.pack(">ii", last - segment.base, len(segment.log))
            segment.add_time_entry()
            segment.since_entry = 0
        interval, self.interval, before = self.interval, 1 << 62, segment.since_entry
        for _ in range(batches):
            self.append(2)
        self.interval = interval
        segment.since_entry = max(segment.since_entry, before)

    def roll(self) -> None:
        """Close the active segment and start the next at the log end offset, with a snapshot."""
        self.segments[-1].add_time_entry()
        self.segments.append(Segment(self.next_offset))
        self.snapshots[self.next_offset] = self.snapshot()

    def behead(self, count: int) -> None:
        """Drop the first segments, as retention does; the active one stays."""
        count = min(count, len(self.segments) - 1)
        self.segments = self.segments[count:]
        self.log_start = start = self.segments[0].base
        self.snapshots = {offset: data for offset, data in self.snapshots.items() if offset >= start}
        before = [epoch for epoch, first in self.epochs if first <= start]
        kept = [(epoch, first) for epoch, first in self.epochs if first > start]
        self.epochs = [*((epoch, start) for epoch in before[-1:]), *kept]

    def snapshot(self) -> bytes:
        """The producer state as of the log end offset (ProducerStateManager.writeSnapshot)."""
        rows = [
            struct.pack(
                ">qhiqiqiq", pid, e.epoch, e.last_sequence, e.last_offset, e.offset_delta, e.timestamp,
                e.coordinator_epoch, e.open_offset,
            )
            for pid, e in self.producers.items()
        ]  # fmt: skip
        body = struct.pack(">i", len(rows)) + b"".join(rows)
        return struct.pack(">hI", 1, crc32c(body)) + body

    def write_to(self, folder: Path, *, clean: bool = True) -> Path:
        """Write the partition directory; `clean=False` leaves it as a killed broker does."""
        path = folder / self.name
        path.mkdir(parents=True)
        for segment in self.segments:
            active = segment is self.segments[-1]
            if active and clean:
                segment.add_time_entry()
            index, timeindex = bytes(segment.index), bytes(segment.timeindex)
            if active and not clean:
                index, timeindex = index.ljust(INDEX_BYTES, b"\0"), timeindex.ljust(INDEX_BYTES - 4, b"\0")
            (path / f"{segment.name}.log").write_bytes(segment.log)
            write_sparse(path / f"{segment.name}.index", index)
            write_sparse(path / f"{segment.name}.timeindex", timeindex)
            if segment.txnindex:
                (path / f"{segment.name}.txnindex").write_bytes(segment.txnindex)
        snapshots = self.snapshots | ({self.next_offset: self.snapshot()} if clean else {})
        for offset, data in snapshots.items():
            (path / f"{offset:020d}.snapshot").write_bytes(data)
        epochs = "".join(f"{epoch} {start}\n" for epoch, start in self.epochs)
        (path / "leader-epoch-checkpoint").write_text(f"0\n{len(self.epochs)}\n{epochs}")
        (path / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id(self.topic)}")
        return path


def write_sparse(path: Path, data: bytes) -> None:
    """Write bytes, their zero tail as a hole."""
    with path.open("wb") as file:
        file.write(data[: nonzero_size(data)])
        file.truncate(len(data))


def offset_checkpoint(entries: Iterable[tuple[PartitionWriter, int]]) -> str:
    """An offset checkpoint file."""
    lines = [f"{writer.topic} {writer.partition} {offset}\n" for writer, offset in entries]
    return f"0\n{len(lines)}\n{''.join(lines)}"


def write_log_dir(folder: Path, writers: Sequence[PartitionWriter], *, clean: bool = True,
                  directory_id: str = DIRECTORY_ID) -> Path:  # fmt: skip
    """A whole log dir of a 4.x KRaft broker, stopped cleanly or killed."""
    folder.mkdir(parents=True)
    (folder / "meta.properties").write_text(META_V1.format(directory_id))
    for writer in writers:
        writer.write_to(folder, clean=clean)
    flushed = [(w, w.next_offset if clean else w.segments[-1].base) for w in writers]
    (folder / "recovery-point-offset-checkpoint").write_text(offset_checkpoint(flushed))
    ends = [(w, w.next_offset) for w in writers]
    (folder / "replication-offset-checkpoint").write_text(offset_checkpoint(ends))
    started = [(w, w.log_start) for w in writers if w.log_start > w.segments[0].base]
    (folder / "log-start-offset-checkpoint").write_text(offset_checkpoint(started))
    cleaned = [(w, w.log_start) for w in writers if w.compacted]
    (folder / "cleaner-offset-checkpoint").write_text(offset_checkpoint(cleaned))
    if clean:
        (folder / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":7}')
    return folder


def story(topic: str = "t", *, rounds: int = 3, interval: int = 256) -> PartitionWriter:
    """The usual healthy partition: `rounds` + 1 segments with idempotent producer 7, transactional
    producer 9 (commit and abort in turn, some across a roll), producer 11 whose transaction
    stays open at the end, gzip batches, and a leader epoch change in each segment."""
    writer = PartitionWriter(topic, interval=interval)
    for number in range(rounds + 1):
        writer.epoch = number * 2
        _chapter(writer)
        if number < rounds:
            writer.append(2, producer=9, transactional=True)
            writer.roll()
            writer.abort(9)
    writer.append(2, producer=11, transactional=True)
    writer.append(1)
    return writer


def _chapter(writer: PartitionWriter) -> None:
    for turn in range(4):
        writer.append(3)
        writer.append(2, producer=7)
        writer.append(2, producer=9, transactional=True)
        writer.append(4, codec=1)
        (writer.abort if turn % 2 else writer.commit)(9)
        writer.append(1)


def legacy_message(
    offset: int,
    value: bytes,
    *,
    magic: int = 1,
    attributes: int = 0,
    key: bytes | None = b"k",
    timestamp: int = START_MS,
) -> bytes:
    """One message of the formats before 0.11, with its offset and size."""
    stamp = struct.pack(">q", timestamp) if magic else b""
    parts = [
        struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
        for part in (key, value)
    ]
    body = struct.pack(">bb", magic, attributes) + stamp + b"".join(parts)
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def wrapper(offset: int, inner: Sequence[bytes], *, magic: int = 1) -> bytes:
    """A gzip-compressed wrapper of ready messages; `offset` is that of the last one."""
    return legacy_message(
        offset, gzip.compress(b"".join(inner), mtime=0), magic=magic, attributes=1, key=None
    )
