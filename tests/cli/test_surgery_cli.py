"""The commands of surgery as an operator at 3 a.m. gives them: slips of the hand, odd places, signals."""

import errno
import io
import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from tests.cli.run import python
from tests.copies import copy_tree
from tests.faults.on_disk import move_away
from tests.golden.shared import golden
from tests.surgery.desk import Desk
from tests.surgery.picture import picture
from tests.surgery.test_examples import examples

from segmend.cli import frame
from segmend.cli.commands.apply import command as apply
from segmend.cli.commands.plan.command import OTHERS
from segmend.surgery import ops

pytestmark = pytest.mark.usefixtures("no_other_processes")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A broker that was stopped cleanly, with two log dirs."""
    return Desk(golden("4.3.1-clean") / "b1", tmp_path)


MOVE = ("--partition", "txn-0", "--to")


@pytest.mark.slow
def test_what_is_no_plan_is_not_written_over(desk: Desk) -> None:
    """Neither the broker's configuration, nor a device, nor through a link to either."""
    precious = desk.root / "server.properties"
    precious.write_text("node.id=1\n")
    link = desk.root / "link"
    link.symlink_to(precious)
    fifo = desk.root / "fifo"
    os.mkfifo(fifo)
    for target in (precious, link, fifo, desk.root):
        ran = desk.run("plan", "move", *desk.dirs, *MOVE, desk.dirs[1], "-o", target)
        assert (ran.code, ran.err.count("\n")) == (16, 1), ran.err
        assert f"-o {target}: is " in ran.err
    assert precious.read_text() == "node.id=1\n"
    assert fifo.is_fifo()
    for _ in range(2):  # an older plan, and an empty file of mktemp's, may go
        assert desk.plan("move", *MOVE, desk.dirs[1]).code == 0
    desk.plan_file.write_bytes(b"")
    assert desk.plan("move", *MOVE, desk.dirs[1]).code == 0


def test_what_is_no_plan_is_told_before_an_hour_of_reading(desk: Desk) -> None:
    (desk.root / "notes").write_text("mine")
    before = picture(desk.root)
    ran = desk.run("plan", "repair", desk.root / "no-such-dir", "-o", desk.root / "notes")
    assert "notes: is there already, and is no plan" in ran.err
    assert picture(desk.root) == before


def test_a_plan_says_first_what_is_lost(desk: Desk) -> None:
    desk.plan("move", *MOVE, desk.dirs[1])
    lines = desk.run("plan", "show", desk.plan_file).out.splitlines()
    assert lines[0].startswith("move: 5 steps in ")
    assert lines[1].startswith("lost: nothing; all old bytes are kept, `segmend undo`")
    assert lines[2:4] == [
        f"a broker 4.3 started {when} it starts and loses nothing" for when in ("before", "after")
    ]
    assert lines[4].startswith("space: ")
    assert [line.split()[0] for line in lines if line.startswith("  ")][:5] == ["1", "2", "3", "4", "5"]


@pytest.mark.slow
def test_many_steps_are_told_by_directory(desk: Desk) -> None:
    """Nobody reads ten thousand lines before he says yes."""
    for index in desk.home.rglob("*.index"):
        index.unlink()
    planned = desk.plan("repair")
    count = len(planned.of("step"))
    shown = desk.run("plan", "show", desk.plan_file).out
    assert count > 60
    assert shown.count("\n") < count
    assert f"1-{count}" not in shown
    assert "replace file: " in shown
    assert "(--json has each of them)" in shown


@pytest.mark.slow
def test_plans_compose(desk: Desk) -> None:
    """Two moves change the same checkpoints, each the lines of its own partition."""
    first, second = desk.dirs
    alone = desk.tree()
    files = [desk.root / f"{name}.json" for name in ("one", "two", "both")]
    desk.run("plan", "move", first, second, *MOVE, second, "-o", files[0])
    desk.run("plan", "move", first, second, "--partition", "idem-0", "--to", first, "-o", files[1])
    ran = desk.run("plan", "compose", *files[:2], "-o", files[2], "--json")
    assert ran.code == 0, ran.err
    plan = ran.of("plan")[0]
    assert (plan["operation"], plan["records_lost"]) == ("move, move", 0)
    assert plan["forecast"]["after"]["records_lost"] == 0
    assert len(plan["extra"]["kafka-reassign-partitions"]["partitions"]) == 2
    applied = desk.run("apply", files[2], "--yes", "--state-dir", desk.state)
    assert applied.code == 1, applied.err
    assert (first / "idem-0").is_dir()
    assert (second / "txn-0").is_dir()
    desk.undo()
    assert desk.tree() == alone
    for partition, target in (("txn-0", second), ("idem-0", first)):
        desk.plan("move", "--partition", partition, "--to", target)
        desk.apply()
    lines = _lines(first, second)
    desk.undo()
    assert desk.run("undo", "2", "--yes", "--state-dir", desk.state).code == 0
    assert desk.tree() == alone
    desk.run("apply", files[2], "--yes", "--state-dir", desk.state)
    assert lines == _lines(first, second)


