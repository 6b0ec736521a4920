"""A normal user: what he may not do is said before the first step; what was stopped always goes on."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.copies import copy_tree
from tests.faults.on_disk import lengthen
from tests.golden.shared import golden
from tests.memory import prefix
from tests.removal import remove
from tests.surgery.child import NOBODY, as_user
from tests.surgery.desk import Desk
from tests.surgery.faulty import Died, Mortal
from tests.surgery.picture import picture
from tests.surgery.shows.names import OTHER

from segmend.formats import posix_acl
from segmend.formats.posix_acl import MASK, OTHERS, OWNER, OWNING_GROUP, USER, AclEntry, PosixAcl
from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.run import Watch
from segmend.surgery.fingerprint import look
from segmend.surgery.plan import Plan
from segmend.surgery.writing.effects import Effects

ROOT_SEES = pytest.mark.skipif(os.geteuid() != 0, reason="only root sees what is closed")
pytestmark = pytest.mark.usefixtures("no_other_processes")
STRAY = "nobody made the topic: a start makes it a stray, as is said"
MOVE = ("move", "--partition", "txn-0", "--to")


class Stopped(Effects):
    """Dies as it begins to remove what it has copied."""

    def remove(self, path: str) -> None:
        if "-delete/" in path:
            raise Died
        super().remove(path)


@pytest.fixture
def root(elsewhere: Path) -> Iterator[Path]:
    """A folder that a normal user reaches, as pytest's are not, on another file system than `elsewhere`."""
    homes = [Path(name) for name in ("/dev/shm", "/tmp") if Path(name).is_dir()]
    home = next((each for each in homes if each.stat().st_dev != elsewhere.stat().st_dev), None)
    if home is None:
        pytest.skip("no second file system to write to")
    place = Path(tempfile.mkdtemp(prefix=prefix("rights"), dir=home))
    place.chmod(0o755)
    yield place
    remove(place)


@pytest.fixture
def desk(root: Path, elsewhere: Path) -> Desk:
    """A broker of a normal user; its second log dir is on another file system."""
    found = Desk(golden("4.3.1-clean") / "b1", root)
    copy_tree(found.dirs[1], elsewhere / "d1")
    found.dirs[1] = elsewhere / "d1"
    for place in (root, elsewhere):
        for path in (place, *place.rglob("*")):
            if os.getuid() == 0:
                os.chown(path, NOBODY, NOBODY)
    return found


def test_a_directory_that_may_not_be_written_moves_and_comes_back(desk: Desk) -> None:
    (desk.dirs[0] / "txn-0").chmod(0o555)

    def act() -> None:
        assert desk.plan(*MOVE, desk.dirs[1]).code == 0
        desk.apply()
        assert (desk.dirs[1] / "txn-0").stat().st_mode & 0o777 == 0o555
        desk.undo()

    as_user(act)
    assert (desk.dirs[0] / "txn-0").stat().st_mode & 0o777 == 0o555


@pytest.mark.parametrize(
    ("closed", "mode", "why"),
    [
        ("txn-0/leader-epoch-checkpoint", 0o000, "this user may not read it (chmod u+r and plan again"),
        (".", 0o555, "this user may not change what is in it (chmod u+wx)"),
        ("recovery-point-offset-checkpoint", 0o444, "read and write it (chmod u+rw and plan again, or"),
        (".lock", 0o444, ".lock: this user may not read and write it (chmod u+rw)"),
    ],
)
def test_what_a_step_may_not_do_is_said_before_the_first_one(
    desk: Desk, closed: str, mode: int, why: str
) -> None:
    path = desk.dirs[0] / closed
    if path.name == ".lock":
        path.touch()
        os.chown(path, desk.dirs[0].stat().st_uid, -1)
    path.chmod(mode)
    unread = mode == 0 and os.geteuid() != 0  # nor does a broker of this user, as is said
    assert desk.plan(*MOVE, desk.dirs[1]).code == (4 if unread else 0)
    if os.getuid() == 0:
        os.chown(desk.plan_file, NOBODY, NOBODY)

    def act() -> None:
        before = sorted(p.name for p in desk.dirs[0].iterdir())
        for options in (("--dry-run",), ("--yes",)):
            ran = desk.run("apply", desk.plan_file, "--state-dir", desk.state, *options)
            assert ran.code == 8, ran
            assert "refused: " in ran.err
            assert why in ran.err
        assert sorted(p.name for p in desk.dirs[0].iterdir()) == before
        assert not desk.state.exists()

    as_user(act)
    path.chmod(0o755)


