"""A broker's drawn work between a plan and its way back; more: `python -m tests.surgery.ran_since`."""

from pathlib import Path

import pytest

from tests.real.conftest import need_kafka
from tests.seeds import SEED, SWEEP, sampled, some_of
from tests.surgery import ran_since

pytestmark = pytest.mark.broker


@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", some_of([*ran_since.RELEASES], 3))
def test_no_way_back_costs_what_a_broker_took_since(
    version: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    need_kafka(version)
    told = ran_since.play(range(sampled(4, 1)), SEED if SWEEP else 6, [version], tmp_path)
    assert not told["DISAGREES"], capfd.readouterr().out
