"""`segmend plan`, `apply`, `undo`, `journal` from outside: on golden directories and on hurt ones."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.checks.build_partition import PartitionWriter, write_log_dir
from tests.cli.run import SOURCE, Ran, run
from tests.conftest import golden_names
from tests.copies import copy_tree
from tests.faults.on_disk import flip, lengthen
from tests.golden.shared import golden
from tests.surgery.picture import picture

from segmend.formats import time_index
from segmend.formats.offset_checkpoint import FILE_NAMES, parse
from segmend.kernel.batches import iter_batches
from segmend.kernel.types import BytesReader
from segmend.surgery import ops
from segmend.surgery.execute import plan_run
from segmend.surgery.writing.effects import Effects

pytestmark = pytest.mark.usefixtures("no_other_processes")
GARBAGE = bytes(range(1, 40))


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    # What is synced when is the subject of the crash tests; here it would only take time.
    monkeypatch.setattr(Effects, "sync", lambda _self, _fd: None)


@pytest.fixture
def dirs(tmp_path: Path) -> tuple[Path, Path]:
    """Two log dirs of a broker that was stopped cleanly; `x-0` has one segment, `y-0` three."""
    first, second = PartitionWriter("x"), PartitionWriter("y")
    for writer, rolls in ((first, 0), (second, 2)):
        for number in range(rolls + 1):
            for _ in range(12):
                writer.append(3)
            if number < rolls:
                writer.roll()
    a = write_log_dir(tmp_path / "a", [first, second], directory_id="JTJWqc3YQ3mqoxqVcVOkXg")
    b = write_log_dir(tmp_path / "b", [PartitionWriter("z")], directory_id="Ei9Q2mAqSJ2Jb9m3Fq3pJA")
    return a, b


def copied(name: str, tmp_path: Path) -> list[Path]:
    """A golden directory's log dirs, to be changed."""
    copy_tree(golden(name), tmp_path / "golden")
    return sorted((tmp_path / "golden" / "b1").glob("d*"))


def trees(*roots: Path) -> dict[str, tuple[object, ...]]:
    return {name: row for root in roots for name, row in picture(root).items()}


def planned(tmp_path: Path, *argv: object) -> Ran:
    return run("plan", *argv, "-o", tmp_path / "plan.json", "--json")


def applied(tmp_path: Path) -> Ran:
    return run("apply", tmp_path / "plan.json", "--yes", "--json")


def undone() -> Ran:
    return run("undo", "--yes", "--json")


def errors(*paths: Path) -> list[tuple[str, str]]:
    ran = run("check", "--deep", *paths, "--json")
    return [(f["code"], f["file"]) for f in ran.of("finding") if f["severity"] != "info"]


@pytest.mark.parametrize(
    "tail",
    [b"\x01", bytes(17), bytes(18), bytes(4096), GARBAGE, GARBAGE * 100, b"torn", b"again"],
    ids=[
        "a byte",
        "17 zeros",
        "18 zeros",
        "a page of zeros",
        "garbage",
        "more garbage",
        "a torn batch",
        "copies",
    ],
)
@pytest.mark.parametrize("name", ["x-0", "y-0"])
def test_a_torn_end_is_cut_off_and_all_whole_batches_are_kept(
    dirs: tuple[Path, Path], tail: bytes, name: str, tmp_path: Path
) -> None:
    a, b = dirs
    log = min((a / name).glob("*.log"))
    whole = log.read_bytes()
    if tail == b"torn":
        size = int.from_bytes(whole[8:12], "big") + 12
        tail = whole[-size:][: size - 7]
    if tail == b"again":
        tail = whole[30:]
    log.write_bytes(whole + tail)
    before = trees(a, b)
    ran = planned(tmp_path, "trim", a, b)
    assert (ran.code, ran.json[-1]["records_lost"], ran.json[-1]["left"]) == (0, 0, [])
    assert trees(a, b) == before
    assert applied(tmp_path).code == 1
    assert log.read_bytes() == whole
    assert (a / ".kafka_cleanshutdown").exists()
    assert errors(a, b) == []
    vault = Path(run("journal", "list", "--json").json[-1]["vaults"])
    assert [path.read_bytes() for path in vault.rglob("tail")] == [tail]
    assert undone().code == 0
    assert trees(a, b) == before


