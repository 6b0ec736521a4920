"""Damage in the state dir: the same command goes on, or says what is where; nothing is lost."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.faults.on_disk import put_folder, rewrite
from tests.seeds import SEED, sampled
from tests.surgery import state_dirs
from tests.surgery.faulty import Died, Disk, Mortal
from tests.surgery.world import World, make, plan_of, steps

from segmend.cli import stopped_surgery
from segmend.errors import SegmendError
from segmend.formats.offset_checkpoint import RECOVERY_POINT
from segmend.logdir.log_dir import LogDir
from segmend.surgery.execute import plan_run
from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.journal import acknowledge
from segmend.surgery.execute.journal_events import Status
from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.execute.reverse import reverse
from segmend.surgery.execute.run import Outcome, Watch
from segmend.surgery.execute.runs import find, runs
from segmend.surgery.execute.undo import undo
from segmend.surgery.plan import Plan
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.patch_file import PatchFile
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make(tmp_path / "world")


def told(outcome: Outcome) -> Outcome:
    """As the command does after it has said what it did."""
    acknowledge(Disk(), outcome.run, lambda: 0.0)
    return outcome


def killed(world: World, plan: Plan) -> None:
    """Before its first step: its locks are made, and nothing else."""
    fx = Mortal(1 << 30, world.b)

    def die(*_: object) -> None:
        fx.live_on(0)
        raise Died

    with pytest.raises(Died):
        apply(plan, str(world.state), fx=fx, watch=Watch(tell=die))
    assert (world.a / ".lock").exists()


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "rotten": lambda _: b"rotten",
    "empty": lambda _: b"",
    "flipped": lambda data: data.replace(b'"kafka": "4.3', b'"kafka": "4.2'),
}


def hurt_copies(run: PlanRun, damage: str) -> None:
    """Both files of its plan."""
    for path in (Path(run.path, "plan.json"), Path(run.vaults, "plan.json")):
        if damage == "gone":
            path.unlink()
        else:
            rewrite(path, DAMAGES[damage])


@pytest.mark.parametrize("damage", [*DAMAGES, "gone"])
def test_the_lines_of_a_journal_have_the_plan_once_more(world: World, damage: str) -> None:
    before, plan = world.tree(), plan_of(world)
    told(apply(plan, str(world.state), fx=Disk(), backup_dir=str(world.root / "spare")))
    (found,) = runs(str(world.state))
    hurt_copies(found, damage)
    undo(find(str(world.state), None), fx=Disk())
    assert (world.tree(), Plan.load(f"{found.path}/plan.json")) == (before, plan)


def test_steps_without_a_plan_are_told_by_the_lines(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a plan that is too large for a line: which one was done, and where its old bytes are."""
    monkeypatch.setattr(plan_run, "PACKED_LIMIT", 0)
    plan = plan_of(world)
    told(apply(plan, str(world.state), fx=Disk()))
    (found,) = runs(str(world.state))
    hurt_copies(found, "gone")
    state = ("--state-dir", world.state)
    rows = run("undo", "1", "--yes", "--json", *state, code=8).of("step_told")
    assert [(row["step"], row["kind"], row["paths"], row["state"]) for row in rows] == [
        (number, step.KIND, [*step.paths], "done") for number, step in enumerate(plan.steps, 1)
    ]
    for row, step in zip(rows, plan.steps, strict=True):
        assert bool(row["kept"]) == (
            not isinstance(step, MakeDir | AppendFile) and step.before.kind != "missing"
        )
        assert all(Path(path).exists() for path in row["kept"])
    for words in (("undo", "1", "--yes"), ("plan", "reverse", "1"), ("journal", "list")):
        lines = run(*words, *state, code=0 if words[0] == "journal" else 8).out.splitlines()
        assert len([line for line in lines if "  done  " in line]) == len(plan.steps)
    run("apply", written(world, plan), "--yes", *state, code=1)


def written(world: World, plan: Plan) -> Path:
    """A plan as a file."""
    path = world.root / f"{plan.sha256[:8]}.json"
    path.write_bytes(plan.render())
    return path


