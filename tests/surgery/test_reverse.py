"""`plan reverse`: the way back once a broker ran, with what came since kept."""

import shutil
import time
from pathlib import Path

import pytest
from tests.conftest import one_in
from tests.copies import copy_tree
from tests.faults.on_disk import flip, flip_at_share, lengthen
from tests.golden.shared import golden
from tests.surgery.checkpoints import lines, write
from tests.surgery.desk import Desk, left_code
from tests.surgery.faulty import Died, Disk, Mortal
from tests.surgery.picture import picture
from tests.surgery.recovery_rule import batches_of
from tests.surgery.shows.names import stamp
from tests.surgery.test_graft import batches, fall_behind
from tests.surgery.test_names import OTHER, SINGLE, home_of
from tests.surgery.world import World, make, plan_of, steps

from segmend.errors import SegmendError, UsageError
from segmend.formats import clean_shutdown
from segmend.formats.offset_checkpoint import HIGH_WATERMARK
from segmend.frozen import replace
from segmend.surgery.dir_fingerprint import DirFingerprint
from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.reverse import reverse
from segmend.surgery.execute.run import Watch
from segmend.surgery.execute.runs import find
from segmend.surgery.execute.undo import undo
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.plan import Plan
from segmend.surgery.step import Step
from segmend.surgery.steps.patch_file import PatchFile
from segmend.surgery.steps.quarantine import Quarantine

MORE = b"what came since"


def reversed_plan(desk: Desk) -> tuple[int, Plan]:
    ran = desk.run("plan", "reverse", "--state-dir", desk.state, "-o", desk.plan_file, "--json")
    assert ran.code in (0, 4), ran.err
    return ran.code, Plan.load(str(desk.plan_file))


@pytest.mark.slow
def test_a_moved_partition_goes_back_with_what_came_since(clean: Desk) -> None:
    home = home_of(clean, "single-0")
    other = next(d for d in clean.dirs if d != home.parent)
    clean.plan("move", "--partition", "single-0", "--to", other)
    clean.apply()
    log = max((other / "single-0").glob("*.log"))
    lengthen(log, MORE)
    write(other / HIGH_WATERMARK, {**lines(other / HIGH_WATERMARK), ("single", 0): 90})
    ran = clean.run("undo", "--yes", "--state-dir", clean.state)
    assert (ran.code, f"segmend plan reverse {clean.state}/journals/0001-move-" in ran.err) == (8, True)
    code, plan = reversed_plan(clean)
    assert (code, "goes back with all that came since" in plan.notes[0]) == (4, True), "a start cuts it off"
    clean.apply()
    assert (home / log.name).read_bytes().endswith(MORE)
    assert lines(home.parent / HIGH_WATERMARK)["single", 0] == 90
    assert ("single", 0) not in lines(other / HIGH_WATERMARK)
    clean.undo()


def test_what_came_to_a_renamed_partition_is_seen_before_the_first_step_of_an_undo(clean: Desk) -> None:
    """A later step wrote into the directory, so it is not as the renaming left it, whoever came since."""
    clean.plan("rename", "--topic", "single", "--to", "other", "--topic-id", OTHER, "--even-stray")
    clean.apply()
    clean.undo()
    clean.apply()
    home = home_of(clean, "other-0")
    log = max(home.glob("*.log"))
    lengthen(log, MORE)
    before = clean.tree()
    ran = clean.run("undo", "--yes", "--state-dir", clean.state)
    assert (ran.code, f"{home}: its " in ran.err, "segmend plan reverse" in ran.err) == (8, True, True)
    assert clean.tree() == before
    code, _ = reversed_plan(clean)
    assert code == 4, "a start cuts off what came, as is said"
    clean.apply()
    assert (home.with_name("single-0") / log.name).read_bytes().endswith(MORE)


