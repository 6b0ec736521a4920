"""Both kernel engines lead to the same findings, whatever the damage."""

from __future__ import annotations

import functools
from collections import OrderedDict
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks import damage_index, damage_log, damage_producer
from tests.checks.damages import Row, killed_dir

from segmend.checks import CheckRun, Level, producer_replay
from segmend.findings import Finding
from segmend.kernel import native
from segmend.kernel.engine import engine_named
from segmend.kernel.scan import scan_log
from segmend.logdir import scans
from segmend.logdir.tree import LogDir

ALL: list[Row] = [*damage_log.ROWS, *damage_index.ROWS, *damage_producer.ROWS]
ROWS = [row for row in ALL if row.level > Level.STARTUP and row.base is not killed_dir]


def findings(dirs: list[str], row: Row, engine: str, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    scan = functools.partial(scan_log, engine=engine_named(engine))
    for module in (scans, producer_replay):
        monkeypatch.setattr(module, "scan_log", scan)
    monkeypatch.setattr(scans, "_scans", OrderedDict())
    monkeypatch.setattr(scans, "_held", scans._Held())
    opened = [LogDir.open(path) for path in dirs]
    return list(CheckRun(broker_of(opened, row.release), level=row.level))


@pytest.mark.skipif(not native.available(), reason="the C kernel is not built")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_same(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dirs = row.base(tmp_path)
    row.hurt(dirs)
    paths = [str(path) for path in dirs]
    assert findings(paths, row, "native", monkeypatch) == findings(paths, row, "reference", monkeypatch)
