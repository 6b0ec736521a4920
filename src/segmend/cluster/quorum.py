"""The metadata quorum: whose copies of the metadata log there are, and who can be elected."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from segmend.broker.election import NO_MAJORITY, NO_UP_TO_DATE, electable, majority
from segmend.cluster.values import Quorum, Voter
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_log import MetadataLog

Logs = Mapping[int, MetadataLog | None]


def metadata_logs(brokers: Mapping[int, BrokerDirs]) -> dict[int, MetadataLog | None]:
    """Each node's own copy; None where it has none."""
    homes = {node_id: broker.metadata_dir for node_id, broker in brokers.items()}
    return {
        node_id: None if home is None else brokers[node_id].metadata_log(home)
        for node_id, home in homes.items()
    }


def voters_of(brokers: Mapping[int, BrokerDirs], logs: Logs) -> tuple[int, ...]:
    """The node ids that vote: by the newest voter set in the log (KIP-853), or by the quorum-state files."""
    newest = max(filter(None, logs.values()), key=lambda log: log.position, default=None)
    if newest is not None and newest.image.voters:
        return tuple(sorted(newest.image.voters))
    found: set[int] = set()
    for broker in brokers.values():
        home = broker.metadata_dir
        partition = None if home is None else home.cluster_metadata
        state = None if partition is None else partition.quorum_state.value
        found.update((state.current_voters or ()) if state is not None else ())
    return tuple(sorted(found))


def quorum(voters: Collection[int], logs: Logs, down: Mapping[int, str]) -> Quorum:
    """Which of the voters come up, and who of them can be elected; `down` says why others do not."""
    told = [_voter(node_id, logs, down) for node_id in sorted(voters)]
    needed = majority(len(told))
    up = {voter.node_id: (voter.epoch or 0, voter.end or 0) for voter in told if voter.up}
    able = electable(up, needed) if len(up) >= needed else []
    ends = sorted((voter.end for voter in told if voter.end is not None), reverse=True)
    reason = None
    if not able:
        few = NO_MAJORITY.format(up=len(up), all=len(told), needed=needed)
        reason = few if len(up) < needed else NO_UP_TO_DATE
    return Quorum(
        voters=tuple(told), needed=needed, leaders_possible=tuple(able), reason=reason,
        committed=ends[needed - 1] if len(ends) >= needed else None,
    )  # fmt: skip


def _voter(node_id: int, logs: Logs, down: Mapping[int, str]) -> Voter:
    log = logs.get(node_id)
    epoch, end = (None, None) if log is None else log.position
    return Voter(node_id=node_id, up=node_id not in down, end=end, epoch=epoch, reason=down.get(node_id))
