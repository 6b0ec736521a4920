"""A log with an open transaction, in a dir that failed before: the broker looks the transaction up, and ends.

It does so before it reads the topic id (3.3.2 over disaster 202611540700, whose id was edited by hand).
"""

import shutil
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.faults.written import known_and_formatted

from segmend.formats.partition_metadata import FILE_NAME
from segmend.loading import BrokerOutcome, ForecastOptions, forecast


@pytest.mark.parametrize(
    ("version", "broken"), [("version: 0", True), ("version: 0.0", True), ("version: 0", False)]
)
def test_the_topic_id_is_read_only_after_the_look_up(version: str, broken: bool, tmp_path: Path) -> None:
    dirs = known_and_formatted(tmp_path)
    mine = dirs[1] / "v-0"
    topic_id = (mine / FILE_NAME).read_text().splitlines()[1]
    shutil.rmtree(mine)
    shutil.copytree(dirs[0] / "t-0", mine)  # with a producer whose transaction is open
    (mine / FILE_NAME).write_text(f"{version}\n{topic_id}\n")
    if broken:
        (dirs[1] / "recovery-point-offset-checkpoint").write_text("0\nx\n")
    *_, broker = forecast(broker_of(dirs, "4.3"), ForecastOptions())
    assert isinstance(broker, BrokerOutcome)
    assert broker.starts is not broken
    assert ("already offline" in str(broker.reason)) is broken
