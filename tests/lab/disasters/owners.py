"""Owners and modes: what the broker's user finds closed. Done last, when all else is his already.

A file restored by root, a directory made by root, a mode too narrow. Where the broker runs as root, none of
it counts.
"""

import os
import random
from collections.abc import Callable
from pathlib import Path

from tests.lab.disasters.bases import TOPICS
from tests.lab.disasters.scene import Scene, chosen, files, recent
from tests.lab.disasters.wound import Wound

ROOT = 0
USER = 12345
"""Nobody's user id."""
FILES = (*TOPICS, "d0", "d1", "meta", "internal", "all")
FOLDERS = (*TOPICS, "d0", "d1", "meta", "internal")
FILE_WAYS = {
    "readable": (ROOT, 0o644),
    "closed": (ROOT, 0o600),
    "read-only": (USER, 0o444),
    "write-only": (USER, 0o200),
    "mode-0": (USER, 0),
}
FOLDER_WAYS = {
    "readable": (ROOT, 0o755),
    "closed": (ROOT, 0o700),
    "read-only": (USER, 0o500),
    "unlisted": (USER, 0o300),
    "unsearched": (USER, 0o600),
}
"""To whom it is given, with which mode."""


def give(path: Path, uid: int, mode: int) -> None:
    """Give it away and set its mode."""
    os.chown(path, uid, uid, follow_symlinks=False)
    path.chmod(mode)


def each_file(
    way: tuple[int, int], of: Callable[[Path], list[Path]]
) -> Callable[[Scene, str, random.Random], None]:
    """Some files of the target."""

    def hurt(scene: Scene, target: str, draw: random.Random) -> None:
        for path in chosen(draw, [p for folder in scene.places(target) for p in of(folder)], 3):
            give(path, *way)

    return hurt


def each_folder(way: tuple[int, int]) -> Callable[[Scene, str, random.Random], None]:
    """The directory itself."""

    def hurt(scene: Scene, target: str, _draw: random.Random) -> None:
        for folder in scene.places(target):
            give(folder, *way)

    return hurt


def whole(scene: Scene, target: str, _draw: random.Random) -> None:
    """`cp -r` by root, or `chown -R`."""
    for folder in scene.places(target):
        for path in [folder, *folder.rglob("*")]:
            give(path, ROOT, 0o755 if path.is_dir() else 0o644)


OWNERS = {
    **{f"own-any-{name}": Wound("owners", each_file(way, files), FILES) for name, way in FILE_WAYS.items()},
    **{f"own-new-{name}": Wound("owners", each_file(way, recent), FILES) for name, way in FILE_WAYS.items()},
    **{f"own-dir-{name}": Wound("owners", each_folder(way), FOLDERS) for name, way in FOLDER_WAYS.items()},
    "own-tree": Wound("owners", whole, FOLDERS),
}
