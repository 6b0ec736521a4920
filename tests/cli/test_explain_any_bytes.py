"""Whatever bytes lie in a log dir, the topics explain it without a traceback."""

from pathlib import Path

import pytest
from tests.cli.run import run
from tests.conftest import one_in
from tests.faults.written import two_dirs
from tests.loading.test_any_bytes import hurt


@pytest.mark.parametrize("seed", one_in(5, range(100, 124)))
def test_any_bytes(seed: int, tmp_path: Path) -> None:
    dirs = two_dirs(tmp_path, clean=seed % 2 == 0)
    hurt(dirs, seed)
    release = ("4.3.1", "3.9", "2.8", "2.2", "1.1", "0.10.2")[seed % 6]
    for topic in ("startup", "retention", "compaction"):
        for output in ((), ("--json",)):
            ran = run("explain", topic, *dirs, "--kafka", release, *output)
            assert ran.code in ((0, 4) if topic == "retention" else (0,))
            assert ran.err == ""
