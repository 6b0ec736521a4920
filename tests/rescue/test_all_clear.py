"""No all-clear over losses that hardly show, by a seed."""

from pathlib import Path

import pytest
from tests.lab.acknowledged.base import archive
from tests.rescue.all_clear import play
from tests.seeds import SEED, sampled

COUNT = sampled(400, 24)


@pytest.mark.slow
@pytest.mark.parametrize("of", [[], [str(archive("4.3.1-kinds"))]], ids=["bases", "kinds"])
def test_what_is_lost_is_told(of: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = play(range(COUNT), SEED, of, tmp_path)
    assert not told["DISAGREES"], capfd.readouterr().out


@pytest.mark.slow
def test_a_snapshot_beside_no_log_tells_whoever_reads(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of a replica that lost all its logs, below where those of another one end: kafka-log said nothing."""
    told = play((158, 383), 15, [str(archive("4.3.1-kinds"))], tmp_path)
    assert not told["DISAGREES"], capfd.readouterr().out
