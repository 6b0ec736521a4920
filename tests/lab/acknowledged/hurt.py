"""Damage across three replicas, drawn by a seed, so that each record stays sound somewhere, or not."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from segmend.formats.record import decode
from tests.faults.hands import turn_any
from tests.faults.on_disk import batches_of
from tests.lab.acknowledged.base import TOPICS

NAMES = [f"{topic}-{number}" for topic, count in TOPICS.items() for number in range(count)]


@dataclass(frozen=True)
class Place:
    """One batch on one replica, and the offsets of its records."""

    node: int
    name: str
    log: str
    start: int
    end: int
    offsets: frozenset[int]
    last_offset: int
    is_control: bool
    producer: int | None
    """Of a transaction."""


@dataclass
class Bed:
    """The three log dirs under `root`, where each batch lies, and what was done."""

    root: Path
    places: list[Place] = field(default_factory=list)
    lost: dict[tuple[int, str], set[int]] = field(default_factory=dict)
    """By node and partition, offsets whose record is no longer sound there."""
    provable: dict[str, set[int]] = field(default_factory=dict)
    """By partition, offsets of batches that have only their epoch hurt, which a rescue may prove."""
    wounds: list[str] = field(default_factory=list)

    @property
    def dirs(self) -> list[Path]:
        return [self.root / f"b{node}" / "d0" for node in (1, 2, 3)]

    def path(self, node: int, name: str, file: str) -> Path:
        return self.root / f"b{node}" / "d0" / name / file

    def held(self, node: int, name: str) -> set[int]:
        """Offsets that are sound there."""
        there = {o for each in self.places if (each.node, each.name) == (node, name) for o in each.offsets}
        return there - self.lost.get((node, name), set())

    def unended(self, name: str) -> set[int]:
        """Offsets of transactions whose marker is sound nowhere: how they ended nothing tells."""
        mine = [each for each in self.places if each.name == name and each.producer is not None]
        sound = set[int]().union(*(self.held(node, name) for node in (1, 2, 3)))
        markers = sorted((min(each.offsets), each.producer) for each in mine if each.is_control)
        found = set[int]()
        for each in (each for each in mine if not each.is_control and each.offsets):
            ends = [at for at, who in markers if who == each.producer and at > max(each.offsets)]
            if not ends or ends[0] not in sound:
                found |= each.offsets
        return found


def surveyed(root: Path) -> Bed:
    """A bed that nobody hurt yet."""
    bed = Bed(root)
    for node in (1, 2, 3):
        for name in NAMES:
            for log in sorted((root / f"b{node}" / "d0" / name).glob("*.log")):
                data = log.read_bytes()
                for batch in batches_of(log):
                    records, _ = decode(data[batch.position : batch.end], batch)
                    offsets = frozenset(each.offset for each in records)
                    who = batch.producer_id if batch.is_transactional else None
                    span = batch.position, batch.end
                    bed.places.append(
                        Place(node, name, log.name, *span, offsets, batch.last_offset, batch.is_control, who)
                    )
    return bed


Struck = tuple[bytes | bytearray | None, int, int]
Wound = Callable[[random.Random, Place, bytearray], Struck]
"""Gives the file's new bytes (None: no file), and the range of old bytes that it hurt."""


def body(draw: random.Random, place: Place, data: bytearray) -> Struck:
    """A bit that the checksum covers."""
    turn_any(data, draw, place.start + 17, place.end)
    return data, place.start, place.end


def header(draw: random.Random, place: Place, data: bytearray) -> Struck:
    """A bit of what no checksum covers: base offset, length, epoch, magic."""
    turn_any(data, draw, place.start, place.start + 17)
    return data, place.start, place.end


def epoch(draw: random.Random, place: Place, data: bytearray) -> Struck:
    """A bit of its leader epoch: all else of it is sound."""
    turn_any(data, draw, place.start + 12, place.start + 16)
    return data, place.start, place.end


def zeros(draw: random.Random, place: Place, data: bytearray) -> Struck:
    """A sector or a page that was never written."""
    size = draw.choice((512, 4096))
    first = draw.randrange(place.start, place.end) // size * size
    last = min(first + size, len(data))
    data[first:last] = bytes(last - first)
    return data, first, last


def garbage(draw: random.Random, place: Place, data: bytearray) -> Struck:
    """Another file's bytes."""
    first = draw.randrange(place.start, place.end)
    last = min(first + draw.randrange(1, 700), len(data))
    data[first:last] = draw.randbytes(last - first)
    return data, first, last


def inserted(draw: random.Random, place: Place, data: bytearray) -> Struck:
    """Bytes that do not belong there, between two batches or in the middle of one."""
    at = draw.choice((place.start, draw.randrange(place.start + 1, place.end)))
    more = draw.randbytes(draw.randrange(1, 300))
    return data[:at] + more + data[at:], at, at if at == place.start else at + 1


def dropped(draw: random.Random, place: Place, data: bytearray) -> Struck:
    """Bytes gone from the middle."""
    first = draw.randrange(place.start, place.end)
    last = min(first + draw.randrange(1, 600), len(data))
    return data[:first] + data[last:], first, last


def lifted(draw: random.Random, place: Place, data: bytearray) -> Struck:
    """The batch is gone, from border to border: nothing there is damaged."""
    del draw
    return data[: place.start] + data[place.end :], place.start, place.end


