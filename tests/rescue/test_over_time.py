"""Exports of logs that are cleaned and deleted between the runs, by a seed."""

from pathlib import Path

import pytest
from tests.rescue.over_time import play
from tests.seeds import SEED, sampled


@pytest.mark.slow
def test_each_record_is_exported_once_and_what_went_before_is_told(tmp_path: Path) -> None:
    wrong = play(SEED, range(sampled(200, 12)), tmp_path)
    assert not wrong, "\n".join(wrong)
