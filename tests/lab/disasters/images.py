"""Metadata under a right checksum that no controller writes: records dropped, doubled, swapped, changed.

Others are added, or have another version.

In the log or in the newest snapshot. Offsets stay: what is dropped from the log becomes a NoOpRecord, and
what is added takes the place of one.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segmend.formats.record import iter_records
from segmend.formats.schema import SchemaField, fields_of, messages
from segmend.kernel.scan import iter_batches
from segmend.logdir import disk
from segmend.topics.metadata import RECORDS, decode
from tests.checks import build_partition as build
from tests.checks.build_metadata import ABORT, BEGIN, END, NO_OP
from tests.lab.disasters.scene import META, Scene
from tests.lab.disasters.setups import new_id
from tests.lab.disasters.wound import Wound
from tests.topics.rendered import framed

KRAFT = (3, 0)
MESSAGES = messages(RECORDS)
KINDS = {message.name: kind for kind, message in MESSAGES.items()}
MOST = {"i8": 1 << 7, "i16": 1 << 15, "u16": 1 << 16, "i32": 1 << 31, "i64": 1 << 63}
"""One after the greatest number of each type."""
Values = dict[str, Any]
Edit = Callable[["Image", random.Random], None]


@dataclass
class Record:
    """One record of a file: its batch there, its time in the batch, its bytes."""

    batch: int
    delta: int
    value: bytes

    @property
    def kind(self) -> str:
        """Of what it is, by its name; empty where that is not known."""
        return str(decode(None, self.value)["value"].get("type", ""))

    @property
    def data(self) -> Values | None:
        """Its fields."""
        data = decode(None, self.value)["value"].get("data")
        return dict(data) if isinstance(data, dict) else None


class Image:
    """The records of a metadata log or of a snapshot, to be changed and written back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.batches: list[tuple[Any, bytes]] = []
        self.records: list[Record] = []
        with disk.open(str(path)) as reader:
            for each in iter_batches(reader):
                data = bytes(reader.read(each.size, each.position))
                self.batches.append((each, data))
                if not each.is_control:
                    self.records += (
                        Record(len(self.batches) - 1, one.timestamp - each.base_timestamp, one.value or b"")
                        for one in iter_records(data, each, [])
                    )
        self.in_log = path.suffix == ".log"

    def write(self) -> None:
        """Every batch again, with right offsets and checksums; one that has no record left goes."""
        out, shift = b"", 0
        for number, (each, data) in enumerate(self.batches):
            mine = [record for record in self.records if record.batch == number]
            if each.is_control:
                out += (each.base_offset + shift).to_bytes(8, "big") + data[8:]
                continue
            shift += len(mine) - each.records_count
            if not mine:
                continue
            body = b"".join(
                build.record(n, None, record.value, timestamp_delta=record.delta)
                for n, record in enumerate(mine)
            )
            head = (each.base_offset + shift - len(mine) + each.records_count).to_bytes(8, "big")
            head += data[8:23] + (len(mine) - 1).to_bytes(4, "big") + data[27:57]
            out += build.seal(head + len(mine).to_bytes(4, "big") + body)
        self.path.write_bytes(out)

    def offset(self, record: Record) -> int:
        """Where it is in the log."""
        mine = [each for each in self.records if each.batch == record.batch]
        return int(self.batches[record.batch][0].base_offset) + next(
            n for n, each in enumerate(mine) if each is record
        )

    def drop(self, record: Record) -> None:
        """Take it away."""
        if self.in_log:
            record.value = NO_OP
        else:
            self.records.remove(record)

    def add(self, value: bytes, draw: random.Random, behind: int = -1) -> None:
        """Another record, at any place behind that one; raises LookupError where none is free."""
        if self.in_log:
            free = [each for each in self.records[behind + 1 :] if each.value == NO_OP]
            if not free:
                raise LookupError("no NoOpRecord")
            draw.choice(free).value = value
            return
        at = draw.randrange(behind + 1, len(self.records) + 1)
        near = self.records[min(at, len(self.records) - 1)]
        self.records.insert(at, Record(near.batch, near.delta, value))

    def any_of_a_kind(self, draw: random.Random) -> Record:
        """One of them, the rare kinds as often as the others."""
        found = [each for each in self.records if each.value != NO_OP and each.data is not None]
        kind = draw.choice(sorted({each.kind for each in found}))
        return draw.choice([each for each in found if each.kind == kind])

    def pool(self) -> dict[str, list[Any]]:
        """The values that fields have here, by their names."""
        found: dict[str, list[Any]] = {}
        for record in self.records:
            for name, value in (record.data or {}).items():
                if value not in found.setdefault(name, []):
                    found[name].append(value)
        return found


def images(folder: Path, draw: random.Random) -> Image:
    """The newest snapshot or the log of a metadata log."""
    snapshots = sorted(folder.glob("*.checkpoint"))
    log = max(folder.glob("*.log"))
    return Image(snapshots[-1] if len(snapshots) > 1 and draw.random() < 0.6 else log)


def dropped(image: Image, draw: random.Random) -> None:
    """One fewer."""
    image.drop(image.any_of_a_kind(draw))


def doubled(image: Image, draw: random.Random) -> None:
    """One twice."""
    one = image.any_of_a_kind(draw)
    image.add(one.value, draw, image.records.index(one))


