"""What a person meets who stopped surgery halfway, or gave another state dir: commands that are whole."""

import os
import shlex
import shutil
import subprocess
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest
from tests.copies import copy_tree
from tests.faults.on_disk import flip, lengthen
from tests.seeds import SWEEP
from tests.surgery.desk import Desk
from tests.surgery.faulty import Died, Disk, Mortal
from tests.surgery.loop import COMMANDS, Loop
from tests.surgery.recovery_rule import batches_of
from tests.surgery.shows.damages import active, rolled
from tests.surgery.story import plans_read_once
from tests.surgery.world import make, plan_of

from segmend.errors import Cancelled, SegmendError
from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.own_files import make_dirs
from segmend.surgery.execute.run import StepState, Watch
from segmend.surgery.execute.runs import SeveralJournals, find, runs
from segmend.surgery.execute.undo import undo
from segmend.surgery.plan import Plan
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.writing.atomic import TEMPORARY
from segmend.surgery.writing.effects import Effects


def test_what_was_pending_and_removed_by_hand_was_not_done_by_us(tmp_path: Path) -> None:
    world, done = make(tmp_path), []
    steps = [Quarantine.of(str(world.a / name), "aside") for name in ("gone-0", ".kafka_cleanshutdown")]
    watch = Watch(
        stopped=lambda: bool(done), tell=lambda _n, _s, how: done.extend([1] * (how is StepState.DONE))
    )
    before = world.tree()
    with pytest.raises(Cancelled, match="stopped after 1 of 2 steps"):
        apply(plan_of(world, list(steps)), str(world.state), watch=watch)
    (world.a / ".kafka_cleanshutdown").unlink()
    outcome = undo(find(str(world.state), None))
    assert (outcome.state, outcome.steps) == ("undone", 1)
    assert {path for path in before if before[path] != world.tree().get(path)} == {
        str(world.a / ".kafka_cleanshutdown")
    }


