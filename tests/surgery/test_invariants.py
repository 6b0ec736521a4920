"""What must hold so that no byte is lost, broken on purpose: each is an assertion that says so."""

import errno
import hashlib
import json
import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.faults.on_disk import lengthen
from tests.surgery.faulty import Died, Mortal
from tests.surgery.world import World, make, plan_of, steps

from segmend.errors import SegmendError
from segmend.surgery.counted import Tell
from segmend.surgery.execute import lock, quarantines
from segmend.surgery.execute import run as execution
from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.journal import writing
from segmend.surgery.execute.journal_events import FORWARD, Course, Direction, Event, event_of, line_of
from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.execute.runs import find, runs
from segmend.surgery.execute.undo import undo
from segmend.surgery.fingerprint import Fingerprint
from segmend.surgery.plan import Plan
from segmend.surgery.writing import atomic, transfer
from segmend.surgery.writing.effects import Effects
from segmend.surgery.writing.work import Workplace

BEGUN: Event = {"event": "begun", "direction": "forward", "vaults": "/v", "folders": {}, "locks": []}


def event(kind: str, direction: str = "forward", **more: object) -> Event:
    return {"event": kind, "direction": direction, **more}


def whole(direction: str = "forward") -> list[Event]:
    """A run of two steps that came to its end."""
    order = (0, 1) if direction == "forward" else (1, 0)
    steps = [event(kind, direction, step=step) for step in order for kind in ("intended", "done")]
    return [{**BEGUN, "direction": direction}, *steps, event("finished", direction)]


RULES = [
    ([], event("intended", step=0), "a run goes where it has begun to go"),
    ([BEGUN], event("intended", "back", step=0), "a run goes where it has begun to go"),
    ([BEGUN], event("intended", step=2), "the plan has no such step"),
    ([BEGUN], event("done", step=0), "a step is done only after it was begun"),
    (whole()[:3], event("intended", step=0), "a step that is where it is to be is not begun again"),
    (whole()[:3], event("done", step=0), "a step is done only after it was begun"),
    (whole()[:3], event("finished"), "a run is finished when every step is where it is to be"),
    (whole()[:2], {**BEGUN, "vaults": "/w"}, "the old bytes of steps that were begun lie elsewhere"),
    (whole()[:5], event("told"), "only what came to its end is told, or given up for good"),
    (whole()[:3], event("discarded", steps=[0]), "only what came to its end is told, or given up for good"),
    (whole(), event("discarded", steps=[2]), "the plan has no such step"),
    ([*whole(), *whole("back")], event("discarded", "back", steps=[1]), "only what a step has set aside"),
    (whole(), event("intended", step=0), "what came to its end begins anew before anything is done"),
    (whole(), event("finished"), "what came to its end begins anew before anything is done"),
]


@pytest.mark.parametrize(("past", "following", "rule"), RULES, ids=[rule for _, _, rule in RULES])
def test_an_event_keeps_the_rules_of_journals(past: list[Event], following: Event, rule: str) -> None:
    course = Course([None, None])
    for each in past:
        assert course.broken_rule(each) is None
        course.take(each)
    assert (course.broken_rule(following) or "").startswith(rule)


def test_other_vaults_are_welcome_where_nothing_lies_in_the_old_ones() -> None:
    course = Course([None, None])
    for each in [*whole(), *whole("back"), {**BEGUN, "vaults": "/w"}]:
        assert course.broken_rule(each) is None
        course.take(each)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make(tmp_path)


def applied(world: World) -> PlanRun:
    return apply(plan_of(world), str(world.state)).run


def test_what_breaks_a_rule_is_never_written(world: World) -> None:
    found = applied(world)
    before = Path(found.journal).read_bytes()
    with (
        writing(Effects(), found, lambda: 0.0) as journal,
        pytest.raises(AssertionError, match="begins anew before anything is done"),
    ):
        journal.write("done", FORWARD, step=0)
    assert Path(found.journal).read_bytes() == before