def _lines(*dirs: Path) -> dict[Path, list[str]]:
    files = [path for log_dir in dirs for path in log_dir.glob("*-offset-checkpoint")]
    return {path: sorted(path.read_text().splitlines()) for path in files}


@pytest.mark.slow
def test_plans_that_do_not_go_together(desk: Desk) -> None:
    first, second = desk.dirs
    files = [desk.root / f"{name}.json" for name in ("one", "two")]
    desk.run("plan", "move", first, second, *MOVE, second, "-o", files[0])
    index = next((first / "txn-0").glob("*.index"))
    index.rename(desk.root / "index")
    desk.run("plan", "repair", first, second, "-o", files[1])
    (desk.root / "index").rename(index)
    ran = desk.run("plan", "compose", *files)
    assert (ran.code, "plans 1 and 2 both change it; apply the one" in ran.err) == (16, True), ran.err
    same = desk.run("plan", "compose", files[0], files[0], "--json")
    assert len(same.of("step")) == 5
    assert len(same.of("plan")[0]["extra"]["kafka-reassign-partitions"]["partitions"]) == 1
    lossy = ("--partition", "txn-0", "--accept-loss", "168-records")
    desk.run("plan", "delete", first, second, *lossy, "-o", files[1])
    same = desk.run("plan", "compose", files[1], files[1], "--json")
    assert [row["records"] for row in same.of("loss")] == [168]
    desk.run("apply", files[0], "--yes", "--state-dir", desk.state)
    desk.run("plan", "repair", first, second, "-o", files[1])
    ran = desk.run("plan", "compose", *files)
    assert (ran.code, "was not the same when each plan was made" in ran.err) == (16, True), ran.err
    ran = desk.run("plan", "compose", files[0])
    assert (ran.code, "make the plans again" in ran.err) == (8, True), ran.err


def test_a_state_directory_that_was_moved_is_to_be_moved_back(desk: Desk) -> None:
    desk.plan("move", *MOVE, desk.dirs[1])
    desk.apply()
    moved = desk.state.rename(desk.root / "moved")
    ran = desk.run("undo", "--yes", "--state-dir", moved)
    assert (ran.code, "the state directory was moved; move it back" in ran.err) == (8, True)
    moved.rename(desk.state)
    desk.undo()


@pytest.mark.slow
def test_backups_on_another_disk(desk: Desk) -> None:
    """Journalled, found by undo; while that disk is away nothing is begun, and nothing made in its place."""
    before, spare = desk.tree(), desk.root / "spare"
    desk.plan("move", *MOVE, desk.dirs[1])
    desk.apply("--backup-dir", spare)
    journal = desk.run("journal", "list", "--state-dir", desk.state, "--json").of("journal")[0]
    assert Path(journal["vaults"]).parent == spare
    names = [path.name for path in spare.rglob("*") if path.is_file()]
    assert (len(names), names.count("plan.json")) == (5, 1)  # and a copy of the plan beside them
    after = desk.tree()
    spare.rename(desk.root / "away")
    for _ in range(2):
        ran = desk.run("undo", "--yes", "--state-dir", desk.state)
        assert (ran.code, ran.err.count("\n")) == (8, 1)
        assert f"{journal['vaults']}: is not there" in ran.err
        assert "is that disk mounted?" in ran.err
        assert (desk.tree(), spare.exists()) == (after, False)
    (desk.root / "away").rename(spare)
    shutil.rmtree(Path(journal["vaults"]) / "0002")
    assert "0002: is not there" in desk.run("undo", "--yes", "--state-dir", desk.state).err
    assert desk.tree() == after
    (Path(journal["vaults"]) / "0002").mkdir()
    kept = Path(journal["vaults"]) / "0001" / "before"
    kept.write_bytes(b"rot")
    ran = desk.run("undo", "--yes", "--state-dir", desk.state)
    assert (ran.code, "the backup is missing or damaged" in ran.err) == (8, True)
    assert before != desk.tree()


