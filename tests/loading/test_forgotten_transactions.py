"""A clean start without a producer snapshot knows of no open transaction; seen on 4.3.1.

Who reads committed records was given those of it, and after it was aborted as well.
"""

from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.copies import copy_tree
from tests.golden.shared import golden

from segmend import check
from segmend.findings import Severity
from segmend.formats.clean_shutdown import FILE_NAME
from segmend.loading import ForecastOptions, PartitionOutcome, forecast
from segmend.loading.committed_reads import FORGOTTEN
from segmend.logdir.log_dir import LogDir


@pytest.mark.parametrize("release", ["1.1.0", "3.9.2", "4.3.1"])
@pytest.mark.parametrize("gone", [True, False])
@pytest.mark.parametrize("clean", [True, False])
def test_records_of_an_open_transaction_are_given(
    tmp_path: Path, release: str, gone: bool, clean: bool
) -> None:
    copy_tree(golden(f"{release}-clean") / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").glob("d*"))
    for path in dirs:
        for snapshot in path.glob("*/*.snapshot") if gone else ():
            snapshot.unlink()
        if not clean:
            (path / FILE_NAME).unlink()
    logs = [LogDir.attempt(str(path)) for path in dirs]
    lines = forecast(broker_of(logs, release), ForecastOptions(now_ms=0))
    partitions = [line for line in lines if isinstance(line, PartitionOutcome)]
    told = {line.name for line in partitions for each in line.effects if each.broker_says == FORGOTTEN}
    assert told == ({"txn-open-0"} if gone and clean else set())
    found = {each.topic: each.severity for each in check(*logs, kafka=release) if each.code == "P02"}
    assert found.get("txn-open") == (Severity.ERROR if gone and clean else None)
    assert {each for topic, each in found.items() if "txn-" not in f"{topic}-"} <= {Severity.WARNING}
