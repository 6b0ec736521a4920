"""`segmend check` from outside: exit codes, JSON lines, and what a person sees."""

import errno
import os
import re
import shlex
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.faults.on_disk import flip
from tests.faults.written import clean_dir, killed_dir, known_dirs, two_dirs, with_zookeeper

from segmend.cli.commands.check import command as check
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable

FINDING_KEYS = {
    "type", "code", "severity", "dir", "topic", "partition", "file", "position", "offset", "message",
    "broker_says", "broker_effect", "remedy", "cause", "detail",
}  # fmt: skip
EFFECT_KEYS = {"effect", "offset", "records_lost", "bytes_lost", "text", "basis"}
SUMMARY_KEYS = {"type", "errors", "warnings", "segments", "batches", "bytes", "skipped", "seconds"}


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    return clean_dir(tmp_path)[0]


@pytest.fixture
def damaged(healthy: Path) -> Path:
    """A CRC error in u-0, an empty partition.metadata in t-0, and a fact."""
    log = healthy / "u-0" / f"{18:020d}.log"
    flip(log, -5)
    (healthy / "t-0" / "partition.metadata").write_bytes(b"")
    (healthy / "u-0" / f"{0:020d}.log.deleted").touch()
    return healthy


def test_nothing_wrong_is_0_and_says_what_was_not_looked_at(healthy: Path) -> None:
    out = run("check", healthy, code=0).out
    assert out.startswith("nothing wrong in 2 partitions")
    assert "not looked at: CRCs, records (--deep does)" in out
    assert "not looked at" not in run("check", healthy, "--deep", code=0).out


def test_a_killed_broker_is_no_fault(tmp_path: Path) -> None:
    assert "not stopped cleanly" in run("check", killed_dir(tmp_path)[0], "--deep", code=0).out


def test_findings_are_4(damaged: Path) -> None:
    out = run("check", damaged, "--deep", code=4).out
    assert "L05" in out
    assert "M02" in out
    command = rf"segmend plan repair {re.escape(str(damaged))}/u-0 --from REPLICA_PARTITION_DIR -o plan.json"
    assert re.search(f"next: +{command}  # advice", out)
    assert "2 errors" in out


def test_facts_alone_are_0(healthy: Path) -> None:
    (healthy / "u-0" / f"{0:020d}.log.deleted").touch()
    assert "1 note" in run("check", healthy, code=0).out


def test_the_json_contract(damaged: Path) -> None:
    *findings, summary = run("check", damaged, "--deep", "--json", code=4).json
    assert {finding["code"] for finding in findings} == {"L05", "M02", "N12"}
    for finding in findings:
        assert set(finding) == FINDING_KEYS
        assert finding["type"] == "finding"
        assert finding["dir"] == str(damaged)
        assert not finding["file"].startswith("/")
        assert set(finding["broker_effect"]) == EFFECT_KEYS
        remedy = finding["remedy"]
        assert remedy is None or set(remedy) == {"command", "safety"}
    assert set(summary) >= SUMMARY_KEYS
    assert (summary["type"], summary["errors"], summary["warnings"]) == ("summary", 2, 0)


def test_only_ignore_topic_and_max(damaged: Path) -> None:
    chosen = ("--only", "l05,M02", "--ignore", "M02")
    assert [o.get("code") for o in run("check", damaged, "--deep", "--json", *chosen).json] == ["L05", None]
    assert [o.get("code") for o in run("check", damaged, "--json", "--topic", "t*").json] == ["M02", None]
    first, summary = run("check", damaged, "--json", "--deep", "--max", "1", code=4).json
    assert (first["type"], summary["errors"]) == ("finding", 2)
    assert "... and 2 more findings" in run("check", damaged, "--deep", "--max", "1", code=4).out


def test_a_ruined_disk_does_not_fill_the_memory(damaged: Path, monkeypatch) -> None:
    for number in range(50):
        (damaged / f"foreign {number}").mkdir()
    monkeypatch.setattr(check, "KEPT", 10)
    out = run("check", damaged, "--deep", "--max", "5", code=4).out
    assert "... and 48 more findings" in out
    assert "52 errors" in out


def test_the_worst_comes_first(damaged: Path) -> None:
    ran = run("check", damaged, "--deep")
    severities = re.findall(r"^  (error|warning|info) ", ran.out, re.MULTILINE)
    assert severities[0] == "error"
    assert len(severities) == 3


def test_one_partition_or_one_file(damaged: Path, monkeypatch) -> None:
    *findings, _ = run("check", damaged / "u-0", "--deep", "--json", code=4).json
    assert {finding["topic"] for finding in findings} == {"u"}
    file = damaged / "u-0" / f"{18:020d}.log"
    assert [o["file"] for o in run("check", file, "--deep", "--json", code=4).json[:-1]] == [
        f"u-0/{18:020d}.log"
    ]
    monkeypatch.chdir(damaged / "u-0")
    for path in (".", file.name):
        assert "L05" in {o.get("code") for o in run("check", path, "--deep", "--json", code=4).json}


def test_the_dirs_of_a_broker_are_looked_at_together(tmp_path: Path) -> None:
    first, second = two_dirs(tmp_path)
    (second / "v-0").rename(second / "u-0")
    assert "Duplicate log directories for u-0" in run("check", first, second, "--startup", code=4).out
    run("check", second, "--startup", "--ignore", "N27", code=0)


