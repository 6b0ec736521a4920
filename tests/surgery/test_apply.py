"""What apply and undo refuse, and what they say; on a small world of files."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.beside import broker_on, holding, waiting
from tests.faults.on_disk import lengthen
from tests.removal import remove
from tests.surgery.faulty import Died, Disk, Mortal
from tests.surgery.world import World, make, plan_of, steps

from segmend.errors import BrokerRunning, Cancelled, SegmendError, UsageError
from segmend.logdir.file_system import Space
from segmend.surgery.execute import journal, plan_run
from segmend.surgery.execute import preconditions as expectations
from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.journal import acknowledge
from segmend.surgery.execute.journal_events import Status
from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.execute.run import Outcome, StepState, Watch
from segmend.surgery.execute.runs import SeveralJournals, find, new_run, runs
from segmend.surgery.execute.undo import undo
from segmend.surgery.fingerprint import look
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.plan import Plan
from segmend.surgery.planning.compose import composed
from segmend.surgery.steps.cut_file import CutFile
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.patch_file import PatchFile
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.surgery.writing.effects import Effects
from segmend.surgery.writing.transfer import allocated
from segmend.surgery.writing.work import folder


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make(tmp_path / "world")


def run(world: World, plan: Plan | None = None) -> Outcome:
    return told(apply(plan or plan_of(world), str(world.state), fx=Disk()))


def told(outcome: Outcome) -> Outcome:
    """As the command does after it has said what it did."""
    acknowledge(Disk(), outcome.run, lambda: 0.0)
    return outcome


def refused(world: World, plan: Plan, error: type[SegmendError] = SegmendError) -> str:
    """The refusal; nothing in the log dirs has changed by it, not even a directory's time."""
    before = world.tree()
    with pytest.raises(error) as said:
        apply(plan, str(world.state), fx=Effects())
    assert world.tree() == before
    assert "\n" not in str(said.value)
    return str(said.value)


def test_applied_undone_applied_again_and_undone_by_the_real_effects(world: World) -> None:
    before = world.tree()
    plan = plan_of(world)
    assert told(apply(plan, str(world.state))).steps == len(plan.steps)
    after = world.tree(folder_times=False)
    name = find(str(world.state), None).name
    assert told(undo(find(str(world.state), None))).state == "undone"
    assert world.tree() == before
    assert told(undo(find(str(world.state), name))).state == "applied"
    assert world.tree(folder_times=False) == after
    assert told(undo(find(str(world.state), name))).state == "undone"
    assert world.tree() == before
    assert told(apply(plan, str(world.state))).state == "applied"
    assert len(runs(str(world.state))) == 1


def test_who_was_not_told_may_say_it_again(world: World) -> None:
    """Killed between the last step and the last word: the same command means the same thing."""
    before = world.tree()
    plan = plan_of(world)
    apply(plan, str(world.state), fx=Disk())
    after = world.tree(folder_times=False)
    again = told(apply(plan, str(world.state), fx=Disk()))
    assert (again.state, again.steps) == ("applied", 0)
    assert world.tree(folder_times=False) == after
    undo(find(str(world.state), None), fx=Disk())
    again = told(undo(find(str(world.state), None), fx=Disk()))
    assert (again.state, again.steps) == ("undone", 0)
    assert world.tree() == before


def test_what_was_applied_and_then_restored_by_hand_can_be_applied_again(world: World) -> None:
    """The same dirs give the same plan, and its journal must not stand in the way."""
    plan, before = plan_of(world, steps(world)[3:6]), world.tree(folder_times=False)
    copy = world.root / "copy"
    shutil.copytree(world.a, copy)
    run(world, plan)
    remove(world.a)
    shutil.copytree(copy, world.a)
    run(world, plan)
    assert [found.state for found in runs(str(world.state))] == ["applied", "applied"]
    told(undo(find(str(world.state), "0002"), fx=Disk()))
    assert world.tree(folder_times=False) == before


def test_a_second_time_changes_nothing_or_is_refused(world: World) -> None:
    """Who was killed before he read that it was applied gives the command again."""
    plan = plan_of(world)
    run(world, plan)
    after = world.tree()
    assert run(world, plan).steps == 0
    assert world.tree() == after
    next(path for path in sorted(world.b.rglob("*")) if path.is_file()).write_bytes(b"by somebody")
    assert "was applied already (journal 0001-test-" in refused(world, plan)
    shutil.rmtree(world.state)  # with another state dir the files themselves say so
    assert "is not" in refused(world, plan)


