"""Repair of what real brokers wrote: checkpoints, and what a start says of indexes after it."""

import os
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.golden.judge import CORRUPT, copy_tree
from tests.golden.shared import golden
from tests.lab.base import base
from tests.lab.trial import copy_base


@pytest.mark.slow
@pytest.mark.parametrize("name", ["1.1.0-clean", "4.3.1-clean"])
def test_checkpoints_of_a_clean_stop_come_back_line_by_line(name: str, tmp_path: Path) -> None:
    root = tmp_path / "golden"
    copy_tree(golden(name), root)
    dirs = sorted(path.parent for path in root.rglob("meta.properties"))
    path = dirs[0] / "recovery-point-offset-checkpoint"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], "torn", *lines[5:], ""]))
    plan = tmp_path / "plan.json"
    release = name.partition("-")[0]
    assert run("plan", "repair", *dirs, "--kafka", release, "-o", plan).code == 0
    assert run("apply", plan, "--yes", "--state-dir", tmp_path / "state").code == 1
    assert sorted(path.read_text().splitlines()) == sorted(lines)


@pytest.mark.broker
@pytest.mark.timeout(300)
def test_a_killed_1_1_0_says_nothing_of_corrupt_indexes_after_a_repair(tmp_path: Path) -> None:
    """The first write-up: kill -9, "corrupted index file" on every topic; repaired, the start is silent."""
    found = base("1.1.0", "killed", "few")
    said = []
    for mended in (False, True):
        root = tmp_path / f"mended-{mended}"
        copy_base(found, root)
        dirs = [root / "b1" / "d0", root / "b1" / "d1"]
        if mended:
            plan = tmp_path / "plan.json"
            planned = run("plan", "repair", *dirs, "--kafka", "1.1.0", "-o", plan)
            assert planned.code in (0, 4), planned.err
            applied = run("apply", plan, "--yes", "--state-dir", tmp_path / "state")
            assert applied.code == 1 + planned.code, applied.err
        with found.start_copy(root) as broker:
            broker.start()
            said.append([line for line in broker.lines() if CORRUPT.search(line)])
    assert len(said[0]) > 0
    assert said[1] == []


@pytest.mark.slow
def test_a_dir_without_the_metadata_log_is_mended_alone(tmp_path: Path) -> None:
    """By these files alone it is a stray: that is no harm which mending what fails to load would do."""
    root = tmp_path / "golden"
    copy_tree(golden("4.3.1-killed") / "b1", root)
    home = next(path.parent for path in root.glob("d*/codec-none-0"))
    assert not (home / "__cluster_metadata-0").exists()
    os.truncate(home / "codec-none-0" / "leader-epoch-checkpoint", 7)
    ran = run("plan", "repair", home / "codec-none-0", "--json")
    assert ran.code == 0
    assert [row["kind"] for row in ran.of("step")] == ["replace_file"]