@pytest.mark.slow
def test_owner_mode_and_attributes_are_those_of_the_broker(desk: Desk) -> None:
    """Of what is rewritten, moved, and made anew, in directories with a group of their own."""
    partition = desk.dirs[0] / "txn-0"
    for path in desk.home.rglob("*"):
        path.chmod(0o2770 if path.is_dir() else 0o640)
        if os.geteuid() == 0:
            os.chown(path, 1234, 2345)
    for path in (partition, *partition.glob("*.log"), desk.dirs[0] / "recovery-point-offset-checkpoint"):
        os.setxattr(path, "user.note", b"mine")
    for index in partition.glob("*.index"):
        index.unlink()
    before = desk.tree()
    desk.plan("repair")
    desk.apply()
    desk.plan("move", *MOVE, desk.dirs[1])
    desk.apply()
    moved = desk.dirs[1] / "txn-0"
    assert {path.stat().st_mode & 0o7777 for path in moved.iterdir()} == {0o640}
    assert moved.stat().st_mode & 0o7777 == 0o2770
    assert {(path.stat().st_uid, path.stat().st_gid) for path in desk.home.rglob("*")} == {
        (partition.parent.stat().st_uid, partition.parent.stat().st_gid)
    }
    assert os.getxattr(moved, "user.note") == b"mine"
    assert os.getxattr(desk.dirs[0] / "recovery-point-offset-checkpoint", "user.note") == b"mine"
    desk.undo()
    desk.undo("1")
    assert desk.tree() == before
    assert os.getxattr(partition, "user.note") == b"mine"


@pytest.mark.slow
def test_what_a_later_plan_built_upon_is_taken_back_after_that(desk: Desk) -> None:
    before = desk.tree()
    desk.plan("move", *MOVE, desk.dirs[1])
    desk.apply()
    desk.plan("move", "--partition", "nulls-0", "--to", desk.dirs[1])
    desk.apply()
    after = desk.tree()
    ran = desk.run("undo", "1", "--yes", "--state-dir", desk.state)
    assert (ran.code, ran.err.count("\n")) == (8, 1)
    assert "was changed again by 0002-move-" in ran.err
    assert f"first: segmend undo {desk.state}/journals/0002-move-" in ran.err
    # The later one's undo is refused once a broker ran: then each goes back by itself.
    assert f"segmend plan reverse {desk.state}/journals/0001-move-" in ran.err
    assert desk.tree() == after
    desk.undo()
    desk.undo("1")
    assert desk.tree() == before


def test_a_running_broker_is_given_the_names_of_log_dirs(desk: Desk) -> None:
    """It knows no other; `log.dirs` often names links."""
    link = desk.root / "data-b"
    link.symlink_to(desk.dirs[1])
    ran = desk.run("plan", "move", desk.dirs[0], f"{link}/", *MOVE, link, "--json")
    rows = ran.of("plan")[0]["extra"]["kafka-reassign-partitions"]["partitions"]
    assert [row["log_dirs"] for row in rows] == [[str(link)]]


def test_a_replica_to_repair_from_must_be_there(desk: Desk) -> None:
    """A mistyped path is told even where nothing is damaged."""
    ran = desk.plan("repair", "--from", desk.root / "nowhere")
    assert (ran.code, "nowhere: no such directory" in ran.err) == (16, True)


SURGERY = ["plan", "apply", "undo", "journal", "quarantine"]


@pytest.mark.parametrize(
    "argv", [*([name] for name in SURGERY), *(["plan", name] for name in (*ops.names(), *OTHERS))]
)
def test_the_examples_of_help_can_be_given_as_they_are_written(argv: list[str]) -> None:
    found = examples(*argv)
    assert found
    for example in (shlex.split(each)[1:] for each in found):
        parsed = frame.parser_for(example).parse_args(example)
        assert callable(parsed.run)


@pytest.mark.slow
def test_a_log_dir_that_was_forgotten_is_told(desk: Desk) -> None:
    first, second = desk.dirs
    for argv in (("repair",), ("identity",), ("free", "--bytes", "1GB")):
        ran = desk.run("plan", argv[0], first, *argv[1:])
        assert "node 1 has 2 log dirs in the metadata, 1 of them given here" in ran.out, ran
        assert "given here" not in desk.run("plan", argv[0], first, second, *argv[1:]).out


