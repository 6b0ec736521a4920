"""What something is mounted on can be neither renamed nor removed: it is told before the first step."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.surgery.desk import Desk

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
