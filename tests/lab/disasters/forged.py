"""What a right checksum covers and no broker of this release writes; and indexes of aborted transactions.

Batches in other codecs than they say, in none that there is, in the formats of before 0.11, with attributes
that nobody knows; rows of `.txnindex` cut, zeroed, turned round, of another segment, beyond the end; producer
snapshots of other moments and versions. The offset index stays right, so that no start reads the log.
"""

import random
import struct
from collections.abc import Callable
from pathlib import Path

from segmend.formats import producer_snapshot
from segmend.formats.codec_write import compress
from tests.checks.build_partition import legacy_message, seal
from tests.faults.hands import with_any_bit
from tests.lab.disasters.bases import TOPICS
from tests.lab.disasters.batches import Batches, number, split
from tests.lab.disasters.scene import Scene, chosen, files
from tests.lab.disasters.wound import Hurt, Wound

HEAD = 61
ROW = struct.Struct(">hqqqq")
"""Version, producer, first offset, last offset, last stable offset."""
ROW_FIELDS = 5
Rows = list[list[int]]
OldCodecs = (0, 0, 1, 2, 3)


def attributes(one: bytes, value: int, payload: bytes | None = None) -> bytes:
    """The batch with these, perhaps with another payload; sealed."""
    head = one[:21] + struct.pack(">H", value & 0xFFFF) + one[23:HEAD]
    return seal(head + (one[HEAD:] if payload is None else payload))


def coded(one: bytes, draw: random.Random) -> bytes:
    """Its records in one of the codecs, or said to be, or damaged in it."""
    codec, now = draw.randint(1, 4), number(one, 21, ">h")
    packed = compress(codec, one[HEAD:])
    kinds: dict[str, Callable[[], bytes]] = {
        "right": lambda: attributes(one, now | codec, packed),
        "unpacked": lambda: attributes(one, now | codec),
        "unnamed": lambda: attributes(one, now, packed),
        "of-another": lambda: attributes(one, now | codec % 4 + 1, packed),
        "unknown": lambda: attributes(one, now | draw.choice((5, 6, 7))),
        "short": lambda: attributes(one, now | codec, packed[: draw.randrange(len(packed))]),
        "hurt": lambda: attributes(one, now | codec, with_any_bit(packed, draw)),
        "bits": lambda: attributes(one, now | draw.choice((0x08, 0x40, 0x48, 0x80, 0x100, 0x4000, 0x8000))),
    }
    return kinds[draw.choice(("right", *kinds))]()


def older(one: bytes, draw: random.Random) -> bytes:
    """Its offsets as messages of magic 0 or 1, plain or in a wrapper, the stamps perhaps of no time."""
    base, magic = number(one, 0, ">q"), draw.choice((0, 1, 1))
    count, codec = number(one, 57, ">i"), draw.choice(OldCodecs)
    stamp = draw.choice((-1, number(one, 27, ">q")))
    first = base if not codec or magic == 0 or draw.random() < 0.3 else 0
    values = [
        legacy_message(first + n, draw.randbytes(20), magic=magic, timestamp=stamp) for n in range(count)
    ]
    if not codec:
        return b"".join(values)
    said = codec | (0x08 if magic and draw.random() < 0.3 else 0)
    packed = compress(codec, b"".join(values), magic=magic)
    return legacy_message(base + count - 1, packed, magic=magic, attributes=said, key=None, timestamp=stamp)


def rewritten(change: Callable[[bytes, random.Random], bytes], most: int, *, plain: bool) -> Hurt:
    """Some batches of records of one segment changed, and its offset index with them."""

    def hurt(scene: Scene, target: str, draw: random.Random) -> None:
        logs = sorted(path for path in files(scene.partition(target)) if path.suffix == ".log")
        path = draw.choice((draw.choice(logs), *logs[-2:]))
        mine = split(path.read_bytes())
        unfit = 0x30 if plain else 0x20
        fit = [n for n, one in enumerate(mine) if not number(one, 21, ">h") & unfit]
        wanted = draw.sample(fit, min(len(fit), draw.randint(1, most)))
        moved(path, mine, [change(one, draw) if n in wanted else one for n, one in enumerate(mine)])

    return hurt


def moved(path: Path, old: Batches, new: Batches) -> None:
    """Write the log, and its offset index with the places of now."""
    places, before, now = {}, 0, 0
    for was, one in zip(old, new, strict=True):
        places[before], before, now = now, before + len(was), now + len(one)
    path.write_bytes(b"".join(new))
    index = path.with_suffix(".index")
    rows = index.read_bytes() if index.exists() else b""
    entries = [struct.unpack_from(">ii", rows, at) for at in range(0, len(rows) - 7, 8)]
    index.write_bytes(b"".join(struct.pack(">ii", one, places.get(at, at)) for one, at in entries))


