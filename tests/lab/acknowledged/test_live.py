"""A real broker serves what a rescue made of three hurt replicas, or sent there: what was acknowledged."""

from pathlib import Path

import pytest

from tests.cli.run import run
from tests.lab.acknowledged.hurt import NAMES
from tests.lab.acknowledged.judge import hurt, live, opened, sent
from tests.lab.base import QUIET
from tests.lab.broker import Broker, Seat
from tests.lab.releases import release
from tests.real.conftest import need_kafka
from tests.rescue.served import consumed

VERSION = "4.3.1"
# Alone it may not have been in the ISR when all died, which now has all that any of them had.
SETTINGS = {**QUIET, "log.cleaner.enable": "false", "unclean.leader.election.enable": "true"}


@pytest.mark.broker
@pytest.mark.timeout(300)
def test_a_broker_serves_what_was_acknowledged(tmp_path: Path) -> None:
    need_kafka(VERSION)
    world = opened(VERSION, tmp_path)
    bed, home = hurt(world, 480), tmp_path / "b1"
    home.mkdir()
    run("rescue", *bed.dirs, "--out", home / "d0", "--kafka", VERSION, code=0)
    seat = Seat(1)
    with Broker(release(VERSION), home, seat, peers=[seat], log_dirs=1, settings=SETTINGS) as broker:
        broker.start()
        for name in NAMES:
            topic, _, partition = name.rpartition("-")
            found = list(consumed(broker.bootstrap, topic, int(partition)))
            wanted = [(key, value, list(headers), time) for _, key, value, time, headers in world.truth[name]]
            assert found == wanted, name


@pytest.mark.broker
@pytest.mark.timeout(300)
@pytest.mark.parametrize("to", ["4.3.1", "1.1.0"])
def test_a_live_cluster_is_sent_what_was_acknowledged(to: str, tmp_path: Path) -> None:
    """One broker, of topics of three replicas that want two in sync: 1.1.0 took no record of such a one."""
    need_kafka(to)
    world = opened(VERSION, tmp_path)
    with live(to, tmp_path / "live") as bootstrap:
        assert sent(world, hurt(world, 480).dirs, bootstrap).rows == world.truth
