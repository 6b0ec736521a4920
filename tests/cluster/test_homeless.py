"""Replicas of a log dir that their node has no more: made anew, empty, and led by nobody or at once."""

import pytest

from segmend.cluster.leadership import Outage
from segmend.cluster.order import start_order
from segmend.cluster.values import Leadership
from segmend.frozen import replace
from segmend.loading import Effect, Extent, PartitionOutcome, Service
from segmend.loading.replicas import EMPTY
from segmend.logdir.release import Release
from segmend.node.metadata_image import MetadataImage, PartitionLeader

SAYS, FULL = "Created log", Extent(log_start_offset=0, log_end_offset=9, segments=1, bytes=9)
WHOLE = PartitionOutcome(dir="/d", name="t-0", topic="t", partition=0, before=FULL, after=FULL)
ANEW = replace(
    WHOLE, before=EMPTY, after=EMPTY, outcome=Service.EMPTY, reason=SAYS,
    effects=(Effect(effect="log-recreated-empty", file="t-0", offset=0, broker_says=SAYS),),
)  # fmt: skip


def line_of(copies: dict[int, PartitionOutcome], release: str, unclean: str = "false") -> Leadership:
    """Node 3 has no log dir `gone` any more."""
    image = MetadataImage(configs={"t": {"unclean.leader.election.enable": unclean}})
    image.names["id"], image.replicas["id", 0] = "t", tuple(copies)
    image.leaders["id", 0] = PartitionLeader(leader=3, epoch=0, isr=tuple(copies))
    seen = Outage(
        release=Release.parse(release), down={}, clean=frozenset(), marks={}, replicas={("t", 0): copies},
        homeless={3: {("t", 0): "gone"}},
    )  # fmt: skip
    (line,) = seen.leaderships(image)
    return line


@pytest.mark.parametrize("unclean", ["true", "TRUE"])
@pytest.mark.parametrize("release", ["3.9", "4.3"])
def test_one_that_is_made_anew_can_lead_and_take_all(release: str, unclean: str) -> None:
    """3.9.2 elected node 3 where all started at once: 24 records of two sound replicas were cut."""
    line = line_of({1: WHOLE, 2: WHOLE, 3: ANEW}, release, unclean)
    assert (line.outcome, line.leaders_possible, line.in_sync_complete) == ("at-risk", (1, 2, 3), (1, 2))
    assert (line.records_at_risk, line.perhaps) == (9, (3,))
    assert start_order((1, 2, 3), [line]) == (((1, 2), (3,)), 0)


@pytest.mark.parametrize("release", ["3.9", "4.3"])
def test_nobody_may_lead_what_one_of_two_makes_anew(release: str) -> None:
    """4.3.1 and 3.9.2 were left with that one in the ISR, or with none in it."""
    line = line_of({2: WHOLE, 3: ANEW}, release)
    assert (line.outcome, line.leaders_possible) == ("leaderless", (2, 3))
    assert start_order((2, 3), [line])[0] == ((2,), (3,))


@pytest.mark.parametrize(("copy", "ends"), [(ANEW, None), (WHOLE, 9)])
def test_nobody_may_lead_the_only_one(copy: PartitionOutcome, ends: int | None) -> None:
    line = line_of({3: copy}, "4.3")
    assert (line.outcome, line.leaders_possible) == ("leaderless", (3,))
    assert line.copies[0].after.log_end_offset == ends
    assert "gone" in (line.reason or "")
