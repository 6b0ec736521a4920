"""Batches of odd shape with a right checksum: what no torn write makes, and a broker takes or dies of.

Offsets that go backwards, batches twice, swapped or out of another segment, odd magic bytes, control batches
out of place, other producers and epochs. Some of the files that a start derives from the log are taken away,
so that it reads the log.
"""

import itertools
import random
import struct
from collections.abc import Callable
from pathlib import Path

from tests.checks.build_partition import seal
from tests.faults.hands import positions, with_field, with_number
from tests.lab.disasters.bases import TOPICS
from tests.lab.disasters.scene import Scene
from tests.lab.disasters.wound import Wound

Batches = list[bytes]
Shape = Callable[[Batches, int, random.Random, Batches], None]
FIELDS = {"delta": (23, ">i"), "producer": (43, ">q"), "epoch": (51, ">h"), "sequence": (53, ">i"),
          "count": (57, ">i"), "attributes": (21, ">h")}  # fmt: skip
"""Places in a batch of what its checksum covers."""
KEY = b"\x08\x00\x00"
"""A marker's key of four bytes, up to its type."""


def number(one: bytes, at: int, form: str) -> int:
    """A number of a batch."""
    return int(struct.unpack_from(form, one, at)[0])


def covered(name: str, choices: Callable[[int, Batches, random.Random], int]) -> Shape:
    """Another value of a field under the checksum."""
    at, form = FIELDS[name]

    def shape(mine: Batches, which: int, draw: random.Random, _others: Batches) -> None:
        value = choices(number(mine[which], at, form), mine, draw)
        mine[which] = seal(with_number(mine[which], form, at, lambda _: value))

    return shape


def offset(mine: Batches, which: int, draw: random.Random, others: Batches) -> None:
    """The offset of another batch, here or in another segment; or a few more or fewer."""
    there = number(draw.choice(draw.choice((mine, mine, others or mine))), 0, ">q")
    now = number(mine[which], 0, ">q")
    wanted = draw.choice((there, there, number(mine[0], 0, ">q"), now - draw.randint(1, 9), now + 3))
    mine[which] = with_field(0, "offset", lambda _: wanted)(mine[which])


def magic(mine: Batches, which: int, draw: random.Random, _others: Batches) -> None:
    """A magic byte that there is not, or was."""
    wanted = draw.choice((3, 3, 4, 127, -1, -128, 0, 1))
    mine[which] = with_field(0, "magic", lambda _: wanted)(mine[which])


def leader_epoch(mine: Batches, which: int, draw: random.Random, _others: Batches) -> None:
    """Another leader epoch."""
    wanted = draw.choice((-1, 0, 1, 7))
    mine[which] = with_field(0, "epoch", lambda _: wanted)(mine[which])


def again(mine: Batches, which: int, draw: random.Random, _others: Batches) -> None:
    """Once more, somewhere behind."""
    mine.insert(draw.randint(which + 1, len(mine)), mine[which])


def swapped(mine: Batches, which: int, draw: random.Random, _others: Batches) -> None:
    """In each other's place."""
    other = draw.randrange(len(mine))
    mine[which], mine[other] = mine[other], mine[which]


def foreign(mine: Batches, which: int, draw: random.Random, others: Batches) -> None:
    """One of another segment."""
    mine.insert(which, draw.choice(others or mine))


def dropped(mine: Batches, which: int, _draw: random.Random, _others: Batches) -> None:
    """One fewer."""
    del mine[which]


def marker(mine: Batches, which: int, draw: random.Random, _others: Batches) -> None:
    """Another end of a transaction, or one of no known type, or of another coordinator."""
    found = [n for n, one in enumerate(mine) if number(one, 21, ">h") & 0x20 and KEY in one[61:]]
    if not found:
        return
    which = draw.choice(found)
    at = mine[which].index(KEY, 61) + len(KEY)
    change = draw.choice(
        (("type", 0), ("type", 1), ("type", 0), ("type", 1), ("type", 5), ("coordinator", 3))
    )
    place, form = (at, ">h") if change[0] == "type" else (at + 2 + 3, ">i")
    mine[which] = seal(with_number(mine[which], form, place, lambda _: change[1]))


def another_producer(now: int, mine: Batches, draw: random.Random) -> int:
    """One of the same segment, or a stranger, or none."""
    return draw.choice((*(number(one, 43, ">q") for one in mine), now + 1, -1))


SHAPES: tuple[tuple[int, Shape], ...] = (
    (5, offset),
    (3, magic),
    (1, leader_epoch),
    (3, again),
    (3, swapped),
    (3, foreign),
    (2, dropped),
    (3, marker),
    (2, covered("delta", lambda now, _mine, draw: draw.choice((0, now + 1, now + 40, -1)))),
    (3, covered("producer", another_producer)),
    (2, covered("epoch", lambda now, _mine, draw: draw.choice((now + 1, now + 3, -1)))),
    (1, covered("sequence", lambda now, _mine, draw: draw.choice((-1, now + 7, 2**31 - 2)))),
    (1, covered("count", lambda now, _mine, draw: draw.choice((0, now + 1)))),
    (4, covered("attributes", lambda now, _mine, draw: now ^ draw.choice((0x10, 0x20, 0x30)))),
)


def split(data: bytes) -> Batches:
    """The batches of a log; raises IndexError where they do not follow each other."""
    places = [*positions(data), len(data)]
    return [data[one:two] for one, two in itertools.pairwise(places)]


def odd(scene: Scene, target: str, draw: random.Random) -> None:
    """One to four such changes in one of the segments."""
    folder = scene.partition(target)
    logs = sorted(folder.glob("*.log"))
    path = draw.choice((draw.choice(logs), *logs[-4:]))
    others = split(draw.choice([each for each in logs if each != path] or logs).read_bytes())
    mine = split(path.read_bytes())
    for shape in draw.choices([s for _, s in SHAPES], [w for w, _ in SHAPES], k=draw.choice((1, 1, 2, 3, 4))):
        shape(mine, draw.randrange(len(mine)), draw, others)
    path.write_bytes(b"".join(mine))
    derived(folder, path, draw)


def derived(folder: Path, path: Path, draw: random.Random) -> None:
    """Perhaps the segment's indexes are gone, perhaps the snapshots of producers from there on, or all."""
    if draw.random() < 0.3:
        for suffix in draw.choice(((".index",), (".timeindex",), (".index", ".timeindex"))):
            path.with_suffix(suffix).unlink(missing_ok=True)
    if draw.random() < 0.5:
        bound = draw.choice(("", path.stem))
        for each in folder.glob("*.snapshot"):
            if each.stem >= bound:
                each.unlink()


BATCHES = {"odd-batches": Wound("batches", odd, tuple(TOPICS))}