def test_a_journal_that_breaks_a_rule_is_damaged(world: World) -> None:
    path = Path(applied(world).journal)
    lines = path.read_bytes().splitlines(keepends=True)
    unchained = [json.loads(line) for line in lines]
    of_old = [
        json.dumps({k: v for k, v in each.items() if k not in ("after", "sum")}).encode() + b"\n"
        for each in unchained
    ]
    path.write_bytes(b"".join([*of_old[:1], *of_old[2:]]))
    problems: list[SegmendError] = []
    assert not runs(str(world.state), problems.append)
    assert "line 3 is damaged (a step is done only after it was begun)" in str(problems[0])
    last = json.loads(of_old[-1]) | {"event": "intended", "step": 0}
    path.write_bytes(b"".join([*of_old, json.dumps(last).encode() + b"\n"]))
    with pytest.raises(SegmendError, match="begins anew before anything is done"):
        find(str(world.state), "1")


def test_no_line_can_go_unseen_from_the_middle(world: World) -> None:
    path = Path(applied(world).journal)
    lines = path.read_bytes().splitlines(keepends=True)
    for number in range(len(lines) - 1):
        path.write_bytes(b"".join([*lines[:number], *lines[number + 1 :]]))
        with pytest.raises(SegmendError, match=f"line {number + 1} is damaged .the line before it"):
            find(str(world.state), "1")


@pytest.mark.parametrize("lost", [1, 2, 3, 4, 5, 9, 1000])
def test_an_undo_by_a_journal_that_lost_its_end(world: World, lost: int) -> None:
    """All is taken back, or nothing and that is said: never "taken back" of what is not."""
    before = world.tree()
    path = Path(applied(world).journal)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-lost]))
    after = world.tree()
    ran = run("undo", "1", "--yes", "--state-dir", world.state)
    assert (ran.code, world.tree()) == ((0, before) if lost < 3 else (8, after)), ran
    assert lost < 5 or "of which the journal says nothing: lines of it are lost" in ran.err


def test_what_another_surgeon_did_after_an_undo_is_no_lost_line(world: World, tmp_path: Path) -> None:
    """He applied the same, by a state dir of his own; once he took it back the first one may go again."""
    before = world.tree()
    (plan_file := tmp_path / "plan.json").write_bytes(plan_of(world).render())
    mine, his = (("--yes", "--state-dir", world.state / name) for name in ("mine", "his"))
    run("apply", plan_file, *mine, code=1)
    run("undo", "1", *mine, code=0)
    run("apply", plan_file, *his, code=1)
    after = world.tree()
    ran = run("apply", plan_file, *mine, code=8)
    assert "all is as this plan leaves it: it was applied with another --state-dir, or done" in ran.err
    assert "lines of it are lost" not in ran.err
    assert world.tree() == after
    run("undo", "1", *his, code=0)
    run("apply", plan_file, *mine, code=1)
    run("undo", "1", *mine, code=0)
    assert world.tree() == before


def test_a_journal_without_a_line_is_named_and_what_it_hides_too(world: World) -> None:
    """Of a run that was stopped before its first step; how the directories were stood in the first line."""
    path = Path(applied(world).journal)
    first = path.read_bytes().splitlines(keepends=True)[0]
    undo(find(str(world.state), None))
    path.write_bytes(b"")
    path.with_name("begun.json").unlink()
    lock = world.a / ".lock"
    lock.touch()
    ran = run("undo", "--yes", "--state-dir", world.state)
    assert (ran.code, f"{path}: has no line, and no other journal here has" in ran.err) == (16, True), ran
    command = ran.err.rpartition("; segmend ")[2].rpartition(" goes by")[0]
    ran = run(*shlex.split(command), "--yes", code=0)
    assert f"changed the time of {world.a}" in ran.out
    assert f"made {lock}, which stays" in ran.out
    path.write_bytes(first)
    ran = run("undo", "--yes", "--state-dir", world.state)
    assert (ran.code, "has no line" in ran.out) == (0, False)


