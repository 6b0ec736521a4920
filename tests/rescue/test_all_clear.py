"""No all-clear over losses that hardly show, by a seed."""

from pathlib import Path

import pytest
from tests.lab.acknowledged.judge import opened
from tests.rescue.all_clear import BASES, play
from tests.seeds import SEED, sampled

COUNT = sampled(400, 24)


@pytest.mark.slow
def test_what_is_lost_is_told(tmp_path: Path) -> None:
    worlds = {each: opened(each, tmp_path / each) for each in BASES}
    wrong = play(SEED, range(COUNT), worlds.__getitem__, tmp_path)
    assert not wrong, "\n".join(wrong)
