"""Who may lead: a partition by its in-sync replicas, the metadata by its quorum.

Follows `PartitionChangeBuilder.electLeader`, `ReplicationControlManager.handleBrokerShutdown` and
`RaftUtil`/`QuorumState`: a candidate's log must be no older than those of a majority of the voters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

ELR_FEATURE = "eligible.leader.replicas.version"
"""From level 1 on the controller keeps eligible leader replicas; KIP-966."""
UNCLEAN_ELECTION = "unclean.leader.election.enable"
NO_MAJORITY = "{up} of {all} voters come up, {needed} are needed"
NO_UP_TO_DATE = "no voter that comes up has a log that a majority would vote for"


def majority(voters: int) -> int:
    """How many voters a quorum needs."""
    return voters // 2 + 1


def electable(logs: Mapping[int, tuple[int, int]], needed: int) -> list[int]:
    """The voters that can win, by (epoch, end) of the logs of those that come up: best first."""
    able = [node for node, log in logs.items() if sum(other <= log for other in logs.values()) >= needed]
    return sorted(able, key=lambda node: (logs[node], -node), reverse=True)


def possible_leaders(
    in_sync: Collection[int], serving: Collection[int], unclean_election: Collection[int] = ()
) -> tuple[int, ...]:
    """The nodes that can become leader of a partition.

    `in_sync` are its ISR and ELR, `serving` those whose replica is served, `unclean_election` all replicas,
    where any of them may lead: the first that is back leads while those in sync are away.
    """
    return tuple(sorted(node for node in {*in_sync, *unclean_election} if node in serving))


def may_wait(
    in_sync: Collection[int], serving: Collection[int], clean: Collection[int], *, elr: bool
) -> bool:
    """Whether the controller may wait for a node that is away, although another is up.

    With eligible leader replicas a node that was killed leaves the ISR when it registers again. If those
    that are away then remain the only ones believed, nobody leads; it depends on who is missed first.
    """
    up = [node for node in in_sync if node in serving]
    return elr and bool(up) and len(up) < len(in_sync) and not any(node in clean for node in up)