@pytest.mark.parametrize("rounds", range(4))
def test_the_line_that_begins_a_round_is_not_lost_with_the_journal(world: World, rounds: int) -> None:
    """Killed behind it, in whichever round: times of directories are as before, and no `.lock` is left."""
    before, plan = world.tree(), plan_of(world)
    for number in range(rounds):
        undo(find(str(world.state), "1")) if number % 2 else apply(plan, str(world.state))
    kept = Path(find(str(world.state), "1").journal).read_bytes() if rounds else b""
    for at in range(1, 99):
        if (world.a / ".lock").exists():
            break
        with suppress(Died):
            fx = Mortal(at)
            undo(find(str(world.state), "1"), fx=fx) if rounds % 2 else apply(plan, str(world.state), fx=fx)
    (found,) = runs(str(world.state))
    Path(found.journal).write_bytes(kept)
    ran = run("undo", found.name, "--yes", "--state-dir", world.state)
    assert (ran.code, world.tree()) == (0, before), ran


def test_no_byte_of_the_last_line_is_another_one_unseen(world: World) -> None:
    """It may say where the old bytes are, and no line behind it has its hash."""
    path = Path(applied(world).journal)
    line = path.read_bytes().splitlines(keepends=True)[0]
    real = {**(event_of(line) or {}), "sum": None}
    assert real["vaults"]
    for at in range(len(line)):
        for bit in (1, 32):
            changed = event_of(line[:at] + bytes([line[at] ^ bit]) + line[at + 1 :])
            assert changed is None or {**real, **changed, "sum": None}.items() >= real.items()


@pytest.mark.parametrize("ends", [["x", 3], [["x", 3]], 3, {"x": 3}, {"x": ["y", "3"]}, {"x": ["y", -1]}])
def test_ends_of_logs_in_another_shape_are_no_line(world: World, ends: object) -> None:
    """Who undoes asks them by directory."""
    line = Path(applied(world).journal).read_bytes().splitlines(keepends=True)[0]
    begun = json.loads(line)
    del begun["sum"]
    assert event_of(line_of(begun)) == event_of(line)
    assert event_of(line_of({**begun, "log_ends": ends})) is None


def applied_unsaid(world: World, plan: Plan) -> None:
    """Done, and of the journal there is no more than that it was begun."""
    journal = Path(apply(plan, str(world.state)).run.journal)
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])


def test_half_a_step_that_the_journal_lost_is_not_taken_for_none(world: World) -> None:
    """Neither as before nor as after; what was lies in the vault, where nobody would look for it."""
    log = world.a / "patch-0" / "0.log"
    old = log.read_bytes()
    plan = plan_of(world, steps(world)[5:6])
    applied_unsaid(world, plan)
    with open(log, "r+b") as file:
        file.write(old[:64])
    ran = run("undo", "--yes", "--state-dir", world.state, code=8)
    assert "0.log: step 1 has kept what it was, of which the journal says nothing" in ran.err


@pytest.mark.parametrize(("number", "missing"), [(7, 16), (7, 0), (12, 0)])
def test_half_a_step_that_keeps_nothing_is_not_taken_for_none_either(
    world: World, number: int, missing: int
) -> None:
    """Bytes appended, not all or without their time, a directory made; the vault tells nothing of them."""
    plan = plan_of(world, steps(world)[number : number + 1])
    applied_unsaid(world, plan)
    path = Path(plan.steps[0].paths[0])
    path.chmod(0o700) if path.is_dir() else os.truncate(path, path.stat().st_size - missing)
    os.utime(path, ns=(1, 1))
    ran = run("undo", "--yes", "--state-dir", world.state, code=8)
    assert f"{path.name}: step 1 has begun to change it, of which the journal says nothing" in ran.err


