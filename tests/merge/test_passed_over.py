"""What lies beside the replicas, or should lie there: it is said that nobody looked at it."""

import shutil
from pathlib import Path

import pytest
from tests.cli.run import Ran, run
from tests.faults.on_disk import put_link
from tests.fleet.complaint import complaint
from tests.golden.shared import golden
from tests.merge.test_diff import PLAIN, broker
from tests.rescue.replicas import replicas

from segmend.logdir import disk
from segmend.logdir.file_system import EntryType

COMMANDS = (
    ("diff",), ("rescue", "--as", "jsonl"), ("rescue",), ("export",), ("fleet", "diff"), ("fleet", "export"),
    ("fleet", "rescue", "--as", "jsonl"),
)  # fmt: skip
ASIDE = f"t-0.{'a' * 32}"


def told(command: tuple[str, ...], out: Path, *dirs: Path, code: int, others: bool = True) -> Ran:
    """As JSON; what people read has the same path."""
    more = () if "diff" in command else ("--out", out)
    driver = ("--driver", "local") if command[0] == "fleet" else ()
    if command[0] == "rescue" and others:
        _others_say_the_same(command[-1] if "--topic" in command else None, dirs, code)
    return run(*command, *dirs, *more, *driver, "--json", code=code)


def _others_say_the_same(topic: str | None, dirs: tuple[Path, ...], code: int) -> None:
    """Nobody gives an all-clear that a rescue does not give, nor a false alarm."""
    run("explain", "merge", *dirs, *(("--topic", topic) if topic else ()), code=code)
    if not any(each.name == "t-0" or ASIDE in each.name for each in dirs):
        topics = {"topics": topic} if topic else {}
        words = complaint(dirs, internal="true", **topics)
        assert bool(words) is bool(code), words


@pytest.mark.parametrize("kind", ["stray", "delete", "future"])
def test_directories_that_no_broker_serves_are_named(kind: str, tmp_path: Path) -> None:
    dirs = [broker(tmp_path, 1, PLAIN), broker(tmp_path, 2, PLAIN[:5])]
    aside = dirs[0] / f"{ASIDE}-{kind}"
    (dirs[0] / "t-0").rename(aside)
    shutil.copytree(dirs[1] / "t-0", dirs[1] / "other-0")
    # What was to be moved is a copy of what its broker has, which is not here.
    more = [] if kind == "delete" else [str(aside)]
    for number, command in enumerate(COMMANDS):
        for _ in range(2):
            ran = told(command, tmp_path / f"o{number}", *dirs, code=4 if more else 0)
            (summary,) = ran.of("summary")
            assert (summary["not_looked_at"], summary["strays"]) == ([str(aside)], more), command
        ran = told((*command, "--topic", "other"), tmp_path / f"t{number}", *dirs, code=0)
        assert ran.of("summary")[0]["not_looked_at"] == [], command
    for ran in (run("diff", *dirs), run("rescue", *dirs, "--out", tmp_path / "text")):
        assert (
            f"not looked at, for no broker serves them (being deleted, moved, or set aside): {aside};"
            in ran.out
        )
        assert (f"may have records that no replica here has: {aside};" in ran.out) is bool(more)
    both = told(("rescue", "--as", "jsonl"), tmp_path / "both", aside, dirs[1] / "t-0", code=0)
    assert both.of("summary")[0]["records"] == 100
    assert run("diff", aside, dirs[1] / "t-0", "--json", code=4).of("partition")[0]["verdict"] == "behind"


def test_the_copy_of_a_move_is_no_doubt_beside_what_it_is_a_copy_of(tmp_path: Path) -> None:
    dirs = [broker(tmp_path / "d0", 1, PLAIN), broker(tmp_path / "d1", 1, PLAIN), broker(tmp_path, 2, PLAIN)]
    aside = dirs[1] / f"{ASIDE}-future"
    (dirs[1] / "t-0").rename(aside)
    for number, command in enumerate(COMMANDS):
        ran = told(command, tmp_path / f"o{number}", *dirs, code=0)
        (summary,) = ran.of("summary")
        assert (summary["not_looked_at"], summary["strays"]) == ([str(aside)], []), command


