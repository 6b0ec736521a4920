"""Sources that change under the hands of diff, rescue and export, by a seed."""

from pathlib import Path

import pytest
from tests.rescue.under_hands import play
from tests.seeds import SEED, sampled

COUNT = sampled(200, 16)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_what_changes_meanwhile_is_told_or_there(
    part: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    told = play(range(part, COUNT, 4), SEED, [], tmp_path)
    assert not told["DISAGREES"], capfd.readouterr().out
