"""A grafted replica on real brokers: in sync as soon as it is up, and not read again after a kill."""

from pathlib import Path

import pytest

from tests.lab.back_in_sync import play


@pytest.mark.broker
@pytest.mark.timeout(600)
def test_the_recovery_point_of_what_was_grafted_is_where_it_should_be(tmp_path: Path) -> None:
    figures = play("4.3.1", 32 << 20, tmp_path)
    print(figures)
    assert figures.segments > 4, figures
    assert (figures.raised.segments, figures.scanned.segments) == (1, figures.segments), figures
