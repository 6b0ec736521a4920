"""Repair of what real brokers wrote: damaged derived files get the broker's own bytes back.

The files are such that the recipe gives what this broker wrote (test_recipes.py tells which do
not, and why); `index.interval.bytes` is not on the disk and is read off the sound indexes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.golden.judge import CORRUPT, copy_tree
from tests.lab.base import base
from tests.lab.trial import copy_base

CHECKPOINTS = ("recovery-point-offset-checkpoint", "replication-offset-checkpoint")


def place(root: Path, partition: str) -> Path:
    """Where a partition lies."""
    return next(path for path in root.rglob(partition) if path.is_dir())


def file_of(partition: Path, number: int, suffix: str) -> Path:
    """A file of a rolled segment that no start found active in these stories."""
    return sorted(partition.glob("*.log"))[number].with_suffix(suffix)


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x40
    path.write_bytes(data)


def hurt(root: Path) -> list[Path]:
    """One file of each kind damaged; what was hurt."""
    codec, txn = place(root, "codec-none-0"), place(root, "txn-0")
    index, times = file_of(codec, 1, ".index"), file_of(codec, 1, ".timeindex")
    other = file_of(codec, 2, ".index")
    snapshot = sorted(txn.glob("*.snapshot"))[-1]
    aborted = next(path for path in sorted(txn.glob("*.txnindex")) if path.stat().st_size)
    epochs = codec / "leader-epoch-checkpoint"
    flip(index, 6)
    times.write_bytes(times.read_bytes()[:-12] + bytes(1200))
    other.unlink()
    flip(snapshot, 30)
    aborted.unlink()
    epochs.write_text("0\nseven\n")
    found = [index, times, other, snapshot, aborted, epochs]
    identity = codec / "partition.metadata"
    if identity.exists() and any(root.rglob("__cluster_metadata-0")):
        identity.write_text("")
        found.append(identity)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["1.1.0-clean", "2.8.2-clean", "3.9.2-clean", "4.3.1-clean"])
def test_the_brokers_own_bytes_come_back(
    name: str, golden: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, root = golden(name), tmp_path / "golden"
    copy_tree(whole, root)
    release = name.partition("-")[0]
    damaged = hurt(root)
    dirs = sorted(path.parent for path in root.rglob("meta.properties"))
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert run(capsys, "check", *dirs, "--kafka", release).code == 4
    plan = tmp_path / "plan.json"
    planned = run(capsys, "plan", "repair", *dirs, "--kafka", release, "-o", plan)
    assert planned.code == 0, planned.out
    assert run(capsys, "apply", plan, "--yes", "--state-dir", tmp_path / "state").code == 1
    changed = {path for path in root.rglob("*") if path.is_file() and before.get(path) != path.read_bytes()}
    assert changed == set(damaged)
    differ = [
        path.name for path in damaged if path.read_bytes() != (whole / path.relative_to(root)).read_bytes()
    ]
    assert differ == []
    assert run(capsys, "check", *dirs, "--kafka", release).code == 0
    assert run(capsys, "undo", "--yes", "--state-dir", tmp_path / "state").code == 0
    after = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["1.1.0-clean", "4.3.1-clean"])
def test_checkpoints_of_a_clean_stop_come_back_line_by_line(
    name: str, golden: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "golden"
    copy_tree(golden(name), root)
    dirs = sorted(path.parent for path in root.rglob("meta.properties"))
    path = dirs[0] / CHECKPOINTS[0]
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], "torn", *lines[5:], ""]))
    plan = tmp_path / "plan.json"
    release = name.partition("-")[0]
    assert run(capsys, "plan", "repair", *dirs, "--kafka", release, "-o", plan).code == 0
    assert run(capsys, "apply", plan, "--yes", "--state-dir", tmp_path / "state").code == 1
    assert sorted(path.read_text().splitlines()) == sorted(lines)


@pytest.mark.broker
@pytest.mark.timeout(300)
def test_a_killed_1_1_0_says_nothing_of_corrupt_indexes_after_a_repair(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first write-up: kill -9, "corrupted index file" on every topic; repaired, the start is silent."""
    found = base("1.1.0", "killed", "few")
    said = []
    for mended in (False, True):
        root = tmp_path / f"mended-{mended}"
        copy_base(found, root)
        dirs = [root / "b1" / "d0", root / "b1" / "d1"]
        if mended:
            plan = tmp_path / "plan.json"
            planned = run(capsys, "plan", "repair", *dirs, "--kafka", "1.1.0", "-o", plan)
            assert planned.code in (0, 4), planned.err
            applied = run(capsys, "apply", plan, "--yes", "--state-dir", tmp_path / "state")
            assert applied.code == 1 + planned.code, applied.err
        zookeeper, broker = found.start_copy(root)
        assert zookeeper is not None
        try:
            zookeeper.start()
            broker.start()
            said.append([line for line in broker.lines() if CORRUPT.search(line)])
        finally:
            broker.kill()
            zookeeper.kill()
    assert len(said[0]) > 0
    assert said[1] == []
