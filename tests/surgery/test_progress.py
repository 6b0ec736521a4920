"""How far surgery is: it only grows, and ends at all of it, whatever the operation and the files are."""

import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.data import KIB, MARKER, log_dir
from tests.cli.run import run
from tests.copies import copy_tree
from tests.faults.on_disk import flip_at_share
from tests.golden.shared import golden
from tests.memory import another_disk, prefix, swift
from tests.surgery.desk import Desk
from tests.surgery.shows.bed import Bed
from tests.surgery.test_every_operation_killed import WAYS
from tests.surgery.world import make, plan_of

from segmend.report.progress import Progress
from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.run import Watch
from segmend.surgery.execute.runs import find
from segmend.surgery.execute.undo import rehearse, undo
from segmend.surgery.plan import Plan
from segmend.surgery.steps.cut_file import CutFile

Told = list[tuple[int, int]]


def both_ways(plan_file: Path, state: Path) -> Iterator[Told]:
    """What is told of the plan when it is applied, and when it is taken back."""
    told: Told = []
    watch = Watch(progress=lambda done, total: told.append((done, total)))
    apply(Plan.load(str(plan_file)), str(state), watch=watch)
    yield told.copy()
    told.clear()
    undo(find(str(state), None), watch=watch)
    yield told


def ends_with_all(told: Told) -> bool:
    totals, done = {total for _, total in told}, [count for count, _ in told]
    return len(totals) == 1 and done == sorted(done) and told[-1][0] == told[-1][1]


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
def test_progress_of_every_operation_ends_with_all(name: str, tmp_path: Path) -> None:
    with swift(tmp_path) as folder:
        copy_tree(golden("4.3.1-clean"), folder / "whole")
        bed = Bed("4.3.1-clean", folder / "whole", folder)
        WAYS[name](bed)
        for told in both_ways(bed.plan_file, bed.root / "progress"):
            assert ends_with_all(told), told[-3:]


