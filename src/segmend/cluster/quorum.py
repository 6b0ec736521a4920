"""The metadata quorum: whose copies of the metadata log there are, and who can be elected."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from segmend.broker.election import NO_MAJORITY, NO_UP_TO_DATE, electable, majority
from segmend.cluster.nodes import Sight
from segmend.cluster.values import Quorum, QuorumVoter


def voters_of(sights: Mapping[int, Sight]) -> tuple[int, ...]:
    """The node ids that vote, as the newest log that names them says."""
    naming = [sight for sight in sights.values() if sight.voters]
    newest = max(naming, key=lambda sight: sight.position or (0, 0), default=None)
    return () if newest is None else newest.voters


def quorum(
    voters: Collection[int],
    sights: Mapping[int, Sight],
    down: Mapping[int, str],
    joined: Collection[int] = (),
) -> Quorum:
    """Which of the voters come up, and who can be elected; `down` says why others do not.

    Whoever is a voter by its own log asks those that the log names: an old one may name others (KIP-853).

    Those of them that `joined` end once there is a quorum, and vote before. One that lost its vote looks on.
    """
    lost = {node: seen.lost_vote for node, seen in sights.items() if seen.lost_vote}
    down, joined = {**lost, **down}, set(joined) - lost.keys()
    told = [_voter(node_id, sights, down) for node_id in sorted(voters)]
    needed = majority(len(told))
    up = {voter.node_id for voter in told if voter.up}
    logs = {node: sights[node].position or (0, 0) for node in sights if node not in down or node in joined}
    able = electable(logs, {node: sights[node].voters or voters for node in logs if node not in down})
    reason = None
    if told and not able:
        few = NO_MAJORITY.format(up=len(up), all=len(told), needed=needed)
        reason = few if len(up) < needed else NO_UP_TO_DATE
    return Quorum(
        voters=tuple(told), needed=needed, leaders_possible=tuple(able), reason=reason,
        committed=_committed([sights[node] for node in voters if node in sights], needed),
        blank=tuple(voter.node_id for voter in told if voter.node_id in able and not voter.end),
        twice=_led_twice(voters, sights, up) if able else None,
    )  # fmt: skip


def _committed(sights: Collection[Sight], needed: int) -> int | None:
    """What a majority has of the newest log: a longer one of an older epoch is cut (`KafkaRaftClient`)."""
    known = [sight for sight in sights if sight.position is not None]
    if len(known) < needed:
        return None
    newest = max(known, key=lambda sight: sight.position or (0, 0))
    ends = sorted((newest.shared(sight) for sight in known), reverse=True)
    return max(ends[needed - 1], *(sight.snapshot for sight in known))


def _led_twice(
    voters: Collection[int], sights: Mapping[int, Sight], up: Collection[int]
) -> tuple[int, tuple[int, ...]] | None:
    """The newest epoch that had a leader, and in which a majority of the voters would vote once more.

    Their votes are lost with newer files: a majority gave theirs in it, and these are too many to be others.
    """
    files = [sight.files for sight in sights.values() if sight.files is not None]
    led = {election.epoch for each in files for election in each.believed}
    led |= {sight.followed[1] for sight in sights.values() if sight.followed[0] >= 0}
    for epoch in sorted(led, reverse=True):
        behind = [node for node in sorted(up) if node in sights and sights[node].epoch < epoch]
        if len(behind) >= majority(len(voters)):
            return epoch, tuple(behind)
    return None


def fetched_again(
    voters: Collection[int], had: Mapping[int, tuple[int, int]], leader: tuple[int, int]
) -> bool:
    """Whether a leader has all that can be committed, so that what others cut off their logs they get again.

    A majority `had` it, each up to there at most; a voter that is not among them may have had any of it, as
    one whose files are of an older copy.
    """
    ends = sorted((had[node] for node in voters if node in had), reverse=True)
    others = majority(len(voters)) - (len(voters) - len(ends))
    return others > 0 and leader >= ends[others - 1]


def _voter(node_id: int, sights: Mapping[int, Sight], down: Mapping[int, str]) -> QuorumVoter:
    seen = sights.get(node_id)
    epoch, end = (None, None) if seen is None or seen.position is None else seen.position
    return QuorumVoter(
        node_id=node_id,
        up=node_id not in down,
        end=end,
        epoch=epoch,
        reason=down.get(node_id),
        older=_older(node_id, sights),
        home=None if seen is None else seen.home,
    )


def _older(node_id: int, sights: Mapping[int, Sight]) -> str | None:
    """How the files of others show that those of this node are of an older copy of it."""
    known = {node: seen.files for node, seen in sights.items() if seen.files is not None}
    own = known.pop(node_id, None)
    return None if own is None else next(own.older_than(known.values()), None)
