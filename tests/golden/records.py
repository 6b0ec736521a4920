"""The records that go into golden topics: made from a seed, so that each remake has the same ones."""

import json
import random
from dataclasses import dataclass, field

START = 1_761_955_200_000
"""2025-11-01 00:00 UTC in milliseconds: the first record's time."""

CITIES = ["Bern", "Oslo", "Porto", "Graz", "Lund", "Ghent", "Zürich", "Kraków"]


@dataclass(frozen=True)
class Rec:
    """One record to produce; a `time` of None lets the client take its clock."""

    key: bytes | None
    value: bytes | None
    time: int | None = None
    headers: list[tuple[str, bytes | None]] = field(default_factory=list)


Batch = list[Rec]


def event(dice: random.Random, number: int) -> Rec:
    """An ordinary event: a small JSON document under a customer's key, a minute after the one before."""
    body = {
        "id": number,
        "city": dice.choice(CITIES),
        "amount": dice.randrange(100, 99999),
        "n": dice.getrandbits(64),
    }
    value = json.dumps(body, ensure_ascii=False).encode()
    return Rec(b"customer-%d" % dice.randrange(20), value, START + number * 60_000 + dice.randrange(60_000))


def events(name: str, batches: int, size: int = 6, first: int = 0) -> list[Batch]:
    """`batches` batches of `size` events, numbered from `first`; the same for the same name."""
    dice = random.Random(f"{name} {first}")
    return [
        [event(dice, first + batch * size + number) for number in range(size)] for batch in range(batches)
    ]


def nulls() -> list[Batch]:
    """Every combination of null, empty, one zero byte, and bytes that are not UTF-8."""
    odd: list[bytes | None] = [None, b"", b"\0", b"\xff\xfe\x80", b"text"]
    return [[Rec(key, value, START + 1000 * index) for value in odd] for index, key in enumerate(odd)]


def with_headers() -> list[Batch]:
    """Records with no, one, repeated, empty, null and many headers."""
    shapes: list[list[tuple[str, bytes | None]]] = [
        [],
        [("trace", b"\x00\x01\x02")],
        [("repeated", b"1"), ("repeated", b"2")],
        [("null", None), ("empty", b"")],
        [("größe", "süß".encode())],
        [(f"h{number}", b"v" * (number % 7)) for number in range(70)],
    ]
    return [
        [Rec(b"k%d" % index, b"v", START + index, shape)] * count
        for index, shape in enumerate(shapes)
        for count in (1, 2)
    ]


def strange_times() -> list[Batch]:
    """Timestamps from the first millisecond of 1970 over today to the year 2100, not in order."""
    moments = [0, 1, 4_102_444_800_000, START, 1_000_000_000_000, START + 1, 4_102_444_800_001, START - 1]
    return [
        [Rec(b"t", str(moment).encode(), moment), Rec(b"u", b"in order", START + n)]
        for n, moment in enumerate(moments)
    ]


def customers(rounds: int, keys: int = 30) -> list[Batch]:
    """Updates of some of the keys in each round; every third key gets a tombstone in the last but one."""
    dice = random.Random(f"customers {rounds}")
    made: list[Batch] = []
    for turn in range(rounds):
        for first in range(0, keys, 5):
            batch = []
            for key in range(first, first + 5):
                dead = key % 3 == 0 and turn == rounds - 2
                if not dead and dice.random() < 0.6:
                    continue
                value = None if dead else json.dumps({"turn": turn, "n": dice.getrandbits(200)}).encode()
                batch.append(Rec(b"customer-%d" % key, value, START + (turn * keys + key) * 1000))
            made.append(batch)
    return [batch for batch in made if batch]