def test_a_blank_disk_beside_another_is_a_broker_s_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was replaced, or is not mounted. What check suggests is planned, applied and taken back."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    blank, plan = tmp_path / "blank", tmp_path / "plan.json"
    blank.mkdir()
    home = known_dirs(tmp_path / "kraft")[0]
    lines = run("check", home, blank, "--json", code=4).of("finding")
    found = [each for each in lines if each["dir"] == str(blank)]
    assert [each["code"] for each in found] == ["K01"]
    words = shlex.split(found[0]["remedy"]["command"])
    assert words[:3] == ["segmend", "plan", "identity"]
    run(*words[1:-1], plan, code=0)
    run("apply", plan, "--yes", code=1)
    run("check", home, blank, "--only", "K01", code=0)
    run("undo", "--yes", code=0)
    assert not list(blank.iterdir())
    with_zookeeper([old := clean_dir(tmp_path / "zookeeper")[0]])
    summary = run("check", old, blank, "--json", "--kafka", "2.5", code=4).json[-1]
    assert f"{blank}: which partitions were in this empty dir" in summary["skipped"][-1]
    assert "nothing wrong, but not all is known" in run("check", old, blank, "--kafka", "2.5", code=4).out
    run("check", old, blank, "--kafka", "2.5", "--only", "K01", code=0)
    run("plan", "repair", old, blank, code=8)


def test_the_release_that_was_given_is_in_the_next_command(damaged: Path) -> None:
    asked = ("check", damaged, "--deep", "--kafka", "1.1", "--only", "L05")
    command = run(*asked, "--json").json[0]["remedy"]["command"]
    assert command.endswith(" --kafka 1.1 -o plan.json")
    assert command in run(*asked).out


USAGE = [
    ("a file", 16),
    ("no log dir", 8),
    ("a name alone", 8),
    ("twice", 16),
    ("mixed", 16),
    ("missing", 8),
    ("empty", 8),
    ("no path at all", 8),
    ("loop", 8),
    ("unknown code", 16),
    ("unknown release", 16),
    ("both levels", 16),
    ("not a number", 16),
]


@pytest.mark.parametrize(("case", "code"), USAGE, ids=[case for case, _ in USAGE])
def test_errors_are_one_line(case: str, code: int, healthy: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "readme").touch()
    (tmp_path / "etc" / "dbus-1").mkdir(parents=True)
    (tmp_path / "etc" / "dbus-1" / "system.conf").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    arguments = {
        "a file": [str(tmp_path / "other" / "readme")],
        "no log dir": [str(tmp_path / "other")],
        "a name alone": [str(tmp_path / "etc")],
        "twice": [str(healthy), f"{healthy}/."],
        "mixed": [str(healthy), str(healthy / "u-0")],
        "missing": [str(tmp_path / "nowhere")],
        "empty": [str(tmp_path / "empty")],
        "no path at all": [""],
        "loop": [str(tmp_path / "loop")],
        "unknown code": [str(healthy), "--only", "X99"],
        "unknown release": [str(healthy), "--kafka", "9.9"],
        "both levels": [str(healthy), "--deep", "--startup"],
        "not a number": [str(healthy), "--max", "many"],
    }[case]
    captured = run("check", *arguments, code=code)
    assert captured.out == ""
    assert captured.err.startswith("segmend: ")
    assert not captured.err.startswith("segmend: :")
    assert captured.err.count("\n") == 1


def test_what_may_not_be_read_is_8(healthy: Path, monkeypatch) -> None:
    """No finding: the broker's user may well read what we may not."""
    closed = str(healthy / "u-0" / "partition.metadata")
    real = disk._open

    def guarded(path: str) -> int:
        if path == closed:
            raise Unreadable(path, "permission denied", errno.EACCES)
        return real(path)

    monkeypatch.setattr(disk, "_open", guarded)
    assert f"could not be read with this user's permissions: {closed}" in run("check", healthy, code=8).out
    (healthy / "t-0" / "partition.metadata").write_bytes(b"")
    assert run("check", healthy, "--json", code=12).json[-1]["unreadable"] == [closed]


def test_hostile_names_stay_on_one_line(healthy: Path) -> None:
    for name in (b"bad\n\x1b[2J", b"worse\n\x1b[2J\xff"):
        os.mkdir(os.path.join(os.fsencode(healthy), name))
    out = run("check", healthy, code=4).out
    assert "\x1b" not in out
    assert "bad\\n" in out
    assert "worse\\n" in out
    assert {"N01", "N28"} <= {o.get("code") for o in run("check", healthy, "--json", code=4).json}


def test_a_dir_that_begins_with_a_dash_is_named_so_that_its_commands_work(
    damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(damaged.parent)
    damaged.rename("-data")
    lines = run("check", "--deep", "--json", "--", "-data").json
    commands = [line["remedy"]["command"] for line in lines if line.get("remedy")]
    named = [word for each in commands for word in shlex.split(each) if "-data" in word]
    assert named
    assert all(Path(word).exists() and word.startswith("./-data") for word in named), named
