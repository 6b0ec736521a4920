"""Derived files of golden directories damaged one at a time, repaired, and held to what the broker wrote.

In each round one file of every partition is hurt. It comes back as it was, byte for byte, or the log
alone does not tell these bytes (`test_recipes.reason`), or nobody can tell that it is hurt (`SILENT`);
no other file changes. The day chooses a kind of damage and some rounds for each release.
"""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.copies import copy_tree
from tests.golden.shared import golden
from tests.seeds import SEED
from tests.surgery import test_recipes as recipes
from tests.surgery.desk import left_code
from tests.surgery.sweep import run

from segmend.formats import epoch_checkpoint, partition_metadata
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release

pytestmark = pytest.mark.slow

ROUNDS = 3
SUFFIXES = (".index", ".timeindex", ".txnindex", ".snapshot")
NAMES = (epoch_checkpoint.FILE_NAME, partition_metadata.FILE_NAME)
SILENT = {
    ".snapshot": ("deleted",),  # no start needs an older one
    ".index": ("cut", "emptied"),  # one that ends earlier, at an entry, is right as well
    ".timeindex": ("cut", "emptied"),  # the same, where a start would not see it either
    epoch_checkpoint.FILE_NAME: ("deleted", "emptied"),  # without batches of magic 2 there is none
    partition_metadata.FILE_NAME: ("flipped",),  # M05: the id may be that of an older topic; left to people
}
"""Kinds of damage that may stay."""
DOUBTFUL = ("__cluster_metadata", "compacted", "__consumer_offsets", "__transaction_state", "v0-")
"""Partitions of which the log does not tell all: compacted ones, the metadata log, times of magic 0."""


def flipped(data: bytes) -> bytes:
    """One byte in the middle changed."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x55]) + data[middle + 1 :] if data else data


def garbage(data: bytes) -> bytes:
    """Nothing of it left."""
    return b"\xa5\x5a" * max(8, len(data) // 2 + 3)


HURTS: dict[str, Callable[[bytes], bytes] | None] = {
    "deleted": None,
    "flipped": flipped,
    "cut": lambda data: data[: len(data) * 2 // 3],
    "emptied": lambda _: b"",
    "zeros": lambda data: data + bytes(2400),
    "garbage": garbage,
}


def derived(root: Path) -> dict[Path, list[Path]]:
    """The derived files of each partition, relative to the golden directory."""
    found: dict[Path, list[Path]] = {}
    for path in sorted(root.rglob("*")):
        if path.suffix in SUFFIXES or path.name in NAMES:
            found.setdefault(path.parent.relative_to(root), []).append(path.relative_to(root))
    return found


def kind_of(path: Path) -> str:
    """As `SILENT` has it."""
    return path.suffix if path.suffix in SUFFIXES else path.name


def hurt(root: Path, files: list[Path], change: Callable[[bytes], bytes] | None) -> list[Path]:
    """Hurt these files; those in which something changed."""
    done = []
    for path in files:
        data = (root / path).read_bytes()
        if change is None:
            (root / path).unlink()
        elif change(data) != data:
            (root / path).write_bytes(change(data))
        else:
            continue
        done.append(path)
    return done


def mended(root: Path, release: str, work: Path) -> set[Path]:
    """Plan and apply for each broker; the files that have a step."""
    found: set[Path] = set()
    for broker in sorted({path.parent.parent for path in root.rglob("recovery-point-offset-checkpoint")}):
        dirs = sorted(path.parent for path in broker.rglob("recovery-point-offset-checkpoint"))
        ran = run("plan", "repair", *dirs, "--kafka", release, "-o", work / "plan.json")
        plan = json.loads((work / "plan.json").read_text())
        steps, left = plan["steps"], left_code(plan)
        assert ran.code == left, ran.err
        found |= {Path(step["path"]).relative_to(root) for step in steps}
        if steps:
            assert run("apply", work / "plan.json", "--yes", "--state-dir", work / "state").code == 1 + left
    return found


def complaints(
    name: str, how: str, whole: Path, root: Path, done: list[Path], steps: set[Path]
) -> Iterator[str]:
    """What did not come back, and has no reason not to."""
    yield from (f"{path}: was not hurt" for path in sorted(steps - set(done)))
    for path in done:
        old, new = whole / path, root / path
        if new.exists() and new.read_bytes() == old.read_bytes():
            continue
        if path not in steps:
            silent = how in SILENT.get(kind_of(path), ()) or path.parent.name.startswith(DOUBTFUL)
            yield from () if silent else [f"{path}: was not mended"]
        elif recipes.reason(case_of(name, old, new.read_bytes())) is None:
            yield f"{path}: came back otherwise, with no reason"


def case_of(name: str, path: Path, mine: bytes) -> recipes.Case:
    """The file as `test_recipes` looks at it."""
    partition = LogDir.open(str(path.parent.parent)).partition(path.parent.name)
    assert partition is not None
    release = Release.parse(name.partition("-")[0])
    return recipes.Case(
        kind=path.suffix if path.suffix in SUFFIXES else "epochs", partition=partition,
        number=int(path.stem) if path.stem.isdigit() else 0, release=release,
        interval=recipes.interval_of(name, partition.name), broker=path.read_bytes(), mine=mine,
    )  # fmt: skip


@pytest.mark.parametrize("name", [name for name in recipes.SAME if name != "4.3.1-fleet"])
def test_the_brokers_own_bytes_come_back(name: str, tmp_path: Path) -> None:
    whole, draw = golden(name), random.Random(f"{SEED} {name}")
    files, how = derived(whole), draw.choice(sorted(HURTS))
    most = max(len(each) for each in files.values())
    found = []
    for number in draw.sample(range(most), ROUNDS):
        root = tmp_path / str(number)
        copy_tree(whole, root)
        done = hurt(root, [each[number] for each in files.values() if number < len(each)], HURTS[how])
        steps = mended(root, name.partition("-")[0], tmp_path)
        found += [f"{how} {words}" for words in complaints(name, how, whole, root, done, steps)]
    assert found == []


@pytest.mark.parametrize("how", sorted({each for hows in SILENT.values() for each in hows}))
def test_damage_that_may_stay_does(how: str, tmp_path: Path) -> None:
    """Of each kind of file one at least: else it would be no exception any more."""
    root, kinds = tmp_path / "root", {kind for kind, hows in SILENT.items() if how in hows}
    copy_tree(golden("4.3.1-killed"), root)
    every = (
        each for path, files in derived(root).items() if not path.name.startswith(DOUBTFUL) for each in files
    )
    done = hurt(root, [each for each in every if kind_of(each) in kinds], HURTS[how])
    steps = mended(root, "4.3.1", tmp_path)
    assert {kind_of(path) for path in done if path not in steps} == kinds