@pytest.mark.parametrize(("operation", "last"), [("graft", ("--whole",)), ("merge", ())])
def test_a_plan_tells_how_far_its_second_pass_is(
    operation: str, last: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stood at "94 %  155 ms left" for as long as the first pass had taken, or said nothing at all."""
    for name in ("hurt", "sound"):
        log_dir(tmp_path / name, KIB, total_bytes=8 << 20, segments=8)
    (tmp_path / "hurt" / MARKER).unlink()
    (tmp_path / "hurt" / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    flip_at_share(min((tmp_path / "hurt" / "bench-0").glob("*.log")), 0.5)
    identity = tmp_path / "sound" / "meta.properties"
    identity.write_text(identity.read_text().replace("node.id=1", "node.id=2"))
    told: Told = []
    monkeypatch.setattr(Progress, "update", lambda _, done, total, __: told.append((done, total)))
    asked = ("--partition", "bench-0", "--from", tmp_path / "sound" / "bench-0", "--kafka", "4.3", *last)
    run("plan", operation, tmp_path / "hurt", *asked)
    assert passes_of(told) >= (2 if operation == "graft" else 1), told


def passes_of(told: Told) -> int:
    """How many were told in eight parts at least."""
    passes = {total: len({done for done, each in told if each == total}) for _, total in told}
    return sum(count >= 8 for count in passes.values())


def test_a_plan_of_the_way_back_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was silent over all that it hashes, and over both logs that it compares."""
    for name in ("short", "sound"):
        log_dir(tmp_path / name, KIB, total_bytes=8 << 20, segments=8)
    (tmp_path / "short" / MARKER).unlink()
    (tmp_path / "short" / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    first, *later = sorted((tmp_path / "short" / "bench-0").glob("*.log"))
    for path in (path for log in later for path in first.parent.glob(f"{log.stem}.*")):
        path.unlink()
    identity = tmp_path / "sound" / "meta.properties"
    identity.write_text(identity.read_text().replace("node.id=1", "node.id=2"))
    asked = ("--partition", "bench-0", "--from", tmp_path / "sound" / "bench-0", "--kafka", "4.3")
    plan, state = tmp_path / "plan.json", tmp_path / "state"
    assert run("plan", "graft", tmp_path / "short", *asked, "-o", plan).code == 0
    assert run("apply", plan, "--yes", "--state-dir", state).code == 1
    told: Told = []
    monkeypatch.setattr(Progress, "update", lambda _, done, total, __: told.append((done, total)))
    ran = run("plan", "reverse", "--state-dir", state, "-o", tmp_path / "back.json")
    assert ran.code == 4, "a start cuts off what the plan had brought, as is said"
    assert passes_of(told) >= 2, told


def test_what_is_looked_at_before_the_first_step_is_told(tmp_path: Path) -> None:
    """Nothing was said for some two seconds a GiB, three times over; nor by `--dry-run`."""
    world, state = make(tmp_path), str(tmp_path / "state")
    log = world.a / "cut-0" / "0.log"
    log.write_bytes(bytes(range(256)) * (1 << 16))
    plan = plan_of(world, [CutFile.to(str(log), 1 << 20, "too long")])
    told: Told = []

    def looked(done: int, total: int) -> None:
        told.append((done, total))

    apply(plan, state, watch=Watch(looked=looked))
    assert (passes_of(told), told[-1][0]) == (1, told[-1][1])
    told.clear()
    rehearse(find(state, None), looked)
    assert (passes_of(told), told[-1][0]) == (1, told[-1][1])


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A directory on another disk."""
    if (disk := another_disk(tmp_path)) is None:
        pytest.skip("needs a second file system: make /dev/shm writable")
    place = Path(tempfile.mkdtemp(prefix=prefix("disk"), dir=disk))
    yield place
    shutil.rmtree(place)


def moved_there(desk: Desk, elsewhere: Path, *options: str) -> str:
    """A plan that brings a partition to another disk; gives what it says."""
    target = elsewhere / "d2"
    target.mkdir()
    identity = (desk.dirs[0] / "meta.properties").read_text()
    (target / "meta.properties").write_text(re.sub("directory.id=.*", f"directory.id={'B' * 21}Q", identity))
    asked = ("--partition", "codec-lz4-0", "--to", target, *options, "-o", desk.plan_file)
    ran = desk.run("plan", "move", *desk.dirs, target, *asked)
    assert ran.code == 0, ran.err
    return ran.out


def test_small_files_brought_to_another_disk_count_by_their_bytes(clean: Desk, elsewhere: Path) -> None:
    """Blocks of 4 KiB, of which most is empty, are never told of: it ended at a part of them."""
    moved_there(clean, elsewhere)
    for told in both_ways(clean.plan_file, clean.state):
        assert ends_with_all(told), told[-3:]
        copied = max(count for count, total in told if count < total)
        assert copied > 0.9 * told[-1][1], told


@pytest.mark.slow
def test_a_throttled_copy_takes_its_time_both_ways(clean: Desk, elsewhere: Path) -> None:
    (home,) = (path for log_dir in clean.dirs for path in log_dir.glob("codec-lz4-0"))
    size = sum(path.stat().st_size for path in home.glob("*.log"))
    moved_there(clean, elsewhere, "--throttle", f"{size}/s")
    for act in (clean.apply, clean.undo):
        begun = time.monotonic()
        act()
        assert time.monotonic() - begun >= 1


def test_a_move_that_parts_files_from_a_snapshot_of_hard_links_says_so(clean: Desk, elsewhere: Path) -> None:
    (home,) = (path for log_dir in clean.dirs for path in log_dir.glob("codec-lz4-0"))
    shutil.copytree(home, clean.root / "snapshot", copy_function=lambda old, new: Path(new).hardlink_to(old))
    count = sum(path.is_file() for path in home.iterdir())
    assert f"note: {home}: other names of {count} files in it (a snapshot of" in moved_there(clean, elsewhere)