@pytest.mark.slow
def test_a_dry_run_says_what_would_keep_apply_from_it(desk: Desk) -> None:
    """And touches nothing, not even the state directory."""
    desk.plan("move", *MOVE, desk.dirs[1])
    before = picture(desk.root)
    argv = ("apply", desk.plan_file, "--dry-run", "--state-dir", desk.state)
    ran = desk.run(*argv)
    assert (ran.code, "as things are, 5 steps would be" in ran.out) == (0, True), ran.err
    assert desk.run(*argv, "--json").json[-1]["steps"] == 5
    assert picture(desk.root) == before
    desk.apply()
    after = picture(desk.root)
    ran = desk.run(*argv)
    assert (ran.code, "as things are, 0 steps would be" in ran.out) == (0, True)
    back = ("undo", "--dry-run", "--state-dir", desk.state)
    assert desk.run(*back, "--json").json[-1]["steps"] == 5
    assert picture(desk.root) == after
    desk.state.rename(desk.root / "away")
    assert desk.run(*back).code == 16
    (desk.root / "away").rename(desk.state)
    moved = desk.dirs[1] / "txn-0"
    moved.rename(desk.root / "txn-0")
    ran = desk.run(*back)
    assert (ran.code, "txn-0: there is nothing, not a directory" in ran.err) == (8, True), ran.err
    (desk.root / "txn-0").rename(moved)
    assert desk.run("undo", "--yes", "--state-dir", desk.state).code == 0
    (desk.dirs[1] / "txn-0").mkdir()
    ran = desk.run(*argv)
    assert (ran.code, "txn-0 is there already" in ran.err) == (8, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "told", ["meta.properties", "recovery-point-offset-checkpoint", ".kafka_cleanshutdown"]
)
def test_a_log_dir_that_is_not_in_the_plan_is_no_place_either(told: str, desk: Desk) -> None:
    """A directory in it would keep its broker from starting."""
    other = desk.root / "other"
    (other / "deep").mkdir(parents=True)
    (other / told).touch()
    desk.plan("move", *MOVE, desk.dirs[1])
    for option, place in (("--state-dir", other / "state"), ("--backup-dir", other / "deep" / "old")):
        state = () if option == "--state-dir" else ("--state-dir", desk.state)
        ran = desk.run("apply", desk.plan_file, "--yes", option, place, *state)
        assert (ran.code, f"{place}: lies in the log dir {other}" in ran.err) == (16, True), ran.err
    ran = desk.run("plan", "move", *desk.dirs, *MOVE, desk.dirs[1], "-o", other / "plan.json")
    assert (ran.code, "lies in the log dir" in ran.err) == (16, True)


def test_a_refusal_leaves_no_journal(desk: Desk) -> None:
    desk.plan("move", *MOVE, desk.dirs[1])
    places = ("--state-dir", desk.state, "--backup-dir", desk.dirs[0] / "old")
    ran = desk.run("apply", desk.plan_file, "--yes", *places)
    assert (ran.code, ran.err.startswith("segmend: --backup-dir ")) == (16, True), ran.err
    assert "lies in the log dir" in ran.err
    assert not desk.state.exists()
    assert "no journal" in desk.run("journal", "list", "--state-dir", desk.state).out


