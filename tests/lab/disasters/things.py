"""What lies where something else is expected: links, directories, pipes, what other programs leave."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.copies import copy_into
from tests.faults.on_disk import move_away, put_folder, put_link
from tests.lab.disasters.bases import TOPICS
from tests.lab.disasters.scene import Scene, chosen, files
from tests.lab.disasters.wound import Hurt, Wound

DIRS = ("d0", "d1")
PLACES = (*TOPICS, *DIRS, "meta", "internal")


def one_of(change: Callable[[Path, Scene, random.Random], object], most: int = 1) -> Hurt:
    """Done to a file of the target."""

    def hurt(scene: Scene, target: str, draw: random.Random) -> None:
        for path in chosen(draw, [p for folder in scene.places(target) for p in files(folder)], most):
            change(path, scene, draw)

    return hurt


def linked(path: Path, scene: Scene, draw: random.Random) -> None:
    """Moved to another disk, with a link in its place; perhaps that disk is not there."""
    away = scene.root / "away" / f"{path.parent.name}-{path.name}"
    away.parent.mkdir(exist_ok=True)
    if draw.random() < 0.6:
        move_away(path, away)
    else:
        put_link(path, away)


def a_folder(path: Path, _scene: Scene, draw: random.Random) -> None:
    """A directory of that name, perhaps with something in it."""
    put_folder(path, "x" if draw.random() < 0.5 else "")


def sparse(path: Path, _scene: Scene, draw: random.Random) -> None:
    """Longer than any file of a broker, of zeros that take no room."""
    os.truncate(path, draw.choice((2**31 - 1, 2**31, 2**31 + 4096, 2**32 + 17)))


def sparse_of(scene: Scene, target: str, draw: random.Random) -> None:
    """A log, or more rarely another file."""
    found = files(scene.partition(target))
    logs = [path for path in found if path.suffix == ".log"]
    sparse(chosen(draw, logs if draw.random() < 0.7 else found, 1)[0], scene, draw)


LEFT = (
    "._{0}", ".{0}.swp", "{0}~", "{0}.bak", "{0}.1", "{0}.gz", "{0} (copy)", "Copy of {0}", "#{0}#",
    ".nfs0000000000a1b2c3", "{0}.rsync-tmp", ".{0}.Xa81bc", "{0}.filepart", ".DS_Store", "nohup.out",
    "core.1234", "hs_err_pid12.log", "kafka-authorizer.log", "server.log", "controller.log",
    "gc.log.0.current", "{0}.log", ".log", ".index", ".snapshot", ".checkpoint",
    "00000000000000000007-0000000001.checkpoint", "{0}.checkpoint", "remote_log_snapshot", "topicIdMap",
    "{0}.part", "00000000000000000000.log.orig", "0.kafka", "-1.snapshot", "{0}.swap.swap",
    "{0}.deleted.deleted",
)  # fmt: skip
"""How editors, copying programs and operators name what they leave; `{0}` is a file of that place."""


def left_behind(scene: Scene, target: str, draw: random.Random) -> None:
    """Files of other programs."""
    for folder in scene.places(target):
        found = files(folder)
        for _ in range(draw.randint(1, 2)):
            path = draw.choice(found)
            there = folder / draw.choice(LEFT).format(path.name)
            if not there.exists():
                shutil.copyfile(path, there) if draw.random() < 0.6 else there.touch()


FOLDERS = (
    "{0}-00", "{0}-+1", "{0}-01", "{0}--1", "{0}-1 ", "{0}- 1", "{0}-2147483647", "{0}-2147483648",
    "{0}-1.0", "{0}-0.bak", "{0}-0_old", "{0}-0-delete", "{0}-0.x-delete", "{0}-0.-delete", "{0}-0.stray",
    "{0}-0-stray", "{0}-0.x-stray", "{0}-0-future", "{0}-0.x-future", "{0}-0.{1}-delete",
    "{0}-1.{1}-delete", "{0}-1.{1}-stray", "{0}-1.{1}-future", "{0}-0.{1}-DELETE", ".{0}-0", "-0", "{0}-",
    "{0}", "a b-0", "a/b-0", ".-0", "..-0", "...-0", ".Trash-0", ".Trash-1000", "@eaDir", ".snapshot",
    "backup-2024-01-07", "lost+found-0", "{2}-0", "{2}-1", "__cluster_metadata-1",
    "__cluster_metadata-00", "__cluster_metadata-0.{1}-delete", "__cluster_metadata-0.{1}-stray",
    "__cluster_metadata", "remote-log-index-cache", "remote-log-metadata-manager-state", "{0}-١",
    "{0}-1-2", "{0}.{1}-1", "{0}-1.{1}", "kafka-logs", "data",
)  # fmt: skip
"""Names of directories: `{0}` a topic, `{1}` the random part, `{2}` a topic in capitals."""


def odd_folder(scene: Scene, target: str, draw: random.Random) -> None:
    """A directory under such a name: empty, or what a partition holds."""
    here = scene.log_dir(target)
    for _ in range(draw.choices((1, 2), (4, 1))[0]):
        topic = draw.choice(TOPICS)
        name = (
            draw.choice(FOLDERS)
            .format(topic, f"{draw.getrandbits(128):032x}", topic.upper())
            .replace("/", ":")
        )
        if (here / name).exists():
            continue
        if draw.random() < 0.6:
            copy_into(scene.partition(topic), here / name)
            if draw.random() < 0.5:
                (here / name / "partition.metadata").unlink(missing_ok=True)
        else:
            (here / name).mkdir()


def piped(scene: Scene, target: str, draw: random.Random) -> None:
    """A pipe or a socket's place among the files."""
    folder = draw.choice(scene.places(target))
    os.mkfifo(
        folder
        / draw.choice(
            ("pipe", "x.log.tmp", "00000000000000000003.index", "00000000000000000003.timeindex", "x.txt")
        )
    )


