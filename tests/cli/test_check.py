"""`segmend check` from outside: exit codes, JSON lines, and what a person sees."""

import errno
import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.faults.written import clean_dir, killed_dir, known_dirs, two_dirs, with_zookeeper
from tests.files import flip

from segmend.cli.commands.check import command as check
from segmend.cli.main import main
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


def objects(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_nothing_wrong_is_0_and_says_what_was_not_looked_at(healthy: Path, capsys) -> None:
    assert main(["check", str(healthy)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("nothing wrong in 2 partitions")
    assert "not looked at: CRCs, records (--deep does)" in out
    assert main(["check", str(healthy), "--deep"]) == 0
    assert "not looked at" not in capsys.readouterr().out


def test_a_killed_broker_is_no_fault(tmp_path: Path, capsys) -> None:
    assert main(["check", str(killed_dir(tmp_path)[0]), "--deep"]) == 0
    assert "not stopped cleanly" in capsys.readouterr().out


def test_findings_are_4(damaged: Path, capsys) -> None:
    assert main(["check", str(damaged), "--deep"]) == 4
    out = capsys.readouterr().out
    assert "L05" in out
    assert "M02" in out
    command = rf"segmend plan repair {re.escape(str(damaged))}/u-0 --from REPLICA_PARTITION_DIR -o plan.json"
    assert re.search(f"next: +{command}  # advice", out)
    assert "2 errors" in out


def test_facts_alone_are_0(healthy: Path, capsys) -> None:
    (healthy / "u-0" / f"{0:020d}.log.deleted").touch()
    assert main(["check", str(healthy)]) == 0
    assert "1 note" in capsys.readouterr().out


def test_the_json_contract(damaged: Path, capsys) -> None:
    assert main(["check", str(damaged), "--deep", "--json"]) == 4
    *findings, summary = objects(capsys)
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


def test_only_ignore_topic_and_max(damaged: Path, capsys) -> None:
    assert main(["check", str(damaged), "--deep", "--json", "--only", "l05,M02", "--ignore", "M02"]) == 4
    assert [o.get("code") for o in objects(capsys)] == ["L05", None]
    assert main(["check", str(damaged), "--json", "--topic", "t*"]) == 4
    assert [o.get("code") for o in objects(capsys)] == ["M02", None]
    assert main(["check", str(damaged), "--json", "--deep", "--max", "1"]) == 4
    first, summary = objects(capsys)
    assert (first["type"], summary["errors"]) == ("finding", 2)
    assert main(["check", str(damaged), "--deep", "--max", "1"]) == 4
    assert "... and 2 more findings" in capsys.readouterr().out


def test_a_ruined_disk_does_not_fill_the_memory(damaged: Path, capsys, monkeypatch) -> None:
    for number in range(50):
        (damaged / f"foreign {number}").mkdir()
    monkeypatch.setattr(check, "KEPT", 10)
    assert main(["check", str(damaged), "--deep", "--max", "5"]) == 4
    out = capsys.readouterr().out
    assert "... and 48 more findings" in out
    assert "52 errors" in out


def test_the_worst_comes_first(damaged: Path, capsys) -> None:
    main(["check", str(damaged), "--deep"])
    severities = re.findall(r"^  (error|warning|info) ", capsys.readouterr().out, re.MULTILINE)
    assert severities[0] == "error"
    assert len(severities) == 3


def test_one_partition_or_one_file(damaged: Path, capsys, monkeypatch) -> None:
    assert main(["check", str(damaged / "u-0"), "--deep", "--json"]) == 4
    *findings, _ = objects(capsys)
    assert {finding["topic"] for finding in findings} == {"u"}
    file = damaged / "u-0" / f"{18:020d}.log"
    assert main(["check", str(file), "--deep", "--json"]) == 4
    assert [o["file"] for o in objects(capsys)[:-1]] == [f"u-0/{18:020d}.log"]
    monkeypatch.chdir(damaged / "u-0")
    for path in (".", file.name):
        assert main(["check", path, "--deep", "--json"]) == 4
        assert "L05" in {o.get("code") for o in objects(capsys)}


def test_the_dirs_of_a_broker_are_looked_at_together(tmp_path: Path, capsys) -> None:
    first, second = two_dirs(tmp_path)
    (second / "v-0").rename(second / "u-0")
    assert main(["check", str(first), str(second), "--startup"]) == 4
    assert "Duplicate log directories for u-0" in capsys.readouterr().out
    assert main(["check", str(second), "--startup", "--ignore", "N27"]) == 0


def test_a_blank_disk_beside_another_is_a_broker_s_as_well(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was replaced, or is not mounted. What check suggests is planned, applied and taken back."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    blank, plan = tmp_path / "blank", tmp_path / "plan.json"
    blank.mkdir()
    home = known_dirs(tmp_path / "kraft")[0]
    assert main(["check", str(home), str(blank), "--json"]) == 4
    found = [each for each in objects(capsys)[:-1] if each["dir"] == str(blank)]
    assert [each["code"] for each in found] == ["K01"]
    words = shlex.split(found[0]["remedy"]["command"])
    assert words[:3] == ["segmend", "plan", "identity"]
    assert main([*words[1:-1], str(plan)]) == 0
    assert main(["apply", str(plan), "--yes"]) == 1
    assert main(["check", str(home), str(blank), "--only", "K01"]) == 0
    assert main(["undo", "--yes"]) == 0
    assert not list(blank.iterdir())
    with_zookeeper([old := clean_dir(tmp_path / "zookeeper")[0]])
    capsys.readouterr()
    assert main(["check", str(old), str(blank), "--json", "--kafka", "2.5"]) == 0
    assert f"which partitions were in {blank}" in objects(capsys)[-1]["skipped"][-1]
    assert main(["plan", "repair", str(old), str(blank)]) == 8


def test_the_release_that_was_given_is_in_the_next_command(damaged: Path, capsys) -> None:
    main(["check", str(damaged), "--deep", "--json", "--kafka", "1.1", "--only", "L05"])
    command = objects(capsys)[0]["remedy"]["command"]
    assert command.endswith(" --kafka 1.1 -o plan.json")
    main(["check", str(damaged), "--deep", "--kafka", "1.1", "--only", "L05"])
    assert command in capsys.readouterr().out


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
def test_errors_are_one_line(case: str, code: int, healthy: Path, tmp_path: Path, capsys) -> None:
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
    assert main(["check", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("segmend: ")
    assert not captured.err.startswith("segmend: :")
    assert captured.err.count("\n") == 1


def test_what_may_not_be_read_is_8(healthy: Path, capsys, monkeypatch) -> None:
    """No finding: the broker's user may well read what we may not."""
    closed = str(healthy / "u-0" / "partition.metadata")
    real = disk._open

    def guarded(path: str) -> int:
        if path == closed:
            raise Unreadable(path, "permission denied", errno.EACCES)
        return real(path)

    monkeypatch.setattr(disk, "_open", guarded)
    assert main(["check", str(healthy)]) == 8
    assert f"could not be read with this user's permissions: {closed}" in capsys.readouterr().out
    (healthy / "t-0" / "partition.metadata").write_bytes(b"")
    assert main(["check", str(healthy), "--json"]) == 12
    assert objects(capsys)[-1]["unreadable"] == [closed]


def test_hostile_names_stay_on_one_line(healthy: Path, capsys) -> None:
    for name in (b"bad\n\x1b[2J", b"worse\n\x1b[2J\xff"):
        os.mkdir(os.path.join(os.fsencode(healthy), name))
    assert main(["check", str(healthy)]) == 4
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "bad\\n" in out
    assert "worse\\n" in out
    assert main(["check", str(healthy), "--json"]) == 4
    assert {"N01", "N28"} <= {o.get("code") for o in objects(capsys)}


def test_a_dir_that_begins_with_a_dash_is_named_so_that_its_commands_work(
    damaged: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(damaged.parent)
    damaged.rename("-data")
    main(["check", "--deep", "--json", "--", "-data"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    commands = [line["remedy"]["command"] for line in lines if line.get("remedy")]
    named = [word for each in commands for word in shlex.split(each) if "-data" in word]
    assert named
    assert all(Path(word).exists() and word.startswith("./-data") for word in named), named