def test_indexes_are_cut_with_their_log(dirs: tuple[Path, Path], tmp_path: Path) -> None:
    """The last batch is torn after its index entries were written."""
    a, b = dirs
    for name in ("x-0", "y-0"):
        log = min((a / name).glob("*.log"))
        at = [batch.position for batch in iter_batches(BytesReader(log.read_bytes()))][10]
        log.write_bytes(log.read_bytes()[: at + 20])
    before = trees(a, b)
    ran = planned(tmp_path, "trim", a, b)
    kinds = {(row["kind"], Path(row["path"]).suffix) for row in ran.of("step")}
    assert {("cut_file", ".log"), ("replace_file", ".timeindex")} <= kinds
    gaps = [left for left in ran.json[-1]["left"] if "offsets 30 to 35 are in no whole batch" in left]
    assert [f"{a}/{name}/" in left for name, left in zip(("x-0", "y-0"), gaps, strict=True)] == [True, True]
    assert ["high watermark still tell" in left for left in gaps] == [True, False]
    assert [f"segmend plan graft {a} --partition {name[:3]} --from" in left for name, left in
            zip(("x-0", "y-0"), gaps, strict=True)] == [True, True]  # fmt: skip
    assert ran.code == 4
    done = run("apply", tmp_path / "plan.json", "--yes")
    assert (done.code, "2 findings left as named above" in done.out) == (5, True)
    # Offsets 30 to 35 were torn; in y-0 more segments follow, where that is a gap and nothing worse.
    codes = [code for code, _ in errors(a, b)]
    assert [code for code in codes if code.startswith(("I", "L0"))] == []
    assert {"C04", "C10b"} <= set(codes)
    undone()
    assert trees(a, b) == before


