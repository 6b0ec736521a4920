"""What is left of one moment: a copy, a roll or a restart stopped on its way; and files under odd names."""

import os
import random
import shutil
from pathlib import Path

from tests.faults.on_disk import lengthen, overwrite
from tests.lab.disasters.bases import TOPICS
from tests.lab.disasters.scene import PAGE, Scene, files, used
from tests.lab.disasters.wound import Wound

DIRS = ("d0", "d1")
INDEXES = ("index", "timeindex", "txnindex")
KINDS = ("log", *INDEXES, "snapshot", "checkpoint")
LARGEST = 2**63


def deleted_only(scene: Scene, target: str, draw: random.Random) -> None:
    """`rsync --delete` from an older copy that stopped once it had deleted: what is newer is gone."""
    stage = draw.choice([each for each in ("old", "live") if each != scene.stage])
    for folder in scene.places(target):
        then = scene.then(stage, folder)
        for path in files(folder) if then.is_dir() else ():
            if not (then / path.name).exists():
                path.unlink()


def rolling(scene: Scene, target: str, draw: random.Random) -> None:
    """A roll that the disk had no room for: some of the new segment's files, and the old indexes not cut."""
    folder = scene.partition(target)
    active = max(path for path in files(folder) if path.suffix == ".log" and path.stem.isdigit())
    snapshots = [int(path.stem) for path in files(folder) if path.suffix == ".snapshot"]
    base = max(snapshots, default=0)
    if base <= int(active.stem):
        base = int(active.stem) + draw.randint(1, 60)
    for kind in draw.sample(("log", "index", "timeindex", "snapshot"), draw.randint(1, 3)):
        path = folder / f"{base:020d}.{kind}"
        if not path.exists():
            path.write_bytes(
                b"" if kind in ("log", "snapshot") else bytes(draw.choice((0, 0, PAGE * 8 // 24 * 24)))
            )
    for kind in INDEXES[:2] if draw.random() < 0.5 else ():
        lengthen(active.with_suffix(f".{kind}"), bytes(24 * draw.randrange(200)))


def punched(scene: Scene, target: str, draw: random.Random) -> None:
    """A hole of some pages anywhere in any file, as a file system leaves it that lost its extents."""
    for folder in scene.places(target):
        path = draw.choice([path for path in files(folder) if used(path)])
        first = draw.randrange(used(path)) // PAGE * PAGE
        overwrite(path, first, bytes(min(used(path) - first, PAGE * draw.randint(1, 3))))


def reordered(scene: Scene, _target: str, _draw: random.Random) -> None:
    """`log.dirs` in another order; the first of them is where KRaft looks for its metadata."""
    scene.reordered_mark.touch()


def other_marker(scene: Scene, target: str, draw: random.Random) -> None:
    """A clean shutdown file of another epoch, of a release before 3.7, or cut."""
    path = scene.log_dir(target) / ".kafka_cleanshutdown"
    texts = (
        "",
        "{",
        '{"version":0,"brokerEpoch":1}',
        '{"version":9,"brokerEpoch":-1}',
        '{"version":0}',
        "\0" * 34,
    )
    path.write_text(draw.choice(texts))


def odd_number(draw: random.Random, base: int) -> str:
    """A number as no broker writes it, none below zero."""
    return draw.choice(
        (
            f"+{base:019d}", str(base), f"{base:019d}", f"{base:021d}",
            f"{base + 5:030d}", f"{LARGEST - 1:020d}", f"{LARGEST:020d}", f"{base:020d} ", f"{base:020x}g",
            "0" * 20, f"{base + 7:020d}".translate({48 + digit: 0x660 + digit for digit in range(10)}),
            f"{base + 3:020d}-0000000001", "",
        )
    )  # fmt: skip


def odd_name(scene: Scene, target: str, draw: random.Random) -> None:
    """A file of a segment once more, or only, under a name that no broker gives one."""
    folder = scene.partition(target)
    found = [path for path in files(folder) if path.stem.isdigit()]
    path = draw.choice(found)
    kind = path.suffix[1:] if draw.random() < 0.7 else draw.choice(KINDS)
    suffix = draw.choice(("", "", "", ".swap", ".deleted", ".cleaned", ".tmp", ".bak", ".txn"))
    number = odd_number(draw, int(path.stem)) if not suffix or draw.random() < 0.4 else path.stem
    left(path, folder / f"{number}.{kind}{suffix}", draw)


def signed_number(draw: random.Random, base: int) -> str:
    """A number that Java reads, most of them below zero: with a sign, of any length, in other digits."""
    number = draw.choice((-1, -1, -7, -base - 1, -LARGEST, base, base + 3))
    digits = f"{abs(number):0{draw.choice((1, 19, 20, 20, 20, 21, 30))}d}"
    if draw.random() < 0.15:
        digits = digits.translate({48 + digit: 0x660 + digit for digit in range(10)})
    return ("-" if number < 0 else draw.choice(("", "+"))) + digits


def odd_sign(scene: Scene, target: str, draw: random.Random) -> None:
    """The files of a segment, or some of them, once more or only, under the same odd number."""
    folder = scene.partition(target)
    path = draw.choice([path for path in files(folder) if path.suffix == ".log" and path.stem.isdigit()])
    number = signed_number(draw, int(path.stem)) + draw.choice(("", "", "", "", "", os.fsdecode(b".\xff")))
    suffix = draw.choice(("", "", "", "", ".swap", ".deleted"))
    for kind in draw.sample(KINDS[:-1], draw.randint(1, 4)):
        own = path.with_suffix(f".{kind}")
        if own.exists():
            left(own, folder / f"{number}.{kind}{suffix}", draw)
        elif draw.random() < 0.5:
            (folder / f"{number}.{kind}{suffix}").touch()


def rival(scene: Scene, target: str, draw: random.Random) -> None:
    """Beside a file another one of the same number, of other content, listed before it or behind it."""
    folder = scene.partition(target)
    suffix = draw.choice((".snapshot", ".snapshot", ".snapshot", ".log", ".log.swap", ".index"))
    of_kind = [path for path in files(folder) if path.stem.isdigit() and f".{path.suffix[1:]}" in suffix]
    path = draw.choice(sorted(of_kind)[-2:])
    own = path.with_name(f"{path.stem}{suffix}")
    if not own.exists():
        shutil.copyfile(path, own)
    base = int(path.stem)
    other = draw.choice(
        (str(base), f"+{base:020d}", f"{base:019d}", f"{base:021d}", f"{base:020d}.old",
         f"{base:020d}".translate({48 + digit: 0x660 + digit for digit in range(10)}),
         f"{base:020d}." + os.fsdecode(b"\xff"))
    )  # fmt: skip
    data, more = own.read_bytes(), draw.choice(of_kind).read_bytes()
    contents = (data, data[: draw.randrange(used(path) + 1)], more, b"", draw.randbytes(len(data)))
    hurt = [(folder / f"{other}{suffix}", draw.choice(contents)), (own, draw.choice((data, data, *contents)))]
    own.unlink()
    for place, content in draw.sample(hurt, 2):
        place.write_bytes(content)


def active_swapped(scene: Scene, target: str, draw: random.Random) -> None:
    """The active segment, or part of it, under the names of a compaction or of a deletion."""
    folder = scene.partition(target)
    active = max(path for path in files(folder) if path.suffix == ".log" and path.stem.isdigit())
    suffix = draw.choice((".swap", ".swap", ".cleaned", ".deleted"))
    for kind in ("log", *draw.sample(INDEXES, draw.randint(0, 3))):
        path = active.with_suffix(f".{kind}")
        if path.exists():
            left(path, Path(f"{path}{suffix}"), draw)


def left(path: Path, there: Path, draw: random.Random) -> None:
    """Renamed or copied."""
    if draw.random() < 0.5:
        path.rename(there)
    else:
        shutil.copyfile(path, there)


MOMENTS = {
    "deleted-only": Wound("moments", deleted_only, (*TOPICS, *DIRS, "internal", "all")),
    "rolling": Wound("moments", rolling, tuple(TOPICS)),
    "punched": Wound("moments", punched, (*TOPICS, "internal", "all")),
    "reordered": Wound("moments", reordered, DIRS[:1]),
    "other-marker": Wound("moments", other_marker, DIRS),
    "odd-name": Wound("names", odd_name, tuple(TOPICS)),
    "odd-sign": Wound("signs", odd_sign, tuple(TOPICS)),
    "rival": Wound("rivals", rival, tuple(TOPICS)),
    "active-swapped": Wound("names", active_swapped, tuple(TOPICS)),
}
