"""Times behind the last entry of an index: of a few sound headers without a scan, and as a scan has them."""

from itertools import count, islice
from pathlib import Path
from random import Random

import pytest
from tests.conftest import golden_params
from tests.copies import copy_tree
from tests.golden.shared import golden

from segmend.loading import segment as loading
from segmend.loading.segment import Segment, lost_from, newest_from, segment_of
from segmend.logdir.log_dir import LogDir


def segments(root: Path) -> list[Segment]:
    dirs = [LogDir.open(str(path.parent)) for path in sorted(root.rglob("replication-offset-checkpoint"))]
    parts = [each.segments for log_dir in dirs for part in log_dir.partitions for each in [part]]
    return [segment_of(each.log, each.base_offset) for part in parts for each in part if each.log.stat().size]


@pytest.mark.parametrize("name", golden_params())
def test_it_is_what_a_scan_finds(name: str, tmp_path: Path) -> None:
    """Whole, from any byte, and with bytes of any header changed."""
    copy_tree(golden(name), tmp_path / "hurt")
    draw = Random(name)
    for each in (path for path in sorted((tmp_path / "hurt").rglob("*.log")) if path.stat().st_size):
        data = bytearray(each.read_bytes())
        for _ in range(draw.randrange(3)):
            data[draw.randrange(min(len(data), 61))] ^= 1 << draw.randrange(8)
        each.write_bytes(data)
    for root in (golden(name), tmp_path / "hurt"):
        for each in segments(root):
            for start in (0, draw.randrange(each.size)):
                assert newest_from(each, start) == lost_from(each, start).last_timestamp, (each.log, start)


def test_of_sound_batches_nothing_is_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    scans = count()
    monkeypatch.setattr(loading, "scan_from", lambda *_: next(scans))
    small = [each for each in segments(golden("4.3.1-killed")) if each.size < 4096]
    assert len([newest_from(each, 0) for each in islice(small, 9)]) == 9
    assert next(scans) == 0
