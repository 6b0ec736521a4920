"""Both kernel engines lead to the same findings, whatever the damage."""

import functools
from collections import OrderedDict
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.conftest import one_in
from tests.faults.table import Case, all_cases

from segmend.checks import CheckRun, Level
from segmend.findings import Finding
from segmend.kernel import native
from segmend.kernel.engine import engine_named
from segmend.kernel.scan import scan_log
from segmend.logdir import scans, txnindex_rows

CASES = [
    case
    for case in all_cases()
    if case.fault.family in ("log", "indexes", "producers") and case.number == 0
    if case.scene.codes and not case.scene.vast
]


def findings(case: Case, dirs: list[str], engine: str, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    scan = functools.partial(scan_log, engine=engine_named(engine))
    for module in (scans, txnindex_rows):
        monkeypatch.setattr(module, "scan_log", scan)
    monkeypatch.setattr(scans, "_scans", OrderedDict())
    monkeypatch.setattr(scans, "_held", scans._Held())
    return list(CheckRun(broker_of(dirs, case.scene.release), level=Level.DEEP))


@pytest.mark.skipif(not native.available(), reason="the C kernel is not built")
@pytest.mark.parametrize("case", one_in(4, CASES), ids=str)
def test_same(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dirs = [str(path) for path in case.hurt(tmp_path).dirs]
    assert findings(case, dirs, "native", monkeypatch) == findings(case, dirs, "reference", monkeypatch)
