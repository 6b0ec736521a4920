"""The last voter of a lost quorum made the only one.

Voters that are kept in the log (kraft.version 1, KIP-853) are what its last VotersRecord says, committed or
not (`KRaftControlRecordStateMachine`): one with this node alone is put behind the log. Else they are in
server.properties, which a person must change, and in quorum-state, which must agree with it up to 3.7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.broker.metadata_log import CLEARS_QUORUM_STATE, MOVES_VOTERS
from segmend.errors import SegmendError, UsageError
from segmend.formats.build import NewRecord, build_batch
from segmend.formats.control import Voters, VoterSetEntry, render_voters
from segmend.formats.names import CLUSTER_METADATA
from segmend.frozen import frozen
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import Release
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.ops.quorum.log_files import Ending
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile

_VOTERS = "controller.quorum.voters"
_IN_LOG = (
    "kafka-features.sh upgrade --feature kraft.version=1 puts the voters into the log; then "
    f"controller.quorum.bootstrap.servers in place of {_VOTERS}, and kafka-metadata-quorum.sh add-controller"
)
_ONE_BY_ONE = (
    f"one newly formatted node in {_VOTERS} of all nodes, the next when that one has caught up "
    "(kafka-metadata-quorum.sh describe --replication): two empty ones elect one another, and lead without "
    "any metadata where this one is not up; before 4.1 kafka-features.sh upgrades no kraft.version, though "
    "it may say so"
)


@frozen
class Survivor:
    """The node, and its line of the voters: in the log (`entry`), or in server.properties (`line`)."""

    node_id: int
    voters: tuple[int, ...]
    entry: VoterSetEntry | None = None
    line: str | None = None

    @property
    def others(self) -> tuple[int, ...]:
        """The voters that are lost."""
        return tuple(each for each in self.voters if each != self.node_id)


def survivor(
    node_id: int, directory_id: str | None, voter_set: Sequence[VoterSetEntry], config: ServerConfig | None
) -> Survivor:
    """This node as the only voter; raises `UsageError`, and `SegmendError` if it is none."""
    if voter_set:
        return _in_log(node_id, directory_id, voter_set)
    if config is None or config.voters is None:
        raise UsageError(
            f"--standalone: the voters are not in the log (kraft.version 0), but in {_VOTERS}: give this "
            "node's server.properties with it (--config)"
        )
    lines = [line.strip() for line in config.given[_VOTERS].split(",")]
    mine = next((line for line in lines if line.partition("@")[0].strip() == str(node_id)), None)
    if mine is None:
        raise SegmendError(f"node {node_id} is no voter by {_VOTERS} ({', '.join(lines)}): it cannot lead")
    return Survivor(node_id=node_id, voters=tuple(sorted(config.voters)), line=mine)


def _in_log(node_id: int, directory_id: str | None, voter_set: Sequence[VoterSetEntry]) -> Survivor:
    ids = tuple(sorted(each.voter_id for each in voter_set))
    entry = next((each for each in voter_set if each.voter_id == node_id), None)
    if entry is None:
        them = ", ".join(map(str, ids))
        raise SegmendError(f"node {node_id} is no voter by the log (they are {them}): it cannot lead")
    if directory_id is None:
        raise SegmendError(
            f"meta.properties of node {node_id} has no directory.id, under which it votes "
            "(segmend plan identity)"
        )
    return Survivor(node_id=node_id, voters=ids, entry=entry._replace(directory_id=directory_id))


def voters_step(ending: Ending, last_voter: Survivor, epoch: int, time: int) -> Iterator[Step]:
    """The VotersRecord behind the log, of an epoch that nobody else has written in."""
    if last_voter.entry is None:
        return
    key, value = render_voters(Voters(0, (last_voter.entry,)))
    data = build_batch(
        [NewRecord(key=key, value=value, timestamp=time)], base_offset=ending.offset, is_control=True,
        leader_epoch=epoch,
    )  # fmt: skip
    content = NewBytes.inline(data)
    after = ending.like.but(size=(ending.file.size or 0) + len(data))
    yield AppendFile(
        path=ending.path, before=ending.file, after=after, content=content,
        reason=f"node {last_voter.node_id} as the only voter",
    )  # fmt: skip


def price(
    last_voter: Survivor, epoch: int, known: tuple[int, int], unseen: Sequence[int], release: Release
) -> Iterator[str]:
    """What a person must know before saying yes; `known` are the ends of the snapshot and of the log."""
    covered, end = known
    them = ", ".join(map(str, last_voter.others))
    more = "" if unseen else ": no voter had more"
    yield f"node {last_voter.node_id} leads alone from offset {end} on, from epoch {epoch + 1}{more}"
    if end > covered:
        yield (
            f"offsets {covered} to {end - 1}, behind the newest snapshot, count as committed from now on, "
            "whether they were or not"
        )
    if last_voter.others:
        yield (
            f"voters {them} must never come back with their old files: a majority of them would elect "
            "another leader; format their dirs anew first"
        )
    yield (
        f"a broker whose own copy goes beyond offset {end} can give what is missing here (--from); else move "
        f"its {CLUSTER_METADATA} away before it starts, and it fetches this one: with the old it dies, does "
        "not register, or goes by topics that are none any more"
    )
    yield (
        "directories of topics that this copy does not know become -stray at the start of a broker, before "
        "3.7 it deletes them, with their records"
    )
    yield "partitions whose in-sync replicas are gone have no leader (kafka-leader-election.sh, unclean)"
    if last_voter.line is None:
        yield (
            "controller.quorum.bootstrap.servers of all nodes must name this one; "
            "kafka-metadata-quorum.sh add-controller gives it fellows again"
        )
    else:
        yield (
            "before any start, in server.properties of this node and all brokers: "
            f"{_VOTERS}={last_voter.line} (with lost voters in it there is no leader)"
        )
        yield f"to give it fellows again: {_IN_LOG if MOVES_VOTERS.of(release) else _ONE_BY_ONE}"
        if CLEARS_QUORUM_STATE.of(release):
            yield (
                f"each broker must start without the quorum-state in its {CLUSTER_METADATA}: it names "
                "the old voters, and with it a broker does not start; it has no vote to lose"
            )