def swapped(image: Image, draw: random.Random) -> None:
    """Two in the place of one another."""
    one, other = image.any_of_a_kind(draw), image.any_of_a_kind(draw)
    one.value, other.value = other.value, one.value


def changed(image: Image, draw: random.Random) -> None:
    """One field of one record has another value."""
    one = image.any_of_a_kind(draw)
    kind, version, data = KINDS[one.kind], one.value[2], one.data or {}
    fields = [each for each in fields_of(MESSAGES[kind]) if each.versions[0] <= version <= each.versions[1]]
    if not fields:
        raise LookupError("no field")
    each = draw.choice(fields)
    data[each.name] = other_value(each, version, data.get(each.name), image.pool(), draw)
    one.value = framed(kind, MESSAGES[kind], version, data)


def added(image: Image, draw: random.Random) -> None:
    """A record of any kind and version, its values mostly those that others here have."""
    kind = draw.choice(sorted(MESSAGES))
    version, pool = draw.randint(0, MESSAGES[kind].highest), image.pool()
    data = {
        each.name: other_value(each, version, None, pool, draw)
        for each in fields_of(MESSAGES[kind])
        if each.versions[0] <= version <= each.versions[1] and (each.tag is None or draw.random() < 0.5)
    }
    image.add(framed(kind, MESSAGES[kind], version, data), draw)


def versioned(image: Image, draw: random.Random) -> None:
    """The same content in another version, or with another version's number."""
    one = image.any_of_a_kind(draw)
    kind, data = KINDS[one.kind], one.data or {}
    highest = MESSAGES[kind].highest
    version = draw.choice([each for each in range(highest + 3) if each != one.value[2]])
    if version <= highest and draw.random() < 0.7:
        one.value = framed(kind, MESSAGES[kind], version, data)
    else:
        one.value = one.value[:2] + bytes([version]) + one.value[3:]


def lengthened(image: Image, draw: random.Random) -> None:
    """Bytes too many, or too few."""
    one = image.any_of_a_kind(draw)
    more = draw.choice((b"\0", b"\0\0\0", None))
    one.value = one.value[:-1] if more is None else one.value + more


def begun(image: Image, draw: random.Random) -> None:
    """A transaction begins, often right behind the newest snapshot, and may end, or be taken back."""
    free = [each for each in image.records if each.value == NO_OP]
    if not free:
        raise LookupError("no NoOpRecord")
    end = max((int(each.name[:20]) for each in image.path.parent.glob("*.checkpoint")), default=0)
    behind = [each for each in image.records if image.offset(each) == end and draw.random() < 0.5]
    first = (behind or [draw.choice(free)])[0]
    later = [each for each in free if image.offset(each) > image.offset(first)]
    first.value = BEGIN
    if later and draw.random() < 0.6:
        draw.choice(later).value = draw.choice((END, ABORT))


def other_value(
    each: SchemaField, version: int, now: Any, pool: dict[str, list[Any]], draw: random.Random
) -> Any:
    """Another value of a field: one that others have, or one at the edge of its type."""
    known = [value for value in pool.get(each.name, ()) if value != now]
    if known and draw.random() < 0.5:
        return draw.choice(known)
    nullable = each.nullable[0] <= version <= each.nullable[1]
    if nullable and draw.random() < 0.3:
        return None
    if each.array:
        items: list[Any] = list(now or ())
        return draw.choice([[], items[:-1], items * 2, [*items, any_single(each, None, draw)]])
    return any_single(each, now, draw)


def any_single(each: SchemaField, now: Any, draw: random.Random) -> Any:
    """Any value of its type."""
    if each.type == "struct":
        return {inner.name: any_single(inner, None, draw) for inner in each.fields if not inner.array}
    if each.type == "bool":
        return not now
    if each.type == "uuid":
        return draw.choice((new_id(draw), "A" * 22))
    if each.type in ("string", "bytes"):
        return draw.choice(("", "none", "b64=" if each.type == "bytes" else "segment.bytes"))
    if each.type == "f64":
        return draw.choice((0.0, 1.5, -1.0))
    most = MOST[each.type]
    least = 0 if each.type == "u16" else -most
    greatest = most - 1 if each.type != "u16" else (1 << 16) - 1
    near = [number for number in (0, 1, 2, -1, (now or 0) + 1, (now or 0) - 1) if least <= number <= greatest]
    return draw.choice([*near, *near, greatest, least])


def edit(change: Edit, *, log: bool = False) -> Wound:
    """One done to the metadata, with `log` to that alone."""

    def hurt(scene: Scene, _target: str, draw: random.Random) -> None:
        folder = scene.partition(META[:-2])
        image = Image(max(folder.glob("*.log"))) if log else images(folder, draw)
        change(image, draw)
        image.write()

    return Wound("images", hurt, ("d0",), KRAFT)


IMAGES = {
    "image-dropped": edit(dropped), "image-doubled": edit(doubled), "image-swapped": edit(swapped),
    "image-changed": edit(changed), "image-added": edit(added), "image-versioned": edit(versioned),
    "image-lengthened": edit(lengthened), "image-begun": edit(begun, log=True),
}  # fmt: skip