@pytest.mark.parametrize("command", [each for each in COMMANDS if each != ("fleet", "diff")])
def test_a_replica_that_is_moved_while_the_dirs_are_listed(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dir that gets it was listed before, the one that had it behind: of neither it was a replica."""
    dirs = [broker(tmp_path / "d0", 1, PLAIN), broker(tmp_path / "d1", 1, PLAIN)]
    shutil.copytree(dirs[1] / "t-0", dirs[1] / "other-0")
    future, listing = dirs[0] / f"{ASIDE}-future", disk.listing
    (dirs[0] / "t-0").rename(future)

    def moving(path: str) -> dict[str, EntryType]:
        # The fleet looks before that what is a log dir at all.
        seen.append(path)
        if seen == listed:
            future.rename(dirs[0] / "t-0")
            (dirs[1] / "t-0").rename(dirs[1] / f"{ASIDE}-delete")
        return listing(path)

    seen, listed = list[str](), list[str]()
    monkeypatch.setattr(disk, "listing", moving)
    told(command, tmp_path / "before", *dirs, code=0, others=False)
    last = max(at for at, path in enumerate(seen) if path == str(dirs[1]))
    listed, seen = seen[: last + 1], []
    ran = told(command, tmp_path / "out", *dirs, code=4, others=False)
    assert ran.of("summary")[0]["strays"] == [str(future)]


ANEW = "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAg\n"


@pytest.mark.parametrize(
    ("beside", "data", "code"),
    [
        (ANEW, b"".join(PLAIN), 0),  # Of a topic that was deleted: its records are not of this one.
        (None, b"", 0),
        (None, None, 4),
        (None, b"".join(PLAIN), 4),
        ("", b"".join(PLAIN), 4),
    ],
)
def test_what_was_set_aside_is_no_all_clear_where_it_may_be_of_this_topic(
    beside: str | None, data: bytes | None, code: int, tmp_path: Path
) -> None:
    dirs = [broker(tmp_path, 1, PLAIN[:5]), broker(tmp_path, 2, PLAIN[:5])]
    aside = dirs[1] / f"{ASIDE}-stray"
    shutil.copytree(dirs[1] / "t-0", aside)
    log = aside / f"{0:020d}.log"
    put_link(log, tmp_path / "nothing") if data is None else log.write_bytes(data)
    if beside is not None:
        (aside / "partition.metadata").write_text(beside)
    for number, command in enumerate(COMMANDS):
        ran = told(command, tmp_path / f"o{number}", *dirs, code=code)
        (summary,) = ran.of("summary")
        assert (summary["not_looked_at"], bool(summary["strays"])) == ([str(aside)], code == 4), command


def test_what_was_set_aside_of_a_partition_without_a_replica_is_no_all_clear(tmp_path: Path) -> None:
    dirs = [broker(tmp_path, 1, PLAIN), broker(tmp_path, 2, PLAIN)]
    aside = dirs[0] / f"gone-7.{'a' * 32}-stray"
    shutil.copytree(dirs[0] / "t-0", aside)
    for number, command in enumerate(COMMANDS):
        ran = told(command, tmp_path / f"o{number}", *dirs, code=4)
        assert ran.of("summary")[0]["strays"] == [str(aside)], command


def test_a_replica_on_a_disk_that_is_not_mounted_is_no_all_clear(tmp_path: Path) -> None:
    dirs = [broker(tmp_path, 1, PLAIN), broker(tmp_path, 2, PLAIN[:5])]
    (dirs[0] / "t-0").rename(tmp_path / "gone")
    (dirs[0] / "t-0").symlink_to(tmp_path / "nothing")
    for number, command in enumerate(COMMANDS):
        ran = told(command, tmp_path / f"o{number}", *dirs, code=8)
        assert ran.of("summary")[0]["unread"] == [str(dirs[0] / "t-0")], command
    assert f"could not be read: {dirs[0] / 't-0'}: links to nothing" in run("diff", *dirs).out


def test_a_log_that_is_a_link_to_nothing_was_not_read(tmp_path: Path) -> None:
    dirs = [broker(tmp_path, 1, PLAIN), broker(tmp_path, 2, PLAIN[:5])]
    log = dirs[0] / "t-0" / f"{0:020d}.log"
    put_link(log, tmp_path / "nothing")
    for number, command in enumerate(COMMANDS):
        ran = told(command, tmp_path / f"o{number}", *dirs, code=12)
        assert f"{log}: a link to nothing, or no file" in ran.of("partition")[0]["doubts"], command


def compacted(tmp_path: Path) -> Path:
    """A log dir with a partition as its broker left it: cleaned, old segments waiting for their deletion."""
    (log_dir,) = replicas(golden("4.3.1-killed"), tmp_path, ("compacted-0",), count=1)
    assert sorted((log_dir / "compacted-0").glob("*.log.deleted"))
    return log_dir


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("ending", "alone"), [("swap", True), ("cleaned", True), ("deleted", False)])
def test_a_log_of_another_ending_that_alone_has_records_is_named(
    command: tuple[str, ...], ending: str, alone: bool, tmp_path: Path
) -> None:
    log_dir = compacted(tmp_path)
    home = log_dir / "compacted-0"
    told(command, tmp_path / "whole", log_dir, code=0)
    logs = sorted(log for log in home.glob("*.log") if log.stat().st_size)
    # Beside its own segment one has nothing new; nor has, where others are cleaned, one to be deleted.
    beside = home / f"{logs[0].name}.{ending}"
    shutil.copy(logs[0], beside)
    ran = told(command, tmp_path / "beside", log_dir, code=0)
    assert str(beside) in ran.of("summary")[0]["not_looked_at"]
    if not alone:
        for log in logs[1:]:
            log.unlink()
    for number, log in enumerate((logs[0], logs[-1]) if alone else (logs[0],)):
        aside = log.with_name(f"{log.name}.{ending}")
        log.rename(aside)
        ran = told(command, tmp_path / f"o{number}", log_dir, code=4)
        (line,) = ran.of("partition")
        said = f"{aside} may have records from offset {int(log.stem)} on that no log here has; give a copy"
        assert any(each.startswith(said) for each in line["doubts"]), line["doubts"]
        aside.rename(log)


def test_a_log_that_waits_for_its_start_is_read_by_its_segments_name_in_a_copy(tmp_path: Path) -> None:
    log_dir = compacted(tmp_path)
    home = log_dir / "compacted-0"
    whole = run("rescue", log_dir, "--out", tmp_path / "whole", "--as", "jsonl", "--json", code=0)
    first = min(home.glob("*.log"))
    first.rename(first.with_name(f"{first.name}.swap"))
    copy = tmp_path / "copy" / "compacted-0"
    shutil.copytree(home, copy)
    copy.joinpath(f"{first.name}.swap").rename(copy / first.name)
    ran = run("rescue", home, copy, "--out", tmp_path / "out", "--as", "jsonl", "--json", code=0)
    assert ran.of("summary")[0]["records"] == whole.of("summary")[0]["records"]


@pytest.mark.parametrize("command", [("diff",), ("rescue", "--as", "jsonl"), ("export",)])
def test_of_partition_directories_only_those_that_are_given_are_read(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    dirs = [broker(tmp_path, 1, PLAIN), broker(tmp_path, 2, PLAIN[:5])]
    for each in dirs:
        shutil.copytree(each / "t-0", each / "other-0")
    # Of each name one, of each broker one: the others of these names were not given.
    given = (dirs[0] / "other-0", dirs[1] / "t-0")
    ran = told(command, tmp_path / "out", *given, code=0)
    ends = {row["topic"]: row["next_offset"] for row in ran.of("partition")}
    assert ends == {"other": 100, "t": 50}


def test_that_a_killed_broker_left_it_so_is_assumed(tmp_path: Path) -> None:
    """A copy of seconds before a kill has no other trace; one that was stopped has its marker."""
    dirs = [broker(tmp_path, 1, PLAIN), broker(tmp_path, 2, PLAIN)]
    shutil.copytree(dirs[0] / "t-0", dirs[0] / "other-0")
    (dirs[0] / ".kafka_cleanshutdown").touch()
    for number, command in enumerate(COMMANDS):
        for _ in range(2):
            ran = told(command, tmp_path / f"o{number}", *dirs, code=0)
            (words,) = ran.of("summary")[0]["assumed"]
            assert words.startswith(f"what lies in {dirs[1]} is as the broker left it"), command
        ran = told((*command, "--topic", "other"), tmp_path / f"t{number}", *dirs, code=0)
        assert ran.of("summary")[0]["assumed"] == [], command
    said = f"assumed: what lies in {dirs[1]} is as the broker left it"
    for name in ("killed", "stopped"):
        for ran in (run("diff", *dirs), run("rescue", *dirs, "--out", tmp_path / name)):
            assert (said in ran.out) == (name == "killed")
        (dirs[1] / ".kafka_cleanshutdown").touch()
