"""`log.index.size.max.bytes` made smaller between two starts, on real brokers."""

from pathlib import Path

import pytest

from tests.lab.disasters import judge
from tests.lab.disasters.draw import Disaster
from tests.lab.disasters.run import judged_and_compared
from tests.real.conftest import need_kafka
from tests.seeds import SWEEP

pytestmark = [pytest.mark.broker, pytest.mark.slow]
RELEASES = ("1.1.0", "2.5.1", "2.8.2", "3.3.2", "3.6.2", "3.9.2", "4.3.1")


@pytest.mark.parametrize(("stage", "room"), [("clean", "16"), ("killed", "48")])
@pytest.mark.parametrize("version", RELEASES if SWEEP else ["4.3.1"])
def test_the_start_ends_as_forecast(
    version: str, stage: str, room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_kafka(version)
    monkeypatch.setitem(judge.QUIET, "log.index.size.max.bytes", room)
    disaster = Disaster(version, version, stage, (), uid=0)
    row, points = judged_and_compared(disaster, tmp_path / "node")
    assert (row["verdict"]["outcome"], points) == ("refuses", [])
