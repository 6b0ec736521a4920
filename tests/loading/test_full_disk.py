"""A start on a full disk: whether it writes depends on what it finds to do, so nobody can promise it.

Seen on a full tmpfs as `d1`: 4.3.1 served all after a clean stop, and lost the dir at the start after a kill;
2.8.2 died after a clean stop ("No space left on device" while it wrote leader epochs). On a full XFS, which
tells of 28 KiB that nobody gets, 4.3.1 emptied the metadata log of a killed node while it recovered it, and
died; with room again every partition was a stray (LogLoader since 4.0: `catch (... | IOException)`).
On a tmpfs with room but no inode left 4.3.1 refused after a clean stop (".lock: No space left on device");
with two left it served all.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.faults.written import two_dirs

from segmend.checks.manual import Consequence
from segmend.loading import BrokerOutcome, ForecastOptions, forecast
from segmend.logdir import disk
from segmend.report.html.consequences import of


def last(dirs: list[Path]) -> BrokerOutcome:
    *_, end = forecast(broker_of(dirs, "4.3"), ForecastOptions())
    assert isinstance(end, BrokerOutcome)
    return end


NO_INODES = {"files": 9_000, "files_left": 0}


@pytest.mark.parametrize(
    "left", [{"available": 0}, {"available": 28_672}, NO_INODES], ids=["ext4", "xfs", "inodes"]
)
def test_nothing_is_promised_of_a_full_disk(
    left: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dirs = list(two_dirs(tmp_path))
    real = disk.space(str(tmp_path))
    before = last(dirs).unknown
    free = {"available": 1 << 30}
    monkeypatch.setattr(
        disk, "space", lambda path: replace(real, **(free | left if path == str(dirs[1]) else free))
    )
    full = last(dirs)
    assert full.starts
    assert not full.nothing_lost
    (more,) = set(full.unknown) - set(before)
    assert str(dirs[1]) in more


def test_its_card_says_no_more_than_that() -> None:
    assert of("K14", "warning", clean=True) == Consequence.FAILING
    assert "may" in Consequence.FAILING.value
