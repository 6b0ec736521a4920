"""What nodes have that are given and do not come up, and what ends with a node."""

import pytest

from tests.cluster.two import one_of_two

AWAY = {("t", 0): {1: 12}}


@pytest.mark.parametrize(("mark", "fate"), [(0, "at-risk"), (12, "loses")])
def test_more_on_a_node_that_is_left_out_is_lost(mark: int, fate: str) -> None:
    """3.9.2 led two-1 by a replica of an older backup: 12 records of node 1 were cut off, unsaid."""
    line = one_of_two("2.5", 2, (1, 2), zookeeper=True, away=AWAY, marks={("t", 0): mark})
    assert (line.outcome, line.in_sync_complete, line.records_at_risk) == (fate, (), 3)
    assert ("up to offset 12" in (line.reason or "")) == (fate == "at-risk")
    assert not line.order_helps


@pytest.mark.parametrize(("end", "isr"), [(9, (1, 2)), (12, (2,))])
def test_no_more_or_not_in_sync_is_no_loss(end: int, isr: tuple[int, ...]) -> None:
    line = one_of_two("2.5", 2, isr, zookeeper=True, away={("t", 0): {1: end}})
    assert (line.outcome, line.in_sync_complete) == ("led", (2,))
