"""A topic that only the brokers' server.properties makes compacted: two real replicas, one never cleaned."""

import json
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.golden.unpack import unpack
from tests.lab.compaction.by_default import ARCHIVE, NAMES

from segmend.cluster.cluster_dirs import FleetDirs
from segmend.cluster.policies import Policies
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = unpack(ARCHIVE, tmp_path / "root")
    (root / "server.properties").write_text("log.cleanup.policy=compact\n")
    return root


def dirs(root: Path) -> list[Path]:
    return [root / "b1/d0", root / "b2/d0"]


def forget_cleaning(root: Path) -> None:
    """As where the broker is killed before it has written the checkpoint."""
    (root / "b1/d0/cleaner-offset-checkpoint").write_text("0\n0\n")


def test_what_tells_the_policy(root: Path) -> None:
    def told(*policies: str) -> list[bool | None]:
        configs = [ServerConfig(given={"log.cleanup.policy": policy}) for policy in policies]
        return [*map(Policies([FleetDirs(LogDir.open(str(path)) for path in dirs(root))], configs), NAMES)]

    assert told() == [None, False]  # a cleaner was at the one
    assert told("delete") == [False, False]
    assert told("delete", "compact") == [True, False]
    forget_cleaning(root)
    assert told() == [False, False]


def test_compaction_is_no_difference(root: Path) -> None:
    assert run("diff", *dirs(root)).code == 0
    forget_cleaning(root)
    assert run("diff", *dirs(root), "--config", root / "server.properties").code == 0


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_no_deleted_key_comes_back(root: Path, known: bool, told: bool) -> None:
    if not known:
        forget_cleaning(root)
    config = ("--config", root / "server.properties") if told else ()
    where = (*dirs(root), "--topic", "bydefault")
    words = "is told by --config server.properties"
    assert (words in run("diff", *where, *config).out) is not (known or told)
    run("rescue", root / "b2/d0", "--topic", "bydefault", "--out", root / "all", "--as", "jsonl")
    run("rescue", *where, "--out", root / "merged", "--as", "jsonl", *config)
    kept, whole = (left(root / name / "bydefault-0.jsonl") for name in ("merged", "all"))
    assert kept == whole
    assert len(whole) > 5


def test_a_rescue_is_compacted_by_the_default(root: Path) -> None:
    where = (root / "b2/d0", "--topic", "bydefault", "--compact", "--as", "jsonl", "--json")
    for number, config in enumerate(((), ("--config", root / "server.properties"))):
        ran = run("rescue", *where, "--out", root / str(number), *config)
        # By its metadata log only broker 1 was in sync, of which no dir is given.
        assert (ran.code, "superseded" in ran.of("partition")[0]["compacted"]) == (4, number == 1)
    assert (left(root / "0/bydefault-0.jsonl")) == left(root / "1/bydefault-0.jsonl")


def left(rows: Path) -> dict[str, str]:
    """The keys that live, and their values."""
    records = map(json.loads, rows.read_text().splitlines())
    return {key: value for key, value in {r["key"]: r["value"] for r in records}.items() if value is not None}
