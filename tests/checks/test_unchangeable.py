"""What nobody can change, root not either: a check is no all-clear over it, as a start fails over that."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.faults.written import metadata_dir
from tests.mounts import need_mount

Keep = Callable[[Path], None]
WHERE = {
    "the dir": "", "the marker": ".kafka_cleanshutdown", "high watermarks": "replication-offset-checkpoint",
    "a partition": "t-0", "its log": "t-0/00000000000000000000.log",
    "its epochs": "t-0/leader-epoch-checkpoint",
    "quorum-state": "__cluster_metadata-0/quorum-state",
    "the metadata's index": "__cluster_metadata-0/00000000000000000020.index",
}  # fmt: skip


@pytest.fixture
def keep() -> Iterator[Keep]:
    """`chattr +i`, taken back in the end."""
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
    (log_dir,) = metadata_dir(tmp_path)
    keep(log_dir / WHERE[where] if WHERE[where] else log_dir)
    ran = run("check", log_dir, "--json", "--kafka", "4.3.1")
    assert [each["file"] for each in ran.of("finding") if each["code"] == "K13"] == [WHERE[where] or None]
    assert ran.code == 4
    assert run("forecast", log_dir, "--json", "--kafka", "4.3.1").code == 4


def test_a_read_only_mount_in_a_log_dir_is_a_finding(tmp_path: Path) -> None:
    need_mount("tmpfs", tmp_path)
    (log_dir,) = metadata_dir(tmp_path)
    place = log_dir / "t-0"
    subprocess.run(["mount", "--bind", place, place], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
        ran = run("check", log_dir, "--json", "--kafka", "4.3.1")
    finally:
        subprocess.run(["umount", place], check=True)
    assert {each["file"] for each in ran.of("finding") if each["code"] == "K13"} == {"t-0"}
    assert ran.code == 4


def test_the_dirs_of_a_controller_are_no_all_clear(tmp_path: Path) -> None:
    (log_dir,) = metadata_dir(tmp_path)
    config = tmp_path / "server.properties"
    config.write_text(f"process.roles=controller\nnode.id=1\nlog.dirs={log_dir}\n")
    ran = run("check", log_dir, "--json", "--kafka", "4.3.1", "--config", config)
    assert ran.code & 4
    assert any("process.roles has no broker" in each for each in ran.json[-1]["unknown"])
