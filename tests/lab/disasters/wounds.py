"""What can happen to a node, beside the rows of `tests/faults`: each wound is a function and its targets.

A wound in a disaster is written `name@target#salt`; its draw is seeded by these words alone, so that it is
the same whatever happens beside it. One that cannot be done any more (its file is gone) raises one of
`CANNOT`.
"""

import itertools
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.copies import copy_file, copy_into
from tests.faults.hands import positions
from tests.faults.on_disk import exchange, flip_any, overwrite, put_folder
from tests.faults.patient import patient_in
from tests.faults.table import fault_called
from tests.lab.disasters.bases import TOPICS
from tests.lab.disasters.batches import BATCHES
from tests.lab.disasters.controllers import CONTROLLERS
from tests.lab.disasters.edited import EDITED
from tests.lab.disasters.extremes import EXTREMES
from tests.lab.disasters.forged import FORGED
from tests.lab.disasters.images import IMAGES
from tests.lab.disasters.moments import MOMENTS
from tests.lab.disasters.owners import OWNERS
from tests.lab.disasters.scene import META, PAGE, Scene, chosen, files, recent, used
from tests.lab.disasters.setups import SETUPS
from tests.lab.disasters.strangers import STRANGERS
from tests.lab.disasters.things import THINGS
from tests.lab.disasters.wound import Hurt, Wound
from tests.lab.pairs import CANNOT

ANYWHERE = (*TOPICS, "d0", "d1", "meta", "internal", "all")
"""Targets of what happens to files."""
DIRS = ("d0", "d1")
KRAFT = (3, 0)
OTHER_ID = "5Ck7mLhOSHGMUSQB0K3Dfg"


def each_recent(change: Callable[[Path, random.Random], object], most: int = 4) -> Hurt:
    """Something done to some files of the target that were written last."""

    def hurt(scene: Scene, target: str, draw: random.Random) -> None:
        for path in chosen(draw, [p for folder in scene.places(target) for p in recent(folder)], most):
            change(path, draw)

    return hurt


