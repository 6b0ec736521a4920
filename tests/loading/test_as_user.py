"""`check --as-user`, `forecast --as-user`, and what segmend itself may not read."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.run import as_one_who_may_not, python, run
from tests.faults.on_disk import put_folder
from tests.faults.written import known_dirs, two_dirs, with_zookeeper
from tests.golden.unpack import unpack
from tests.lab.upgrade import ARCHIVES

from segmend.logdir import as_user

OTHER = str(os.getuid() + 4711)
COMMANDS = ("check", "forecast")


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    return known_dirs(tmp_path)


def test_the_owner_of_most_files_is_assumed(dirs: list[Path]) -> None:
    ran = run("forecast", *dirs, "--json", "--kafka", "4.3.1", code=0)
    assert any(f"({os.getuid()}:" in each and "--as-user" in each for each in ran.json[-1]["assumed"])


def test_another_user_may_not_write_there(dirs: list[Path]) -> None:
    ran = run("forecast", *dirs, "--json", "--kafka", "4.3.1", "--as-user", OTHER, code=4)
    assert (ran.json[-1]["type"], ran.json[-1]["outcome"]) == ("broker", "refuses")
    assert not any("--as-user" in each for each in ran.json[-1]["assumed"])


def test_a_dir_that_fails_with_the_first_write_is_no_good_start(open_to_all: Path) -> None:
    """Up to 2.0 nothing is written while it loads; "nothing lost" and exit 0 were said."""
    dirs = two_dirs(open_to_all)
    with_zookeeper(dirs)
    for path in open_to_all.rglob("*"):
        path.chmod(0o777 if path.is_dir() else 0o666)
    (dirs[0] / "t-0").chmod(0o555)
    ran = run("forecast", *dirs, "--json", "--kafka", "2.0", "--as-user", OTHER)
    (dirs[0] / "t-0").chmod(0o777)  # that it can be removed
    assert [line["what"] for line in ran.of("later") if line["when_seconds"] is None] == ["log dir offline"]
    assert (ran.code, ran.json[-1]["outcome"]) == (4, "starts")
    assert [each for each in ran.json[-1]["unknown"] if str(dirs[0]) in each]


def test_logs_that_were_not_asked_for_an_attribute_are_assumed(
    dirs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(as_user, "_ATTRIBUTES_ASKED", 2)
    ran = run("forecast", *dirs, "--json", "--kafka", "4.3.1", code=0)
    assert [each for each in ran.json[-1]["assumed"] if "attribute i" in each]


def test_the_log_dirs_of_the_configuration(dirs: list[Path], tmp_path: Path) -> None:
    given = tmp_path / "server.properties"
    given.write_text(f"node.id=1\nlog.dirs={dirs[0]},{dirs[1]}\n")
    named = run("forecast", *dirs, "--config", given, "--json", "--kafka", "4.3.1").json
    read = run("forecast", "--config", given, "--json", "--kafka", "4.3.1").json
    assert named[:-1] == read[:-1]
    given.write_text(f"node.id=1\nlog.dirs={dirs[0]},,{dirs[1]}\n")
    refused = run("forecast", "--config", given, "--json", "--kafka", "4.3.1").json[-1]
    assert "must not be empty" in refused["reason"]
    older = run("forecast", "--config", given, "--json", "--kafka", "4.1").json[-1]
    assert "must not be empty" not in (older["reason"] or "")


def test_a_log_dir_of_the_configuration_that_was_not_given(dirs: list[Path], tmp_path: Path) -> None:
    given = tmp_path / "server.properties"
    given.write_text(f"node.id=1\nlog.dirs={dirs[0]},{dirs[1]}\n")
    ran = run("forecast", dirs[0], "--config", given, "--json", "--kafka", "4.3.1", code=4)
    assert any(str(dirs[1]) in each for each in ran.json[-1]["unknown"])


@pytest.mark.parametrize("user", ["4294967295", "99999999999", "1:4294967295", "nosuchuser"])
def test_whom_nobody_can_be(user: str, dirs: list[Path]) -> None:
    ran = run("forecast", *dirs, "--as-user", user, code=16)
    assert f"--as-user {user}: " in ran.err


def test_without_a_dir_and_a_configuration() -> None:
    assert run("forecast").code == 16


@pytest.mark.parametrize("which", ["dir", "partition", "file"])
def test_what_segmend_may_not_read_is_not_known(dirs: list[Path], which: str) -> None:
    closed = {"dir": dirs[1], "partition": dirs[1] / "u-0", "file": dirs[0] / "meta.properties"}[which]
    if which == "partition":
        closed = next(path for path in dirs[1].iterdir() if path.is_dir())
    closed.chmod(0)
    try:
        ran = python(
            "-m", "segmend", "forecast", *dirs, "--json", "--kafka", "4.3.1", "--as-user", "0",
            prefix=as_one_who_may_not(),
        )  # fmt: skip
    finally:
        closed.chmod(0o755)
    assert ran.returncode == 4, ran.stderr
    last = json.loads(ran.stdout.splitlines()[-1])
    assert last["type"] == "broker"
    assert any(str(closed) in each for each in last["unknown"])
    assert not any(line.get("outcome") == "offline" for line in map(json.loads, ran.stdout.splitlines()))


@pytest.mark.parametrize("file", ["*.log", "*.checkpoint"])
def test_metadata_that_segmend_may_not_read_is_not_lost(tmp_path: Path, file: str) -> None:
    root = unpack(ARCHIVES / "4.3.1.tar.xz", tmp_path)
    dirs = sorted(root.glob("b1/d*"))
    for closed in dirs[0].glob(f"__cluster_metadata-0/{file}"):
        closed.chmod(0)
    told = [
        python("-m", "segmend", command, *dirs, "--json", *user, prefix=as_one_who_may_not())
        for command, user in (("forecast", ("--as-user", "0")), ("check", ()))
    ]
    forecast, check = ([json.loads(line) for line in ran.stdout.splitlines()] for ran in told)
    assert not any(forecast[-1]["lost"].values())
    assert forecast[-1]["unserved"] == 0
    assert any("no readable __cluster_metadata" in each for each in forecast[-1]["unknown"])
    # Not K23 and, by a wrong release, K19. A broker of ours may not read files of ours either.
    found = {line["code"] for line in check if line["type"] == "finding"}
    assert found == (set() if os.geteuid() == 0 else {"K13"})
    assert [ran.returncode for ran in told] == [4, 12 if found else 8]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_check_and_forecast_are_told_the_same_user(open_to_all: Path) -> None:
    dirs = known_dirs(open_to_all)
    for path in open_to_all.rglob("*"):
        os.chown(path, 4711, 4711)

    def codes(user: str) -> list[int]:
        ran = [run(command, *dirs, "--as-user", user, "--kafka", "4.3.1", "--json") for command in COMMANDS]
        assert {each["code"] for each in ran[0].of("finding")} == ({"K13"} if ran[0].code else set())
        return [each.code for each in ran]

    told = {user: codes(user) for user in ("4711", "4712", "4712:4711", "0")}
    assert told == {"4711": [0, 0], "4712": [4, 4], "4712:4711": [4, 4], "0": [0, 0]}
    remedies = {
        each["remedy"]["command"] for each in run("check", *dirs, "--as-user", "4712", "--json").of("finding")
    }
    assert remedies == {f"chown -hR 4712:4712 {each}" for each in dirs}
    for path in open_to_all.rglob("*"):
        path.chmod(0o775 if path.is_dir() else 0o664)
    assert codes("4712:4711") == [0, 0]
    assert [run(command, dirs[0], "--as-user", "nobody-of-here").code for command in COMMANDS] == [16, 16]


def test_what_a_dir_lost_that_has_only_its_identity_is_no_all_clear(tmp_path: Path) -> None:
    """Neither of the check, as it was, nor of the forecast."""
    root = unpack(ARCHIVES / "4.3.1.tar.xz", tmp_path)
    dirs = sorted(root.glob("b1/d*"))
    kept = (dirs[1] / "meta.properties").read_bytes()
    put_folder(dirs[1])
    (dirs[1] / "meta.properties").write_bytes(kept)
    check, forecast = run("check", *dirs, "--json"), run("forecast", *dirs, "--json")
    assert (check.code, forecast.code) == (4, 4)
    gone = {(each["topic"], each["code"]) for each in check.of("finding")}
    assert gone == {(topic, "N27") for topic in ("plain", "__consumer_offsets", "__transaction_state")}
    assert "plain-0" in forecast.json[-1]["unknown"][0]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        (".lock", os.mkfifo),
        ("replication-offset-checkpoint", os.mkfifo),
        ("t-0/*.log", os.mkfifo),
        ("t-0/*.index", lambda path: os.symlink("/dev/null", path)),
    ],
)
def test_what_is_no_file_is_no_all_clear(name: str, make: Callable[[Path], None], dirs: list[Path]) -> None:
    path = next(iter(dirs[0].glob(name)), dirs[0] / name)
    path.unlink(missing_ok=True)
    make(path)
    ran = run("forecast", *dirs, "--json", "--kafka", "4.3.1", code=4)
    assert [each for each in ran.json[-1]["unknown"] if str(path) in each]
    assert run("check", *dirs, "--kafka", "4.3.1").code & 4 or "t-0" not in name
