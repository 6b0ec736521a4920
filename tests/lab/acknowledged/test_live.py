"""A real broker serves what a rescue made of three hurt replicas, or sent there: what was acknowledged."""

from pathlib import Path

import pytest

from tests.cli.run import run
from tests.lab.acknowledged.hurt import NAMES
from tests.lab.acknowledged.judge import hurt, opened
from tests.lab.base import QUIET
from tests.lab.broker import Broker, Seat
from tests.lab.cluster import Cluster
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
def test_a_live_cluster_is_sent_what_was_acknowledged(tmp_path: Path) -> None:
    need_kafka(VERSION)
    world = opened(VERSION, tmp_path)
    bed = hurt(world, 480)
    with Cluster(VERSION, tmp_path / "live", settings={**QUIET, "log.cleaner.enable": "false"}) as cluster:
        cluster.start()
        asked = ("--as", "kafka", "--topic", "[!_]*", "--bootstrap", cluster.bootstrap, "--create-topics")
        run("rescue", *bed.dirs, "--out", tmp_path / "sent", *asked, code=0)
        for name in NAMES:
            topic, _, partition = name.rpartition("-")
            found = list(consumed(cluster.bootstrap, topic, int(partition)))
            wanted = [(key, value, list(headers), time) for _, key, value, time, headers in world.truth[name]]
            assert found == wanted, name