def cut(draw: random.Random, place: Place, data: bytearray) -> Struck:
    """The rest of the file is gone."""
    at = draw.choice((place.start, draw.randrange(place.start, place.end)))
    return data[:at], at, len(data)


def removed(draw: random.Random, place: Place, data: bytearray) -> Struck:
    """The file is gone."""
    return None, 0, len(data)


def aside(draw: random.Random, place: Place, data: bytearray) -> Struck:
    """The file has another ending, as a cleaner or a deletion that was killed leaves it."""
    return removed(draw, place, data)


def beside(draw: random.Random, place: Place, data: bytearray) -> Struck:
    """A part of it, or all, lies beside it with another ending: nobody lost anything."""
    del draw, place
    return data, 0, 0


ENDINGS = (".deleted", ".cleaned", ".swap")
WOUNDS: tuple[Wound, ...] = (body, body, header, header, zeros, garbage, inserted, dropped, cut, removed)
"""Two are drawn more often."""
KINDS = {wound.__name__: (wound,) for wound in (*WOUNDS, epoch, lifted, aside, beside)} | {
    "": WOUNDS, "endings": (*WOUNDS, *[aside, beside] * 4),
}  # fmt: skip
BESIDE = (
    "leader-epoch-checkpoint", "../replication-offset-checkpoint", "../cleaner-offset-checkpoint",
    "../log-start-offset-checkpoint", "../recovery-point-offset-checkpoint", "*.index", "*.snapshot",
)  # fmt: skip


def strike(
    bed: Bed, draw: random.Random, count: int, wanted: dict[str, set[int]], overlap: bool, only: str = ""
) -> None:
    """So many wounds; `wanted` are the offsets that must stay sound somewhere, unless they may `overlap`."""
    for _ in range(count):
        place, wound = draw.choice(bed.places), draw.choice(KINDS[only])
        if not only and draw.random() < 0.1:
            _strike_beside(bed, draw, place)
            continue
        path = bed.path(place.node, place.name, place.log)
        again = (place.node, place.name, place.log) in _struck(bed) and only != epoch.__name__
        if again or not path.exists():
            continue
        whole = path.read_bytes()
        data, first, last = wound(draw, place, bytearray(whole))
        if wound is beside:
            _put_beside(bed, draw, place, whole)
            continue
        if data is not None and bytes(data) == whole:
            continue
        if data is not None and len(data) == len(whole):  # zeros on zeros hurt nobody
            changed = [at for at in range(first, last) if data[at] != whole[at]]
            first, last = changed[0], changed[-1] + 1
        same = [p for p in bed.places if (p.node, p.name, p.log) == (place.node, place.name, place.log)]
        hurt = {o for p in same if p.start < last and p.end > first for o in p.offsets}
        others = set[int]().union(*(bed.held(n, place.name) for n in (1, 2, 3) if n != place.node))
        if not overlap and (hurt & wanted[place.name]) - others:
            continue
        bed.lost.setdefault((place.node, place.name), set()).update(hurt)
        if data is not None and wound in (header, epoch) and _only_epoch(whole, data, place):
            bed.provable.setdefault(place.name, set()).update(hurt)
        bed.wounds.append(
            f"b{place.node}/{place.name}/{place.log} {wound.__name__} {first}..{last} of {_spans(hurt)}"
        )
        if data is not None:
            path.write_bytes(data)
        else:
            path.rename(path.with_name(path.name + draw.choice(ENDINGS))) if wound is aside else path.unlink()


def _put_beside(bed: Bed, draw: random.Random, place: Place, whole: bytes) -> None:
    """Its own log, or another one's name with its bytes: some, all, or hurt."""
    name = draw.choice((place.log, f"{draw.choice([0, *place.offsets]):020d}.log")) + draw.choice(ENDINGS)
    data = bytearray(whole[: draw.choice((0, place.start, place.end, len(whole)))])
    if data and draw.random() < 0.5:
        turn_any(data, draw, 0, len(data))
    bed.path(place.node, place.name, name).write_bytes(data)
    bed.wounds.append(f"b{place.node}/{place.name}/{name} beside, {len(data)} bytes")


def _only_epoch(old: bytes, new: bytes, place: Place) -> bool:
    epoch = slice(place.start + 12, place.start + 16)
    return old[epoch] != new[epoch]


def _strike_beside(bed: Bed, draw: random.Random, place: Place) -> None:
    pattern = draw.choice(BESIDE)
    home = bed.path(place.node, place.name, "x").parent
    for path in sorted((home.parent if "../" in pattern else home).glob(pattern.removeprefix("../"))):
        path.unlink()
    bed.wounds.append(f"b{place.node}/{place.name}/{pattern} removed")


def _struck(bed: Bed) -> set[tuple[int, str, str]]:
    """A file is hurt once: after that its bytes lie elsewhere than they were surveyed."""
    found = set()
    for wound in bed.wounds:
        node, name, log = wound.split(" ")[0].split("/", 2)
        found.add((int(node[1:]), name, log))
    return found


def _spans(offsets: set[int]) -> str:
    return f"{min(offsets)}..{max(offsets)}" if offsets else "nothing"
