"""What came from elsewhere or was left half done: another cluster's dirs, merged disks, stopped copies."""

import os
import random
import shutil
from pathlib import Path

from tests.copies import copy_file, copy_into
from tests.lab.disasters.bases import RELEASES, TOPICS, node
from tests.lab.disasters.scene import META, Scene, files
from tests.lab.disasters.wound import Wound
from tests.lab.releases import release

DIRS = ("d0", "d1")
CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)


def partitions(folder: Path) -> list[Path]:
    """The directories of a log dir but for the metadata log."""
    return sorted(path for path in folder.iterdir() if path.is_dir() and path.name != META)


def stranger(scene: Scene, draw: random.Random) -> Path:
    """The log dirs of a broker of another cluster, of the same mode."""
    mine = release(scene.node.version)
    others = [each for each in RELEASES if each != mine.version and release(each).mode == mine.mode]
    return node(draw.choice(sorted(others))).root / draw.choice(("clean", "killed")) / "b1"


def dir_of_another(scene: Scene, target: str, draw: random.Random) -> None:
    """A disk of another cluster in the place of one; perhaps somebody made its identity fit."""
    mine, fits = scene.log_dir(target), draw.random() < 0.7
    identity = (mine / "meta.properties").read_bytes()
    shutil.rmtree(mine)
    copy_into(stranger(scene, draw) / target, mine)
    if fits:
        (mine / "meta.properties").write_bytes(identity)


def topic_of_another(scene: Scene, target: str, draw: random.Random) -> None:
    """A topic of that name out of another cluster."""
    mine, other = scene.partition(target), stranger(scene, draw)
    theirs = next(path for name in DIRS for path in other.joinpath(name).glob(f"{target}-0"))
    shutil.rmtree(mine)
    copy_into(theirs, mine)


def merged(scene: Scene, target: str, draw: random.Random) -> None:
    """One disk's partitions carried to the other; their lines in checkpoints not, or too."""
    mine = scene.log_dir(target)
    other = next(path for path in scene.dirs if path != mine)
    for path in partitions(mine):
        path.rename(other / path.name)
    for name in CHECKPOINTS if draw.random() < 0.5 else ():
        if (mine / name).exists() and (other / name).exists():
            copy_file(mine / name, other / name)


def crosswise(scene: Scene, target: str, draw: random.Random) -> None:
    """An older backup of one disk restored onto the other, beside or over what lies there."""
    other = next(path for path in scene.dirs if path.name != target)
    then = scene.then("old", scene.log_dir(target))
    for path in draw.sample(partitions(then), 3):
        if (other / path.name).exists():
            shutil.rmtree(other / path.name)
        copy_into(path, other / path.name)


def checkpoints_older(scene: Scene, target: str, draw: random.Random) -> None:
    """Only the checkpoints from an older backup."""
    mine = scene.log_dir(target)
    then = scene.then(draw.choice(("old", "live")), mine)
    for name in CHECKPOINTS:
        if (then / name).exists():
            copy_file(then / name, mine / name)


def marker(scene: Scene, target: str, _draw: random.Random) -> None:
    """The mark of a clean stop where it is none, or none where it was."""
    mine = scene.log_dir(target) / ".kafka_cleanshutdown"
    then = scene.then("clean", mine)
    if mine.exists():
        mine.unlink()
    else:
        copy_file(then, mine)


def half_copied(scene: Scene, target: str, draw: random.Random) -> None:
    """A copy that stopped: the first files by name, the last of them short, no more."""
    for folder in scene.places(target):
        names = files(folder)
        stop = draw.randrange(len(names))
        for path in names[stop + 1 :]:
            path.unlink()
        os.truncate(names[stop], draw.randrange(max(1, names[stop].stat().st_size)))


def hexed(draw: random.Random) -> str:
    """The random part of a name."""
    return f"{draw.getrandbits(128):032x}"


def future_left(scene: Scene, target: str, draw: random.Random) -> None:
    """A move between disks that stopped: some of the files, under the name of a future replica."""
    mine = scene.partition(target)
    there = draw.choice([path for path in scene.dirs if path.is_dir()])
    future = there / f"{mine.name}.{hexed(draw)}-future"
    copy_into(mine, future)
    found = files(future)
    for path in draw.sample(found, draw.randrange(len(found))):
        path.unlink()


def renamed(suffix: str) -> Wound:
    """A directory under the name that the broker gives it when it sets it aside."""

    def hurt(scene: Scene, target: str, draw: random.Random) -> None:
        mine = scene.partition(target)
        left = mine.with_name(f"{mine.name}.{hexed(draw)}-{suffix}")
        if draw.random() < 0.5:
            mine.rename(left)
        else:
            copy_into(mine, left)

    return Wound("strangers", hurt, tuple(TOPICS))


def temporary(scene: Scene, target: str, draw: random.Random) -> None:
    """Files that were being written: half of a checkpoint, of epochs, of an index, under temporary names."""
    for folder in scene.places(target):
        for path in draw.sample(files(folder), min(3, len(files(folder)))):
            data = path.read_bytes()[: 1 << 16]
            name = f"{path.name}{draw.choice(('.tmp', '.cleaned', '.deleted', '.swap', '~'))}"
            (folder / name).write_bytes(data[: draw.randrange(max(1, len(data)))])


STRANGERS = {
    "dir-of-another": Wound("strangers", dir_of_another, DIRS),
    "topic-of-another": Wound("strangers", topic_of_another, tuple(TOPICS)),
    "merged": Wound("strangers", merged, DIRS),
    "crosswise": Wound("strangers", crosswise, DIRS),
    "checkpoints-older": Wound("strangers", checkpoints_older, DIRS),
    "marker": Wound("strangers", marker, DIRS),
    "half-copied": Wound("strangers", half_copied, (*TOPICS, "internal")),
    "future-left": Wound("strangers", future_left, tuple(TOPICS)),
    "delete-left": renamed("delete"),
    "stray-left": renamed("stray"),
    "temporary": Wound("strangers", temporary, (*TOPICS, "internal", *DIRS)),
}
