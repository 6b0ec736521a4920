"""What a consumer gets that reads each log from its start: Fetch by hand, a dozen logs in no time.

Fetch v4 is known to every broker from 1.0 to 4.3. A batch is looked at as consumers do: whole, and its CRC.
"""

import struct
from dataclasses import dataclass, field
from typing import Any

import crc32c

from tests.lab.disasters.protocol import ask

AT_ONCE = 1 << 18
HEAD, LENGTH = 61, 12
TURNS = 400


def fetch(port: int, name: str, offset: int) -> tuple[int, bytes]:
    """The error, and what there is from that offset on."""
    topic, _, number = name.rpartition("-")
    body = struct.pack(">iiiibi", -1, 300, 1, AT_ONCE, 0, 1) + struct.pack(">h", len(topic)) + topic.encode()
    answer = ask(port, 1, 4, body + struct.pack(">iiqi", 1, int(number), offset, AT_ONCE))
    answer.number("i"), answer.number("i"), answer.text(), answer.number("i"), answer.number("i")
    error = answer.number("h")
    answer.number("q"), answer.number("q")
    for _ in range(answer.number("i")):
        answer.number("q"), answer.number("q")
    size = max(0, answer.number("i"))
    return error, answer.data[answer.at : answer.at + size]


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
        while not self.why and place + HEAD <= len(data):
            (size,) = struct.unpack_from(">i", data, place + 8)
            batch = data[place : place + LENGTH + size]
            if size >= HEAD - LENGTH and len(batch) < LENGTH + size:
                break
            self.why = fault(batch)
            if not self.why:
                self.batch(batch, first=place == 0)
            place += LENGTH + size
        if self.at == begun and not self.why:
            self.why = f"nothing of {len(data)} bytes" if data else "nothing"

    def batch(self, batch: bytes, *, first: bool) -> None:
        """One that is sound: the first of an answer may begin before what was asked for."""
        base, last = *struct.unpack_from(">q", batch), *struct.unpack_from(">i", batch, 23)
        self.repeats += not first and base < self.at
        if base > self.at:
            self.gaps.append([self.at, base - 1])
        self.at = max(self.at, base + last + 1)

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


def read(port: int, name: str, first: int, end: int) -> dict[str, Any]:
    """One log from its start to its end."""
    reader = Reader(first)
    for _ in range(TURNS):
        if reader.at >= end or reader.why:
            break
        try:
            error, data = fetch(port, name, reader.at)
        except (OSError, struct.error) as failure:
            reader.why = type(failure).__name__
            break
        if error:
            reader.why = f"error {error}"
        else:
            reader.take(data)
    return reader.to_json()


def read_all(port: int, offsets: dict[str, list[int]]) -> dict[str, Any]:
    """By partition, of those in which something is amiss."""
    found = {name: read(port, name, first, end) for name, (first, end) in offsets.items()}
    return {name: each for name, each in found.items() if each}
