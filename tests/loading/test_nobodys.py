"""Replicas for ZooKeeper in dirs without any meta.properties: by another broker.id nobody serves them."""

from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.copies import copy_tree
from tests.golden.shared import golden

from segmend import check
from segmend.findings import Severity
from segmend.formats.meta_properties import FILE_NAME
from segmend.loading import ForecastOptions, forecast
from segmend.logdir.log_dir import LogDir


def logs_of(base: str, root: Path) -> list[LogDir]:
    """A copy of the golden dirs."""
    copy_tree(golden(base) / "b1", root / "b1")
    return [LogDir.attempt(str(path)) for path in sorted((root / "b1").glob("d*"))]


def unknown(logs: list[LogDir], release: str) -> list[str]:
    """What a forecast names as unknown of whose the replicas are."""
    last = list(forecast(broker_of(logs, release), ForecastOptions(now_ms=0)))[-1].to_json()
    return [each for each in last["unknown"] if "whose replicas these are" in each]


@pytest.mark.parametrize("gone", [0, 1, 2])
@pytest.mark.parametrize("release", ["1.1.0", "2.8.2"])
def test_no_all_clear_where_no_dir_says_whose_the_replicas_are(
    tmp_path: Path, release: str, gone: int
) -> None:
    logs = logs_of(f"{release}-clean", tmp_path)
    for each in logs[:gone]:
        Path(each.path, FILE_NAME).unlink()
    afresh = [LogDir.attempt(each.path) for each in logs]
    assert len(unknown(afresh, release)) == (gone == 2)
    found = [(each.dir, each.severity) for each in check(*afresh, kafka=release) if each.code == "K01"]
    assert found == [(each.path, Severity.WARNING) for each in logs if gone == 2]


def test_a_release_without_the_file_lacks_none(tmp_path: Path) -> None:
    logs = logs_of("0.8.2.2-clean", tmp_path)
    assert not any(Path(each.path, FILE_NAME).exists() for each in logs)
    assert unknown(logs, "0.10.2.2") == []
    assert [each for each in check(*logs, kafka="0.10.2.2") if each.code == "K01"] == []
