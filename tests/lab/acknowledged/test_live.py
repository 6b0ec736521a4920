"""A real broker serves what a rescue made of three hurt replicas, or sent there: what was acknowledged."""

from pathlib import Path

import pytest

from tests.lab.acknowledged.judge import hurt, live, opened, play, sent
from tests.real.conftest import need_kafka

VERSION = "4.3.1"


@pytest.mark.broker
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("version", "seed", "overlap"),
    [("4.3.1", 480, False), ("4.3.1", 300, True), ("1.1.0", 26, False), ("1.1.0", 24, True)],
)
def test_a_broker_serves_what_was_acknowledged(
    version: str, seed: int, overlap: bool, tmp_path: Path
) -> None:
    need_kafka(version)
    trial = play(opened(version, tmp_path), seed, overlap=overlap, serve=version)
    assert trial.faults == [], trial.wounds


@pytest.mark.broker
@pytest.mark.timeout(300)
@pytest.mark.parametrize("to", ["4.3.1", "1.1.0"])
def test_a_live_cluster_is_sent_what_was_acknowledged(to: str, tmp_path: Path) -> None:
    """One broker, of topics of three replicas that want two in sync: 1.1.0 took no record of such a one."""
    need_kafka(to)
    world = opened(VERSION, tmp_path)
    with live(to, tmp_path / "live") as bootstrap:
        assert sent(world, hurt(world, 480).dirs, bootstrap).rows == world.truth
