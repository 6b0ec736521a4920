"""What something is mounted on can be neither renamed nor removed: it is told before the first step."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.surgery.desk import Desk

from segmend.frozen import replace
from segmend.logdir import disk

Mounted = Callable[[Path], None]


@pytest.fixture
def mounted() -> Iterator[Mounted]:
    """Mounts something on itself, until the test is over."""
    places: list[Path] = []

    def mount(path: Path) -> None:
        ran = subprocess.run(["mount", "--bind", path, path], capture_output=True, text=True)
        if ran.returncode:
            pytest.skip(f"nothing can be mounted here: {ran.stderr.strip()}")
        places.append(path)

    if os.geteuid() != 0:
        pytest.skip("only root may mount something")
    yield mount
    for path in places:
        subprocess.run(["umount", path], check=True)


def below(partition: Path) -> Path:
    """A directory that somebody made in a partition's."""
    (partition / "in it").mkdir()
    return partition / "in it"


def log_of(partition: Path) -> Path:
    return max(partition.glob("*.log"))


CASES = {
    "a partition that moves": ("move", lambda partition: partition),
    "a directory in it": ("move", below),
    "one of its files": ("move", log_of),
    "a partition that is set aside": ("delete", lambda partition: partition),
    "a file that is replaced": ("move", lambda partition: partition.parent / "replication-offset-checkpoint"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("when", ["plan", "apply", "undo"])
def test_a_mount_in_the_way_is_told_before_the_first_step(
    name: str, when: str, clean: Desk, mounted: Mounted
) -> None:
    operation, find = CASES[name]
    home, other = clean.dirs
    place = find(home / "single-0")
    options = ("--to", other) if operation == "move" else ("--accept-loss", "96-records")
    if when == "plan":
        mounted(place)
    ran = clean.plan(operation, "--partition", "single-0", *options)
    assert ran.code == 0, ran.err
    notes = json.loads(clean.plan_file.read_bytes())["notes"]
    assert [note.startswith(f"{place}: is a mount point") for note in notes].count(True) == (when == "plan")
    commands: list[tuple[object, ...]] = [("apply", clean.plan_file)]
    if when == "undo":
        clean.apply()
        commands = [("undo",)]
        vaults = next(clean.state.glob("journals/*/steps"))
        moved = other if operation == "move" else next(vaults.glob("*/single-0")).parent
        place = moved / place.relative_to(home) if place.is_relative_to(home / "single-0") else place
    if when != "plan":
        mounted(place)
    before = clean.tree()
    for command in commands:
        for option in ("--dry-run", "--yes"):
            ran = clean.run(*command, option, "--state-dir", clean.state)
            assert (ran.code, ran.err.count("\n")) == (8, 1), ran.err
            assert f"{place}: is a mount point" in ran.err
            assert clean.tree() == before


def test_from_one_mount_to_another_of_the_same_disk_takes_room(
    clean: Desk, mounted: Mounted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was asked for none, and the disk was full halfway."""
    for path in clean.dirs:
        mounted(path)
    clean.plan("move", "--partition", "single-0", "--to", clean.dirs[1], "--throttle", "1GB/s")
    assert any("are copied to another disk" in note for note in clean.planned()["notes"])
    before, space = clean.tree(), disk.space
    monkeypatch.setattr(disk, "space", lambda path: replace(space(path), available=20_000))
    for options in (["--dry-run"], []):
        ran = clean.run("apply", clean.plan_file, "--yes", "--state-dir", clean.state, *options)
        assert (ran.code, "bytes are needed here and 20,000 are free" in ran.err) == (8, True)
    assert clean.tree() == before
    monkeypatch.undo()
    clean.apply()
    clean.undo()


def test_nothing_is_set_aside_without_room_where_the_log_dir_is_a_mount(
    clean: Desk, mounted: Mounted
) -> None:
    """A directory beside it was named, which "needs no room"."""
    home = clean.dirs[0]
    (home / "single-0" / f"{5:020}.log.deleted").write_bytes(bytes(9_000))
    asked = ("--on", home, "--bytes", "1KB", "--discard")
    clean.plan("free", *asked)
    assert any("needs no room" in note for note in clean.planned()["notes"])
    mounted(home)
    clean.plan("free", *asked)
    notes = clean.planned()["notes"]
    assert not any("needs no room" in note for note in notes)
    assert any(f"{home} is a file system or mount of its own" in note for note in notes)