def test_what_is_cut_off_in_the_middle_of_a_partition_is_left_as_a_hole(
    dirs: tuple[Path, Path], tmp_path: Path
) -> None:
    log = min((dirs[0] / "y-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    *_, hurt, _ = iter_batches(BytesReader(bytes(data)))
    data[hurt.position + 70] ^= 1
    log.write_bytes(data)
    agreed = planned(tmp_path, "trim", *dirs).json[-1]["left"][0].rpartition("--accept-loss ")[2]
    ran = planned(tmp_path, "trim", *dirs, "--accept-loss", agreed.split()[0])
    (left,) = ran.json[-1]["left"]
    assert f"offsets {hurt.base_offset} to " in left
    assert "are cut off, and missing from then on" in left
    assert (ran.code, applied(tmp_path).code) == (4, 5)
    assert "N08" in {code for code, _ in errors(*dirs)}


def test_indexes_of_a_later_segment_are_cut_as_well(dirs: tuple[Path, Path], tmp_path: Path) -> None:
    log = max((dirs[0] / "y-0").glob("*.log"))
    assert int(log.stem) > 0
    *_, last, torn, _ = iter_batches(BytesReader(log.read_bytes()))
    log.write_bytes(log.read_bytes()[: torn.position + 20])
    steps = planned(tmp_path, "trim", *dirs).of("step")
    assert str(log.with_suffix(".timeindex")) in {
        row["path"] for row in steps if row["kind"] == "replace_file"
    }
    assert applied(tmp_path).code in (1, 5)
    assert [code for code, _ in errors(*dirs) if code.startswith("I")] == []
    times, _ = time_index.parse(log.with_suffix(".timeindex").read_bytes())
    assert times[-1].relative_offset == last.last_offset - int(log.stem)


def test_whole_batches_go_only_by_name(dirs: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = dirs
    needless = planned(tmp_path, "trim", a, b, "--accept-loss", "7-records")
    assert (needless.code, "--accept-loss 7-records: is not needed" in needless.err) == (16, True), needless
    log = max((a / "x-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    at = [batch.position for batch in iter_batches(BytesReader(bytes(data)))][9]
    data[at + 70] ^= 1
    log.write_bytes(data)
    ran = planned(tmp_path, "trim", a, b)
    assert (ran.code, ran.json[-1]["steps"]) == (4, 0)
    assert "9 records in whole batches behind it" in ran.json[-1]["left"][0]
    assert "--accept-loss 9-records" in ran.json[-1]["left"][0]
    wrong = planned(tmp_path, "trim", a, b, "--accept-loss", "10-records")
    assert (wrong.code, "9 would be lost; name that figure" in wrong.err) == (16, True)
    assert run("plan", "trim", a, "--accept-loss", "all").code == 16
    before = trees(a, b)
    ran = planned(tmp_path, "trim", a, b, "--accept-loss", "9-records")
    loss = ran.of("loss")[0]
    assert (ran.code, loss["records"], loss["first_offset"], loss["last_offset"]) == (0, 9, 27, 35)
    assert applied(tmp_path).code == 1
    assert log.stat().st_size == at
    assert not (a / ".kafka_cleanshutdown").exists()
    assert [e for e in errors(a, b) if e[0].startswith(("I", "L"))] == []
    assert undone().code == 0
    assert trees(a, b) == before


@pytest.mark.parametrize("at", [40, 11])
def test_a_torn_end_goes_alone_where_whole_batches_are_before_it(
    at: int, dirs: tuple[Path, Path], tmp_path: Path
) -> None:
    """A wrong checksum or a wrong size further up stays, and is named; the finding's command helps."""
    a, b = dirs
    log = max((a / "x-0").glob("*.log"))
    whole = log.read_bytes()
    flip(log, [batch.position for batch in iter_batches(BytesReader(whole))][9] + at)
    hurt = log.read_bytes()
    log.write_bytes(hurt + whole[:10])
    before = trees(a, b)
    assert ("L02", "x-0/" + log.name) in errors(a, b)
    ran = planned(tmp_path, "trim", a / "x-0")
    assert (ran.code, ran.json[-1]["steps"], ran.json[-1]["records_lost"]) == (4, 1, 0)
    assert "records in whole batches behind it" in ran.json[-1]["left"][0]
    assert applied(tmp_path).code == 5
    assert log.read_bytes() == hurt
    assert "L02" not in {code for code, _ in errors(a, b)}
    assert undone().code == 0
    assert trees(a, b) == before


def test_a_cut_that_would_make_the_broker_delete_the_log_is_not_planned(
    dirs: tuple[Path, Path], tmp_path: Path
) -> None:
    a, b = dirs
    log = max((a / "x-0").glob("*.log"))
    flip(log, 70)
    (a / "log-start-offset-checkpoint").write_text("0\n1\nx 0 20\n")
    ran = planned(tmp_path, "trim", a, b, "--accept-loss", "36-records")
    assert (ran.code, ran.json[-1]["steps"]) == (4, 0)
    assert "would end before its start offset 20, and the broker delete it" in ran.json[-1]["left"][0]


RELEASES = [
    name if name == "1.1.0-clean" else pytest.param(name, marks=pytest.mark.slow)
    for name in golden_names()
    if "fleet" not in name
]


@pytest.mark.slow
@pytest.mark.parametrize("name", RELEASES)
def test_partitions_move_with_their_lines(name: str, tmp_path: Path) -> None:
    a, b = copied(name, tmp_path)
    moving = sorted(path.name for path in a.glob("*-0") if not path.name.startswith("__cluster"))[:2]
    before = trees(a, b)
    old = errors(a, b)
    lines = {file: (lines_of(a / file), lines_of(b / file)) for file in FILE_NAMES}
    options = [part for name in moving for part in ("--partition", name)]
    ran = planned(tmp_path, "move", a, b, *options, "--to", b)
    assert (ran.code, ran.json[-1]["records_lost"]) == (0, 0)
    assert trees(a, b) == before
    assert applied(tmp_path).code == 1
    keys = {(topic.rpartition("-")[0], int(topic.rpartition("-")[2])) for topic in moving}
    for file, (from_a, from_b) in lines.items():
        gone = {key: offset for key, offset in from_a.items() if key in keys}
        assert lines_of(a / file) == {key: offset for key, offset in from_a.items() if key not in keys}
        assert lines_of(b / file) == {**from_b, **gone}
    assert not any((a / name).exists() for name in moving)
    assert all((b / name).is_dir() for name in moving)
    assert len(errors(a, b)) <= len(old)
    live = ran.json[-1]["extra"]["kafka-reassign-partitions"]
    assert {(row["topic"], row["partition"]) for row in live["partitions"]} == keys
    assert all(str(b) in row["log_dirs"] for row in live["partitions"])
    assert undone().code == 0
    assert trees(a, b) == before


def lines_of(path: Path) -> dict[tuple[str, int], int]:
    if not path.exists():
        return {}
    value, damages = parse(path.read_bytes())
    assert not damages
    return value.offsets()


@pytest.mark.slow
def test_a_dir_is_drained(tmp_path: Path) -> None:
    a, b = copied("4.3.1-killed", tmp_path)
    before = trees(a, b)
    ran = planned(tmp_path, "drain", a, b, "--from", b)
    assert ran.code == 0
    assert applied(tmp_path).code == 1
    assert [path.name for path in b.iterdir() if path.is_dir() and path.name.endswith("-0")] == []
    moved = {
        Path(row["path"]).name.rpartition("-")[::2] for row in ran.of("step") if row["kind"] == "move_dir"
    }
    left = {(topic, str(number)) for file in FILE_NAMES for topic, number in lines_of(b / file)}
    assert len(moved) > 10
    assert not moved & left
    assert undone().code == 0
    assert trees(a, b) == before


def test_a_clean_marker_does_not_vouch_for_what_comes_from_an_unclean_dir(
    dirs: tuple[Path, Path], tmp_path: Path
) -> None:
    a, b = dirs
    (a / ".kafka_cleanshutdown").unlink()
    ran = planned(tmp_path, "move", a, b, "--partition", "x-0", "--to", b)
    assert any("which was not stopped cleanly" in note for note in ran.json[-1]["notes"])
    applied(tmp_path)
    assert not (b / ".kafka_cleanshutdown").exists()
    undone()
    assert (b / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["move", "A", "B", "--partition", "no-0", "--to", "B"], "no log dir has it"),
        (["move", "A", "B", "--partition", "z-0", "--to", "B"], "it is there already"),
        (["move", "A", "B", "--partition", "x-0", "--to", "/tmp"], "is none of the log dirs given"),
        (["move", "A", "B", "--partition", "x-0"], "required: --to"),
        (["drain", "A", "--from", "A"], "give the other log dirs"),
        (["trim"], "required: DIR"),
        (["nonsense", "A"], "invalid choice"),
        (["trim", "A", "-o", "A/plan.json"], "lies in the log dir"),
    ],
)
def test_usage(dirs: tuple[Path, Path], argv: list[str], said: str) -> None:
    a, b = map(str, dirs)
    ran = run("plan", *(part.replace("A", a, 1).replace("B", b, 1) for part in argv), code=16)
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_dirs_of_two_brokers_are_not_mixed(dirs: tuple[Path, Path]) -> None:
    a, b = dirs
    text = (b / "meta.properties").read_text()
    (b / "meta.properties").write_text(text.replace("node.id=1", "node.id=2"))
    ran = run("plan", "move", a, b, "--partition", "x-0", "--to", b)
    assert (ran.code, "belongs to another broker than" in ran.err) == (16, True)


def test_a_checkpoint_that_no_broker_could_read_is_not_guessed_at(dirs: tuple[Path, Path]) -> None:
    a, b = dirs
    (a / "replication-offset-checkpoint").write_text("0\n7\nx 0 36\n")
    ran = run("plan", "move", a, b, "--partition", "x-0", "--to", b)
    assert (ran.code, "mend it first: segmend plan repair" in ran.err) == (8, True)


def test_a_plan_is_the_same_each_time_and_shows_itself(dirs: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = dirs
    argv = ("move", a, b, "--partition", "x-0", "--to", b)
    planned(tmp_path, *argv)
    first = (tmp_path / "plan.json").read_bytes()
    planned(tmp_path, *argv)
    assert (tmp_path / "plan.json").read_bytes() == first
    assert first.isascii()
    shown = run("plan", "show", tmp_path / "plan.json", code=0)
    assert "lost: nothing" in shown.out
    assert "started after it starts and no loss is seen; not known: replicas that" in shown.out
    assert run("plan", "show", tmp_path / "plan.json", "--json").json[-1]["operation"] == "move"
    assert json.loads(first)["type"] == "plan"


def test_nobody_to_ask_is_a_refusal(dirs: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = dirs
    planned(tmp_path, "move", a, b, "--partition", "x-0", "--to", b)
    before = trees(a, b)
    ran = run("apply", tmp_path / "plan.json")
    assert (ran.code, "add --yes" in ran.err) == (16, True)
    assert trees(a, b) == before
    assert run("undo").code == 16
    assert run("journal", "list").code == 0
    assert applied(tmp_path).code == 1
    assert run("undo").code == 16


def test_an_undo_without_a_name_is_of_the_only_journal(dirs: tuple[Path, Path], tmp_path: Path) -> None:
    """All brokers of a machine share a state dir: which of them is meant the clock does not tell."""
    a, b = dirs
    other = write_log_dir(tmp_path / "it's" / "other", [PartitionWriter("w")])
    cut = tmp_path / "it's" / "other" / "w-0" / f"{0:020}.log"
    lengthen(cut, GARBAGE)
    planned(tmp_path, "move", a, b, "--partition", "x-0", "--to", b)
    assert applied(tmp_path).code == 1
    moved = trees(a, b)
    planned(tmp_path, "trim", other)
    assert applied(tmp_path).code in (1, 5)
    after = trees(a, b, other)
    for argv in (["undo", "--yes"], ["undo", "--dry-run"], ["undo", "--yes", "--json"], ["plan", "reverse"]):
        ran = run(*argv)
        assert (ran.code, ran.err.count("\n")) == (16, 1), ran
        assert "has 2 journals: name the one that is meant" in ran.err
    assert trees(a, b, other) == after
    of_move, of_trim = run("undo", "--yes", code=16).out.splitlines()
    assert of_move.startswith("segmend undo 0001-move-")
    assert f"  # move in {a}, {b}: applied, begun 20" in of_move
    assert f"  # trim in {other}: applied, begun 20" in of_trim
    rows = run("undo", "--yes", "--json", code=16).json
    assert [row["command"] for row in rows] == [line.partition("  # ")[0] for line in (of_move, of_trim)]
    assert [row["dirs"] for row in rows] == [[str(a), str(b)], [str(other)]]
    reverse = run("plan", "reverse", "-o", tmp_path / "a back.json").out.splitlines()[0]
    assert run(*shlex.split(reverse, comments=True)[1:], code=0)
    assert (tmp_path / "a back.json").is_file()
    # By a log dir, in whatever words; then by a command as it was printed.
    assert run("undo", "--yes", f"{other}/../other/", code=0).out.splitlines()[0].startswith("0002-trim-")
    assert trees(a, b) == moved
    assert run("undo", "--yes", code=16).out.startswith("segmend undo 0001-move-"), "nor what is left of them"
    assert run(*shlex.split(of_move, comments=True)[1:], "--yes", code=0)
    assert (a / "x-0").is_dir()
    # From another place they are named by their paths.
    (tmp_path / "state" / "segmend").rename(tmp_path / "else where")
    line = run("undo", "--state-dir", tmp_path / "else where", code=16).out.splitlines()[0]
    assert run(*shlex.split(line, comments=True)[1:], "--dry-run", code=0)


@pytest.mark.parametrize("name", ["", "/"])
def test_an_empty_name_is_no_journal(
    name: str, dirs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a variable that nobody set; a plan that lies where one stands is not meant by it."""
    a, b = dirs
    planned(tmp_path, "move", a, b, "--partition", "x-0", "--to", b)
    assert applied(tmp_path).code == 1
    monkeypatch.chdir(run("journal", "list", "--json").json[0]["path"])
    for argv in (["undo", "--yes", name], ["plan", "reverse", name]):
        ran = run(*argv)
        assert (ran.code, f"'{name}': is neither a journal nor a log dir" in ran.err) == (16, True), ran
    assert (b / "x-0").is_dir()


def test_a_journal_that_cannot_be_read_may_be_the_one_that_is_meant(
    dirs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_run, "PACKED_LIMIT", 0)  # else its lines have the plan as well
    a, b = dirs
    for number, partition in enumerate(("x-0", "y-0")):
        planned(tmp_path, "move", a, b, "--partition", partition, "--to", b)
        assert applied(tmp_path).code == 1, number
    first, second = run("journal", "list", "--json").json
    for copy in ("plan.json", "steps/plan.json"):
        (Path(first["path"]) / copy).write_text("rotten")
    for argv in (["undo", "--yes"], ["undo", "--yes", a]):
        ran = run(*argv)
        assert (ran.code, "a journal cannot be read" in ran.err, first["journal"] in ran.err) == (
            8,
            True,
            True,
        ), ran
    assert (b / "y-0").is_dir()
    assert run("undo", "--yes", second["journal"]).code == 0


def test_nothing_to_do_is_0(dirs: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = dirs
    assert planned(tmp_path, "trim", a, b).code == 0
    assert applied(tmp_path).code == 0
    assert not (tmp_path / "state").exists()


def test_twice_and_by_hand(dirs: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = dirs
    planned(tmp_path, "move", a, b, "--partition", "x-0", "--to", b)
    assert applied(tmp_path).code == 1
    again = applied(tmp_path)
    assert (again.code, again.json[-1]["steps"]) == (1, 0)
    text = (tmp_path / "plan.json").read_text()
    (tmp_path / "plan.json").write_text(text.replace("x-0", "y-0"))
    edited = applied(tmp_path)
    assert (edited.code, "was edited" in edited.err) == (8, True)
    rows = run("journal", "list", "--json").json
    assert [(row["state"], row["steps"] == row["steps_applied"]) for row in rows] == [("applied", True)]
    assert undone().code == 0
    assert run("undo", "--yes", rows[0]["journal"]).code == 1  # an undo can be undone
    assert (b / "x-0").is_dir()


@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_a_person_may_say_no(
    dirs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    a, b = dirs
    planned(tmp_path, "move", a, b, "--partition", "x-0", "--to", b)
    before = trees(a, b)

    class Person:
        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            return answer

    monkeypatch.setattr(sys, "stdin", Person())
    assert run("apply", tmp_path / "plan.json").code == 32
    assert trees(a, b) == before
    answer = "yes\n"
    assert run("apply", tmp_path / "plan.json").code == 1


SLOW_APPLY = """
import signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests by nohup ignores it
from segmend.kernel.batches import iter_batches
from segmend.kernel.types import BytesReader
from segmend.surgery.execute import plan_run
from segmend.surgery.writing.effects import Effects
rename = Effects.rename
def slow(self, old, new):
    print("renaming", flush=True)
    time.sleep(0.2)
    rename(self, old, new)
Effects.rename = slow
from segmend.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


SIGNALS = [
    signal.SIGINT,
    pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
    pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
def test_ctrl_c_stops_at_a_safe_point_and_the_same_command_goes_on(
    dirs: tuple[Path, Path], tmp_path: Path, number: int
) -> None:
    a, b = dirs
    planned(tmp_path, "drain", a, b, "--from", a)
    before = trees(a, b)
    argv = [sys.executable, "-c", SLOW_APPLY, "apply", str(tmp_path / "plan.json"), "--yes"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    process = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    while "renaming" not in process.stdout.readline():
        pass
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 32
    assert "steps; nothing is lost: the same command goes on" in said
    assert applied(tmp_path).code == 1
    assert undone().code == 0
    assert trees(a, b) == before


def test_every_help_page_is_there() -> None:
    for words in ("plan", "plan trim", "plan move", "plan drain", "apply", "undo", "journal"):
        assert f"usage: segmend {words}" in run(*words.split(), "--help").out


def test_each_operation_says_what_it_does_in_a_line() -> None:
    for name in ops.names():
        assert name == ops.operation(name).NAME
        assert ops.summary(name)[0].islower()


def test_relative_places_where_the_working_directory_is_gone(
    dirs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line for each, and no search for a directory above a path that has no beginning."""
    (dirs[0] / "recovery-point-offset-checkpoint").write_bytes(GARBAGE)
    plan = tmp_path / "plan.json"
    assert run("plan", "repair", *dirs, "-o", plan).code == 0
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    refused = [
        run("plan", "repair", *dirs, "-o", "plan.json"),
        run("apply", "--yes", plan, "--state-dir", "state"),
        run("apply", "--yes", plan, "--backup-dir", "backups"),
        run("rescue", *dirs, "--out", "out", "--as", "jsonl"),
    ]
    done = run("apply", "--yes", plan)
    monkeypatch.chdir(tmp_path)
    assert [(ran.code, ran.err.count("\n")) for ran in refused] == [(8, 1)] * 4
    assert all("the directory in which segmend was started is gone" in ran.err for ran in refused)
    assert done.code == 1