@pytest.mark.parametrize("kept", ["renamed", "copied"])
def test_no_undo_brings_a_partition_back_beside_a_new_one(clean: Desk, kept: str) -> None:
    """A broker of ZooKeeper makes it anew in the log dir with the fewest: with two of them none starts."""
    home = home_of(clean, "single-0")
    other = next(d for d in clean.dirs if d != home.parent)
    asked = ("rename", "--topic", "single", "--to", "other", "--topic-id", OTHER, "--even-stray")
    clean.plan(*asked, *(["--copy"] if kept == "copied" else []))
    clean.apply()
    if kept == "copied":  # It stays where it is: nothing comes back.
        clean.undo()
        return
    (other / "single-0").mkdir()
    (other / "single-0" / f"{0:020d}.log").touch()
    there = clean.tree()
    ran = clean.run("undo", "--yes", "--state-dir", clean.state)
    assert (ran.code, clean.tree()) == (8, there)
    assert f"refused: {other}/single-0: is that partition too; a broker refuses two of them" in ran.err
    assert reversed_plan(clean)[0] == 0
    clean.apply()
    assert (home.exists(), (other / "single-0").exists()) == (True, False)


@pytest.mark.slow
@pytest.mark.parametrize("beside", [True, False])
def test_an_empty_one_that_gave_way_comes_back_where_the_renamed_one_leaves(
    clean: Desk, beside: bool
) -> None:
    home = home_of(clean, "single-0")
    empty = next(each for each in clean.dirs if (each == home.parent) is beside) / "other-0"
    empty.mkdir()
    (empty / f"{0:020d}.log").touch()
    write(empty.parent / HIGH_WATERMARK, {**lines(empty.parent / HIGH_WATERMARK), ("other", 0): 0})
    before = picture(empty, folder_times=False)
    asked = ("rename", "--topic", "single", "--to", "other", "--topic-id", OTHER, "--even-stray", "--replace")
    assert clean.plan(*asked).code == left_code(clean.planned())
    clean.apply()
    renamed = home.with_name("other-0")
    log = max(renamed.glob("*.log"))
    lengthen(log, MORE)
    write(home.parent / HIGH_WATERMARK, {**lines(home.parent / HIGH_WATERMARK), ("other", 0): 99})
    home.mkdir()  # as the broker does, whose topic it still is
    (home / log.name).touch()
    code, plan = reversed_plan(clean)
    assert (code, plan.left) == (4, ())
    clean.apply()
    assert (home / log.name).read_bytes().endswith(MORE)
    assert picture(empty, folder_times=False) == before
    assert lines(home.parent / HIGH_WATERMARK)["single", 0] == 99
    assert lines(empty.parent / HIGH_WATERMARK)["other", 0] == 0
    assert renamed.exists() is beside
    clean.undo()


@pytest.mark.slow
@pytest.mark.parametrize(
    "since",
    ["empty", "records", *(pytest.param(each, marks=pytest.mark.slow) for each in ("nothing", "elsewhere"))],
)
def test_what_was_deleted_comes_back_unless_there_is_a_new_one(clean: Desk, since: str) -> None:
    home = home_of(clean, "single-0")
    before = picture(home, folder_times=False)
    marks = lines(home.parent / HIGH_WATERMARK)
    clean.plan("delete", "--partition", "single-0", "--accept-loss", f"{SINGLE}-records")
    clean.apply()
    if since != "nothing":
        new = home if since != "elsewhere" else next(d for d in clean.dirs if d != home.parent) / "single-0"
        new.mkdir()
        (new / f"{0:020d}.log").write_bytes(MORE if since == "records" else b"")
        now = lines(new.parent / HIGH_WATERMARK)
        write(new.parent / HIGH_WATERMARK, {**now, ("single", 0): 0})  # as the broker that made it does
        there = clean.tree()
        ran = clean.run("undo", "--yes", "--state-dir", clean.state)
        assert (ran.code, "segmend plan reverse" in ran.err, clean.tree()) == (8, True, there), ran.err
    code, plan = reversed_plan(clean)
    assert code == (4 if since == "records" else 0)
    if code:
        assert f"is there again with {len(MORE)} bytes of log, and stays" in str(plan.left[0])
        return
    clean.apply()
    assert picture(home, folder_times=False) == before
    assert lines(home.parent / HIGH_WATERMARK) == marks
    clean.undo()


