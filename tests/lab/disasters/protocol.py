"""Two requests of Kafka's protocol, by hand: leaders and offsets, also of what has no leader.

Metadata v5 and ListOffsets v2 are known to every broker from 1.0 to 4.3. Older ones hang up on them, and know
v2 and v1.
"""

import socket
import struct
from dataclasses import dataclass
from typing import Any


class Reader:
    """Takes values off the front of an answer."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, form: str) -> int:
        """One number."""
        (found,) = struct.unpack_from(f">{form}", self.data, self.at)
        self.at += struct.calcsize(f">{form}")
        return int(found)

    def text(self) -> str:
        """A string, empty for null."""
        size = max(0, self.number("h"))
        self.at += size
        return self.data[self.at - size : self.at].decode()

    def numbers(self) -> list[int]:
        """An array of int32."""
        return [self.number("i") for _ in range(self.number("i"))]


@dataclass(frozen=True)
class Led:
    """What a metadata answer says of one partition."""

    error: int
    leader: int
    isr: list[int]
    offline: list[int]

    def to_json(self) -> list[Any]:
        """As it is recorded."""
        return [self.error, self.leader, self.isr, self.offline]


def ask(port: int, key: int, version: int, body: bytes) -> Reader:
    """One request over a connection of its own."""
    head = struct.pack(">hhih", key, version, 1, 3) + b"lab"
    with socket.create_connection(("127.0.0.1", port), timeout=10) as stream:
        stream.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
        data = b""
        while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
            more = stream.recv(1 << 16)
            if not more:
                raise OSError("the broker hung up")
            data += more
    return Reader(data[8:])


def metadata(port: int) -> dict[str, Led]:
    """Every partition that the broker knows of, by `topic-0`."""
    try:
        answer, known = ask(port, 3, 5, struct.pack(">ib", -1, 0)), True
    except OSError:
        answer, known = ask(port, 3, 2, struct.pack(">i", -1)), False
    if known:
        answer.number("i")
    for _ in range(answer.number("i")):
        answer.number("i"), answer.text(), answer.number("i"), answer.text()
    answer.text(), answer.number("i")
    found = {}
    for _ in range(answer.number("i")):
        answer.number("h")
        topic = answer.text()
        answer.number("b")
        for _ in range(answer.number("i")):
            error, index, leader = answer.number("h"), answer.number("i"), answer.number("i")
            _replicas, isr = answer.numbers(), answer.numbers()
            offline = answer.numbers() if known else []
            found[f"{topic}-{index}"] = Led(error, leader, isr, offline)
    return found


def offsets(port: int, names: list[str], when: int) -> dict[str, list[int]]:
    """(error, offset) of each partition: the first offset for -2, the next one for -1."""
    body = struct.pack(">i", len(names))
    for name in names:
        topic, _, number = name.rpartition("-")
        body += struct.pack(">h", len(topic)) + topic.encode()
        body += struct.pack(">iiq", 1, int(number), when)
    try:
        answer = ask(port, 2, 2, struct.pack(">ib", -1, 0) + body)
        answer.number("i")
    except OSError:
        answer = ask(port, 2, 1, struct.pack(">i", -1) + body)
    found = {}
    for _ in range(answer.number("i")):
        topic = answer.text()
        for _ in range(answer.number("i")):
            index, error, _time, offset = (answer.number(form) for form in "ihqq")
            found[f"{topic}-{index}"] = [error, offset]
    return found
