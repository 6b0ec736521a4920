"""What segmend itself may not read is never silent: all of real log dirs, closed one by one."""

import os
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.copies import copy_tree
from tests.golden.shared import golden
from tests.surgery.child import NOBODY, as_user

from segmend.loading import BrokerOutcome, ForecastOptions, forecast
from segmend.logdir import scans, second_looks
from segmend.logdir.user import User

META_SNAPSHOT = "__cluster_metadata-0/00000000000000000370.snapshot"
ELSEWHERE = "d1/bootstrap.checkpoint"
UNREAD = (".index", ".timeindex", META_SNAPSHOT, ELSEWHERE)
"""What a start reads nothing of that matters, or that is judged by its size and its being there."""
PLACES = ("d0", "d1", "__cluster_metadata-0", "compacted-0", "txn-open-0")
"""Directories whose files are closed: all together are some 250 forecasts."""
ROOT = User.of(0)
"""The broker's user, who may read everything."""


def said(dirs: list[Path]) -> BrokerOutcome:
    """The last line."""
    *_, last = forecast(broker_of(dirs), ForecastOptions(user=ROOT))
    assert isinstance(last, BrokerOutcome)
    return last


def silent(dirs: list[Path]) -> list[str]:
    """Those of each kind that are closed without a word, the newest of a kind; each is opened again."""
    found = []
    every = [each for log_dir in dirs for each in sorted(log_dir.rglob("*"))]
    some = [each for each in every if (each if each.is_dir() else each.parent).name in PLACES]
    kinds = {(each.parent.name, each.suffix or each.name): each for each in some}
    for path in kinds.values():
        mode = path.stat().st_mode
        path.chmod(0)
        try:
            last = said(dirs)
        finally:
            path.chmod(mode)
        if not last.unknown:
            found.append(str(path))
    return found


@pytest.mark.slow
def test_whatever_is_closed_is_named(open_to_all: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_tree(golden("3.9.2-clean"), open_to_all / "node")
    for path in open_to_all.rglob("*") if os.getuid() == 0 else ():
        os.chown(path, NOBODY, NOBODY)
    for module in (scans, second_looks):
        monkeypatch.setattr(module, "TICK_NS", 1 << 100)  # nothing is remembered of what was open before
    dirs = sorted(path.parent for path in (open_to_all / "node").rglob("meta.properties"))
    assert said(dirs).nothing_lost
    assert "".encode("utf-16-be") == b""  # loaded while this process may read Python's own files

    def look() -> None:
        found = silent(dirs)
        assert [path for path in found if not path.endswith(UNREAD)] == []
        assert [name for name in UNREAD if not any(path.endswith(name) for path in found)] == []

    as_user(look)