def test_a_way_back_after_which_a_start_loses_records_does_not_say_that_nothing_is_lost(clean: Desk) -> None:
    home = home_of(clean, "single-0")
    stamp(home)
    clean.plan("restamp", "--topic", "single")
    clean.apply()
    stop_cleanly(clean)
    out = clean.run("plan", "reverse", "--state-dir", clean.state).out
    assert "lost: nothing by the steps, but by the start after them" in out
    assert f"started after it starts and loses {SINGLE} records" in out


def test_no_undo_gives_records_that_came_since_to_another_topic(clean: Desk) -> None:
    """The broker was killed, and the one file of the plan was as it left it."""
    home = home_of(clean, "single-0")
    stamp(home)
    clean.plan("restamp", "--topic", "single")
    clean.apply()
    log = max(home.glob("*.log"))
    lengthen(log, MORE)
    ran = clean.run("undo", "--yes", "--state-dir", clean.state)
    assert (ran.code, f"{log}: has grown since" in ran.err) == (8, True), ran.err
    assert reversed_plan(clean)[0] == 4, "a start cuts off what came, as is said"


def stop_cleanly(desk: Desk) -> None:
    """As a broker that ran in between: the marker of each dir is a new one."""
    for marker in (d / clean_shutdown.FILE_NAME for d in desk.dirs):
        marker.unlink(missing_ok=True)
        marker.write_bytes(b'{"version":0,"brokerEpoch":77}')


@pytest.mark.parametrize("loss", one_in(2, [False, True]))
@pytest.mark.parametrize("closed", [True, False])
def test_no_torn_end_comes_back_under_the_marker_of_a_later_stop(
    clean: Desk, loss: bool, closed: bool
) -> None:
    """A broker would append behind it, and acknowledge what nobody can read."""
    home = home_of(clean, "single-0")
    log = max(home.glob("*.log"))
    if loss:
        flip(log, batches_of(log)[-2].end - 1, 0x40)
    else:
        lengthen(log, log.read_bytes()[:50])
    if not closed:
        (home.parent / clean_shutdown.FILE_NAME).unlink()
    gone = sum(batch.records_count for batch in batches_of(log)[-2:]) if loss else 0
    clean.plan("trim", *(("--accept-loss", f"{gone}-records") if loss else ()))
    before = log.read_bytes()
    clean.apply()
    stop_cleanly(clean)
    ran = clean.run("undo", "--yes", "--state-dir", clean.state)
    assert (ran.code, "segmend plan reverse" in ran.err) == (8, True)
    _, plan = reversed_plan(clean)
    aside = [step.paths[0] for step in plan.steps if step.paths[0].endswith(clean_shutdown.FILE_NAME)]
    # With whole batches behind the damage a recovery would cut those off, and at first it was closed.
    assert len(aside) == (not (loss and closed))
    clean.apply()
    assert log.read_bytes() == before


