"""Which log dir a place lies in, and what is opened to know it."""

import os
from pathlib import Path
from random import Random

import pytest
from tests.seeds import SEED, sampled

from segmend.formats.names import parse_dir_name
from segmend.logdir import disk
from segmend.logdir.above import log_dir_around
from segmend.logdir.file_system import FOLDERS, Unreadable, or_none
from segmend.logdir.layout import layout
from segmend.logdir.log_dir import LOG_DIR_FILES
from segmend.logdir.partition_dir import PARTITION_KINDS

NAMES = (
    "red-0", "pytest-7", "red-0.0123456789abcdef0123456789abcdef-delete", "lost+found", "meta.properties",
    "recovery-point-offset-checkpoint", "plain", "0.log", f"{7:020d}.log", f"{7:020d}.index",
    f"{-7:021d}.log", f"{7:020d}.log.deleted",
)  # fmt: skip


def by_every_name(path: str) -> bool:
    """Whether a directory is one: all that is in it is looked at."""
    if any(disk.path_type(f"{path}/{name}") == "file" for name in LOG_DIR_FILES):
        return True
    if disk.path_type(path) != "dir":
        return False
    folders = [name for name, kind in disk.listing(path).items() if kind in FOLDERS]
    if not all(parse_dir_name(name).kind in PARTITION_KINDS for name in folders):
        return False
    return any(layout(or_none(disk.listing, f"{path}/{name}") or {}).logs for name in folders)


def around(path: str) -> str | None:
    while path != "/":
        try:
            if by_every_name(path):
                return path
        except Unreadable:
            pass
        path = os.path.dirname(path)
    return None


def grow(draw: Random, home: Path, depth: int) -> None:
    """Files, directories and links under all sorts of names."""
    for name in draw.sample(NAMES, draw.randint(0, 4)):
        path = home / name
        kind = draw.choice(["dir", "dir", "file", "file", "link", "dangling", "loop"])
        if kind == "dir":
            path.mkdir()
            if depth:
                grow(draw, path, depth - 1)
        elif kind == "file":
            path.touch()
        else:
            path.symlink_to({"link": "..", "dangling": "nothing", "loop": name}[kind])
    if draw.random() < 0.1:
        home.chmod(draw.choice([0o100, 0o400, 0o000]))


def test_a_log_dir_is_told_as_by_every_name(tmp_path: Path) -> None:
    told = set()
    for number in range(sampled(400, 100)):
        draw, root = Random(f"{SEED} {number} above"), tmp_path / str(number)
        root.mkdir()
        grow(draw, root, 2)
        places = [os.path.join(home, name) for home, names, _ in os.walk(root) for name in names]
        for path in map(os.path.realpath, [*places, root / "none" / "deep"]):
            found = log_dir_around(path)
            assert found == around(path), f"{SEED} {number}: {path}"
            told.add(found is None)
        for path in (Path(home) for home, _, _ in os.walk(root)):
            path.chmod(0o700)
    assert told == {False, True}


def test_the_directories_above_a_place_are_listed_once_and_nothing_in_them_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "many-7" / "state"
    place.mkdir(parents=True)
    for number in range(50):
        (tmp_path / "many-7" / f"plain-{number}.txt").touch()
    asked: list[str] = []
    for name in ("names", "listing", "path_type"):
        look = getattr(disk, name)

        def counted(path: str, name: str = name, look=look) -> object:  # type: ignore[no-untyped-def]
            asked.append(f"{name} {path}")
            return look(path)

        monkeypatch.setattr(disk, name, counted)
    assert log_dir_around(str(place)) is None
    below = [row for row in asked if str(tmp_path) in row]
    assert below == [f"names {place}", f"names {place.parent}", f"names {tmp_path}", f"names {place.parent}"]