@pytest.mark.slow
def test_a_partition_behind_a_link_is_left_alone(desk: Desk) -> None:
    """Its files lie in no log dir; the rest of the plan goes on without it."""
    linked, plain = desk.dirs[0] / "txn-0", desk.dirs[0] / "nulls-0"
    move_away(linked, desk.root / "txn-0")
    for partition in (linked, plain):
        next(partition.glob("*.index")).unlink()
    before = picture(desk.root / "txn-0")
    planned = desk.plan("repair")
    assert planned.code == 4
    assert [path for _, path in desk.steps(planned) if "txn-0" in path] == []
    assert any(
        "txn-0: is, or is reached by, a symbolic link" in left for left in planned.of("plan")[0]["left"]
    )
    desk.apply()
    assert len(list(plain.glob("*.index"))) == len(list(plain.glob("*.log")))
    assert picture(desk.root / "txn-0") == before
    ran = desk.plan("move", *MOVE, desk.dirs[1])
    assert (ran.code, "or a link to one; move it by hand" in ran.err) == (8, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "operation", [["repair", "--kafka", "1.1"], ["drain", "--from", "{first}"], ["free", "--bytes", "1GB"]]
)
def test_a_plan_is_the_same_anywhere(tmp_path: Path, operation: list[str]) -> None:
    """Whatever the directory, time zone, locale and hash seed it is made in."""
    copy_tree(golden("1.1.0-killed") / "b1", tmp_path / "disks")
    dirs = sorted((tmp_path / "disks").iterdir())
    next((dirs[0] / "v0-none-0").glob("*.index")).unlink()
    options = [option.replace("{first}", str(dirs[0])) for option in operation[1:]]
    made = []
    for number, (place, zone, language) in enumerate([("/", "UTC", "C"), ("/tmp", "Asia/Tokyo", "C.UTF-8")]):
        output = tmp_path / f"{number}.json"
        argv = ["-m", "segmend", "plan", operation[0], *dirs, *options, "-o", output]
        environment = {"PYTHONHASHSEED": str(number), "TZ": zone, "LC_ALL": language}
        ran = python(*argv, prefix=["env", "-C", place], **environment)
        assert output.exists(), ran.stderr
        made.append(output.read_bytes())
    assert made[0] == made[1]


@pytest.mark.slow
def test_an_undo_says_what_it_takes_back_and_not_what_was_lost(desk: Desk) -> None:
    desk.plan("move", *MOVE, desk.dirs[1])
    desk.apply()
    ran = desk.run("undo", "--yes", "--state-dir", desk.state)
    lines = ran.out.splitlines()
    assert "this takes back, the last step first:" in lines[0]
    assert lines[1].startswith("  1  rewrite ")
    assert "lost" not in ran.out
    again = desk.run("undo", "--yes", "--state-dir", desk.state)
    assert "lost: nothing" in again.out


@pytest.mark.slow
def test_what_a_plan_leaves_is_in_the_exit_code_and_in_the_last_line(desk: Desk) -> None:
    """4 where that is all, 5 beside what was applied, also when an undo applies it again."""
    (desk.dirs[0] / "lost+found").mkdir()
    apply = ("apply", desk.plan_file, "--yes", "--state-dir", desk.state)
    undo = ("undo", "--yes", "--state-dir", desk.state)
    assert desk.plan("repair").code == 4
    ran = desk.run(*apply)
    assert (ran.code, ran.out.splitlines()[-1]) == (4, "nothing to do")
    next(desk.dirs[0].glob("codec-*-0/*.index")).unlink()
    assert desk.plan("repair").code == 4
    for argv, code in ((apply, 5), (undo, 0), (undo, 5)):
        ran = desk.run(*argv)
        assert (ran.code, "; 1 finding left as named above; " in ran.out) == (code, code == 5), ran


@pytest.mark.slow
def test_the_commands_that_are_told_can_be_typed(desk: Desk) -> None:
    """Wherever plan and journal lie."""
    plan = desk.root / "my plan.json"
    before = desk.tree()
    told = desk.run("plan", "move", *desk.dirs, *MOVE, desk.dirs[1], "-o", plan).out
    command = shlex.split(told.rpartition("next: ")[2])
    applied = desk.run(*command[1:], "--yes", "--state-dir", desk.root / "my state")
    assert applied.code == 1
    command = shlex.split(applied.out.rpartition("to go back: ")[2])
    undone = desk.run(*command[1:], "--yes")
    assert undone.code == 0, undone.err
    assert desk.tree() == before
    command = shlex.split(undone.out.rpartition("the other way: ")[2])
    assert desk.run(*command[1:], "--yes").code == 1


STREAMS = {"/dev/full": "no space left on device", "&-": "it is closed"}


