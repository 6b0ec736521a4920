"""Where the high watermark of a replica will be when retention first looks, by what the metadata tells."""

import shutil
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.faults.written import two_dirs

from segmend.formats.offset_checkpoint import HIGH_WATERMARK
from segmend.loading import DirOutcome, ForecastOptions, forecast
from segmend.loading.high_watermark import MARKS, AssignedReplicas, high_watermark
from segmend.loading.values import Extent
from segmend.logdir.release import Release

LOG = Extent(log_start_offset=10, log_end_offset=100)


def replicas(
    *isr: int, of: tuple[int, ...] = (1, 2), least: int = 1, elr: tuple[int, ...] = ()
) -> AssignedReplicas:
    return AssignedReplicas(replicas=of, isr=isr, elr=elr, min_isr=least, node_id=1)


@pytest.mark.parametrize(
    ("stored", "known", "release", "expected"),
    [
        (40, replicas(1, of=(1,), least=2), "4.3", (100, "alone")),
        (100, replicas(1, 2), "4.3", (100, "stored")),
        (900, None, "2.8", (100, "stored")),
        (40, replicas(1), "4.3", (100, "leads")),
        (40, replicas(1, least=2), "4.3", (40, "under-min-isr")),
        (40, replicas(1, least=2), "3.7", (40, "under-min-isr")),
        (40, replicas(1, least=2), "3.6", (100, "leads")),
        (40, replicas(1, 2), "4.3", (40, "followers")),
        (40, replicas(2), "4.3", (40, "followers")),
        (40, replicas(elr=(1,)), "4.3", (100, "leads")),
        (40, replicas(elr=(1,), least=2), "4.3", (40, "under-min-isr")),
        (40, replicas(elr=(1, 2), least=2), "4.3", (40, "eligible")),
        (40, replicas(elr=(2,)), "4.3", (40, "followers")),
        (None, replicas(1, 2), "4.3", (10, "followers")),
        (5, None, "2.8", (10, "unknown")),
        (None, None, "2.8", (100, "unknown")),
    ],
)
def test_mark(
    stored: int | None, known: AssignedReplicas | None, release: str, expected: tuple[int, str]
) -> None:
    found = high_watermark(LOG, stored, known, Release.parse(release))
    assert (found.offset, found.why) == expected
    assert found.reach == 100
    assert found.why in MARKS


def test_marks_that_nobody_asks_for_keep_no_dir_from_being_online(tmp_path: Path) -> None:
    """As 3.6.2 did: the checkpoint is first read for a partition of its dir."""
    dirs = two_dirs(tmp_path)
    (dirs[1] / HIGH_WATERMARK).write_text("0\n3\nv 0 1\n")

    def online() -> list[bool]:
        lines = list(forecast(broker_of(dirs, "3.6"), ForecastOptions()))
        return [line.online for line in lines if isinstance(line, DirOutcome)]

    assert online() == [True, False]
    shutil.rmtree(dirs[1] / "v-0")
    assert online() == [True, True]