@pytest.mark.parametrize("since", [b"", MORE])
def test_what_goes_again_is_named_as_lost(clean: Desk, since: bytes) -> None:
    """A replica that a graft made whole would be behind again; unless records came, when all of it stays."""
    home = home_of(clean, "single-0")
    leader = clean.root / "leader" / home.name
    copy_tree(home, leader)
    count = len(batches(leader))
    end = fall_behind(home, count // 2)
    clean.plan("graft", "--partition", home.name, "--from", leader)
    clean.apply()
    lengthen(max(home.glob("*.log")), since)
    code, plan = reversed_plan(clean)
    assert code == 4
    lost = [(each.records, each.first_offset, each.last_offset) for each in plan.losses]
    assert lost == ([] if since else [(SINGLE - end, end, SINGLE - 1)])


def roll(home: Path, at: int) -> Path:
    """As a broker that appends records of today behind those of long ago: they come into a new file."""
    new = home / f"{at:020d}.log"
    new.write_bytes(MORE)
    return new


@pytest.mark.parametrize("how", ["torn", "lossy", "grafted"])
def test_what_a_broker_appended_in_a_new_file_is_seen(clean: Desk, how: str) -> None:
    """On 4.3.1 the torn end came back in front of it, and the next start deleted 100 records."""
    home = home_of(clean, "single-0")
    log = max(home.glob("*.log"))
    end = SINGLE
    if how == "grafted":
        leader = clean.root / "leader" / home.name
        copy_tree(home, leader)
        fall_behind(home, len(batches(leader)) // 2)
        clean.plan("graft", "--partition", home.name, "--from", leader)
    elif how == "lossy":
        end -= sum(batch.records_count for batch in batches_of(log)[-2:])
        flip(log, batches_of(log)[-2].end - 1, 0x40)
        clean.plan("trim", "--accept-loss", f"{SINGLE - end}-records")
    else:
        lengthen(log, log.read_bytes()[:50])
        clean.plan("trim")
    clean.apply()
    new = roll(home, end)
    before = clean.tree()
    ran = clean.run("undo", "--yes", "--state-dir", clean.state)
    assert (ran.code, f"{new}: was made since" in ran.err) == (8, True), ran.err
    code, plan = reversed_plan(clean)
    assert (code, [left.path for left in plan.left]) == (4, [str(new)])
    assert not any(str(home) in path for step in plan.steps for path in step.paths)
    assert clean.tree() == before
    new.unlink()
    assert clean.run("undo", "--yes", "--state-dir", clean.state).code == 0


@pytest.mark.parametrize("freed", [True, False])
def test_old_segments_come_back_before_what_came_since_and_damage_does_not(clean: Desk, freed: bool) -> None:
    home = home_of(clean, "single-0")
    first, *_, last = sorted(home.glob("*.log"))
    if freed:
        step: Step = Quarantine.of(str(first), "to free a disk")
    else:
        at = batches_of(first)[0]
        step = PatchFile.at(str(first), at.end - 8, NewBytes.inline(b"mended!!"), "mended")
    plan = plan_of(World(clean.root), [step])
    plan = replace(plan, dirs=tuple(DirFingerprint.of(str(path)) for path in clean.dirs))
    run = apply(plan, str(clean.state)).run
    lengthen(last, MORE)
    with pytest.raises(SegmendError, match="has grown since"):
        undo(find(str(clean.state), None))
    back = reverse(run)
    assert [left.path for left in back.left] == ([] if freed else [str(last)])
    assert any(each.paths[0] == str(first) for each in back.steps) is freed


@pytest.mark.parametrize("command", ["apply", "undo"])
def test_a_plan_that_was_stopped_goes_neither_way_over_what_came_since(tmp_path: Path, command: str) -> None:
    """A machine started anew had its broker at work before anybody went on."""
    world, calls = make(tmp_path), Disk()
    plan = plan_of(world)
    undo(apply(plan, str(world.state), fx=calls).run)
    for call in range(calls.calls * 2 // 3, calls.calls, 7):
        shutil.rmtree(world.state)
        with pytest.raises(Died):
            apply(plan, str(world.state), fx=Mortal(call))
        new = roll(world.a / "append-0", 9)
        before = world.tree()
        with pytest.raises(SegmendError, match=f"{new.name}: was made since"):
            apply(plan, str(world.state)) if command == "apply" else undo(find(str(world.state), None))
        assert world.tree() == before
        assert new.exists()
        new.unlink()
        undo(find(str(world.state), None))


def test_a_file_that_no_step_is_on_and_that_grew_behind_what_was_set_aside(tmp_path: Path) -> None:
    world = make(tmp_path)
    names = [f"{number:020d}.log" for number in (0, 10, 20)]
    (world.a / "roll-0").mkdir()
    for name in names:
        (world.a / "roll-0" / name).write_bytes(MORE)
    aside = [Quarantine.of(str(world.a / "roll-0" / name), "behind damage") for name in names[1:]]
    run = apply(plan_of(world, [*aside]), str(world.state)).run
    lengthen(world.a / "roll-0" / names[0], MORE)
    with pytest.raises(SegmendError, match="has grown since"):
        undo(find(str(world.state), None))
    (left,) = reverse(run).left
    assert left.path == str(world.a / "roll-0" / names[0])


@pytest.mark.slow
def test_a_snapshot_on_which_no_broker_starts_stays_aside(tmp_path: Path) -> None:
    """It was brought back: that is what the refused undo names as the next command."""
    desk = Desk(golden("4.3.1-fleet") / "b1", tmp_path)
    place = next(d / "__cluster_metadata-0" for d in desk.dirs if (d / "__cluster_metadata-0").exists())
    newest = max(place.glob("*.checkpoint"))
    flip_at_share(newest, 0.5)
    desk.plan("quorum")
    desk.apply()
    stop_cleanly(desk)
    assert desk.run("undo", "--yes", "--state-dir", desk.state).code == 8
    code, plan = reversed_plan(desk)
    assert (code, plan.steps, [left.path for left in plan.left]) == (4, (), [str(newest)])
    assert "with what was, a broker would not start (the newest snapshot" in plan.left[0].why


def made(root: Path) -> World:
    """A world whose checkpoints have lines, or could have."""
    world = make(root)
    (world.a / "recovery-point-offset-checkpoint").write_bytes(b"0\n0\n")
    return world


def done(world: World) -> None:
    """Every kind of step, applied."""
    apply(plan_of(world, steps(world)[2:]), str(world.state))


def test_what_lies_as_it_was_left_goes_back(tmp_path: Path) -> None:
    world = made(tmp_path)
    before = world.tree(folder_times=False)
    done(world)
    plan = reverse(find(str(world.state), None))
    assert {left.path for left in plan.left} == {str(world.b / "new-0")}
    apply(plan, str(world.state))
    after = world.tree(folder_times=False)
    odd = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    new = world.b / "new-0"
    assert odd == {str(new), str(new / "0.log"), str(world.a / ".kafka_cleanshutdown")}


@pytest.mark.parametrize(
    "name", ["cut-0/0.log", "append-0/0.log", "append-0/5.log", "nearer-0/0.log", "gone-0"]
)
def test_what_came_since_stays(tmp_path: Path, name: str) -> None:
    world = made(tmp_path)
    done(world)
    path = world.a / name
    if name == "gone-0":
        path.mkdir()
        path /= "0.log"
    lengthen(path, MORE)
    plan = reverse(find(str(world.state), None))
    apply(plan, str(world.state))
    kept = path if name != "nearer-0/0.log" else world.a / "near-0" / "0.log"
    assert kept.read_bytes().endswith(MORE)
    left = {left.path for left in plan.left} - {str(world.b / "new-0")}
    assert left == (set() if "near" in name else {str(world.a / name)})


@pytest.mark.parametrize("files", one_in(2, [1, 3]))
def test_a_plan_that_was_stopped_before_a_broker_ran_writes_over_nothing_and_has_a_way_back(
    clean: Desk, files: int
) -> None:
    """Of files that are replaced together nobody knows which were: a reboot started the broker meanwhile."""
    home = home_of(clean, "single-0")
    for path in sorted(home.parent.glob("*/*.timeindex"))[:files]:
        path.unlink()
    clean.plan("repair")
    plan = Plan.load(str(clean.plan_file))
    calls = Disk()
    undo(apply(plan, str(clean.state), fx=calls).run)
    shutil.rmtree(clean.state)
    renames = [call for call, name in enumerate(calls.names, 1) if name == "rename"]
    with pytest.raises(Died):  # after plan.json, its copy and begun.json; of one file before it has its name
        apply(plan, str(clean.state), fx=Mortal(renames[3] + (files > 1)))
    changed = Path(plan.steps[-1].paths[0])
    changed.write_bytes(MORE)
    before = clean.tree()
    ran = clean.run("apply", clean.plan_file, "--yes", "--state-dir", clean.state)
    assert (ran.code, f"refused: {changed}: there is a file, not nothing" in ran.err) == (8, True), ran.err
    ran = clean.run("undo", "--yes", "--state-dir", clean.state)
    assert (ran.code, "segmend plan reverse" in ran.err, clean.tree()) == (8, True, before), ran.err
    if files == 1:
        with pytest.raises(UsageError, match="has nothing done that could be reversed"):
            reverse(find(str(clean.state), None))
        return
    _, plan = reversed_plan(clean)
    assert [left.path for left in plan.left] == [str(changed)]
    assert "was stopped on the way; what it has kept stays in" in plan.left[0].why
    clean.apply()
    assert changed.read_bytes() == MORE


def test_what_was_stopped_on_the_way_and_can_go_back_is_not_reversed(tmp_path: Path) -> None:
    world = made(tmp_path)
    with pytest.raises(Died):
        apply(plan_of(world), str(world.state), fx=Mortal(74))
    with pytest.raises(UsageError, match="was stopped on the way; apply or undo it"):
        reverse(find(str(world.state), None))


def test_nothing_done_is_nothing_to_reverse(tmp_path: Path) -> None:
    world = made(tmp_path)
    run = apply(plan_of(world, steps(world)[3:5]), str(world.state)).run
    undo(run)
    with pytest.raises(UsageError, match="has nothing done"):
        reverse(run)


def rolled(world: World, *bases: int) -> list[Path]:
    """Logs with these base offsets in a directory of their own."""
    (world.a / "roll-0").mkdir()
    logs = [world.a / "roll-0" / f"{base:020d}.log" for base in bases]
    for log in logs:
        log.write_bytes(MORE)
    return logs


def test_no_old_segment_comes_back_into_a_topic_that_was_made_anew(tmp_path: Path) -> None:
    """Its offsets begin at 0 again, so what comes back would lie among what was acknowledged since."""
    world = make(tmp_path)
    first, freed, last = rolled(world, 0, 10, 20)
    run = apply(plan_of(world, [Quarantine.of(str(freed), "to free a disk")]), str(world.state)).run
    first.write_bytes(2 * MORE)
    last.unlink()
    with pytest.raises(
        SegmendError, match=f"{last.name}: was the last one of that log, and is there no more"
    ):
        undo(find(str(world.state), None))
    back = reverse(run)
    assert ([left.path for left in back.left], back.steps) == ([str(last)], ())
    last.write_bytes(MORE)
    undo(find(str(world.state), None))
    assert freed.exists()


@pytest.mark.parametrize("written", [True, False])
def test_a_journal_of_before_logs_ends_were_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    """By the time of the log: one that was written since is no silence, and one that was not goes back."""
    world = make(tmp_path)
    last, *aside = rolled(world, 0, 10, 20)
    monkeypatch.setattr("segmend.surgery.execute.run.log_ends", lambda _steps: None)
    plan = plan_of(world, [Quarantine.of(str(path), "behind damage") for path in aside])
    run = apply(plan, str(world.state), watch=Watch(now=time.time)).run
    if not written:
        undo(find(str(world.state), None))
        return
    time.sleep(0.01)
    lengthen(last, MORE)
    with pytest.raises(SegmendError, match=f"{last.name}: was written since"):
        undo(find(str(world.state), None))
    assert ([left.path for left in reverse(run).left]) == [str(last)]
