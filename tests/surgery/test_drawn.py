"""A few of `python -m tests.surgery.drawn`, and those that once broke a promise."""

from pathlib import Path

import pytest
from tests.seeds import SEED
from tests.surgery.drawn import GOLDENS, play


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_surgery_drawn_at_random(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = play(range(4), SEED, GOLDENS, tmp_path)
    assert (told["DISAGREES"], told["ok"]) == (0, 4), capfd.readouterr().out
