"""No all-clear over losses that hardly show, by a seed."""

from pathlib import Path

import pytest
from tests.rescue.all_clear import play
from tests.seeds import SEED, sampled

COUNT = sampled(400, 24)


@pytest.mark.slow
def test_what_is_lost_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = play(range(COUNT), SEED, [], tmp_path)
    assert not told["DISAGREES"], capfd.readouterr().out
