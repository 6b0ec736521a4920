"""What nobody can change, root not either: a check is no all-clear over it, as a start fails over that."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.cli.run import Ran, run
from tests.faults.written import metadata_dir, two_dirs, with_metadata
from tests.mounts import need_mount

Keep = Callable[[Path], None]
WHERE = {
    "the dir": "", "the marker": ".kafka_cleanshutdown", "high watermarks": "replication-offset-checkpoint",
    "a partition": "t-0", "its log": "t-0/00000000000000000000.log",
    "its epochs": "t-0/leader-epoch-checkpoint",
    "quorum-state": "__cluster_metadata-0/quorum-state",
    "the metadata's index": "__cluster_metadata-0/00000000000000000000.index",
    "the cleaner's checkpoint": "cleaner-offset-checkpoint",
    "what becomes the cleaner's checkpoint": "cleaner-offset-checkpoint.tmp",
}  # fmt: skip
RECORDS = [
    *metadata.cluster(["t", "u"]), metadata.topic_setting("u", "cleanup.policy", "compact"), metadata.NO_OP
]  # fmt: skip


def node(root: Path) -> Path:
    """The dir of a node that starts and loses nothing."""
    (log_dir,) = with_metadata(RECORDS)(root)
    assert run("forecast", log_dir, "--json", "--kafka", "4.3.1").code == 0
    return log_dir


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Keep]:
    """`chattr +i`, taken back before `tmp_path` goes."""
    assert tmp_path.exists()
    kept: list[Path] = []

    def now(path: Path) -> None:
        if subprocess.run(["chattr", "+i", path], capture_output=True).returncode:
            pytest.skip("chattr +i does nothing here")
        kept.append(path)

    yield now
    for path in kept:
        subprocess.run(["chattr", "-i", path], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may set attributes")
@pytest.mark.parametrize("where", WHERE)
def test_what_an_attribute_keeps_is_a_finding(where: str, keep: Keep, tmp_path: Path) -> None:
    log_dir = node(tmp_path)
    if where.startswith("what becomes"):
        (log_dir / WHERE[where]).touch()
    keep(log_dir / WHERE[where] if WHERE[where] else log_dir)
    ran = run("check", log_dir, "--json", "--kafka", "4.3.1")
    assert [each["file"] for each in ran.of("finding") if each["code"] == "K13"] == [WHERE[where] or None]
    assert ran.code == 4
    assert run("forecast", log_dir, "--json", "--kafka", "4.3.1").code == 4
    obey(ran)
    assert "K13" not in {each["code"] for each in run("check", log_dir, "--json").of("finding")}
    assert run("forecast", log_dir, "--json", "--kafka", "4.3.1").code == 0


@pytest.mark.parametrize("file", ["meta.properties", "bootstrap.checkpoint", "t-0/partition.metadata"])
def test_what_no_start_changes_is_a_warning(file: str, keep: Keep, tmp_path: Path) -> None:
    """4.3.1 starts over these, and serves; the forecast says so."""
    log_dir = node(tmp_path)
    if file == "bootstrap.checkpoint":
        level = build.record(0, None, metadata.feature("metadata.version", metadata.LEVEL_4_3))
        (log_dir / file).write_bytes(build.batch(0, [level]))
    keep(log_dir / file)
    assert run("forecast", log_dir, "--json", "--kafka", "4.3.1").code == 0
    found = [each for each in run("check", log_dir, "--json", "--kafka", "4.3.1").of("finding")]
    assert [(each["file"], each["severity"]) for each in found if each["code"] == "K13"] == [
        (file, "warning")
    ]


def obey(ran: Ran) -> None:
    """Paste into a shell what is named for each K13."""
    for each in ran.of("finding"):
        if each["code"] == "K13":
            subprocess.run(["bash", "-c", each["remedy"]["command"]], check=True)


@pytest.mark.parametrize("linked", [False, True])
def test_a_read_only_mount_in_a_log_dir_is_a_finding(linked: bool, tmp_path: Path) -> None:
    need_mount("tmpfs", tmp_path)
    log_dir = node(tmp_path)
    place = log_dir / "t-0"
    if linked:  # the partition lies deeper in another disk
        other = tmp_path / "other disk"
        (other / "t").mkdir(parents=True)
        place.rename(other / "t" / "t-0")
        place.symlink_to(other / "t" / "t-0")
        place = other
    subprocess.run(["mount", "--bind", place, place], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
        ran = run("check", log_dir, "--json", "--kafka", "4.3.1")
        assert {each["file"] for each in ran.of("finding") if each["code"] == "K13"} == {"t-0"}
        assert ran.code == 4
        assert run("forecast", log_dir, "--json", "--kafka", "4.3.1").code == 4
        obey(ran)
        ran = run("check", log_dir, "--json", "--kafka", "4.3.1")
        assert "K13" not in {each["code"] for each in ran.of("finding")}
    finally:
        subprocess.run(["umount", place], check=True)


def test_the_dirs_of_a_controller_are_no_all_clear(tmp_path: Path) -> None:
    (log_dir,) = metadata_dir(tmp_path)
    config = tmp_path / "server.properties"
    config.write_text(f"process.roles=controller\nnode.id=1\nlog.dirs={log_dir}\n")
    ran = run("check", log_dir, "--json", "--kafka", "4.3.1", "--config", config)
    assert ran.code & 4
    assert any("process.roles has no broker" in each for each in ran.json[-1]["unknown"])


@pytest.mark.parametrize(
    ("release", "outcome", "offline"),
    [("2.3.1", "starts", 0), ("2.8.2", "refuses", 0), ("3.6.2", "starts", 1), ("3.9.2", "starts", 0)],
)
def test_an_identity_that_is_written_anew(
    release: str, outcome: str, offline: int, keep: Keep, tmp_path: Path
) -> None:
    """2.8.2 was seen to end; the others by the sources of KafkaServer.checkpointBrokerMetadata."""
    dirs = two_dirs(tmp_path)
    for log_dir in dirs:
        (log_dir / "meta.properties").write_text(
            "version=0\nbroker.id=1\ncluster.id=5tJvW7V7QOKw51IKNFO8_Q\n"
        )
    before = run("forecast", *dirs, "--json", "--kafka", release).json[-1]
    assert before["outcome"] == "starts"
    keep(dirs[1] / "meta.properties")
    (found,) = (
        each
        for each in run("check", *dirs, "--json", "--kafka", release).of("finding")
        if each["code"] == "K13"
    )
    assert (found["severity"] == "error") is bool(offline or outcome == "refuses")
    ran = run("forecast", *dirs, "--json", "--kafka", release)
    assert ran.json[-1]["outcome"] == outcome
    assert [each["outcome"] for each in ran.of("dir")].count("offline") == offline


@pytest.mark.parametrize("how", ["fixed", "full"])
@pytest.mark.parametrize(("release", "offline"), [("1.1.0", 1), ("2.8.2", 1), ("3.9.2", 0)])
def test_half_an_identity_that_nobody_can_remove(
    release: str, offline: int, how: str, keep: Keep, tmp_path: Path
) -> None:
    """Up to 3.6 it goes before meta.properties is read: seen on 1.1.0, 2.8.2 and 3.3.2."""
    dirs = two_dirs(tmp_path)
    for log_dir in dirs:
        (log_dir / "meta.properties").write_text("version=0\nbroker.id=1\n")
    half = dirs[1] / "meta.properties.tmp"
    if how == "fixed":
        half.touch()
        keep(half)
    elif offline:
        half.mkdir()
        (half / "x").touch()
    told = run("forecast", *dirs, "--json", "--kafka", release)
    assert told.json[-1]["outcome"] == "starts"
    assert [each["outcome"] for each in told.of("dir")].count("offline") == offline


@pytest.mark.parametrize(("release", "starts"), [("1.1.0", True), ("2.8.2", True), ("3.9.2", False)])
def test_half_an_identity_that_is_an_empty_directory(release: str, starts: bool, tmp_path: Path) -> None:
    """Up to 3.6 it is deleted, too, before logs are looked for: seen on 2.8.2."""
    dirs = two_dirs(tmp_path)
    for log_dir in dirs:
        (log_dir / "meta.properties").write_text("version=0\nbroker.id=1\n")
    (dirs[1] / "meta.properties.tmp").mkdir()
    told = run("forecast", *dirs, "--json", "--kafka", release).json[-1]
    found = {each.get("code") for each in run("check", *dirs, "--json", "--kafka", release).json}
    assert (told["outcome"] == "starts", "N01" not in found) == (starts, starts)
