"""A node on its way from ZooKeeper to KRaft (KIP-866), in stages in which real brokers of 3.9.2 were started.

One that has migrated keeps version 0 of meta.properties. Once the controllers took over, a broker with
ZooKeeper that does not migrate had no partition.
"""

from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.faults.written import SECOND_ID, two_dirs, with_metadata

from segmend.loading import BrokerOutcome, ForecastOptions, forecast
from segmend.logdir.config import ServerConfig

MIGRATION, PRE_MIGRATION, POST_MIGRATION = 1, 2, 3
FLAG = "zookeeper.metadata.migration.enable"


def dirs_of(root: Path, *, state: int, migrating: bool) -> list[Path]:
    """Log dirs of a broker that began with ZooKeeper, and follows the metadata since."""
    own = [build.DIRECTORY_ID, SECOND_ID]
    known = metadata.cluster("tuv", directory_ids=own, level=21)
    again = metadata.register(own, migrating=migrating)
    dirs = with_metadata([*known, metadata.migration(state), again], two_dirs)(root)
    for path in dirs:
        identity = path / "meta.properties"
        lines = identity.read_text().replace("version=1", "version=0").replace("node.id", "broker.id")
        identity.write_text(lines)
    return dirs


@pytest.mark.parametrize("migrating", [True, False])
def test_how_it_registered_last_tells_the_mode(migrating: bool, tmp_path: Path) -> None:
    dirs = dirs_of(tmp_path, state=MIGRATION, migrating=migrating)
    assert broker_of(dirs, "3.9").kraft is not migrating
    assert not broker_of(dirs, "3.9", ServerConfig(given={"zookeeper.connect": "h"})).kraft


@pytest.mark.parametrize(
    ("state", "more", "clear"),
    [
        (MIGRATION, {}, False),
        (POST_MIGRATION, {}, False),
        (PRE_MIGRATION, {}, True),
        (MIGRATION, {FLAG: "true", "controller.quorum.voters": "3000@h:1"}, True),
    ],
)
def test_with_zookeeper_alone_nobody_tells_it_what_to_serve(
    state: int, more: dict[str, str], clear: bool, tmp_path: Path
) -> None:
    dirs = dirs_of(tmp_path, state=state, migrating=True)
    given = {"zookeeper.connect": "h", "broker.id": "1", "log.dirs": ",".join(map(str, dirs)), **more}
    last = list(forecast(broker_of(dirs, "3.9", ServerConfig(given=given)), ForecastOptions()))[-1]
    assert isinstance(last, BrokerOutcome)
    assert any("KRaft controllers took over" in each for each in last.unknown) is not clear
    assert last.nothing_lost is clear
