"""Merged and grafted after unclean elections in turns: what is served and what lies beside is all of it."""

from pathlib import Path

import pytest

from tests.real.conftest import need_kafka
from tests.seeds import SEED, SWEEP, some_of
from tests.surgery import lineages

pytestmark = [pytest.mark.broker, pytest.mark.slow]


@pytest.mark.timeout(420)
@pytest.mark.parametrize("version", some_of([*lineages.RELEASES], 3))
def test_all_that_was_acknowledged_is_served_or_beside(version: str, tmp_path: Path) -> None:
    need_kafka(version)
    assert list(lineages.trial(version, SEED if SWEEP else 1, 0, tmp_path))