@pytest.mark.parametrize(
    ("hurt", "said"),
    [
        (lambda w: (w.a / "cut-0" / "0.log").write_bytes(b"x"), "its size is 1, not 640"),
        (lambda w: (w.a / "gone-0" / "0.index").unlink(), "its size is 192, not 208"),
        (lambda w: (w.a / "patch-0" / "0.log").chmod(0o777), "its mode is 777, not"),
        (lambda w: os.utime(w.a / "append-0" / "0.log", ns=(1, 1)), "its modification time is 1, not"),
        (lambda w: shutil.rmtree(w.a / "near-0"), "there is nothing, not a directory"),
        (lambda w: (w.b / "far-0").mkdir(), "far-0 is there already"),
        (lambda w: (w.root / "replica" / "5.log").write_bytes(b"x"), "bytes 16 to 176 of"),
        (lambda w: (w.b / "recovery-point-offset-checkpoint").write_text("0\n0\n"), "is older than what a"),
        (lambda w: os.utime(w.a / ".kafka_cleanshutdown", ns=(1, 1)), "is older than what a broker"),
        (lambda w: (w.b / "meta.properties").write_text("cluster.id=x"), "was made for another log dir"),
        (lambda w: shutil.rmtree(w.b), "no such directory; the plan was made for it"),
    ],
)  # fmt: skip
def test_a_world_that_changed_is_refused(world: World, hurt: object, said: str) -> None:
    plan = plan_of(world)
    hurt(world)  # type: ignore[operator]
    if not world.b.exists():
        with pytest.raises(SegmendError, match=said):
            run(world, plan)
        return
    assert said in refused(world, plan)
    assert not runs(str(world.state))


def test_bytes_that_changed_under_the_same_size_and_time_are_seen(world: World) -> None:
    plan = plan_of(world)
    path = world.a / "cut-0" / "0.log"
    s, data = path.stat(), bytearray(path.read_bytes())
    data[630] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(s.st_atime_ns, s.st_mtime_ns))
    assert "its bytes from 400 on are not what they were" in refused(world, plan)


def test_an_undo_is_refused_where_somebody_was_since(world: World) -> None:
    run(world)
    path = world.a / "cut-0" / "0.log"
    lengthen(path, b"new records")
    found = world.tree()
    with pytest.raises(SegmendError, match=r"cut-0/0\.log: its size is 411, not 400.*nothing was changed"):
        undo(find(str(world.state), None), fx=Disk())
    assert world.tree() == found


def test_an_edited_plan_is_refused(world: World) -> None:
    data = json.loads(plan_of(world).render())
    data["steps"][3]["after"]["size"] = 0
    with pytest.raises(SegmendError, match="was edited, or damaged"):
        Plan.parse(json.dumps(data).encode(), "plan.json")


def test_the_journal_keeps_a_plan_as_it_was_given(world: World) -> None:
    """Byte for byte, also where another segmend wrote more into it, or it has other blanks."""
    data = {**json.loads(plan_of(world).render()), "of": "a later segmend"}
    del data["sha256"]
    said = json.dumps(data, sort_keys=True, separators=(",", ":"))
    given = json.dumps({**data, "sha256": hashlib.sha256(said.encode()).hexdigest()}).encode()
    run = apply(Plan.parse(given, "plan.json"), str(world.state), fx=Disk()).run
    assert Path(run.path, "plan.json").read_bytes() == given
    assert find(str(world.state), None).plan.sha256 == run.plan.sha256 == json.loads(given)["sha256"]


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"type":"plan"}', b"\xff", b"[" * 100_000])
def test_what_is_no_plan(text: bytes) -> None:
    with pytest.raises(SegmendError):
        Plan.parse(text, "plan.json")


def test_a_plan_of_another_segmend_is_told() -> None:
    with pytest.raises(SegmendError, match="is a plan of version 99"):
        Plan.parse(b'{"type":"plan","version":99}', "plan.json")


def test_a_held_lock_is_refused_and_nothing_is_changed(world: World) -> None:
    plan = plan_of(world)
    (world.b / ".lock").touch()
    with broker_on(world.b) as process:
        said = refused(world, plan, BrokerRunning)
        assert f"{world.b}: its .lock is held by process {process}" in said
    assert not world.state.exists()


def test_a_lock_that_a_broker_removes_while_it_stops_holds_nobody_off(world: World) -> None:
    """Who locks a file that is gone shares the log dir with whoever makes the next one."""

    class Stopping(Disk):
        def open(self, path: str) -> int:
            fd = super().open(path)
            if path == str(world.b / ".lock"):
                os.unlink(path)
            return fd

    (world.b / ".lock").touch()
    before, plan = world.a.stat().st_mtime_ns, plan_of(world)
    with pytest.raises(BrokerRunning, match=r"removed its \.lock; try again"):
        apply(plan, str(world.state), fx=Stopping())
    assert (world.a.stat().st_mtime_ns, not_done(plan)) == (before, True)


