"""The next command where what mends a partition lies in another log dir, or is not for other partitions."""

import json
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.cli.run import run
from tests.conftest import one_in
from tests.copies import copy_tree
from tests.faults.on_disk import rewrite
from tests.golden.shared import golden
from tests.surgery.shows.names import stamp

from segmend.checks import CheckRun, Level
from segmend.findings import Finding

HURTS: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda _: b"",
    "cut in its first batch": lambda log: log[:100],
    "first batch flipped": lambda log: bytes([log[0] ^ 0xFF]) + log[1:],
    "a batch twice": lambda log: log + log[: 12 + int.from_bytes(log[8:12], "big")],
}


pytestmark = pytest.mark.usefixtures("no_other_processes")


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    """Of a broker with two log dirs, the metadata in the first."""
    home = tmp_path / "broker"
    copy_tree(golden("4.3.1-killed"), home)
    return sorted(path.parent for path in home.rglob("meta.properties"))


def findings(dirs: Sequence[Path], code: str = "") -> list[Finding]:
    run = CheckRun(broker_of(dirs), level=Level.DEEP)
    return [each for each in run if each.code.startswith(code)]


def alone(dirs: Sequence[Path]) -> Path:
    """The partition.metadata of a topic that is in the second dir only."""
    first = {path.name.rpartition("-")[0] for path in dirs[0].iterdir()}
    there = sorted(dirs[1].glob("*-0/partition.metadata"))
    return next(path for path in there if path.parent.name.rpartition("-")[0] not in first)


@pytest.mark.parametrize("code", one_in(2, ["M01", "M05"]))
def test_a_topic_id_is_known_in_another_dir(
    code: str, dirs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hurt = alone(dirs)
    right = hurt.read_bytes()
    if code == "M01":
        hurt.unlink()
    else:
        other = next(
            each for each in sorted(dirs[0].glob("*-0/partition.metadata")) if each.parent.name[0] != "_"
        )
        shutil.copyfile(other, hurt)
    remedy = findings(dirs, code)[0].remedy
    assert remedy is not None
    assert run(*shlex.split(remedy.command)[1:]).code == 0
    assert len(json.loads(Path("plan.json").read_text())["steps"]) > 0
    assert run("apply", "plan.json", "--yes", "--state-dir", "state").code == 1
    assert hurt.read_bytes() == right
    assert findings(dirs, code) == []


@pytest.mark.parametrize("hurt", one_in(2, HURTS))
def test_the_metadata_log_is_mended_by_its_own_operation(hurt: str, dirs: list[Path]) -> None:
    """No leader's files are taken for it, which `plan graft` refuses."""
    log = dirs[0] / "__cluster_metadata-0/00000000000000000000.log"
    rewrite(log, HURTS[hurt])
    found = [each for each in findings(dirs) if (each.file or "").startswith("__cluster_metadata-0")]
    commands = {each.remedy.command for each in found if each.remedy and each.severity == "error"}
    assert commands
    for command in commands:
        assert command.startswith(f"segmend plan quorum {dirs[0]} "), command
        if "OTHER_METADATA_DIR" not in command:
            assert run(*shlex.split(command.replace(" -o plan.json", ""))[1:]).code == 0, command


def test_a_copy_under_the_name_of_another_topic_is_not_missed(dirs: list[Path]) -> None:
    """By its id the cluster expects it here, and that is the one that lies beside it."""
    source = alone(dirs).parent
    copy_tree(source, source.with_name(f"gone-0.{'0' * 32}-delete"))
    (told,) = (each for each in findings(dirs, "N19") if "gone" in str(each.file))
    assert "expects this replica" not in told.message
    assert told.remedy is not None
    assert "plan adopt" not in told.remedy.command


@pytest.mark.parametrize("elsewhere", [False, True], ids=["in its dir", "in the other dir"])
def test_what_a_move_left_is_missed_where_the_start_makes_an_empty_log(
    elsewhere: bool, dirs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the dir that the metadata names a start takes it for the partition."""
    monkeypatch.chdir(tmp_path)
    whole = alone(dirs).parent
    home = dirs[0] if elsewhere else dirs[1]
    shutil.move(whole, home / f"{whole.name}.{'0' * 32}-future")
    (told,) = findings(dirs, "N18")
    lost = run("forecast", *dirs, "--json").json[-1]["lost"]["partitions"]
    assert (told.severity, lost) == (("error", 1) if elsewhere else ("info", 0))
    assert told.remedy is not None
    assert run(*shlex.split(told.remedy.command)[1:]).code == 0
    assert run("apply", "plan.json", "--yes", "--state-dir", "state").code == 1
    assert findings(dirs, "N18") == []
    assert run("forecast", *dirs, "--json").json[-1]["lost"]["partitions"] == 0


@pytest.mark.parametrize("replaced", [False, True], ids=["nothing in its place", "an empty log in its place"])
def test_a_stray_of_a_topic_made_anew_is_adopted_for_that(
    replaced: bool, dirs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that was named is refused: the next start would set it aside again."""
    monkeypatch.chdir(tmp_path)
    whole = alone(dirs).parent
    own = (whole / "partition.metadata").read_bytes()
    stray = whole.rename(whole.with_name(f"{whole.name}.{'0' * 32}-stray"))
    stamp(stray)
    if replaced:
        whole.mkdir()
        (whole / "partition.metadata").write_bytes(own)
        (whole / f"{0:020d}.log").touch()
    (told,) = findings(dirs, "N20")
    assert told.remedy is not None
    assert run(*shlex.split(told.remedy.command)[1:]).code == 0
    assert run("apply", "plan.json", "--yes", "--state-dir", "state").code == 1
    assert findings(dirs, "N20") == findings(dirs, "M05") == []
    assert (whole / "partition.metadata").read_bytes() == own


def test_a_stray_is_kept_where_another_node_may_lead_without_its_records(tmp_path: Path) -> None:
    """As a follower it would be cut to what that one has."""
    home = tmp_path / "broker"
    copy_tree(golden("4.3.1-fleet") / "b1", home)
    dirs = sorted(path.parent for path in home.rglob("meta.properties"))
    strays = {}
    for name in ("clicks-2", "orders-1"):  # led by this node alone; perhaps by node 3
        whole = next(home.rglob(name))
        strays[name] = whole.rename(whole.with_name(f"{name}.{'0' * 32}-stray"))
        stamp(strays[name])
    told = {str(each.topic): str(each.remedy and each.remedy.command) for each in findings(dirs, "N20")}
    assert "--topic-id current" in told["clicks"]
    assert told["orders"] == f"segmend show {strays['orders-1']}"


def test_a_stray_that_no_topic_of_today_expects_is_looked_at(dirs: list[Path]) -> None:
    whole = alone(dirs).parent
    stray = whole.rename(whole.with_name(f"gone-0.{'0' * 32}-stray"))
    stamp(stray)
    (told,) = findings(dirs, "N20")
    assert told.remedy is not None
    assert told.remedy.command == f"segmend show {stray}"