def page_of(path: Path, draw: random.Random) -> int:
    """The start of a page of what was written of a file."""
    return draw.randrange(max(1, -(-used(path) // PAGE))) * PAGE


def zeroed_on(path: Path, draw: random.Random) -> None:
    """The length was written, the data from some page on was not."""
    at = page_of(path, draw)
    overwrite(path, at, bytes(used(path) - at))


def zeroed_page(path: Path, draw: random.Random) -> None:
    """One page was not written."""
    at = page_of(path, draw)
    overwrite(path, at, bytes(min(PAGE, used(path) - at)))


def cut_at_page(path: Path, draw: random.Random) -> None:
    """Neither length nor data from some page on was written."""
    os.truncate(path, page_of(path, draw))


def cut_anywhere(path: Path, draw: random.Random) -> None:
    """A write that was cut short."""
    os.truncate(path, draw.randrange(max(1, used(path))))


def emptied(path: Path, _draw: random.Random) -> None:
    """Nothing of it was written."""
    path.write_bytes(b"")


def flipped(path: Path, draw: random.Random) -> None:
    """One bit."""
    flip_any(path, draw, 0, used(path))


def garbage(path: Path, draw: random.Random) -> None:
    """A page with bytes of something else."""
    at = page_of(path, draw)
    overwrite(path, at, draw.randbytes(min(PAGE, used(path) - at)))


def removed(path: Path, _draw: random.Random) -> None:
    path.unlink()


def rsynced(scene: Scene, target: str, draw: random.Random) -> None:
    """Copied while the broker ran: what is listed first as it was earlier, the rest as it is now."""
    for folder in scene.places(target):
        then = scene.then("live", folder)
        if folder.parent == scene.root / "b1" or then.is_dir():
            folder_files(then, folder, draw.random())


def folder_files(then: Path, folder: Path, part: float) -> None:
    """The first part of the files as they were then; those that came later are not there."""
    names = sorted({path.name for path in (*files(then), *files(folder))})
    for name in names[: round(part * len(names))]:
        if (then / name).exists():
            copy_file(then / name, folder / name)
        else:
            (folder / name).unlink()


def older(scene: Scene, target: str, draw: random.Random) -> None:
    """Restored from an older backup: a directory, a whole log dir, or everything."""
    stage = draw.choice([each for each in ("old", "live") if each != scene.stage])
    for folder in scene.places(target):
        then = scene.then(stage, folder)
        if not then.is_dir():
            raise LookupError(str(then))
        shutil.rmtree(folder)
        copy_into(then, folder)


def older_files(scene: Scene, target: str, draw: random.Random) -> None:
    """Some files from an older backup, the rest as they are."""
    for folder in scene.places(target):
        then = scene.then(draw.choice(("old", "live")), folder)
        for path in chosen(draw, [path for path in files(then) if path.is_file()], 4):
            copy_file(path, folder / path.name)


def full(scene: Scene, target: str, draw: random.Random) -> None:
    """The disk was full: the newest files end anywhere or are empty, and temporary ones are left."""
    for folder in scene.places(target):
        for path in chosen(draw, recent(folder), 5):
            draw.choice((emptied, cut_anywhere, cut_anywhere, zeroed_on))(path, draw)
        if draw.random() < 0.5:
            name = draw.choice([path.name for path in recent(folder)])
            (folder / f"{name}.tmp").write_bytes(b"")
        if folder in scene.dirs and draw.random() < 0.5:
            (folder / "fill").write_bytes(bytes(1 << 20))


def compacting(scene: Scene, target: str, draw: random.Random) -> None:
    """A compaction cut short: two segments merged into one, the old ones perhaps renamed or gone."""
    for folder in scene.places(target):
        logs = [path for path in files(folder) if path.suffix == ".log"][:-1]
        first = draw.randrange(len(logs) - 1)
        pair = logs[first : first + draw.choice((1, 2, 2))]
        suffix = draw.choice((".cleaned", ".swap", ".swap"))
        base = folder / pair[0].stem
        data = b"".join(kept(path.read_bytes(), draw) for path in pair)
        Path(f"{base}.log{suffix}").write_bytes(data)
        for kind in ("index", "timeindex", "txnindex"):
            if draw.random() < 0.7 and Path(f"{base}.{kind}").exists():
                shutil.copyfile(f"{base}.{kind}", f"{base}.{kind}{suffix}")
        if suffix == ".swap":
            for path in pair:
                away(path, draw.choice(("stays", "deleted", "gone")))


def kept(data: bytes, draw: random.Random) -> bytes:
    """A log without some of its batches."""
    places = [*positions(data), len(data)]
    pairs = itertools.pairwise(places)
    return b"".join(data[start:end] for start, end in pairs if draw.random() < 0.7)


def away(log: Path, how: str) -> None:
    """What the compaction did with a segment that it replaces."""
    for kind in ("log", "index", "timeindex", "txnindex"):
        path = log.with_suffix(f".{kind}")
        if not path.exists() or how == "stays":
            continue
        if how == "gone":
            path.unlink()
        else:
            path.rename(f"{path}.deleted")


def gone(scene: Scene, target: str, _draw: random.Random) -> None:
    """Removed, with all that is in it."""
    for folder in scene.places(target):
        shutil.rmtree(folder)


def hollow(scene: Scene, target: str, _draw: random.Random) -> None:
    """Empty: a mount that is not there, a disk that was replaced."""
    for folder in scene.places(target):
        put_folder(folder)


def is_a_file(scene: Scene, target: str, _draw: random.Random) -> None:
    """A file where a directory was."""
    for folder in scene.places(target):
        shutil.rmtree(folder)
        folder.write_bytes(b"")


def dropped(scene: Scene, target: str, _draw: random.Random) -> None:
    """No longer in `log.dirs`."""
    scene.dropped_list.write_text(" ".join([*scene.dropped, target]))


def swapped_dirs(scene: Scene, target: str, draw: random.Random) -> None:
    """Two partition directories with each other's name."""
    other = scene.partition(draw.choice([t for t in TOPICS if t != target]))
    exchange(scene.partition(target), other)


def swapped_ids(scene: Scene, target: str, draw: random.Random) -> None:
    """Two topics with each other's id."""
    mine, other = scene.partition(target), scene.partition(draw.choice([t for t in TOPICS if t != target]))
    one, two = ((path / "partition.metadata").read_text() for path in (mine, other))
    (mine / "partition.metadata").write_text(two)
    (other / "partition.metadata").write_text(one)


def id_of_another(scene: Scene, target: str, draw: random.Random) -> None:
    """The id of another topic of this cluster, or of none."""
    other = scene.partition(draw.choice([t for t in TOPICS if t != target])) / "partition.metadata"
    none = f"version: 0\ntopic_id: {OTHER_ID}"
    (scene.partition(target) / "partition.metadata").write_text(draw.choice((other.read_text(), none)))


def of_another_broker(scene: Scene, target: str, draw: random.Random) -> None:
    """A partition of another broker came along: a number that this one has not, or an unknown topic."""
    source = scene.partition(draw.choice(TOPICS))
    name = draw.choice((f"{source.name[:-2]}-1", "elsewhere-0"))
    copy_into(source, scene.log_dir(target) / name)
    if name == "elsewhere-0" and (source / "partition.metadata").exists():
        text = f"version: 0\ntopic_id: {OTHER_ID}"
        (scene.log_dir(target) / name / "partition.metadata").write_text(text)


def in_both_dirs(scene: Scene, target: str, draw: random.Random) -> None:
    """Copied to the other log dir and not removed, perhaps half of it."""
    mine = scene.partition(target)
    there = next(path for path in scene.dirs if path != mine.parent) / mine.name
    copy_into(mine, there)
    if draw.random() < 0.4:
        for path in chosen(draw, files(there), 20):
            path.unlink()


def moved(scene: Scene, target: str, _draw: random.Random) -> None:
    """Carried to the other log dir."""
    mine = scene.partition(target)
    mine.rename(next(path for path in scene.dirs if path != mine.parent) / mine.name)


def dirs_swapped(scene: Scene, _target: str, _draw: random.Random) -> None:
    """Two disks mounted in each other's place."""
    exchange(*scene.dirs)


def identity(scene: Scene, target: str, draw: random.Random) -> None:
    """meta.properties of another node, cluster or dir, or without a line."""
    path = scene.log_dir(target) / "meta.properties"
    rows = path.read_text().splitlines()
    number = draw.choice([n for n, row in enumerate(rows) if "=" in row])
    key = rows[number].partition("=")[0]
    other = {"node.id": "7", "broker.id": "7", "version": "2"}.get(key, OTHER_ID)
    rows[number : number + 1] = draw.choice(([f"{key}={other}"], [f"{key}={other}"], [], [f"{key}="]))
    path.write_text("\n".join([*rows, ""]))


def meta_file(name: str, change: Callable[[Path, random.Random], object]) -> Hurt:
    """Something done to the newest file of the metadata log whose name fits."""

    def hurt(scene: Scene, _target: str, draw: random.Random) -> None:
        found = sorted(path for path in scene.partition(META[:-2]).glob(name))
        if not found:
            raise LookupError(name)
        change(found[-1], draw)

    return hurt


def all_meta_files(name: str) -> Hurt:
    """All files of the metadata log whose name fits are gone."""

    def hurt(scene: Scene, _target: str, _draw: random.Random) -> None:
        for path in [*scene.partition(META[:-2]).glob(name)]:
            path.unlink()

    return hurt


def bootstrap(change: Callable[[Path, random.Random], object]) -> Hurt:
    """Something done to bootstrap.checkpoint."""
    return lambda scene, _target, draw: change(scene.log_dir("d0") / "bootstrap.checkpoint", draw)


CHANGES = {"cut": cut_anywhere, "page": cut_at_page, "empty": emptied, "flip": flipped, "gone": removed}
HARD = {**CHANGES, "zeros": zeroed_on, "garbage": garbage}
WOUNDS: dict[str, Wound] = {
    "torn-zeros": Wound("power", each_recent(zeroed_on), ANYWHERE),
    "torn-page": Wound("power", each_recent(zeroed_page), ANYWHERE),
    "torn-cut": Wound("power", each_recent(cut_at_page), ANYWHERE),
    "torn-short": Wound("power", each_recent(cut_anywhere), ANYWHERE),
    "torn-empty": Wound("power", each_recent(emptied), ANYWHERE),
    "torn-gone": Wound("power", each_recent(removed, 2), ANYWHERE),
    "torn-garbage": Wound("power", each_recent(garbage, 2), (*TOPICS, "internal")),
    "torn-flip": Wound("power", each_recent(flipped), (*TOPICS, "internal")),
    "full": Wound("full", full, (*TOPICS, *DIRS, "internal", "all")),
    "rsync": Wound("rsync", rsynced, ANYWHERE),
    "older": Wound("rsync", older, (*TOPICS, *DIRS, "meta", "internal")),
    "older-files": Wound("rsync", older_files, (*TOPICS, *DIRS, "internal")),
    "compacting": Wound("logs", compacting, tuple(TOPICS)),
    "gone": Wound("node", gone, (*DIRS, *TOPICS, "internal", "meta")),
    "hollow": Wound("node", hollow, (*DIRS, *TOPICS, "internal", "meta")),
    "file": Wound("node", is_a_file, (*DIRS, *TOPICS, "meta")),
    "dropped": Wound("node", dropped, DIRS),
    "swapped-dirs": Wound("node", swapped_dirs, tuple(TOPICS)),
    "swapped-ids": Wound("node", swapped_ids, tuple(TOPICS), (2, 8)),
    "id-of-another": Wound("node", id_of_another, tuple(TOPICS), (2, 8)),
    "of-another-broker": Wound("node", of_another_broker, DIRS),
    "in-both-dirs": Wound("node", in_both_dirs, tuple(TOPICS)),
    "moved": Wound("node", moved, tuple(TOPICS)),
    "dirs-swapped": Wound("node", dirs_swapped, DIRS[:1]),
    "identity": Wound("node", identity, DIRS),
    "meta-snapshots-gone": Wound("meta", all_meta_files("*.checkpoint"), ("d0",), KRAFT),
    "meta-logs-gone": Wound("meta", all_meta_files("*.log"), ("d0",), KRAFT),
}
for _name, _change in HARD.items():
    WOUNDS[f"meta-log-{_name}"] = Wound("meta", meta_file("*.log", _change), ("d0",), KRAFT)
    WOUNDS[f"meta-snapshot-{_name}"] = Wound("meta", meta_file("*.checkpoint", _change), ("d0",), KRAFT)
for _name, _change in CHANGES.items():
    WOUNDS[f"meta-quorum-{_name}"] = Wound("meta", meta_file("quorum-state", _change), ("d0",), KRAFT)
    WOUNDS[f"meta-id-{_name}"] = Wound("meta", meta_file("partition.metadata", _change), ("d0",), KRAFT)
    WOUNDS[f"meta-epochs-{_name}"] = Wound(
        "meta", meta_file("leader-epoch-checkpoint", _change), ("d0",), KRAFT
    )
    WOUNDS[f"meta-bootstrap-{_name}"] = Wound("meta", bootstrap(_change), ("d0",), (3, 3))
WOUNDS |= {
    **STRANGERS,
    **OWNERS,
    **BATCHES,
    **MOMENTS,
    **EXTREMES,
    **EDITED,
    **THINGS,
    **SETUPS,
    **FORGED,
    **CONTROLLERS,
    **IMAGES,
}


def named(wound: str) -> Wound | None:
    """The row of a wound; None for a fault of `tests/faults`."""
    return WOUNDS.get(wound.partition("@")[0])


def apply(scene: Scene, wound: str) -> bool:
    """Do `name@target#salt`; False where it cannot be done."""
    name, _, rest = wound.partition("@")
    target, _, _ = rest.partition("#")
    try:
        if name in WOUNDS:
            WOUNDS[name].hurt(scene, target, random.Random(wound))
        else:
            fault_called(name).hurt(patient_in(scene.root, target))
    except CANNOT:
        return False
    return True