def test_an_undo_that_is_refused_tells_where_each_step_is(world: World) -> None:
    """Three paths were named, and "more"."""
    plan = plan_of(world)
    told(apply(plan, str(world.state), fx=Disk()))
    hurt = [number for number, step in enumerate(plan.steps) if isinstance(step, ReplaceFile)]
    for number in hurt:
        Path(plan.steps[number].paths[0]).write_bytes(b"since")
    for more in ([], ["--dry-run"]):
        ran = run("undo", "1", "--yes", *more, "--json", "--state-dir", world.state, code=8)
        rows = ran.of("step_told")
        assert [row["step"] - 1 for row in rows if row["since"]] == hurt
        assert {row["state"] for row in rows} == {"done"}


def test_a_plan_of_which_nothing_is_begun_says_what_helps(world: World) -> None:
    """It said "make the plan again", whatever the reason."""
    one, other = plan_of(world, steps(world)[3:4]), plan_of(world, steps(world)[3:5])
    elsewhere = ("--state-dir", world.root / "elsewhere")
    state = ("--state-dir", world.state)
    before = world.tree()
    killed(world, one)
    first = find(str(world.state), "1")
    run("apply", written(world, one), "--yes", *state, code=1)
    told = run("apply", written(world, other), "--yes", *state, code=8).err
    assert (
        f"{first.name} was applied there; make the plan again, or first: segmend undo {first.path})" in told
    )
    told = run("apply", written(world, one), "--yes", *elsewhere, code=8).err
    assert "(all is as this plan leaves it: it was applied with another --state-dir" in told
    run("undo", first.path, "--yes", code=0)
    assert world.tree() == before
    path = Path(one.steps[0].paths[0])
    path.write_bytes(b"other")
    told = run("apply", written(world, other), "--yes", *elsewhere, code=8).err
    assert "nothing was changed (make the plan again)" in told


def test_a_plan_over_one_that_was_stopped_names_its_undo(world: World) -> None:
    before = world.tree()
    one, other = plan_of(world, steps(world)[3:5]), plan_of(world, steps(world)[3:4])
    fx = Mortal(1 << 30, world.b)

    def die(number: int, *_: object) -> None:
        if number == 2:
            fx.live_on(0)
            raise Died

    with pytest.raises(Died):
        apply(one, str(world.state), fx=fx, watch=Watch(tell=die))
    told = run("apply", written(world, other), "--yes", "--state-dir", world.state, code=8).err
    named = re.search(r"was stopped there; segmend (undo \S+) takes it back, then this goes", told)
    assert named is not None, told
    run(*named[1].split(), "--yes", code=0)
    assert world.tree() == before
    run("apply", written(world, other), "--yes", "--state-dir", world.state, code=1)


@pytest.mark.parametrize("damage", [*DAMAGES, "gone"])
def test_a_damaged_plan_of_a_run_is_put_back_by_who_has_it(
    world: World, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No second journal is begun, which would know nothing of the locks and times of the first."""
    monkeypatch.setattr(plan_run, "PACKED_LIMIT", 0)
    plan, before = plan_of(world), world.tree()
    killed(world, plan)
    (found,) = runs(str(world.state))
    kept = Path(found.path, "plan.json")
    whole = kept.read_bytes()
    hurt_copies(found, damage)
    problems: list[SegmendError] = []
    assert runs(str(world.state), problems.append) == []
    wanted = rf"plan.json: .*`segmend apply` of the file that was applied puts it back.*{found.path}/steps\)$"
    for name in (None, "1", found.path):
        with pytest.raises(SegmendError, match=wanted.removesuffix("$") if name is None else wanted):
            find(str(world.state), name)
    apply(plan, str(world.state), fx=Disk())
    assert kept.read_bytes() == whole
    undo(find(str(world.state), None), fx=Disk())
    assert world.tree() == before


def test_a_run_whose_plan_is_that_of_another_one_is_not_taken_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is its last beginning, should that be another one's."""
    monkeypatch.setattr(plan_run, "PACKED_LIMIT", 0)
    before = world.tree()
    first, second = plan_of(world, steps(world)[3:4]), plan_of(world, steps(world)[5:6])
    for plan in (first, second):
        told(apply(plan, str(world.state), fx=Disk()))
    one, other = runs(str(world.state))
    for name in ("plan.json", "begun.json", "steps/plan.json"):
        Path(one.path, name).write_bytes(Path(other.path, name).read_bytes())
    with pytest.raises(SegmendError, match=r"plan.json: is not the plan that was begun here"):
        find(str(world.state), "1")
    undo(find(str(world.state), "2"), fx=Disk())
    assert told(apply(first, str(world.state), fx=Disk())).steps == 0
    undo(find(str(world.state), "1"), fx=Disk())
    assert world.tree() == before


def test_no_second_journal_is_begun_beside_a_damaged_one(world: World) -> None:
    plan = plan_of(world)
    killed(world, plan)
    (found,) = runs(str(world.state))
    before = world.tree()
    first, *others = Path(found.journal).read_bytes().splitlines(keepends=True)
    Path(found.journal).write_bytes(b"".join([first, first, *others]))
    wanted = rf"line 2 is damaged .*segmend plan reverse {found.path}"
    with pytest.raises(SegmendError, match=wanted):
        apply(plan, str(world.state), fx=Disk())
    assert world.tree() == before
    assert [path.name for path in Path(found.path).parent.iterdir()] == [found.name]


def test_drawn_damage_of_the_state_dir(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """More of them: `python -m tests.surgery.state_dirs`."""
    told = state_dirs.play(range(sampled(400, 16)), SEED, [], tmp_path)
    assert not told["DISAGREES"], capfd.readouterr().out


def test_the_copy_of_the_plan_beside_the_old_bytes_stands_in_for_it(world: World) -> None:
    before = world.tree()
    told(apply(plan_of(world), str(world.state), fx=Disk(), backup_dir=str(world.root / "spare")))
    (found,) = runs(str(world.state))
    kept = Path(found.path, "plan.json")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:100])
    undo(find(str(world.state), None), fx=Disk())
    assert (world.tree(), kept.read_bytes()) == (before, whole)


