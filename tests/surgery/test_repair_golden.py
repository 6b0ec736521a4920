"""Repair of what real brokers wrote: checkpoints, and what a start says of indexes after it."""

import os
import shlex
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.conftest import one_in
from tests.copies import copy_tree
from tests.faults.on_disk import flip
from tests.golden.judge import CORRUPT
from tests.golden.shared import golden
from tests.lab.base import base
from tests.lab.trial import copy_base
from tests.surgery.desk import Desk
from tests.surgery.recovery_rule import batches_of


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


@pytest.mark.parametrize("kind", one_in(2, ["index", "timeindex"]))
def test_entries_that_zeros_hide_name_the_command_that_sees_them(killed: Desk, kind: str) -> None:
    """In what is preallocated only `--deep` looks behind zeros: `plan repair` alone had nothing to do."""
    (path,) = killed.home.rglob(f"__transaction_state-0/{0:020d}.{kind}")
    flip(path, 9_000_000, 0x08)
    said = killed.run("check", *killed.dirs, "--deep", "--json").of("finding")
    (command,) = {
        row["remedy"]["command"] for row in said if row["file"] == f"{path.parent.name}/{path.name}"
    }
    assert killed.run(*shlex.split(command)[1:-2], "-o", killed.plan_file).code in (0, 4)
    assert [step["path"] for step in killed.planned()["steps"]] == [str(path)], command


@pytest.mark.slow
def test_a_log_that_ends_in_damage_and_went_further_is_not_to_be_trimmed(tmp_path: Path) -> None:
    """It named `plan trim`, which does nothing where the damage has a header; a replica has what is lost."""
    clean = Desk(golden("2.8.2-clean") / "b1", tmp_path)
    home = next(path for log_dir in clean.dirs for path in log_dir.glob("codec-lz4-0"))
    replica = clean.root / "replica" / home.name
    copy_tree(home, replica)
    log = max(path for path in home.glob("*.log") if path.stat().st_size)
    sound = log.read_bytes()
    at = batches_of(log)[-2].position
    log.write_bytes(sound[:at] + b"\xa5" * (len(sound) - at))
    said = clean.run("check", *clean.dirs, "--deep", "--json").of("finding")
    (row,) = (each for each in said if each["file"] == f"{home.name}/{log.name}")
    command = row["remedy"]["command"].replace("REPLICA_PARTITION_DIR", str(replica))
    ran = clean.run(*shlex.split(command)[1:-2], "-o", clean.plan_file)
    assert (row["code"], ran.code) == ("L04", 0), (command, ran.out[-1500:])
    clean.apply()
    assert log.read_bytes() == sound


def test_a_time_index_that_a_damaged_message_contradicts_is_of_its_fault(tmp_path: Path) -> None:
    """`plan repair` had nothing to do for it: what the entry is about is in the message, and damaged."""
    desk = Desk(golden("0.10.2.2-clean") / "b1", tmp_path)
    home = next(path for log_dir in desk.dirs for path in log_dir.glob("orders.eu-west_1-1"))
    log = sorted(home.glob("*.log"))[1]
    flip(log, batches_of(log)[1].end - 5, 0x04)
    said = desk.run("check", home.parent, "--kafka", "0.10.2.2", "--deep", "--json").of("finding")
    rows = {row["code"]: row for row in said if (row["file"] or "").startswith(f"{home.name}/{log.stem}")}
    assert rows.keys() == {"L05", "I16"}
    assert rows["I16"]["cause"]["code"] == "L05"


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
    ran = run("plan", "repair", home / "codec-none-0", "--json", code=0)
    assert [row["kind"] for row in ran.of("step")] == ["replace_file"]


def test_a_segment_of_another_log_is_mended_by_what_is_named(tmp_path: Path) -> None:
    """It holds the same offsets as the one behind it, and others' batches: no graft tells where to cut."""
    copy_tree(golden("2.8.2-clean"), tmp_path / "whole")
    home = tmp_path / "hurt"
    copy_tree(tmp_path / "whole" / "b1", home)
    strange, place = home / f"d0/v1-none-0/{30:020d}.log", home / f"d1/headers-0/{0:020d}.log"
    place.write_bytes(strange.read_bytes())
    dirs = sorted(home.iterdir())
    found = {row["code"]: row for row in run("check", *dirs, "--json").of("finding") if row["file"]}
    command = shlex.split(found["N07"]["remedy"]["command"])
    assert "--whole" in command
    words = [str(tmp_path / "whole/b1/d1/headers-0") if w == "LEADER_PARTITION_DIR" else w for w in command]
    words[words.index("plan.json")] = str(tmp_path / "plan.json")
    run(*words[1:], code=0)
    run("apply", tmp_path / "plan.json", "--yes", "--state-dir", tmp_path / "state", code=1)
    assert "headers-0" not in run("check", *dirs).out
