"""A log that somebody named `-delete`, where ZooKeeper has the metadata: no broker would leave its lines."""

from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.copies import copy_tree
from tests.golden.shared import golden

from segmend.loading import ForecastOptions, forecast
from segmend.logdir.log_dir import LogDir

NAME = "codec-none-0"


def unknown(root: Path, release: str) -> list[str]:
    """What a forecast names as unknown of that partition."""
    logs = [LogDir.attempt(str(path)) for path in sorted(root.glob("d*"))]
    last = list(forecast(broker_of(logs, release), ForecastOptions(now_ms=0)))[-1].to_json()
    return [each for each in last["unknown"] if NAME in each]


@pytest.mark.parametrize("release", ["1.1.0", "2.8.2"])
def test_a_log_that_was_named_deleted_by_hand_was_here(tmp_path: Path, release: str) -> None:
    copy_tree(golden(f"{release}-clean") / "b1", root := tmp_path / "b1")
    (place,) = root.glob(f"d*/{NAME}")
    place.rename(place.with_name(f"{NAME}.{'7' * 32}-delete"))
    assert unknown(root, release) == [f"whether {NAME} had records here: there is no such directory"]