@pytest.mark.parametrize("kept", [(), ("journal.jsonl",)])
def test_lines_that_are_lost_leave_a_way_back_by_the_files(world: World, kept: tuple[str, ...]) -> None:
    """All of the journal, or what began it alone: by the files each step was done."""
    before = world.tree(folder_times=False)
    told(apply(plan_of(world, steps(world)[2:-2]), str(world.state), fx=Disk()))
    (found,) = runs(str(world.state))
    for name in ("journal.jsonl", "begun.json"):
        Path(found.path, name).unlink()
    for name in kept:
        Path(found.path, name).mkdir()
    with pytest.raises(SegmendError) as refused:
        undo(PlanRun.load(found.path), fx=Disk())
    assert ("move it out of the way" if kept else f"segmend plan reverse {found.path})") in str(refused.value)
    (world.a / "recovery-point-offset-checkpoint").write_bytes(b"0\n0\n")
    plan = reverse(find(str(world.state), found.path, PlanRun.load_by_files))
    assert not plan.left
    apply(plan, str(world.state), fx=Disk())
    after = world.tree(folder_times=False)
    odd = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    names = (".kafka_cleanshutdown", "recovery-point-offset-checkpoint")
    assert odd == {str(world.a / name) for name in names}


def of_many_directories(line: bytes) -> bytes:
    """Longer than what is read of a line that says nothing of its length."""
    more = b",".join(b'"/%0100d":0' % number for number in range(45_000))
    return line.replace(b'"folders":{', b'"folders":{' + more + b",")


LINES: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "rotten": (lambda _: b"rotten\n", lambda line: line),
    "both": (lambda _: b"rotten\n", lambda _: b"rotten\n"),
    "another path": (lambda line: line.replace(b"/world/a", b"/world/c"), lambda line: line),
    "long": (of_many_directories, of_many_directories),
}
"""What becomes of the first line of a journal, and of begun.json."""


