"""What a consumer gets that reads each log from its start: Fetch by hand, a dozen logs in no time.

Fetch v4 is known to every broker from 1.0 to 4.3. A batch is looked at as consumers do: whole, its CRC, and
by aiokafka's classes its records.
"""

import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

import crc32c
from aiokafka.record.default_records import DefaultRecordBatch  # type: ignore[import-untyped]
from aiokafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

from tests.lab.disasters.protocol import ask

AT_ONCE = 1 << 18
HEAD, OLD_HEAD, LENGTH = 61, 26, 12
LZ4 = 3
TURNS = 400


@dataclass(frozen=True)
class Fetched:
    """`aborted`: producers and first offsets that a reader of committed records is told to pass over."""

    error: int
    aborted: list[tuple[int, int]]
    data: bytes


def fetch(port: int, name: str, offset: int, *, committed: bool = False) -> Fetched:
    """What there is from that offset on."""
    topic, _, number = name.rpartition("-")
    body = (
        struct.pack(">iiiibi", -1, 300, 1, AT_ONCE, committed, 1)
        + struct.pack(">h", len(topic))
        + topic.encode()
    )
    answer = ask(port, 1, 4, body + struct.pack(">iiqi", 1, int(number), offset, AT_ONCE))
    answer.number("i"), answer.number("i"), answer.text(), answer.number("i"), answer.number("i")
    error = answer.number("h")
    answer.number("q"), answer.number("q")
    aborted = [(answer.number("q"), answer.number("q")) for _ in range(answer.number("i"))]
    size = max(0, answer.number("i"))
    return Fetched(error, aborted, answer.data[answer.at : answer.at + size])


@dataclass
class Reader:
    """`at` is the next offset it wants; `why` it cannot go on."""

    at: int
    why: str = ""
    gaps: list[list[int]] = field(default_factory=list)
    repeats: int = 0

    def take(self, data: bytes) -> None:
        """All whole batches of an answer, until one is bad."""
        begun, place = self.at, 0
        while not self.why and place + OLD_HEAD <= len(data):
            (size,) = struct.unpack_from(">i", data, place + 8)
            batch = data[place : place + LENGTH + size]
            if size >= OLD_HEAD - LENGTH and len(batch) < LENGTH + size:
                break
            self.why = untaken(batch)
            if not self.why:
                self.batch(*offsets_of(batch), first=place == 0)
            place += LENGTH + size
        if self.at == begun and not self.why:
            self.why = f"nothing of {len(data)} bytes" if data else "nothing"

    def batch(self, base: int, last: int, *, first: bool) -> None:
        """One that is sound: the first of an answer may begin before what was asked for."""
        self.repeats += not first and base < self.at
        if base > self.at:
            self.gaps.append([self.at, base - 1])
        self.at = max(self.at, last + 1)

    def to_json(self) -> dict[str, Any]:
        """Nothing if all came, once and in order."""
        found = {
            "stops": [self.at, self.why] if self.why else None,
            "gaps": self.gaps,
            "repeats": self.repeats,
        }
        return {key: value for key, value in found.items() if value}


def fault(batch: bytes) -> str:
    """Why a consumer does not take it; nothing if it does."""
    if len(batch) < HEAD:
        return "size"
    if batch[16] != 2:
        return f"magic {batch[16]}"
    return "" if crc32c.crc32c(batch[21:]) == int.from_bytes(batch[17:21], "big") else "crc"


def untaken(batch: bytes) -> str:
    """The same, the records and the formats of before 0.11 looked into."""
    old = (
        len(batch) >= OLD_HEAD
        and batch[16] in (0, 1)
        and zlib.crc32(batch[16:]) == int.from_bytes(batch[12:16], "big")
    )
    if not old and (why := fault(batch)):
        return why
    try:
        _ = offsets_of(batch) if old else [*DefaultRecordBatch(batch)]
    except Exception as error:  # whatever aiokafka makes of it, it does not get past it
        return f"records: {type(error).__name__}"
    return ""


def unread(batch: bytes) -> bool:
    """lz4 of magic 0, with its own checksum (KAFKA-3160): aiokafka leaves it to others."""
    return batch[16] == 0 and batch[17] & 7 == LZ4


def offsets_of(batch: bytes) -> tuple[int, int]:
    """The first and the last offset; of messages before magic 2 those of the records."""
    base = int.from_bytes(batch[:8], "big", signed=True)
    if batch[16] == 2:
        return base, base + int.from_bytes(batch[23:27], "big", signed=True)
    if unread(batch):
        return base, base
    found = [each.offset for each in MemoryRecords(batch).next_batch()]
    return min(found), max(found)


def read(port: int, name: str, first: int, end: int) -> dict[str, Any]:
    """One log from its start to its end."""
    reader = Reader(first)
    for _ in range(TURNS):
        if reader.at >= end or reader.why:
            break
        try:
            answer = fetch(port, name, reader.at)
        except (OSError, struct.error) as failure:
            reader.why = type(failure).__name__
            break
        if answer.error:
            reader.why = f"error {answer.error}"
        else:
            reader.take(answer.data)
    return reader.to_json()


def read_all(port: int, offsets: dict[str, list[int]]) -> dict[str, Any]:
    """By partition, of those in which something is amiss."""
    found = {name: read(port, name, first, end) for name, (first, end) in offsets.items()}
    return {name: each for name, each in found.items() if each}