@pytest.mark.slow
@pytest.mark.parametrize("stdout", STREAMS)
@pytest.mark.parametrize("json_", ["", "--json"])
def test_output_that_finds_no_room_stops_no_surgery(desk: Desk, stdout: str, json_: str) -> None:
    """The log of a nightly job often lies on the disk that is full; and exit code 1 means applied."""
    before = desk.tree()
    desk.plan("move", *MOVE, desk.dirs[1])

    def shell(*argv: object, stderr: str = "&2") -> tuple[int, str]:
        words = " ".join(shlex.quote(str(word)) for word in (sys.executable, "-m", "segmend", *argv))
        ran = python("-c", SHELL, f"{words} {json_} >{stdout} 2>{stderr}", prefix=[])
        return ran.returncode, ran.stderr

    state = ("--yes", "--state-dir", desk.state)
    assert shell("plan", "show", desk.plan_file)[0] == 8
    assert shell("apply", desk.plan_file, *state) == (8, f"segmend: standard output: {STREAMS[stdout]}\n")
    journals = desk.run("journal", "list", "--json", *state[1:]).of("journal")
    if journals or json_:  # else it stopped when it could not show the plan
        assert journals[0]["state"] == "applied"
        assert (desk.dirs[1] / "txn-0").is_dir()
        assert shell("undo", *state)[0] == 8
        desk.run("undo", *state)  # nobody was told, so the same command means the same
    assert desk.tree() == before
    assert shell("apply", desk.root / "no plan", *state, stderr=stdout)[0] == 8


SHELL = "import os, sys; sys.exit(os.waitstatus_to_exitcode(os.system(sys.argv[1])))"


class _Gone(io.StringIO):
    """A terminal whose other end was closed: the connection of whoever watched broke."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        raise OSError(errno.EIO, "Input/output error")


def test_a_terminal_that_is_gone_stops_no_surgery(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.plan("move", *MOVE, desk.dirs[1])
    monkeypatch.setattr(sys, "stderr", _Gone())
    desk.apply()
    assert (desk.dirs[1] / "txn-0").is_dir()


def test_ctrl_c_when_all_was_done_does_not_say_that_nothing_was(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_outcome: object) -> dict[str, object]:
        raise KeyboardInterrupt

    desk.plan("move", *MOVE, desk.dirs[1])
    monkeypatch.setattr(apply, "outcome_object", interrupted)
    ran = desk.run("apply", desk.plan_file, "--yes", "--json", "--state-dir", desk.state)
    assert (ran.code, "all was done already: 0001-move-" in ran.err) == (32, True), ran.err
    assert "nothing was changed" not in ran.err


@pytest.mark.slow
def test_a_question_without_standard_input_is_no_crash(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """`<&-`, as some schedulers start what they run."""
    desk.plan("move", *MOVE, desk.dirs[1])
    monkeypatch.setattr(sys, "stdin", None)
    ran = desk.run("apply", desk.plan_file, "--state-dir", desk.state)
    assert (ran.code, "add --yes" in ran.err) == (16, True), ran.err


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_place_for_backups_that_is_a_file_leaves_no_journal(desk: Desk, options: tuple[str, ...]) -> None:
    desk.plan("move", *MOVE, desk.dirs[1])
    places = ("--state-dir", desk.state, "--backup-dir", desk.plan_file)
    ran = desk.run("apply", desk.plan_file, "--yes", *places, *options)
    assert (ran.code, ran.err.splitlines()[-1].endswith("is no directory; nothing was changed")) == (16, True)
    assert not desk.state.exists()


@pytest.mark.parametrize("option", ["--state-dir", "--backup-dir", "-o"])
def test_a_place_without_a_name_is_none(desk: Desk, option: str) -> None:
    """From a variable that is not set: not the working directory, and not the root of all."""
    desk.plan("move", *MOVE, desk.dirs[1])
    before = desk.tree()
    argv = ("apply", desk.plan_file, "--yes", "--state-dir", desk.state)
    if option == "-o":
        argv = ("plan", "move", *desk.dirs, *MOVE, desk.dirs[1])
    ran = desk.run(*argv, option, "")
    assert (ran.code, f"{option}: is empty" in ran.err) == (16, True), ran
    assert desk.tree() == before


def test_two_dashes_are_no_value(desk: Desk) -> None:
    """Some Pythons' argparse gives a list for it."""
    ran = desk.run("plan", "free", *desk.dirs, "--bytes=--")
    assert (ran.code, ran.err.count("\n")) == (16, 1), ran.err


def test_a_command_that_is_told_steers_no_terminal(desk: Desk) -> None:
    """Whatever the place is called; it can still be typed."""
    plan = desk.root / "a\x1b[31m\udcff.json"
    told = desk.run("plan", "move", *desk.dirs, *MOVE, desk.dirs[1], "-o", plan).out
    assert r"\x1b[31m\xff.json'" in told.rpartition("next: segmend apply $'")[2]
    assert "\x1b" not in told
