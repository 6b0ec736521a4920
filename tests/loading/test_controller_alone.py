"""A node whose process.roles has no broker any more: it starts, and opens no log but that of the metadata.

Played on 3.9.2 and 4.3.1: the files stay as they are, and nobody serves them.
"""

from pathlib import Path

import pytest
from tests.checks import build_metadata as metadata
from tests.cli.run import run
from tests.faults.written import known_dirs


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    return known_dirs(tmp_path)


def configured(dirs: list[Path], roles: str) -> Path:
    """A server.properties of that node with these roles."""
    path = dirs[0].parent / "server.properties"
    lines = {
        "process.roles": roles,
        "node.id": str(metadata.NODE),
        "log.dirs": ",".join(map(str, dirs)),
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"{metadata.NODE}@127.0.0.1:9093",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093" if "broker" in roles else "CONTROLLER://:9093",
    }
    path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    return path


def outcomes(config: Path, code: int) -> set[str]:
    ran = run("forecast", "--config", config, "--kafka", "4.3.1", "--json", code=code)
    assert ran.of("broker")[0]["outcome"] == "starts"
    return {each["outcome"] for each in ran.of("partition")}


def test_a_controller_alone_serves_none_of_them(dirs: list[Path]) -> None:
    assert outcomes(configured(dirs, "broker,controller"), 0) == {"served"}
    assert outcomes(configured(dirs, "controller"), 4) == {"unserved"}


def test_what_no_broker_would_start_over_does_not_matter_to_it(dirs: list[Path]) -> None:
    (dirs[1] / "lost+found").mkdir()
    (dirs[1] / "recovery-point-offset-checkpoint").write_text("garbage")
    assert outcomes(configured(dirs, "controller"), 4) == {"unserved"}


def test_without_partitions_nothing_is_missed(dirs: list[Path], tmp_path: Path) -> None:
    for place in (*dirs[0].glob("[a-z]-0"), *dirs[1].glob("[a-z]-0")):
        place.rename(tmp_path / place.name)
    config = configured(dirs, "controller")
    ran = run("forecast", "--config", config, "--kafka", "4.3.1", "--json")
    assert ran.of("partition") == []
