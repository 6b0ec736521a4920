"""Exports of logs that are cleaned and deleted between the runs, by a seed."""

from pathlib import Path

import pytest
from tests.rescue import led_over_time
from tests.rescue.over_time import play
from tests.seeds import SEED, sampled


@pytest.mark.slow
def test_each_record_is_exported_once_and_what_went_before_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    told = play(range(sampled(200, 12)), SEED, [], tmp_path)
    assert not told["DISAGREES"], capfd.readouterr().out


def test_nothing_is_added_where_a_new_leader_wrote_over_what_was_taken(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Behind the last record only: markers were there. And what told of it was deleted since."""
    told = led_over_time.play((9, 99), 3, [], tmp_path)
    assert not told["DISAGREES"], capfd.readouterr().out


@pytest.mark.slow
def test_leaders_change_and_transactions_end_between_exports(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    told = led_over_time.play(range(sampled(400, 20)), SEED, [], tmp_path)
    assert not told["DISAGREES"], capfd.readouterr().out