class NoRoom(Disk):
    """Disks on which no new `.lock` can be made."""

    def __init__(self, *full: Path) -> None:
        super().__init__()
        self._full = {str(each / ".lock") for each in full}

    def room(self) -> None:
        """Something is free by now."""
        self._full.clear()

    def create(self, path: str, mode: int = 0o600) -> int:
        if path in self._full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return super().create(path, mode)


def test_a_full_disk_without_room_for_a_lock_is_locked_as_soon_as_it_has_some(world: World) -> None:
    """XFS needs room to make one; nor can a broker make it meanwhile."""
    plan, full = plan_of(world), NoRoom(world.a, world.b)
    seen = []

    def tell(number: int, _step: object, state: StepState) -> None:
        if state == StepState.DOING and number <= 3:
            seen.append([(each / ".lock").exists() for each in (world.a, world.b)])
        if number == 2:
            full.room()

    told(apply(plan, str(world.state), fx=full, watch=Watch(tell=tell)))
    assert seen == [[False, False], [False, False], [True, True]]
    assert all(step.not_after() is None for step in plan.steps)
    assert not list(world.root.glob("*/.lock"))


class NoVaults(Disk):
    """A disk that is full before the first line of a journal."""

    def make_dir(self, path: str, mode: int = 0o700) -> None:
        if path.endswith("/steps"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        super().make_dir(path, mode)


def test_what_was_not_begun_has_nothing_to_be_taken_back(world: World) -> None:
    before = world.tree()
    with pytest.raises(SegmendError, match="nothing was changed: the same command goes on") as said:
        apply(plan_of(world), str(world.state), fx=NoVaults())
    assert "undo" not in str(said.value)
    assert world.tree() == before


def not_done(plan: Plan) -> bool:
    """Whether nothing of it was begun."""
    return all(step.not_before() is None for step in plan.steps)


def test_another_segmend_at_the_same_log_dirs_is_told_apart(world: World) -> None:
    """Two plans at once: the second waits for no one, and says who it may be."""
    first, second = plan_of(world, steps(world)[:1]), plan_of(world, steps(world)[3:4])
    told_: list[str] = []

    def meanwhile(*_: object) -> None:
        if told_:
            return
        argv = [sys.executable, "-c", SECOND, second_file, str(world.root / "other")]
        ran = subprocess.run(
            argv, capture_output=True, text=True, env={"PYTHONPATH": os.pathsep.join(sys.path)}
        )
        told_.append(f"{ran.returncode} {ran.stderr}")

    second_file = str(world.root / "second.json")
    Path(second_file).write_bytes(second.render())
    apply(first, str(world.state), fx=Disk(), watch=Watch(tell=meanwhile))
    assert told_[0].startswith("64 ")
    assert "another segmend is at work here; nothing was changed" in told_[0]


SECOND = """
import sys
from segmend.cli.main import main
sys.exit(main(["apply", sys.argv[1], "--yes", "--state-dir", sys.argv[2]]))
"""


@pytest.mark.usefixtures("processes")
def test_a_process_that_writes_without_a_lock_is_seen(world: World) -> None:
    plan = plan_of(world)
    with holding(world.a / "cut-0" / "0.log") as process:
        assert f"process {process}" in refused(world, plan, BrokerRunning)


@pytest.mark.usefixtures("processes")
def test_a_broker_that_has_nothing_open_yet_is_seen(world: World) -> None:
    plan = plan_of(world)
    config = world.root / "server.properties"
    config.write_text(f"log.dirs={world.b}\n")
    with waiting("", "kafka.Kafka", config) as process:
        said = refused(world, plan, BrokerRunning)
        assert said.startswith(f"{world.b}: process {process} ")
        assert "is a broker with this log dir" in said


def test_the_locks_are_held_meanwhile_and_gone_or_there_as_before(world: World) -> None:
    (world.a / ".lock").touch()
    plan = plan_of(world)
    seen: list[tuple[bool, bool]] = []

    def look_at_locks(*_: object) -> None:
        seen.append((_held(world.a / ".lock"), _held(world.b / ".lock")))

    apply(plan, str(world.state), fx=Disk(), watch=Watch(tell=look_at_locks))
    assert set(seen) == {(True, True)}
    assert (world.a / ".lock").exists()
    assert not (world.b / ".lock").exists()


def _held(path: Path) -> bool:
    """Whether a record lock is refused; a record lock of this process itself would not be in its way."""
    with open(path, "a") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def test_our_lock_survives_when_this_process_opens_the_file_again(world: World) -> None:
    """A record lock would be dropped by the close; ours is of the open file."""
    (world.a / ".lock").touch()
    seen: list[bool] = []

    def reopen(*_: object) -> None:
        (world.a / ".lock").read_bytes()
        seen.append(_held(world.a / ".lock"))

    apply(plan_of(world), str(world.state), fx=Disk(), watch=Watch(tell=reopen))
    assert set(seen) == {True}
    request = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
    with open(world.a / ".lock", "r+b") as file:
        assert struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK, request))[0] == fcntl.F_UNLCK


