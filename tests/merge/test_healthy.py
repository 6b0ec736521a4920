"""On a healthy cluster of three real brokers nothing differs, after a burst what does: another each day."""

import pytest
from confluent_kafka import KafkaException
from tests.lab.errors import LabError
from tests.lab.releases import RELEASES
from tests.merge.healthy import LEFT_OUT, play
from tests.real.conftest import need_kafka
from tests.seeds import SEED, some_of


@pytest.mark.broker
@pytest.mark.timeout(400)
@pytest.mark.parametrize("version", some_of(sorted({*RELEASES} - LEFT_OUT), 16, SEED))
def test_diff_finds_nothing(version: str) -> None:
    need_kafka(version)
    wrong, _ = play(version, SEED)
    assert not wrong, "\n".join(wrong)


@pytest.mark.broker
@pytest.mark.timeout(400)
@pytest.mark.parametrize("version", sorted(LEFT_OUT))
def test_what_is_left_out_cannot_be_played(version: str) -> None:
    """Once it can, it belongs to the others."""
    need_kafka(version)
    with pytest.raises((LabError, RuntimeError, KafkaException)):
        play(version, SEED)