@pytest.mark.parametrize("case", LINES)
def test_an_open_journal_is_told_of_whatever_its_first_line_is(
    world: World, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    killed(world, plan_of(world))
    (found,) = runs(str(world.state))
    path, begun = Path(found.journal), Path(found.last_beginning)
    first, end, rest = path.read_bytes().partition(b"\n")
    of_journal, of_begun = LINES[case]
    path.write_bytes(of_journal(first + end) + rest)
    rewrite(begun, of_begun)
    monkeypatch.setattr(stopped_surgery, "default_state_dir", lambda: str(world.state))
    (line,) = stopped_surgery.stopped_surgery([LogDir.open(str(world.a))]).open
    for command in ("apply", "undo"):
        assert f"`segmend {command} {found.name}`" in line


def test_what_was_begun_goes_on_without_the_file_of_its_plan(world: World) -> None:
    """It said "make the plan again", which no surgery that was begun lets anybody do."""
    before, plan, state = world.tree(), plan_of(world), ("--state-dir", world.state)
    file = written(world, plan)
    killed(world, plan)
    (found,) = runs(str(world.state))
    goes_on = f"segmend apply {found.path}"
    for hurt in (DAMAGES["flipped"], DAMAGES["rotten"], DAMAGES["empty"]):
        file.write_bytes(hurt(plan.render()))
        assert goes_on in run("apply", file, "--yes", *state, code=None).err
    file.unlink()
    assert goes_on in run("apply", file, "--yes", *state, code=8).err
    for named in (found.path, found.journal):
        run("apply", named, "--yes", "--dry-run", code=0)
    for other in ("", "/", world.a, "77"):
        assert "log dir" not in run("apply", other, "--yes", *state, code=8).err
    run("apply", found.name, "--yes", *state, code=1)
    run("undo", found.path, "--yes", code=0)
    assert world.tree() == before
    assert "no such file" in run("apply", file, "--yes", *state, code=8).err
    file.write_bytes(DAMAGES["flipped"](plan.render()))
    assert goes_on in run("apply", file, "--yes", *state, code=8).err
    said = run("apply", file, "--yes", "--state-dir", world.root / "elsewhere", code=8).err
    assert said.rstrip().endswith("make the plan again")


def test_what_lies_in_the_place_of_old_bytes_is_to_be_moved(world: World) -> None:
    """The same command was named, and refused for ever."""
    plan = plan_of(world, steps(world)[3:4])
    told(apply(plan, str(world.state), fx=Disk()))
    told(undo(find(str(world.state), None), fx=Disk()))
    kept = Path(find(str(world.state), None).vault(0), "tail")
    put_folder(kept)
    with pytest.raises(SegmendError, match=rf"{kept}: is no plain file; move it out of the way"):
        apply(plan, str(world.state), fx=Disk())
    kept.rmdir()
    assert apply(plan, str(world.state), fx=Disk()).state == "applied"


def test_what_a_stopped_step_has_set_aside_is_not_brought_back_damaged(world: World) -> None:
    """It was, and "taken back" was said: the file was renamed, and no line told that yet."""
    (step,) = (each for each in steps(world) if isinstance(each, Quarantine) and each.before.kind == "file")
    path, plan = Path(step.path), plan_of(world, [step])
    before = world.tree()
    for at in range(1, 100):
        with pytest.raises(Died):
            apply(plan, str(world.state), fx=Mortal(at, world.b))
        if not path.exists():
            break
    (found,) = runs(str(world.state))
    assert found.status(0) is Status.BETWEEN
    kept = Path(found.vault(0), path.name)
    whole, status = kept.read_bytes(), kept.stat()
    kept.write_bytes(bytes(len(whole)))
    with pytest.raises(SegmendError, match=rf"refused: {kept}: .*segmend plan reverse"):
        undo(find(str(world.state), None), fx=Disk())
    assert not path.exists()
    kept.write_bytes(whole)
    os.utime(kept, ns=(status.st_atime_ns, status.st_mtime_ns))
    undo(find(str(world.state), None), fx=Disk())
    assert world.tree() == before


def test_a_move_that_was_stopped_with_both_copies_goes_back_by_the_files(world: World) -> None:
    """Both stayed, where no broker starts; and what was named as kept was nowhere."""
    patch = next(each for each in steps(world) if isinstance(each, PatchFile))
    moves = [each for each in steps(world) if isinstance(each, MoveDir)]
    move = next(each for each in moves if each.target.startswith(str(world.b)))
    (world.a / RECOVERY_POINT).write_bytes(b"0\n1\nfar 0 7\n")
    source = {path: row for path, row in world.tree().items() if path.startswith(move.source)}
    plan = plan_of(world, [patch, move])
    for at in range(1, 200):
        with pytest.raises(Died):
            apply(plan, str(world.state), fx=Mortal(at, world.b))
        if move.is_half_done():
            break
    (found,) = runs(str(world.state))
    Path(found.vault(0), "old").write_bytes(b"")
    with pytest.raises(SegmendError, match="segmend plan reverse"):
        undo(PlanRun.load(found.path), fx=Disk(world.b))
    back = reverse(PlanRun.load(found.path))
    assert [left.path for left in back.left] == [patch.paths[0]]
    apply(back, str(world.state), fx=Disk(world.b))
    assert not Path(move.target).exists()
    assert {path: row for path, row in world.tree().items() if path.startswith(move.source)} == source
    assert (world.a / RECOVERY_POINT).read_bytes() == b"0\n1\nfar 0 7\n"
