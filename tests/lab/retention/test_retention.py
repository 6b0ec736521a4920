"""Today's engine against what real brokers deleted, when and by which rule."""

from functools import partial
from pathlib import Path

import pytest

from tests.lab.releases import release
from tests.lab.retention.compare import disagreements
from tests.lab.retention.draw import Trial, draw
from tests.lab.retention.judged import judged
from tests.lab.retention.record import RECORDED, Row, gone_of, recorded
from tests.lab.retention.write import write

VERSIONS = sorted(path.name.removesuffix(".jsonl.xz") for path in RECORDED.iterdir())


def again(version: str, row: Row, log_dir: Path) -> Trial:
    """The recorded trial's log dir as it was."""
    trial = draw(release(version), row["seed"], row["topics"])
    log_dir.mkdir()
    write(trial, log_dir, row["now"])
    return trial


def wrong(version: str, row: Row, trial: Trial, log_dir: Path) -> list[str]:
    """What segmend says otherwise than the broker did."""
    said = partial(judged, log_dir, release(version), trial, replayed=True)
    return list(disagreements(said, gone_of(row), row["first"], row["last"]))


@pytest.mark.parametrize("version", VERSIONS)
def test_segments_go_as_they_did(version: str, tmp_path: Path) -> None:
    rows = recorded(version)
    assert len(rows) >= 2
    for row in rows:
        log_dir = tmp_path / str(row["seed"])
        trial = again(version, row, log_dir)
        assert wrong(version, row, trial, log_dir) == []
