"""Drawn operations of a stranger on a real broker; more of them: `python -m tests.surgery.strangers`."""

from pathlib import Path

import pytest

from tests.real.conftest import need_kafka
from tests.seeds import SEED, sampled, some_of
from tests.surgery import strangers

pytestmark = pytest.mark.broker


@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", some_of([*strangers.RELEASES], 3))
def test_what_a_stranger_does_is_served_and_goes_back(
    version: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    need_kafka(version)
    told = strangers.play(range(sampled(4, 1)), SEED, [version], tmp_path)
    assert not told["DISAGREES"], capfd.readouterr().out