def folder_linked(scene: Scene, target: str, _draw: random.Random) -> None:
    """A partition, or the metadata log, moved to another disk, with a link in its place."""
    for path in scene.places(target)[:1]:
        move_away(path, scene.root / "away" / path.name)


def no_folder(scene: Scene, target: str, draw: random.Random) -> None:
    """What is no directory in the place of a partition's: of a disk that is not there, of a hand's slip."""
    for path in scene.places(target)[:1]:
        shutil.rmtree(path)
        made = draw.choice((Path.touch, os.mkfifo, lambda path: path.symlink_to(scene.root / "not-mounted")))
        made(path)


def logs_linked(scene: Scene, target: str, draw: random.Random) -> None:
    """Files on a disk that is not mounted, empty, or closed to all but root, with links in their place."""
    home = scene.root / draw.choice(("not-mounted", "emptied", "closed"))
    found = files(scene.partition(target))
    if home.name != "not-mounted":
        home.mkdir(exist_ok=True, mode=0o700 if home.name == "closed" else 0o755)
    logs = [path for path in found if path.suffix == ".log"]
    for path in logs if draw.random() < 0.5 else chosen(draw, found if draw.random() < 0.4 else logs, 1):
        away = home / f"{path.parent.name}-{path.name}"
        if home.name == "closed":
            move_away(path, away)
        else:
            put_link(path, away)


THINGS = {
    "linked": Wound("things", one_of(linked, 2), PLACES),
    "logs-linked": Wound("things", logs_linked, tuple(TOPICS)),
    "a-folder": Wound("things", one_of(a_folder), PLACES),
    "sparse": Wound("things", sparse_of, tuple(TOPICS)),
    "left-behind": Wound("things", left_behind, PLACES),
    "odd-folder": Wound("things", odd_folder, DIRS),
    "piped": Wound("things", piped, (*TOPICS[:4], *DIRS)),
    "folder-linked": Wound("things", folder_linked, (*TOPICS[:6], "meta", "internal")),
    "no-folder": Wound("things", no_folder, (*TOPICS[:6], "meta", "internal")),
}
