"""Sound files that say what no broker writes: offsets, epochs, producers beyond all there is or below zero.

Beside them names in bytes of another charset, and a file written behind itself.
Checksums and counts are right, so that nothing but the numbers themselves is amiss.
"""

import os
import random
from pathlib import Path

from segmend.formats import epoch_checkpoint, offset_checkpoint, producer_snapshot
from segmend.formats.epoch_checkpoint import EpochCheckpoint, EpochEntry
from segmend.formats.java_number import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN
from segmend.formats.offset_checkpoint import CheckpointEntry, OffsetCheckpoint
from segmend.formats.producer_snapshot import ENTRY
from tests.lab.disasters.bases import TOPICS
from tests.lab.disasters.scene import Scene, chosen, files, used
from tests.lab.disasters.wound import Hurt, Wound

DIRS = ("d0", "d1")
FOREIGN = (b"\xff\xfe", b"caf\xe9", b"\xc3")
"""Parts of names that are no UTF-8."""


def offset(draw: random.Random, folder: Path) -> int:
    """Of a log: near the base of one of its segments, or as far away as the type has room for."""
    bases = sorted(
        (int(path.stem) for path in folder.glob("*.log") if path.stem.isdigit()), reverse=True
    ) or [0]
    near = draw.choice(bases) + draw.choice((-1, 0, 1, 7))
    return draw.choice((near, near, max(bases) + 5000, -1, -2, 0, LONG_MAX, LONG_MIN, INT_MAX + 1))


def rows_of(name: str) -> Hurt:
    """Some lines of an offset checkpoint with other offsets; a line more where there was none."""

    def hurt(scene: Scene, target: str, draw: random.Random) -> None:
        log_dir = scene.log_dir(target)
        path = log_dir / name
        old = offset_checkpoint.parse(path.read_bytes())[0].entries if path.exists() else ()
        rows = {(each.topic, each.partition): each.offset for each in old}
        folders = [log_dir / f"{topic}-0" for topic in TOPICS if (log_dir / f"{topic}-0").is_dir()]
        for folder in draw.sample(folders, min(3, len(folders))):
            rows[folder.name[:-2], 0] = offset(draw, folder)
        entries = tuple(CheckpointEntry(*key, at) for key, at in rows.items())
        path.write_bytes(offset_checkpoint.render(OffsetCheckpoint(entries=entries)))

    return hurt


def rows_of_epochs(scene: Scene, target: str, draw: random.Random) -> None:
    """Lines of leader-epoch-checkpoint changed, added anywhere, or in another order."""
    folder = scene.partition(target)
    path = folder / epoch_checkpoint.FILE_NAME
    rows = list(epoch_checkpoint.parse(path.read_bytes())[0].entries)
    for _ in range(draw.randint(1, 2)):
        known = draw.choice(rows).epoch if rows else 0
        epoch = draw.choice((known, known + 1, known + 100, INT_MAX, -1, -7, INT_MIN, 0))
        place, row = draw.randint(0, len(rows)), EpochEntry(epoch, offset(draw, folder))
        rows[place : place + draw.randint(0, 1)] = [row]
    if draw.random() < 0.2:
        draw.shuffle(rows)
    path.write_bytes(epoch_checkpoint.render(EpochCheckpoint(entries=tuple(rows))))


def rows_of_snapshots(scene: Scene, target: str, draw: random.Random) -> None:
    """Fields of producer snapshots, some at their limits; rows twice; perhaps those of another moment."""
    folder = scene.partition(target)
    found = sorted(path for path in files(folder) if path.suffix == producer_snapshot.SUFFIX)
    for path in chosen(draw, found, 3) if draw.random() < 0.5 else found[-1:]:
        value = producer_snapshot.parse(path.read_bytes())[0]
        rows = [list(row) for row in value.entries]
        for row in draw.sample(rows, min(2, len(rows))):
            field = draw.randrange(len(row))
            size = 8 if field in (0, 3, 5, 7) else 2 if field == 1 else 4
            most = 2 ** (8 * size - 1) - 1
            row[field] = draw.choice((most, -most - 1, -1, -2, 0, min(most, 5000)))
        rows += [list(row) for row in draw.sample(rows, min(draw.randint(0, 1), len(rows)))]
        body = b"".join(ENTRY.pack(*row) for row in rows)
        entries = tuple(producer_snapshot.ProducerStateEntry._make(row) for row in ENTRY.iter_unpack(body))
        path.write_bytes(producer_snapshot.render(producer_snapshot.ProducerSnapshot(entries=entries)))


def other_charset(scene: Scene, target: str, draw: random.Random) -> None:
    """A directory in a log dir, or a file of a partition, whose name has bytes of another charset."""
    part = draw.choice(FOREIGN)
    if target in DIRS:
        name = part + draw.choice((b"-0", b"", b"-0." + b"0" * 32 + b"-delete"))
        Path(os.fsdecode(os.fsencode(scene.log_dir(target)) + b"/" + name)).mkdir()
        return
    folder = scene.partition(target)
    path = draw.choice([path for path in files(folder) if path.stem.isdigit()])
    kind = path.suffix + draw.choice(("", "", ".swap", ".cleaned", ".deleted"))
    name = draw.choice((part, part + path.stem.encode(), path.stem.encode() + b"." + part)) + kind.encode()
    Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(path.read_bytes()[: 1 << 16])


def doubled(scene: Scene, target: str, draw: random.Random) -> None:
    """What was to be written anew was appended: all of the file, or some of it, once more behind itself."""
    for folder in scene.places(target):
        for path in chosen(draw, [path for path in files(folder) if used(path)], 2):
            data = path.read_bytes()[: used(path)]
            path.write_bytes(data + data[: draw.choice((len(data), draw.randrange(len(data))))])


EXTREMES = {
    **{f"rows-{name}": Wound("rows", rows_of(name), DIRS) for name in offset_checkpoint.FILE_NAMES},
    "rows-epochs": Wound("rows", rows_of_epochs, tuple(TOPICS)),
    "rows-snapshots": Wound("rows", rows_of_snapshots, tuple(TOPICS)),
    "other-charset": Wound("rows", other_charset, (*TOPICS, *DIRS)),
    "doubled": Wound("rows", doubled, (*TOPICS, *DIRS, "internal", "meta")),
}