@pytest.mark.slow
def test_of_two_plans_the_one_mends_what_the_other_left(clean: Desk) -> None:
    log = active(next(d / "codec-lz4-0" for d in clean.dirs if (d / "codec-lz4-0").is_dir()))
    donor = rolled(log.parent, 1)
    lengthen(log, donor.read_bytes()[: batches_of(donor)[0].size // 2])
    min(log.parent.glob("*.index")).unlink()
    one, other = clean.root / "repair.json", clean.root / "trim.json"
    assert clean.run("plan", "repair", *clean.dirs, "-o", one).code == 4
    assert clean.run("plan", "trim", *clean.dirs, "-o", other).code == 0
    for pair in ((one, other), (other, one)):
        ran = clean.run("plan", "compose", *pair, "-o", clean.plan_file, "--json")
        assert (ran.code, ran.of("plan")[0]["left"]) == (0, [])
    clean.apply()
    clean.undo()
    ran = clean.run("plan", "compose", one, "-o", clean.plan_file, "--json")
    assert (ran.code, len(ran.of("plan")[0]["left"])) == (4, 1)


def test_what_comes_out_of_a_state_dir_is_applied_from_there(clean: Desk) -> None:
    assert clean.plan("delete", "--partition", "empty-0").code == 0
    clean.apply()
    ran = clean.run("quarantine", "restore", "1", "-o", clean.plan_file, "--state-dir", clean.state)
    assert ran.out.splitlines()[-1].endswith(f"apply {clean.plan_file} --state-dir {clean.state}")


class _Late(Effects):
    """Somebody makes each directory just before."""

    def make_dir(self, path: str, mode: int = 0o700) -> None:
        os.mkdir(path, mode)
        super().make_dir(path, mode)


def test_two_that_make_the_state_dir_at_one_moment(tmp_path: Path) -> None:
    make_dirs(_Late(), str(tmp_path / "state" / "journals"))
    assert (tmp_path / "state" / "journals").is_dir()


def test_who_was_at_work_last_comes_after_a_beginning_that_the_journal_lacks(tmp_path: Path) -> None:
    world, state, call = make(tmp_path), tmp_path / "state", 0
    one, two = (
        plan_of(world, [Quarantine.of(str(world.a / name), "aside")])
        for name in ("gone-0", ".kafka_cleanshutdown")
    )
    first = apply(one, str(state)).run
    while len([*state.glob("*/*/begun.json")]) < 2:
        call += 1
        with pytest.raises(Died):
            apply(two, str(state), fx=Mortal(call))
    undo(find(str(state), first.name))
    with pytest.raises(SeveralJournals) as several:
        find(str(state), None)
    assert several.value.choice[-1].name == first.name


@pytest.mark.slow
def test_what_is_in_the_way_is_mended_by_the_command_that_is_printed(clean: Desk) -> None:
    (clean.dirs[0] / "recovery-point-offset-checkpoint").write_bytes(b"0\nno number\n")
    move = ("move", "--partition", "txn-0", "--to", clean.dirs[1])
    ran = clean.plan(*move)
    assert (ran.code, "; mend it first: segmend plan repair" in ran.err) == (8, True), ran.err
    words = shlex.split(ran.err.partition("mend it first: segmend ")[2])
    assert clean.run(*words[:-1], clean.plan_file).code == 0
    clean.apply()
    assert clean.plan(*move).code == 0


def test_what_a_compaction_left_in_the_way_is_explained_by_the_command_that_is_printed(clean: Desk) -> None:
    home = next(path / "compacted-0" for path in clean.dirs if (path / "compacted-0").is_dir())
    leader = shutil.copytree(home, clean.root / "leader" / "compacted-0")
    log = min(home.glob("*.log"))
    shutil.copy(log, f"{log}.swap")
    ran = clean.plan("graft", "--partition", "compacted-0", "--from", leader)
    assert (ran.code, "see what to do with it: segmend check" in ran.err) == (8, True), ran.err
    words = shlex.split(ran.err.partition("see what to do with it: segmend ")[2])
    assert "N14" in clean.run(*words, "--json").out


@pytest.mark.slow
def test_half_a_file_is_named_when_its_journal_is_gone(clean: Desk) -> None:
    """In a partition and at the top of a log dir; the printed command takes it off."""
    flip(clean.dirs[0] / "recovery-point-offset-checkpoint", 0)
    min(clean.dirs[0].glob("codec-*/*.index")).unlink()
    copy_tree(clean.home, clean.root / "saved")
    assert clean.plan("repair").code in (0, 4)
    plan, counted = Plan.load(str(clean.plan_file)), Disk()
    apply(plan, str(clean.state), fx=counted)
    seen = set()
    for at in (number for number, name in enumerate(counted.names, 1) if name == "rename"):
        copy_tree(clean.root / "saved", clean.home)
        shutil.rmtree(clean.state)
        with pytest.raises(Died):
            apply(plan, str(clean.state), fx=Mortal(at))
        for half in clean.home.rglob(f"*{TEMPORARY}"):
            found = clean.run("check", *clean.dirs, "--json").of("finding")
            (row,) = (row for row in found if f"{row['dir']}/{row['file']}" == str(half))
            assert row["severity"] == "warning"
            seen.add(row["code"])
            subprocess.run(row["remedy"]["command"], shell=True, check=True)
            assert not half.exists()
    assert seen == {"N22", "N28"}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("way", COMMANDS)
@plans_read_once()
def test_a_kill_and_then_a_journal_that_lost_its_last_lines(tmp_path: Path, command: str, way: str) -> None:
    """To the end, with nothing left that a step has only on its way, or refused; never halfway with 0."""
    world = make(tmp_path)
    loop = Loop(plan_of(world), world.state, world.tree, world.b)
    came_there = 0
    # Both ways have their own half of the calls in CI, all in a sweep.
    each, first = (1, 0) if SWEEP else (2, COMMANDS.index(way))
    for number, stop in enumerate(islice(loop.each_call(command), first, None, each)):
        shutil.rmtree(world.state, ignore_errors=True)
        if command == "undo":
            loop.act("apply")
        if not loop.is_stopped(command, stop()):
            continue
        (found,) = runs(str(world.state)) or [None]
        journal = None if found is None or not found.events else Path(found.journal)
        whole = b"" if journal is None else journal.read_bytes()
        first, *rest = whole.splitlines(keepends=True) or [b""]
        if journal is not None:
            journal.write_bytes(b"".join([first, *rest[: -2 if number % 4 == 3 else -1]]))
            with suppress(SegmendError):
                loop.act(way)
                there = loop.look() == loop.before if way == "undo" else loop.planned() == loop.after
                assert there, (number, rest[-3:])
                came_there += 1
                whole = journal.read_bytes()
            journal.write_bytes(whole)
            loop.act("undo")
        assert loop.look() == loop.before, number
    assert came_there > number / 5