def turned(rows: Rows, _others: Rows, draw: random.Random) -> Rows:
    """In another order."""
    return rows[::-1] if draw.random() < 0.5 else draw.sample(rows, len(rows))


def zero(rows: Rows, _others: Rows, draw: random.Random) -> Rows:
    """One of them never written."""
    rows[draw.randrange(len(rows))] = [0] * ROW_FIELDS
    return rows


def of_field(field: int, choices: Callable[[int, random.Random], int]) -> Callable[..., Rows]:
    """A row with another value of one field."""

    def change(rows: Rows, _others: Rows, draw: random.Random) -> Rows:
        row = draw.choice(rows)
        row[field] = choices(row[field], draw)
        return rows

    return change


def anywhere(now: int, draw: random.Random) -> int:
    """Near an offset, or as far as there is room."""
    return draw.choice((now - 1, now + 1, now + 4, now - 9, 0, -1, now + 5000, 2**63 - 1))


ROWS: dict[str, Callable[[Rows, Rows, random.Random], Rows]] = {
    "first-gone": lambda rows, _others, _draw: rows[1:],
    "last-gone": lambda rows, _others, _draw: rows[:-1],
    "one-zero": zero,
    "all-zero": lambda rows, _others, _draw: [[0] * ROW_FIELDS for _ in rows],
    "turned": turned,
    "twice": lambda rows, _others, draw: [*rows, draw.choice(rows)],
    "of-another": lambda _rows, others, _draw: others,
    "and-of-another": lambda rows, others, _draw: [*rows, *others],
    "producer": of_field(1, lambda now, draw: draw.choice((now + 1, now - 1, -1, 1, 1001, 2001))),
    "begins": of_field(2, anywhere),
    "ends": of_field(3, anywhere),
    "stable": of_field(4, anywhere),
}


def aborted(scene: Scene, target: str, draw: random.Random) -> None:
    """One index of aborted transactions, or the lack of one."""
    folder = scene.partition(target)
    found = [path for path in files(folder) if path.suffix == ".txnindex"]
    path = draw.choice(found)
    if draw.random() < 0.2:
        path.write_bytes(b"") if draw.random() < 0.5 else path.unlink()
        return
    rows, others = (rows_of(each) for each in (path, draw.choice([each for each in found if each != path])))
    for name in draw.sample(list(ROWS), draw.choice((1, 1, 2))):
        if rows:
            rows = ROWS[name](rows, others, draw)
    path.write_bytes(b"".join(ROW.pack(*row) for row in rows))
    if draw.random() < 0.1:
        path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size + 1)])


def rows_of(path: Path) -> Rows:
    """Those of a `.txnindex`."""
    return [list(row) for row in ROW.iter_unpack(path.read_bytes())]


def snapshots(scene: Scene, target: str, draw: random.Random) -> None:
    """Producers of another moment: only some snapshots left, others in their names, or of another version."""
    folder = scene.partition(target)
    found = sorted(path for path in files(folder) if path.suffix == producer_snapshot.SUFFIX)
    first, last = found[0].read_bytes(), found[-1].read_bytes()
    base, end = int(found[-2].stem), int(found[-1].stem)
    how = draw.choice(("oldest", "newest", "between", "beyond", "early", "version", "turned"))
    if how == "oldest":
        for path in found[1:]:
            path.unlink()
    elif how == "newest":
        for path in found[:-1]:
            path.unlink()
    elif how == "version":
        for path in chosen(draw, found, 3) if draw.random() < 0.5 else found[-1:]:
            path.write_bytes(struct.pack(">h", draw.choice((0, 2, -1, 257))) + path.read_bytes()[2:])
    elif how == "turned":
        for path, data in zip(found, [path.read_bytes() for path in found][::-1], strict=True):
            path.write_bytes(data)
    else:
        at = {"between": draw.randint(base + 1, end - 1), "beyond": end + draw.randint(1, 40), "early": 3}[
            how
        ]
        (folder / f"{at:020d}.snapshot").write_bytes(draw.choice((first, last)))
        if draw.random() < 0.5:
            found[-1].unlink()


FORGED = {
    "coded": Wound("forged", rewritten(coded, 3, plain=False), tuple(TOPICS)),
    "older-format": Wound("forged", rewritten(older, 6, plain=True), tuple(TOPICS)),
    "aborted-rows": Wound("forged", aborted, tuple(TOPICS)),
    "other-snapshots": Wound("forged", snapshots, tuple(TOPICS)),
}
