"""Whether a node's own files are of an older copy of it, as a restored snapshot of its disk has them.

Nothing in them shows it. What other voters keep may: each epoch begins in the log with who leads it and who
gave him the vote, and a quorum-state says for whom its voter voted. Who asked for a vote, or gave one, had
written that epoch to its own quorum-state before, and synced it (`QuorumState`, `FileQuorumStateStore`); who
led had what he wrote first. With the older files it would vote once more in an epoch in which it has voted,
and what it had helped to commit may be with one voter alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.formats.control import Voter
from segmend.formats.kafka_uuid import ZERO, parse_uuid
from segmend.formats.quorum_state import QuorumState
from segmend.frozen import frozen
from segmend.node.metadata_copy import Election, MetadataCopy
from segmend.surgery.ops.quorum.sources import Source


@frozen
class OwnCopy:
    """What the node has itself: `state` is None where its quorum-state is lost, `copy` where the rest is."""

    node_id: int
    directory_id: str | None
    copy: MetadataCopy | None
    state: QuorumState | None

    @property
    def epoch(self) -> int | None:
        """The last one that its vote is known of."""
        return None if self.state is None else self.state.leader_epoch or 0

    def votes_of(self, sources: Sequence[Source]) -> Iterator[str]:
        """How it is seen that it voted after its quorum-state was written."""
        if self.epoch is None:
            return
        for whose, election in self._elections(sources):
            if election.epoch > self.epoch and any(map(self._is_me, election.change.granting_voters)):
                yield (
                    f"{whose} says that it voted in epoch {election.epoch} (for node "
                    f"{election.change.leader_id}), and its quorum-state ends at epoch {self.epoch}"
                )
        for source in sources:
            state = source.state
            asked = state is not None and self.node_id in (state.voted_id, state.leader_id)
            if state is not None and asked and (state.leader_epoch or 0) > self.epoch:
                yield (
                    f"{source} voted for it, or followed it, in epoch {state.leader_epoch}, and its "
                    f"quorum-state ends at epoch {self.epoch}"
                )

    def records_of(self, sources: Sequence[Source]) -> Iterator[str]:
        """How it is seen that it had more of the log than it has."""
        _, end = (0, 0) if self.copy is None else self.copy.reached
        for source in sources:
            for election in _believed(source):
                if election.change.leader_id == self.node_id and election.offset >= end > 0:
                    yield f"it wrote offset {election.offset} of {source}, and its own log ends at {end}"

    def _elections(self, sources: Sequence[Source]) -> Iterator[tuple[str, Election]]:
        if self.copy is not None:
            yield from (("its own log", each) for run in self.copy.runs for each in run.elections)
        yield from ((str(source), each) for source in sources for each in _believed(source))

    def _is_me(self, voter: Voter) -> bool:
        """Another disk of the same node has another directory id, and votes for itself (KIP-853)."""
        if voter.voter_id != self.node_id or voter.directory_id is None or self.directory_id is None:
            return voter.voter_id == self.node_id
        return parse_uuid(voter.directory_id) in (ZERO, parse_uuid(self.directory_id))


def _believed(source: Source) -> Iterator[Election]:
    """Without epochs that its voter does not know: no checksum covers them in the log."""
    most = None if source.state is None else source.state.leader_epoch
    for election in (each for run in source.copy.runs for each in run.elections):
        if most is None or election.epoch <= most:
            yield election
