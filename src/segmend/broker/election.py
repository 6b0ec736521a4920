"""Who may lead: a partition by its in-sync replicas, the metadata by its quorum.

Follows `PartitionChangeBuilder.electLeader`, `ReplicationControlManager.handleBrokerShutdown` and
`RaftUtil`/`QuorumState`: a candidate's log must be no older than those of a majority of the voters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

from segmend.broker.rule import Rule, gone_in, new_in

ELR_FEATURE = "eligible.leader.replicas.version"
"""From level 1 on the controller keeps eligible leader replicas; KIP-966."""
UNCLEAN_ELECTION = "unclean.leader.election.enable"
UNCLEAN_HEEDED: Final = new_in(
    "ConfigurationControlManager.uncleanLeaderElectionEnabledForTopic; KAFKA-12670", (3, 9)
)
"""Whether KRaft's controllers heed that setting; before only a person's election is an unclean one."""
UNCLEAN_UNSET: Rule[bool] = Rule(
    "KafkaConfig.UncleanLeaderElectionEnable; KIP-106", (((0, 8), True), ((0, 11), False))
)
"""Its default."""
MIN_INSYNC = "min.insync.replicas"
MIN_INSYNC_CAPPED: Final = new_in("Partition.effectiveMinIsr; KAFKA-15583", (3, 7))
"""Whether a partition with fewer replicas than min.insync.replicas takes acks=all from all that it has."""
MARK_WAITS: Final = new_in("Partition.maybeIncrementLeaderHW, isUnderMinIsr; KAFKA-15583", (3, 7))
"""Whether fewer in sync than min.insync.replicas hold the high watermark, so that nothing above is read."""
ENDS_AHEAD: Final = gone_in("ReplicaFetcherThread.handleOffsetOutOfRange; KAFKA-7414", (2, 1))
"""Whether a follower ends that would have to cut what was committed, where no unclean election is allowed."""
AHEAD = (
    "Exiting because log truncation is not allowed for partition {}, current leader's latest offset {} is "
    "less than replica's latest offset {}"
)
FORGOTTEN = (
    "whether it ends: node {other} knows it as the leader of epoch {epoch}, and its own files know of none "
    "after {own}; unless another one is elected first, that answer ends it: Unexpected error in raft "
    "IO thread, Received request or response with leader OptionalInt[{node}] and epoch {epoch} which is "
    "inconsistent with current leader OptionalInt.empty and epoch {own}"
)
"""`KafkaRaftClient.maybeTransition`, `hasConsistentLeader`: a node knows best whether it leads."""
OLDER = (
    "what voter {node} had acknowledged: its files are of an older copy of it ({why}); it may vote once more "
    "in an epoch in which it has voted, and what was committed by its word may be with nobody else"
)
"""`QuorumState`, `FileQuorumStateStore`: who gives a vote, or asks for one, has synced that epoch before."""
TWICE = (
    "whether epoch {epoch}, which had a leader, gets another one: of {all} voters {who} know of none in it "
    "any more, so at least one of them has files of an older copy, and together they can elect one in it; "
    "then two histories have the same epochs and offsets, and no node sees where they part"
)
"""A majority had voted in it, and each of them had synced that (`QuorumState.transitionToCandidate`)."""
NO_MAJORITY = "{up} of {all} voters come up, {needed} are needed"
NOT_THE_VOTER = "voter {} is the one whose metadata dir has the id {}; this one has {}, and no vote (KIP-853)"
"""`VoterSet.isVoter` compares the directory ids, too, where the log has them."""
ANY_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"
"""`ReplicaKey.NO_DIRECTORY_ID`: of a voter that is known by its node id alone."""
NOT_REGISTERED = "Shutting down because we were unable to register with the controller quorum."
"""`BrokerLifecycleManager`, initial.broker.registration.timeout.ms (a minute) after the start."""
NO_UP_TO_DATE = "no voter that comes up has a log that a majority would vote for"


def majority(voters: int) -> int:
    return voters // 2 + 1


def electable(logs: Mapping[int, tuple[int, int]], voters: Mapping[int, Collection[int]]) -> list[int]:
    """Who can win of those in `voters`, which has whom each asks, and lead a majority of these: best first.

    `logs` are (epoch, end), also of those that end after they voted; each votes for whose log is no older
    (`RaftUtil`), also for one that it does not know as a voter.
    """
    able = []
    for node, asked in voters.items():
        votes = sum(logs[other] <= logs[node] for other in asked if other in logs)
        stay = sum(other in voters for other in asked)
        if node in asked and min(votes, stay) >= majority(len(asked)):
            able.append(node)
    return sorted(able, key=lambda node: (logs[node], -node), reverse=True)


def possible_leaders(
    in_sync: Collection[int], serving: Collection[int], unclean_election: Collection[int] = ()
) -> tuple[int, ...]:
    """The nodes that can become leader of a partition.

    `in_sync` are its ISR and ELR, `serving` those whose replica is served, `unclean_election` all replicas,
    where any of them may lead: the first that is back leads while those in sync are away.
    """
    return tuple(sorted(node for node in {*in_sync, *unclean_election} if node in serving))


def reassigned(
    replicas: Collection[int], removing: Collection[int], serving: Collection[int]
) -> tuple[int, ...]:
    """Who has a partition once its reassignment is done: as soon as all that it is to have are in sync.

    `PartitionReassignmentReplicas.maybeCompleteReassignment`; one of them that is away holds it up.
    """
    kept = tuple(node for node in replicas if node not in removing)
    return kept if set(kept) <= set(serving) else tuple(replicas)


def may_wait_with_zookeeper(
    in_sync: Collection[int], serving: Collection[int], live: Collection[int]
) -> bool:
    """Whether a controller of `live` nodes may take those out of the ISR that come back a moment later.

    `ReplicaStateMachine.removeReplicasFromIsr`: the first that is up takes all others for dead, one by one,
    and leaves the last in. One that is in the ISR itself stays.
    """
    up = {node for node in in_sync if node in serving}
    return bool(up) and len(up) < len(in_sync) and not up.issuperset(live)


DEAD_LEAVE: Final = new_in("ReplicaStateMachine.startup, onlineAndOfflineReplicas", (2, 3))
"""Whether a controller with ZooKeeper takes those out of the ISR whom it does not find alive as it begins."""


class Leaves(StrEnum):
    """Which nodes leave the ISR when they register again after a stop."""

    NOBODY = "nobody"
    KILLED = "killed"
    ANYBODY = "anybody"


RESTARTED: Rule[Leaves] = Rule(
    "ReplicationControlManager.handleBrokerUncleanShutdown (3.8), handleBrokerShutdown (4.0); KIP-966",
    (((0, 8), Leaves.NOBODY), ((3, 8), Leaves.KILLED), ((4, 0), Leaves.ANYBODY)),
)
"""Without eligible leader replicas; with them who stopped cleanly stays eligible."""


def may_wait(
    in_sync: Collection[int], serving: Collection[int], clean: Collection[int], leaves: Leaves
) -> bool:
    """Whether the controller may wait for a node that is away, although another is up.

    Those that come back leave the ISR as they register. If one that is away then remains the only one
    believed, nobody leads; whether it does depends on who is missed first.
    """
    up = [node for node in in_sync if node in serving]
    if leaves == Leaves.NOBODY or not up or len(up) == len(in_sync):
        return False
    return leaves == Leaves.ANYBODY or not any(node in clean for node in up)
