"""A cleanup policy in server.properties: what it makes of logs that were never compacted is told."""

from pathlib import Path

import pytest
from tests.checks import build_metadata as metadata
from tests.cli.run import run
from tests.faults.written import checkpoint, with_metadata

NODE = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
controller.listener.names=CONTROLLER
log.retention.ms=-1
"""
KEEPS = metadata.topic_setting("u", "cleanup.policy", "delete")


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """Of two topics, of which `u` has a policy of its own."""
    (log_dir,) = with_metadata([*metadata.cluster(["t", "u"]), KEEPS])(tmp_path)
    return log_dir


@pytest.mark.parametrize(
    ("line", "taken"),
    [
        ("", []),
        ("log.cleanup.policy=delete", []),
        ("log.cleanup.policy=compact", ["t-0"]),
        ("log.cleanup.policy=delete, compact", ["t-0"]),
        ("log.cleanup.policy=compact\nlog.cleaner.enable=false", []),
    ],
)
def test_logs_that_are_compacted_for_the_first_time_are_told(
    line: str, taken: list[str], log_dir: Path, tmp_path: Path
) -> None:
    config = tmp_path / "server.properties"
    config.write_text(f"{NODE}log.dirs={log_dir}\n{line}\n")
    words = ("forecast", "--config", config, "--kafka", "4.3.1")
    ran = run(*words, "--json")
    assert ran.code == 0
    assert [each["file"] for each in ran.of("later") if each["what"] == "compacted"] == taken
    said = run(*words).out
    assert ("nothing lost by the start; 1 log compacted for the first time" in said) is bool(taken)
    assert ("nothing lost;" in said) is not bool(taken)


def test_one_that_the_cleaner_had_before_is_not(log_dir: Path, tmp_path: Path) -> None:
    checkpoint("cleaner-offset-checkpoint", "t 0 7")([log_dir])
    config = tmp_path / "server.properties"
    config.write_text(f"{NODE}log.dirs={log_dir}\nlog.cleanup.policy=compact\n")
    ran = run("forecast", "--config", config, "--kafka", "4.3.1", "--json")
    assert ran.of("later") == []
