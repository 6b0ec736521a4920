"""Pairs of faults: the draw, which pairs can be done, and where two forecasts of a read differ."""

from itertools import islice
from pathlib import Path

import pytest

from segmend.loading import BrokerOutcome, Effect, Extent, PartitionOutcome
from tests.golden.unpack import unpack
from tests.lab.compare import Said, of_place
from tests.lab.pairs import LOG_DIR, Pair, drawn
from tests.lab.test_verdicts import archive


def names(seed: int) -> list[str]:
    return [pair.name for pair in islice(drawn("4.3.1", "clean", seed), 50)]


def test_a_seed_always_draws_the_same_pairs() -> None:
    assert names(1) == names(1) != names(2)


def test_one_of_the_two_is_on_the_partition() -> None:
    pairs = list(islice(drawn("4.3.1", "killed", 1), 200))
    assert all({pair.first.family, pair.second.family} - LOG_DIR for pair in pairs)
    assert any(pair.first.family in LOG_DIR for pair in pairs)


@pytest.mark.parametrize(
    ("name", "works"),
    [
        ("log-flip-rolled + snapshot-crc", True),
        ("partition-missing + snapshot-crc", False),  # nothing is there to hurt
        ("partition-empty + index-missing-old", False),
        ("log-flip-rolled + log-flip-rolled", False),  # the second takes the first back
    ],
)
def test_a_pair_whose_second_fault_does_nothing_is_left_out(name: str, works: bool, tmp_path: Path) -> None:
    base = unpack(archive("4.3.1-clean"), tmp_path / "base")
    assert Pair.named(name).works(base, tmp_path / "scratch") == works


@pytest.mark.parametrize(("offset", "right"), [(40, True), (44, True), (46, True), (39, False), (50, False)])
def test_reads_stop_where_no_record_lies_between(offset: int, right: bool) -> None:
    """Records 30 to 39 and 47 to 60 were delivered, 44 to 46 were not; 40 to 43 never were."""
    effects = (Effect(effect="reads-fail", file="t-0", offset=offset),)
    partition = PartitionOutcome(
        dir="d", name="t-0", topic="t", partition=0, before=Extent(), after=Extent(), effects=effects
    )
    said = Said(
        BrokerOutcome(starts=True, reason=None, seconds=1, release="4.3.1", release_reason=""), [], partition
    )
    assert (of_place([[44, 46]], said, [[30, 39], [44, 60]]) == []) == right