def test_a_directory_in_both_places_is_not_taken_for_one_that_was_not_moved(world: World) -> None:
    """So it is across disks, before the old one goes; a broker starts with no partition in two log dirs."""
    plan = plan_of(world, steps(world)[11:12])
    applied_unsaid(world, plan)
    source, target = map(Path, plan.steps[0].paths)
    shutil.copytree(target, source, symlinks=True)
    ran = run("undo", "--yes", "--state-dir", world.state, code=8)
    assert "far-0: step 1 has begun to change it, of which the journal says nothing" in ran.err


def test_no_line_is_written_behind_a_torn_one(world: World) -> None:
    found = applied(world)
    with writing(Effects(), found, lambda: 0.0) as journal:
        found.size += 1
        with pytest.raises(AssertionError, match="a torn line is cut off"):
            journal.write("told", FORWARD)


def test_no_step_is_begun_before_its_vault_is_there(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = world.tree(folder_times=False)
    make_vaults = execution._make_vaults
    monkeypatch.setattr(execution, "_make_vaults", lambda fx, vaults: make_vaults(fx, vaults) - {*vaults})
    with pytest.raises(AssertionError, match="no step is begun before its vault"):
        applied(world)
    assert world.tree(folder_times=False) == before


def test_no_step_is_taken_without_the_locks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = world.tree()

    @contextmanager
    def unlocked(fx: Effects, _dirs: list[str], made: list[str]) -> Iterator[lock.Locks]:
        yield lock.Locks(fx, [], made, ExitStack())

    monkeypatch.setattr(lock, "locked", unlocked)
    with pytest.raises(AssertionError, match="whose lock is not held"):
        applied(world)
    assert world.tree() == before


def test_steps_are_taken_back_in_reverse(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    found = applied(world)
    examine = execution.examine

    def forwards(run: PlanRun, direction: Direction, tell: Tell, **more: str | None) -> tuple[list[int], str]:
        todo, vaults = examine(run, direction, tell, **more)
        return todo[::-1], vaults

    monkeypatch.setattr(execution, "examine", forwards)
    with pytest.raises(AssertionError, match="and back in reverse"):
        undo(found)


def test_a_run_that_left_a_step_out_is_not_finished(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    examine = execution.examine

    def without_the_last(
        run: PlanRun, direction: Direction, tell: Tell, **more: str | None
    ) -> tuple[list[int], str]:
        todo, vaults = examine(run, direction, tell, **more)
        return todo[:-1], vaults

    monkeypatch.setattr(execution, "examine", without_the_last)
    with pytest.raises(AssertionError, match="every step is where it is to be"):
        applied(world)
    assert find(str(world.state), None).state == "applying"


def work(tmp_path: Path) -> Workplace:
    vault = tmp_path / "vault"
    vault.mkdir()
    return Workplace(fx=Effects(), vault=str(vault), token="ab" * 16)


def test_old_bytes_are_never_written_over(tmp_path: Path) -> None:
    here = work(tmp_path)
    kept = tmp_path / "vault" / "old"
    kept.write_bytes(b"old")
    with (
        pytest.raises(AssertionError, match="never written over"),
        atomic.change_in_place(here, str(kept), Fingerprint(kind="file")),
    ):
        raise SystemError("unreachable")
    assert kept.read_bytes() == b"old"


def test_no_file_keeps_a_temporary_name(tmp_path: Path) -> None:
    here, path = work(tmp_path), f"{tmp_path}/x{atomic.TEMPORARY}"
    with pytest.raises(AssertionError, match="keeps the name of one that is being written"):
        atomic.write_atomically(here, path, atomic.bytes_of(b"", here), Fingerprint(kind="file"))


def test_only_copies_are_removed_as_a_whole(tmp_path: Path) -> None:
    here = work(tmp_path)
    partition = tmp_path / "orders-0"
    partition.mkdir()
    with pytest.raises(AssertionError, match="only a second copy"):
        transfer._remove_copy(here, str(partition))
    assert partition.is_dir()


def test_nothing_is_removed_that_is_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that claims to be done, and is not there."""
    here, source = work(tmp_path), tmp_path / "orders-0"
    source.mkdir()
    monkeypatch.setattr(transfer, "_renamed", lambda *_: False)
    monkeypatch.setattr(transfer, "_copy", lambda *_: frozenset())
    monkeypatch.setattr(transfer, "_same", lambda *_: None)
    with pytest.raises(AssertionError, match="nowhere else"):
        transfer.transfer(here, str(source), str(tmp_path / "moved-0"))
    assert source.is_dir()


def test_only_what_lies_in_a_vault_is_discarded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    found = applied(world)
    (item, *_) = quarantines.items([found])
    monkeypatch.setattr(quarantines.SetAside, "place", property(lambda _self: str(world.a / "cut-0")))
    with pytest.raises(AssertionError, match="only what lies in the vault"):
        quarantines.discard([item], fx=Effects(), now=lambda: 0.0)
    assert (world.a / "cut-0").is_dir()


def test_a_file_that_was_there_can_come_back(world: World) -> None:
    """Or else an undo would take it for one that was missing, and remove it."""
    step = next(step for step in plan_of(world).steps if step.KIND == "replace_file")
    with pytest.raises(ValueError, match="without a hash, which an undo needs"):
        replace(step, before=replace(step.before, sha256=None))  # type: ignore[type-var]


class Owned(Effects):
    """Tells whose each file is made."""

    def __init__(self) -> None:
        self.owners: dict[str, tuple[int, int]] = {}

    def set_owner(self, fd: int, uid: int, gid: int) -> None:
        self.owners[os.readlink(f"/proc/self/fd/{fd}")] = (uid, gid)


def test_a_lock_that_is_made_is_of_its_dir_s_owner_and_goes_after_an_error_too(tmp_path: Path) -> None:
    fx, home, stack = Owned(), tmp_path.stat(), ExitStack()
    stack.enter_context(lock.locked(fx, [str(tmp_path)], [str(tmp_path)]))
    assert fx.owners == {f"{tmp_path}/.lock": (home.st_uid, home.st_gid)}
    stack.__exit__(OSError, OSError("full"), None)
    assert not (tmp_path / ".lock").exists()


class WithoutQuota(Effects):
    """Lets a file be made, and not be given away."""

    def set_owner(self, fd: int, uid: int, gid: int) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")


def test_a_lock_that_cannot_be_given_its_owner_does_not_stay(tmp_path: Path) -> None:
    """Of root's, it would keep the broker from starting."""
    with lock.locked(WithoutQuota(), [str(tmp_path)], [str(tmp_path)]) as locks:
        assert (locks.full, locks.held) == ({str(tmp_path)}, set())
    assert not (tmp_path / ".lock").exists()


class Forgetful(Effects):
    """A disk that takes bytes and keeps others."""

    def write(self, fd: int, data: bytes | memoryview, position: int) -> None:
        super().write(fd, bytes(len(data)), position)


def test_a_backup_that_does_not_read_back_is_none(tmp_path: Path) -> None:
    work = Workplace(fx=Forgetful(), vault=str(tmp_path))
    with pytest.raises(SegmendError, match="does not read back"):
        atomic.keep(work, "old", atomic.bytes_of(b"old", work), hashlib.sha256(b"old").hexdigest())


class Full(Effects):
    """A disk that has no room left when it is to keep what it took."""

    def sync(self, fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_nothing_half_written_is_left_on_a_full_disk(tmp_path: Path) -> None:
    work = Workplace(fx=Full(), vault=str(tmp_path))
    with pytest.raises(OSError, match="No space"):
        atomic.write_atomically(
            work, f"{tmp_path}/new", atomic.bytes_of(b"new", work), Fingerprint(kind="file", mode=0o600)
        )
    assert not list(tmp_path.iterdir())


def test_a_torn_line_is_cut_off_whatever_its_length(world: World) -> None:
    journal = Path(applied(world).journal)
    lengthen(journal, b"x" * 100_000)
    undo(find(str(world.state), None))
    assert None not in [event_of(line) for line in journal.read_bytes().splitlines(keepends=True)]
