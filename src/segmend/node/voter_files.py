"""Whether a node's own files are of an older copy of it, as a restored snapshot of its disk has them.

Nothing in them shows it. What other voters keep may: each epoch begins in the log with who leads it and who
gave him the vote, and a quorum-state says for whom its voter voted. Who asked for a vote, or gave one, had
written that epoch to its own quorum-state before, and synced it (`QuorumState`, `FileQuorumStateStore`); who
led had what he wrote first. With the older files it would vote once more in an epoch in which it has voted,
and what it had helped to commit may be with one voter alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from segmend.formats.control import Voter
from segmend.formats.kafka_uuid import ZERO, parse_uuid
from segmend.formats.quorum_state import QuorumState
from segmend.frozen import frozen
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.metadata_copy import Election, MetadataCopy


def sound_state(partition: PartitionDir) -> QuorumState | None:
    """The quorum-state of a copy, None if it is missing or damaged."""
    state = partition.quorum_state
    return None if state.damages else state.value


@frozen
class VoterFiles:
    """What the files of one node, `whose`, tell of votes, its own and others'; plain values.

    `state` is its quorum-state, None where that is lost; `elections` are those in its log, which goes, or
    once went, to `end`.
    """

    whose: str
    node_id: int | None
    directory_id: str | None
    state: QuorumState | None
    elections: tuple[Election, ...] = ()
    end: int = 0

    @classmethod
    def of(
        cls, whose: str, node_id: int | None, directory_id: str | None, copy: MetadataCopy | None,
        state: QuorumState | None,
    ) -> VoterFiles:  # fmt: skip
        """`copy` is None where the log and the snapshots are lost."""
        runs = () if copy is None else copy.runs
        return cls(
            whose=whose, node_id=node_id, directory_id=directory_id, state=state,
            elections=tuple(each for run in runs for each in run.elections),
            end=0 if copy is None else copy.reached[1],
        )  # fmt: skip

    @property
    def epoch(self) -> int | None:
        """The last one that its vote is known of."""
        return None if self.state is None else self.state.leader_epoch or 0

    @property
    def believed(self) -> Iterator[Election]:
        """Without epochs that its voter does not know: no checksum covers them in the log."""
        most = None if self.state is None else self.state.leader_epoch
        return (each for each in self.elections if most is None or each.epoch <= most)

    def older_than(self, others: Iterable[VoterFiles]) -> Iterator[str]:
        """How it is seen that its files are of an older copy than the one that ran last."""
        others = tuple(others)
        yield from self.votes_in(others)
        yield from self.records_in(others)

    def votes_in(self, others: Iterable[VoterFiles]) -> Iterator[str]:
        """How it is seen that it voted after its quorum-state was written."""
        if self.epoch is None:
            return
        others = tuple(others)
        own = (("its own log", each) for each in self.elections)
        theirs = ((other.whose, each) for other in others for each in other.believed)
        for whose, election in (*own, *theirs):
            if election.epoch > self.epoch and any(map(self._is_me, election.change.granting_voters)):
                yield (
                    f"{whose} says that it voted in epoch {election.epoch} (for node "
                    f"{election.change.leader_id}), and its quorum-state ends at epoch {self.epoch}"
                )
        for other in others:
            state = other.state
            asked = state is not None and self.node_id in (state.voted_id, state.leader_id)
            if state is not None and asked and (state.leader_epoch or 0) > self.epoch:
                yield (
                    f"{other.whose} voted for it, or followed it, in epoch {state.leader_epoch}, and its "
                    f"quorum-state ends at epoch {self.epoch}"
                )

    def records_in(self, others: Iterable[VoterFiles]) -> Iterator[str]:
        """How it is seen that it had more of the log than it has."""
        for other in others:
            for election in other.believed:
                if election.change.leader_id == self.node_id and election.offset >= self.end > 0:
                    yield (
                        f"it wrote offset {election.offset} of {other.whose}, and its own log ends at "
                        f"{self.end}"
                    )

    def _is_me(self, voter: Voter) -> bool:
        """Another disk of the same node has another directory id, and votes for itself (KIP-853)."""
        if voter.voter_id != self.node_id or voter.directory_id is None or self.directory_id is None:
            return voter.voter_id == self.node_id
        return parse_uuid(voter.directory_id) in (ZERO, parse_uuid(self.directory_id))