def test_a_state_dir_in_a_log_dir_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match="lies in the log dir"):
        apply(plan_of(world), str(world.a / "state"), fx=Disk())
    link = world.root / "link"
    link.symlink_to(world.a)
    with pytest.raises(UsageError, match="lies in the log dir"):
        apply(plan_of(world), str(world.state), fx=Disk(), backup_dir=str(link / "x"))


def test_a_full_disk_is_seen_before_anything_is_done(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(world)
    full = Space(total=1000, free=100, available=100, read_only=False)
    monkeypatch.setattr(expectations.disk, "space", lambda _path: full)
    said = refused(world, plan)
    assert "bytes are needed here and 100 are free; nothing was changed (--backup-dir puts" in said


def test_an_older_plan_brings_no_partition_beside_itself(world: World) -> None:
    """Of two plans for a lost replica, made one after the other, only one can be applied."""
    plan = plan_of(world)
    (world.a / "new-0").mkdir()
    assert f"{world.a}/new-0: is that partition too" in refused(world, plan)
    (world.a / "new-0").rmdir()
    told(apply(plan, str(world.state), fx=Disk()))
    told(undo(find(str(world.state), None), fx=Disk()))
    (world.a / "new-0").mkdir()
    with pytest.raises(SegmendError, match="is that partition too"):
        undo(find(str(world.state), None), fx=Disk())


def test_two_plans_that_bring_one_partition_to_two_log_dirs_do_not_go_together(world: World) -> None:
    made = (MakeDir.like(f"{home}/new-0", str(home), "restored") for home in (world.a, world.b))
    one, other = (plan_of(world, [step]) for step in made)
    with pytest.raises(UsageError, match="is that partition too"):
        composed([one, other])


def test_a_journal_that_another_segmend_went_on_with_is_not_written_over(world: World) -> None:
    """It was read before the plan was looked at, which may take long, and is opened after that."""
    told(apply(plan_of(world), str(world.state), fx=Disk()))
    old = find(str(world.state), None)
    told(undo(find(str(world.state), None), fx=Disk()))
    lines = Path(old.journal).read_bytes()
    with (
        pytest.raises(SegmendError, match="another segmend went on with this plan meanwhile"),
        journal.writing(Disk(), old, lambda: 0.0),
    ):
        pass
    assert Path(old.journal).read_bytes() == lines


def test_a_run_that_another_segmend_makes_meanwhile_is_no_damaged_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(world)
    told(apply(plan, str(world.state), fx=Disk()))

    def meanwhile(*args: Any) -> list[PlanRun]:
        loaded = runs(*args)
        new_run(Disk(), str(world.state), plan)
        return loaded

    monkeypatch.setattr("segmend.surgery.execute.runs.runs", meanwhile)
    assert find(str(world.state), None).number == 1


def test_no_two_runs_have_one_number(world: World) -> None:
    """`quarantine discard 0001` must not take what another plan has set aside."""
    rival = world.state / "journals" / "0001-a-00000000"

    class Beside(Disk):
        def make_dir(self, path: str, mode: int = 0o700) -> None:
            super().make_dir(path, mode)
            if path.rpartition("/")[2].startswith("0001-test"):
                rival.mkdir()

    told(apply(plan_of(world), str(world.state), fx=Beside()))
    assert find(str(world.state), None).number == 2


def test_another_segmend_in_the_same_dirs_is_no_state_to_go_back_to(world: World) -> None:
    """What it makes there meanwhile, its `.lock` and new times of folders, is in no journal of ours."""
    before = world.tree()
    other = os.open(world.b, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    try:
        with pytest.raises(BrokerRunning, match="another segmend is at work here"):
            apply(plan_of(world), str(world.state), fx=Disk())
    finally:
        os.close(other)
    assert not runs(str(world.state))
    assert world.tree() == before


def test_holes_of_old_bytes_need_no_room(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed broker leaves indexes of 10 MiB that hold a few entries."""
    index = world.a / "cut-0" / "0.index"
    os.truncate(index, 10 << 20)
    log = world.a / "cut-0" / "0.log"
    os.truncate(log, 10 << 20)
    before = world.tree()
    plan = plan_of(world, [ReplaceFile.with_bytes(str(index), b"", "trimmed"), CutFile.to(str(log), 640, "")])
    small = Space(total=1 << 20, free=1 << 18, available=1 << 18, read_only=False)
    monkeypatch.setattr(expectations.disk, "space", lambda _path: small)
    told(apply(plan, str(world.state), fx=Disk()))
    told(undo(find(str(world.state), None), fx=Disk()))
    assert world.tree() == before


def test_the_old_bytes_go_where_they_are_told(world: World) -> None:
    spare = world.root / "spare"
    before = world.tree()
    apply(plan_of(world), str(world.state), fx=Disk(), backup_dir=str(spare))
    run = find(str(world.state), None)
    steps = [f"{n + 1:04d}" for n in range(len(run.plan.steps))]
    assert sorted(path.name for path in (spare / f"{run.name}-steps").iterdir()) == [*steps, "plan.json"]
    assert not (Path(run.path) / "steps").exists()
    undo(run, fx=Disk())
    assert world.tree() == before


def test_after_an_undo_the_old_bytes_may_go_elsewhere(world: World) -> None:
    before = world.tree()
    plan = plan_of(world)
    told(apply(plan, str(world.state), fx=Disk()))
    told(undo(find(str(world.state), None), fx=Disk()))
    spare = world.root / "spare"
    told(apply(plan, str(world.state), fx=Disk(), backup_dir=str(spare)))
    assert [path for path in spare.rglob("tail") if path.is_file()]
    told(undo(find(str(world.state), None), fx=Disk()))
    assert world.tree() == before


def test_a_stop_is_taken_between_steps_and_told(world: World) -> None:
    """The first two replace small files, and are taken together."""
    before = world.tree()
    said: list[str] = []
    watch = Watch(tell=lambda number, _step, state: said.append(state), stopped=lambda: "done" in said)
    with pytest.raises(Cancelled, match=r"stopped after 2 of 14 steps; nothing is lost: the same command"):
        apply(plan_of(world), str(world.state), fx=Disk(), watch=watch)
    assert find(str(world.state), None).state == "applying"
    undo(find(str(world.state), None), fx=Disk())
    assert world.tree() == before


def test_who_ran_a_broker_in_between_does_not_go_on(world: World) -> None:
    """It wrote what the plan does not touch, such as the marker of its stop; going back is still possible."""
    before = world.tree(folder_times=False)
    plan = plan_of(world, steps(world)[3:8])
    asked: list[int] = []
    watch = Watch(stopped=lambda: bool(asked), tell=lambda number, *_: asked.append(number))
    with pytest.raises(Cancelled):
        apply(plan, str(world.state), fx=Disk(), watch=watch)
    marker = world.a / ".kafka_cleanshutdown"
    old, times = marker.read_bytes(), marker.stat()
    marker.write_bytes(b"another")
    with pytest.raises(SegmendError, match=r"kafka_cleanshutdown: .*the plan is older than what a broker"):
        apply(plan, str(world.state), fx=Disk())
    told(undo(find(str(world.state), None), fx=Disk()))
    marker.write_bytes(old)
    os.utime(marker, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert world.tree(folder_times=False) == before


def test_another_segmend_at_the_same_plan_is_refused(world: World) -> None:
    plan = plan_of(world)
    said: list[str] = []

    def again(*_: object) -> None:
        if not said:
            with pytest.raises(SegmendError) as error, journal.writing(Disk(), found(), lambda: 0.0):
                pass
            said.append(str(error.value))

    def found() -> PlanRun:
        return find(str(world.state), None)

    apply(plan, str(world.state), fx=Disk(), watch=Watch(tell=again))
    assert "another segmend is at work on this plan" in said[0]


def test_a_damaged_backup_is_not_written_over_the_file(world: World) -> None:
    run(world)
    after = world.tree()
    found = find(str(world.state), None)
    tail = next(Path(found.path).glob("steps/*/tail"))
    tail.write_bytes(b"rotten")
    wanted = r"the backup is missing or damaged; nothing was changed .*segmend plan reverse"
    with pytest.raises(SegmendError, match=wanted):
        undo(found, fx=Disk())
    assert world.tree() == after


def test_owner_mode_time_and_attributes_stay(world: World) -> None:
    path = world.a / "recovery-point-offset-checkpoint"
    path.chmod(0o604)
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no attributes of users")
    os.utime(path, ns=(5, 7_000_000_001))
    before = look(str(path), content=False)
    run(world, plan_of(world, [ReplaceFile.with_bytes(str(path), b"0\n0\n", "changed")]))
    assert path.read_bytes() == b"0\n0\n"
    assert before.but(size=4).difference(look(str(path), content=False)) is None
    assert dict(before.xattrs or ())["user.note"] == b"kept".hex()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_is_told_to_be_the_owner(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(world)
    monkeypatch.setattr(expectations.os, "geteuid", lambda: 4711)
    assert "belongs to user 0; run this as that user, or as root" in refused(world, plan)


def test_holes_stay_holes(world: World) -> None:
    path = world.a / "far-0" / "0.timeindex"
    with open(path, "wb") as file:
        file.truncate(10 << 20)
    run(
        world,
        plan_of(world, [Quarantine.of(str(path), "x"), CutFile.to(str(world.a / "cut-0/0.log"), 0, "x")]),
    )
    kept = next(world.state.rglob("0.timeindex"))
    assert (kept.stat().st_size, kept.stat().st_blocks) == (10 << 20, 0)


def test_links_and_devices_are_refused_when_the_plan_is_made(world: World) -> None:
    link = world.a / "link"
    link.symlink_to(world.a / "cut-0" / "0.log")
    fifo = world.a / "fifo"
    os.mkfifo(fifo)
    for path in (link, fifo):
        for make_step in (
            lambda p: CutFile.to(p, 0, "x"),
            lambda p: Quarantine.of(p, "x"),
            lambda p: ReplaceFile.with_bytes(p, b"", "x"),
        ):
            with pytest.raises(SegmendError):
                make_step(str(path))
    assert stat.S_ISFIFO(fifo.stat().st_mode)


class Synced(Disk):
    """Knows which paths were synced, and where between them a lock was removed."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []

    def sync(self, fd: int) -> None:
        self.paths.append(os.readlink(f"/proc/self/fd/{fd}"))

    def remove(self, path: str) -> None:
        self.paths.append(path)
        super().remove(path)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_lies_above_a_new_journal_is_synced_once(world: World, elsewhere: bool) -> None:
    """And above the old bytes, if they are elsewhere; once more by a process that did not make it."""
    fx, spare = Synced(), str(world.root / "spare" / "backups")
    run = apply(plan_of(world), str(world.state), fx=fx, backup_dir=spare if elsewhere else None).run
    assert fx.paths.count(str(world.root)) == (2 if elsewhere else 1)
    assert fx.paths.count(f"{world.state}/journals") == 1
    assert {run.path, folder(run.vaults), run.vaults} <= {*fx.paths}
    fx.paths.clear()
    undo(find(str(world.state), None), fx=fx)
    assert {str(world.root), folder(run.vaults)} <= {*fx.paths}


def test_the_removed_lock_is_synced_with_the_time_of_its_directory(world: World) -> None:
    """And the name of the journal by who made it, not by who says in it that the user was told."""
    (world.a / ".lock").unlink(missing_ok=True)
    step, fx = next(each for each in steps(world) if isinstance(each, PatchFile)), Synced()
    outcome = apply(plan_of(world, [step]), str(world.state), fx=fx)
    for home in (str(world.a), str(world.b)):
        assert fx.paths.index(f"{home}/.lock") < fx.paths.index(home)
        assert fx.paths.count(home) == 1
    fx.paths.clear()
    acknowledge(fx, outcome.run, lambda: 0.0)
    assert fx.paths == []


@pytest.mark.parametrize("torn", [b"{", b'{"event":"done"', b"\xff\n", b"null\n"])
def test_a_line_that_a_power_cut_tore_never_happened(world: World, torn: bytes) -> None:
    before = world.tree()
    said: list[str] = []
    watch = Watch(tell=lambda _number, _step, state: said.append(state), stopped=lambda: len(said) > 3)
    with pytest.raises(Cancelled):
        apply(plan_of(world), str(world.state), fx=Disk(), watch=watch)
    path = Path(find(str(world.state), None).journal)
    lengthen(path, torn)
    told(apply(find(str(world.state), None).plan, str(world.state), fx=Disk()))
    assert [run.state for run in runs(str(world.state))] == ["applied"]
    assert all(isinstance(json.loads(line), dict) for line in path.read_bytes().splitlines())
    undo(find(str(world.state), None), fx=Disk())
    assert world.tree() == before


@pytest.mark.parametrize(
    "line",
    [b"{}\n", b'{"event":"done","direction":"forward","step":99}\n', b"\0\0\0\n",
     b'{"event":"done","direction":"forward","step":null}\n'],
)  # fmt: skip
@pytest.mark.parametrize("number", [0, 3, 10])
def test_what_a_line_said_that_is_damaged_the_others_tell(world: World, line: bytes, number: int) -> None:
    """Not taken for a torn end: the lines behind it would be forgotten, and written over."""
    before = world.tree()
    run(world)
    path = Path(find(str(world.state), None).journal)
    lines = path.read_bytes().splitlines(keepends=True)
    hurt = b"".join([*lines[:number], line, *lines[number + 1 :]])
    path.write_bytes(hurt)
    (found,) = runs(str(world.state))
    assert (found.state, found.skipped) == ("applied", [number + 1])
    assert set(found.statuses()) == {Status.AFTER}
    undo(found, fx=Disk())
    assert world.tree() == before
    assert path.read_bytes().startswith(hurt)


def test_a_journal_that_cannot_be_read_is_not_passed_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An undo without a name would take back the other one."""
    monkeypatch.setattr(plan_run, "PACKED_LIMIT", 0)
    first, second = plan_of(world, steps(world)[3:4]), plan_of(world, steps(world)[5:6])
    for plan in (first, second):
        told(apply(plan, str(world.state), fx=Disk()))
    newest = runs(str(world.state))[-1]
    for copy in ("plan.json", "steps/plan.json"):
        (Path(newest.path) / copy).write_text("rotten")
    with pytest.raises(SegmendError, match=r"a journal cannot be read: .*others can be named"):
        find(str(world.state), None)
    assert find(str(world.state), "0001").plan == first


def test_what_stopped_at_a_later_step_can_be_taken_back(world: World) -> None:
    """Two steps on one file: the second can be looked at only after the first, and may be a wrong one."""
    before = world.tree()
    wrong = replace(
        PatchFile.at(str(world.a / "patch-0" / "0.log"), 160, NewBytes.inline(b"x"), "?"), old_sha256="0"
    )
    plan = plan_of(world, [steps(world)[5], wrong])
    with pytest.raises(SegmendError, match="stopped before step 2; nothing is lost"):
        apply(plan, str(world.state), fx=Disk())
    assert world.tree() != before
    told(undo(find(str(world.state), None), fx=Disk()))
    assert world.tree() == before


def test_a_new_file_for_a_directory_that_is_gone_is_refused(world: World) -> None:
    plan = plan_of(world, steps(world)[13:])
    assert "there is no directory" in refused(world, plan)


def test_a_state_dir_that_cannot_be_made_is_told(world: World) -> None:
    (world.root / "file").touch()
    plan = plan_of(world)
    with pytest.raises(SegmendError, match="file/state: not a directory; nothing was changed"):
        apply(plan, str(world.root / "file" / "state"), fx=Disk())


def test_journals_are_found_by_name_number_and_path(world: World) -> None:
    run(world)
    found = find(str(world.state), None)
    for name in (found.name, "0001", "1", found.path, f"{found.path}/", found.journal):
        assert find(str(world.state), name).path == found.path
    with pytest.raises(UsageError, match="has no journal '0002'"):
        find(str(world.state), "0002")


def test_a_plan_that_is_applied_again_has_the_latest_journal(world: World) -> None:
    """Its journal is an old one; it is named as the one that was at work last, whatever the clock said."""
    first, second = (replace(plan_of(world), operation=name) for name in ("first", "second"))
    for plan in (first, second):
        told(apply(plan, str(world.state), fx=Disk(), watch=Watch(now=lambda: 30.0)))
        found = find(str(world.state), runs(str(world.state))[-1].name)
        told(undo(found, fx=Disk(), watch=Watch(now=lambda: 20.0)))
    for expected in ([1, 2], [2, 1]):
        with pytest.raises(SeveralJournals) as several:
            find(str(world.state), None)
        assert [each.number for each in several.value.choice] == expected
        if expected == [1, 2]:
            told(apply(first, str(world.state), fx=Disk(), watch=Watch(now=lambda: 10.0)))


def test_a_disk_that_takes_nothing_is_seen_before_anything_is_done(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ext4 goes read-only after an error."""
    plan = plan_of(world)
    with monkeypatch.context() as patch:
        frozen = Space(total=1000, free=1000, available=1000, read_only=True)
        patch.setattr(expectations.disk, "space", lambda _path: frozen)
        assert f"{world.a}: its file system is mounted read-only" in refused(world, plan)
        assert not world.state.exists()


def test_an_error_of_a_directory_hides_none_that_came_first(world: World) -> None:
    """And the times of the other directories are as they were."""

    class Frozen(Disk):
        failed = False

        def rename(self, old: str, new: str) -> None:
            if new.startswith(f"{world.a}/"):
                self.failed = True
                raise OSError(errno.EIO, os.strerror(errno.EIO), old)
            super().rename(old, new)

        def open_dir(self, path: str) -> int:
            if path == str(world.a) and self.failed:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
            return super().open_dir(path)

    before = world.b.stat().st_mtime_ns
    with pytest.raises(SegmendError, match="input/output error"):
        apply(plan_of(world, steps(world)[:1]), str(world.state), fx=Frozen())
    assert world.b.stat().st_mtime_ns == before


def test_what_the_system_refuses_names_the_file() -> None:
    """Not the file of the step where a backup's disk is full, and not the number that Python may name."""
    fx = Effects()
    full, proc = fx.open("/dev/full"), os.open("/proc/self/mounts", os.O_RDONLY)
    try:
        with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
            fx.write(full, b"x", 0)
        with pytest.raises(OSError, match=r"(not supported|Permission denied): '/proc/\d+/mounts'"):
            fx.set_attributes(proc, {"user.note": b"kept"})
    finally:
        fx.close(full)
        fx.close(proc)


@pytest.mark.parametrize("resumed", [True, False])
def test_a_move_that_was_stopped_needs_no_room_for_what_it_has_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, resumed: bool
) -> None:
    """On disks with room for one copy both ways stay open, wherever it was killed."""

    def disk_of(path: str) -> tuple[str, int]:
        return path, next((n for n, home in enumerate((world.a, world.b)) if path == str(home)), 2)

    def space(path: str) -> Space:
        taken = [p for p in Path(path).glob("*") if p.name.startswith(("far-0", "segmend-0."))]
        left = step.allocated - sum(allocated(str(p)) for p in taken) if disk_of(path)[1] < 2 else 1 << 30
        return Space(total=1 << 30, free=left, available=left, read_only=False)

    monkeypatch.setattr(expectations, "_device", disk_of)
    monkeypatch.setattr(expectations.disk, "space", space)
    for at in range(46, 100, 7):  # while it copies, and while it removes
        world = make(tmp_path / f"{at}")
        step = MoveDir.of(str(world.a / "far-0"), str(world.b / "far-0"), "moved")
        plan, before = plan_of(world, [step]), world.tree()
        with contextlib.suppress(Died):
            apply(plan, str(world.state), fx=Mortal(at, world.b))
        if resumed:
            told(apply(plan, str(world.state), fx=Disk(world.b)))
        told(undo(find(str(world.state), None), fx=Disk(world.b)))
        assert world.tree() == before


def fill_disk_of(log_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a byte is free there, and a GiB on the disk of all else."""

    def disk_of(path: str) -> tuple[str, int]:
        return path, 1 if f"{path}/".startswith(f"{log_dir}/") else 2

    def space(path: str) -> Space:
        left = 0 if disk_of(path)[1] == 1 else 1 << 30
        return Space(total=1 << 30, free=left, available=left, read_only=False)

    monkeypatch.setattr(expectations, "_device", disk_of)
    monkeypatch.setattr(expectations.disk, "space", space)


def test_the_copy_that_filled_a_disk_makes_room_for_the_way_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a checkpoint that was written before it: neither `apply` nor `undo` went on."""
    world = make(tmp_path / "world")
    (world.b / "recovery-point-offset-checkpoint").write_bytes(bytes(48))
    before = world.tree()
    lines = ReplaceFile.with_bytes(f"{world.b}/recovery-point-offset-checkpoint", b"0\n0\n", "its line")
    move = MoveDir.of(f"{world.a}/far-0", f"{world.b}/far-0", "moved")
    plan, part = plan_of(world, [lines, move]), re.compile(r"segmend-0\..*-delete")
    for at in range(40, 120):
        with pytest.raises(Died):
            apply(plan, str(world.state), fx=Mortal(at, world.b))
        if any(part.fullmatch(path.name) and allocated(str(path)) >= 48 for path in world.b.iterdir()):
            break

    fill_disk_of(world.b, monkeypatch)
    told(undo(find(str(world.state), None), fx=Disk(world.b)))
    assert world.tree() == before


@pytest.mark.parametrize("linked", [False, True])
def test_what_leaves_a_full_disk_makes_room_for_the_lines_that_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, linked: bool
) -> None:
    """Not a byte is free on `a`: a partition goes to `b`, then a checkpoint of `a` is written anew."""
    world = make(tmp_path / "world")
    log = world.a / "far-0" / "0.log"
    log.write_bytes(bytes(range(256)) * 64)
    if linked:
        for path in (world.a / "far-0").rglob("*"):
            if path.is_file():
                os.link(path, tmp_path / f"link-{path.name}")
    home = str(world.a)
    move = MoveDir.of(f"{home}/far-0", str(world.b / "far-0"), "moved")
    lines = ReplaceFile.with_bytes(f"{home}/recovery-point-offset-checkpoint", b"0\n0\n", "its line")
    plan = plan_of(world, [move, lines])

    fill_disk_of(world.a, monkeypatch)
    if linked:
        with pytest.raises(SegmendError, match="bytes are needed here and 0 are free") as full:
            apply(plan, str(world.state), fx=Disk(world.b))
        assert "--backup-dir" not in str(full.value), "the old bytes go to another disk already"
    else:
        told(apply(plan, str(world.state), fx=Disk(world.b)))
        assert (world.b / "far-0").is_dir()