@pytest.mark.slow
def test_check_and_forecast_say_that_surgery_was_stopped(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where half of a stopped move lies they do not say that it is marked for deletion."""
    monkeypatch.setenv("XDG_STATE_HOME", str(desk.root))
    assert desk.plan(*MOVE, desk.dirs[1]).code == 0
    plan, state = Plan.load(str(desk.plan_file)), str(desk.root / "segmend")
    with pytest.raises(Died):
        apply(plan, state, fx=Stopped())
    found = desk.run("check", *desk.dirs)
    assert found.code == 4
    assert "half of a copy that `segmend apply` or `segmend undo` was stopped in" in found.out
    assert "marked for deletion" not in found.out
    assert "segmend's journal 0001-move-" in found.out
    told = desk.run("forecast", *desk.dirs)
    assert told.code == 4
    assert "segmend's journal 0001-move-" in told.out
    assert desk.run("undo", "--yes").code == 0
    assert "segmend's journal" not in desk.run("check", *desk.dirs).out
    assert "segmend's journal" not in desk.run("forecast", *desk.dirs).out


@pytest.mark.parametrize("closed", ["by its mode", "by its access list"])
def test_a_file_that_its_owner_may_not_write_keeps_its_attributes(desk: Desk, closed: str) -> None:
    path = desk.dirs[0] / "txn-0" / "leader-epoch-checkpoint"
    mine = AclEntry(tag=OWNER, permissions=4)
    others = [AclEntry(tag=tag, permissions=4) for tag in (OWNING_GROUP, MASK, OTHERS)]
    acl = PosixAcl(entries=(mine, AclEntry(tag=USER, permissions=6, id=NOBODY), *others))
    try:
        os.setxattr(path, "user.note", b"kept")
        if closed == "by its access list":
            os.setxattr(path, posix_acl.ATTRIBUTE, posix_acl.render(acl))
    except OSError:
        pytest.skip("this file system has no attributes of users, or no access lists")
    if closed == "by its mode":
        path.chmod(0o444)
    before = look(str(path), content=False)
    assert (before.mode or 0) & 0o222 == 0

    def act() -> None:
        assert desk.plan(*MOVE, desk.dirs[1]).code == 0
        desk.apply()
        assert look(str(desk.dirs[1] / "txn-0" / path.name), content=False) == before
        desk.undo()

    as_user(act)
    assert look(str(path), content=False) == before


@pytest.mark.parametrize(("what", "mode"), [("leader-epoch-checkpoint", 0o444), (".", 0o555)])
def test_a_copy_that_this_user_could_not_take_away_again_is_not_begun(
    desk: Desk, what: str, mode: int
) -> None:
    """Of files it was made, and no undo took it back; of a directory it stopped before the first file."""
    path = desk.dirs[0] / "txn-0" / what
    path.chmod(mode)
    asked = ("--topic", "txn", "--to", "other", "--topic-id", OTHER, "--even-stray", "--copy")
    assert desk.plan("rename", *asked).code == 4, STRAY
    if os.getuid() == 0:
        os.chown(desk.plan_file, NOBODY, NOBODY)
    as_user(lambda: refused(desk, f"is to have mode {mode:o}, as what is beside it or copied"))
    path.chmod(0o755)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees that nothing changed in what is closed")
@pytest.mark.parametrize(
    ("closed", "mode", "why"),
    [
        ("*.log", 0o000, ".log: this user may not read it"),
        (".", 0o333, "txn-0: this user may not read what is in it (chmod u+rwx)"),
    ],
)
def test_what_this_user_may_not_read_is_told_before_the_first_step(
    desk: Desk, closed: str, mode: int, why: str
) -> None:
    """Bytes of another replica or an earlier journal; a directory, as it is read to be synced."""
    home = desk.dirs[0] / "txn-0"
    copied = ("rename", "--to", "other", "--copy")
    operation, *more = copied if closed == "*.log" else ("restamp",)
    asked = ("--topic", "txn", *more, "--topic-id", OTHER, "--even-stray")
    assert desk.plan(operation, *asked).code == 4, STRAY
    path = home if closed == "." else max(home.glob(closed))
    usual = path.stat().st_mode
    path.chmod(mode)
    before = desk.tree()

    def act() -> None:
        for options in (("--dry-run",), ("--yes",)):
            ran = desk.run("apply", desk.plan_file, "--state-dir", desk.state, *options)
            assert (ran.code, "refused: " in ran.err, why in ran.err) == (8, True, True), ran

    os.chown(desk.plan_file, NOBODY, NOBODY)
    as_user(act)
    assert (desk.tree(), desk.state.exists()) == (before, False)
    path.chmod(usual)


def obeyed(desk: Desk, command: tuple[object, ...], said: str, way: Callable[[], object]) -> None:
    """Refused with nothing changed, by a line that says what to do; who does that has it done."""
    before = picture(desk.root)

    def act(code: int) -> None:
        ran = desk.run(*command, "--yes", "--state-dir", desk.state)
        assert (ran.code, said in ran.err) == (code, code == 8), ran.err

    as_user(lambda: act(8))
    assert picture(desk.root) == before
    way()
    as_user(lambda: act(1 if command[0] == "apply" else 0))


@ROOT_SEES
@pytest.mark.parametrize("mode", [0o000, 0o400, 0o2755])
def test_a_mode_that_was_changed_since_the_plan_is_told_with_the_one_to_give_back(
    desk: Desk, mode: int
) -> None:
    """`permission denied`, or that it is another one: both did not say what to do, nor in one go."""
    log = max(trimmed(desk).glob("*.log"))
    for path in (desk.plan_file, log):
        os.chown(path, NOBODY, NOBODY)
    usual, before = log.stat().st_mode & 0o7777, desk.tree()
    apply, undo = ("apply", desk.plan_file), ("undo",)
    for command in (apply, undo):
        log.chmod(mode)
        obeyed(desk, command, f"{log}: its mode is {mode:o}, not {usual:o} (chmod ", lambda: log.chmod(usual))
    assert desk.tree() == before


@ROOT_SEES
def test_old_bytes_that_this_user_may_not_read_are_told_before_the_first_step_back(desk: Desk) -> None:
    """It was begun, told that they are gone, and left half taken back."""
    trimmed(desk)
    os.chown(desk.plan_file, NOBODY, NOBODY)
    before = desk.tree()
    for what, mode, said in (
        ("steps/*", 0o444, "/tail: permission denied (chmod u+rwx "),
        ("steps/*/*", 0o000, "this user may not read it (chmod u+r)"),
        ("journal.jsonl", 0o000, "permission denied (chmod u+rw"),
        ("journal.jsonl", 0o444, "this user may not read and write it (chmod u+rw)"),
    ):
        as_user(lambda: desk.run("apply", desk.plan_file, "--yes", "--state-dir", desk.state))
        path = min(desk.state.glob(f"journals/*/{what}"))
        usual = path.stat().st_mode
        path.chmod(mode)
        obeyed(desk, ("undo",), said, lambda path=path, usual=usual: path.chmod(usual))
        assert desk.tree() == before
        shutil.rmtree(desk.state)


@ROOT_SEES
def test_a_log_dir_whose_time_could_not_be_set_is_told_before_the_first_step(desk: Desk) -> None:
    """It has no step of its own; all was done, and then ended with an error."""
    trimmed(desk)
    os.chown(desk.plan_file, NOBODY, NOBODY)
    (desk.dirs[0] / ".lock").touch()
    os.chown(desk.dirs[0] / ".lock", NOBODY, NOBODY)
    as_user(lambda: desk.run("apply", desk.plan_file, "--yes", "--state-dir", desk.state))
    usual = desk.dirs[0].stat().st_mode
    desk.dirs[0].chmod(0o333)
    said = f"{desk.dirs[0]}: this user may not read what is in it (chmod u+rwx)"
    obeyed(desk, ("undo",), said, lambda: desk.dirs[0].chmod(usual))


@ROOT_SEES
def test_a_journal_that_this_user_may_not_read_is_not_begun_anew(desk: Desk) -> None:
    """`apply` took the plan for one that was never begun, and told to make it again."""
    trimmed(desk)
    os.chown(desk.plan_file, NOBODY, NOBODY)
    as_user(lambda: desk.run("apply", desk.plan_file, "--yes", "--state-dir", desk.state))
    (journal,) = desk.state.glob("journals/*/journal.jsonl")
    usual = journal.stat().st_mode
    journal.chmod(0)
    said = f"{journal}: permission denied (chmod u+rw {journal})"
    obeyed(desk, ("apply", desk.plan_file), said, lambda: journal.chmod(usual))
    assert len([*desk.state.glob("journals/*")]) == 1


@ROOT_SEES
def test_a_changed_mode_of_the_marker_is_no_broker_that_was_stopped(desk: Desk) -> None:
    """`a broker was stopped cleanly here since` was said of a chmod, and no undo was to be had."""
    before = desk.tree()
    assert desk.plan("restamp", "--topic", "txn", "--topic-id", OTHER, "--even-stray").code == 4, STRAY
    os.chown(desk.plan_file, NOBODY, NOBODY)
    as_user(lambda: desk.run("apply", desk.plan_file, "--yes", "--state-dir", desk.state))
    (marker,) = desk.dirs[0].glob(".kafka_cleanshutdown")
    usual = marker.stat().st_mode
    marker.chmod(0o444)
    as_user(lambda: desk.undo())
    marker.chmod(usual)
    assert desk.tree() == before


def trimmed(desk: Desk) -> Path:
    """A partition with bytes behind its log, and the plan that takes them off, in no other directory."""
    home = desk.dirs[1] / "codec-none-0"
    lengthen(max(home.glob("*.log")), b"torn")
    assert desk.plan("trim").code == 0
    return home


def refused(desk: Desk, why: str) -> None:
    """Both by a look and by the doing, before the first step."""
    before = desk.tree(), desk.state.exists()
    for options in (("--dry-run",), ("--yes",)):
        ran = desk.run("apply", desk.plan_file, "--state-dir", desk.state, *options)
        assert (ran.code, why in ran.err) == (8, True), ran
    assert (desk.tree(), desk.state.exists()) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_a_folder_whose_time_this_user_cannot_set_back_is_told_before_the_first_step(desk: Desk) -> None:
    home = trimmed(desk)
    os.chown(desk.plan_file, NOBODY, NOBODY)
    os.chown(home, 0, 0)
    home.chmod(0o777)
    as_user(lambda: refused(desk, f"{home}: belongs to user 0; run this as that user, or as root"))


@pytest.fixture
def immutable() -> Iterator[Callable[[Path], None]]:
    """`chattr +i`, taken back in the end."""
    done: list[Path] = []

    def make(path: Path) -> None:
        if subprocess.run(["chattr", "+i", path], capture_output=True).returncode:
            pytest.skip("chattr +i does nothing here")
        done.append(path)

    yield make
    for path in done:
        subprocess.run(["chattr", "-i", path], check=True)


def test_an_immutable_log_dir_refuses_where_its_lock_would_be_made(
    desk: Desk, immutable: Callable[[Path], None]
) -> None:
    trimmed(desk)
    (desk.dirs[1] / ".lock").unlink(missing_ok=True)
    immutable(desk.dirs[1])
    refused(desk, f"{desk.dirs[1]}: is made immutable (chattr -i, -a)")


def begun(desk: Desk) -> None:
    """A plan, and a run of it that was killed before its first step; its locks and vaults are made."""
    trimmed(desk)
    (desk.dirs[1] / ".lock").unlink(missing_ok=True)
    fx = Mortal(1 << 30)

    def die(*_: object) -> None:
        fx.live_on(0)
        raise Died

    with pytest.raises(Died):
        apply(Plan.load(str(desk.plan_file)), str(desk.state), fx=fx, watch=Watch(tell=die))
    assert (desk.dirs[1] / ".lock").exists()


def test_an_immutable_log_dir_refuses_where_a_killed_run_has_made_its_lock(
    desk: Desk, immutable: Callable[[Path], None]
) -> None:
    """It went through all steps, and could not take the lock away."""
    begun(desk)
    immutable(desk.dirs[1])
    refused(desk, f"{desk.dirs[1]}: is made immutable (chattr -i, -a)")


def test_a_closed_place_of_old_bytes_that_a_killed_run_has_made_refuses_before_the_first_step(
    desk: Desk, immutable: Callable[[Path], None]
) -> None:
    begun(desk)
    vault = next(desk.state.glob("journals/*/steps/0001"))
    immutable(vault)
    refused(desk, f"{vault}: is made immutable (chattr -i, -a)")


@pytest.mark.parametrize("made", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nowhere")])
def test_a_lock_that_is_no_file_refuses_before_the_first_step(
    desk: Desk, made: Callable[[Path], None]
) -> None:
    trimmed(desk)
    lock = desk.dirs[1] / ".lock"
    lock.unlink(missing_ok=True)
    made(lock)
    refused(desk, f"{lock}: is ")


def test_an_immutable_log_dir_whose_own_names_stay_is_no_obstacle(
    desk: Desk, immutable: Callable[[Path], None]
) -> None:
    """Its time stays by itself; to set it was refused after the last step."""
    trimmed(desk)
    (desk.dirs[1] / ".lock").touch()
    for marker in desk.dirs[1].glob(".kafka_cleanshutdown"):
        marker.unlink()
    assert desk.plan("trim").code == 0
    immutable(desk.dirs[1])
    desk.apply()
    desk.undo()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root applies what another user owns")
def test_who_may_not_read_the_journals_is_told_whose_they_are(desk: Desk) -> None:
    desk.plan(*MOVE, desk.dirs[1])
    desk.run("apply", desk.plan_file, "--yes", "--state-dir", desk.state)
    before = desk.tree()

    def act() -> None:
        for words in (("undo",), ("apply", desk.plan_file)):
            ran = desk.run(*words, "--yes", "--state-dir", desk.state)
            said = (
                f"{desk.state}/journals: permission denied ({desk.state} is user 0's: run this as that user"
            )
            assert (ran.code, said in ran.err) == (8, True), ran.err

    as_user(act)
    assert desk.tree() == before
