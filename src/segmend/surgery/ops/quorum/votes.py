"""quorum-state: a voter must not vote twice in one epoch, whatever happened to its files.

Its own file is kept as it is, if it can be read. Else the node gets one of an epoch above all that any voter
knew of: whoever it may have voted for had written that epoch to its own quorum-state before it asked
(`QuorumState.transitionToCandidate`), and so had every leader. Where the files of a voter are gone for good,
nobody can say which epochs it knew; `LEAP` epochs are left for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from segmend.errors import SegmendError, UsageError
from segmend.formats import quorum_state
from segmend.formats.kafka_uuid import ZERO, parse_uuid, uuid_text
from segmend.formats.quorum_state import FILE_NAME, QuorumState
from segmend.node.metadata_log import MetadataLog
from segmend.node.voter_files import sound_state
from segmend.surgery.fingerprint import look
from segmend.surgery.ops.quorum.case import QuorumCase
from segmend.surgery.ops.quorum.log_files import model
from segmend.surgery.ops.quorum.sources import Source
from segmend.surgery.step import Step
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile

LEAP: Final = 1000


def free_epoch(case: QuorumCase, others: Collection[int]) -> int:
    """In which the node cannot have voted: above all that is known, far above if files of voters are not."""
    known = [0]
    for copy in case.copies:
        state = sound_state(copy.partition)
        known += [copy.reached[0], 0 if state is None else state.leader_epoch or 0]
    return max(known) + (LEAP if unseen(others, case.sources) else 1)


def unseen(others: Collection[int], sources: Sequence[Source]) -> list[int]:
    """Voters whose quorum-state was not given."""
    return sorted(set(others) - {source.node_id for source in sources if source.state is not None})


def of_epoch(case: QuorumCase, epoch: int, voters: Sequence[int], *, in_log: bool) -> Step:
    """The file with no vote and no leader; `in_log`: the voters are in the log (kraft.version 1)."""
    if in_log:
        state = QuorumState(data_version=1, leader_epoch=epoch, voted_directory_id=uuid_text(ZERO))
    else:
        state = QuorumState(leader_epoch=epoch, cluster_id="", applied_offset=0, current_voters=tuple(voters))
    path, data = f"{case.path}/{FILE_NAME}", quorum_state.render(state)
    reason = f"epoch {epoch}, in which it has not voted"
    if case.partition is None:
        return ReplaceFile.new(path, data, model(case.home), reason)
    return ReplaceFile.with_bytes(path, data, reason, like=model(case.home))


def steps(case: QuorumCase, after: MetadataLog) -> Iterator[Step]:
    """Nothing where the node's own file can be read; raises where a vote might be given twice."""
    if case.state is not None:
        return
    voters = _voters(case, after)
    path = f"{case.path}/{FILE_NAME}"
    if case.node_id not in voters or is_other_directory(case, after):
        if case.older_votes is None and look(path, content=False).kind != "missing":
            yield Quarantine.of(path, "cannot be read, and this node has no vote")
        return
    others = sorted(voters - {case.node_id})
    _refuse_unseen(case, others)
    yield of_epoch(case, free_epoch(case, others), sorted(voters), in_log=bool(after.voter_set))


def not_asked(case: QuorumCase, after: MetadataLog) -> list[int] | None:
    """Voters whose files were not given, where this node is another; None where nothing tells who votes."""
    voters = _told(case, after)
    if voters is None:
        return None
    follows = case.node_id not in voters or is_other_directory(case, after)
    return [] if follows else unseen(voters - {case.node_id}, case.sources)


def notes(case: QuorumCase, after: MetadataLog) -> Iterator[str]:
    """What became of the vote."""
    state = case.state
    if state is not None and case.choice is not None and case.choice.source is not None:
        yield f"its quorum-state stays as it is: epoch {state.leader_epoch}, and how it voted in it"
    elif state is None and is_other_directory(case, after):
        yield (
            f"node {case.node_id} votes under another directory id than {case.home.directory_id}: it will "
            "follow, and not vote (kafka-metadata-quorum.sh remove-controller, then add-controller)"
        )


def is_other_directory(case: QuorumCase, after: MetadataLog) -> bool:
    """Whether the voter of this id is another directory id (KIP-853)."""
    mine = next((each for each in after.voter_set if each.voter_id == case.node_id), None)
    own = case.home.directory_id
    return mine is not None and own is not None and parse_uuid(mine.directory_id) != parse_uuid(own)


def _told(case: QuorumCase, after: MetadataLog) -> frozenset[int] | None:
    """The node ids that vote, if anything tells."""
    if after.voter_set:
        return frozenset(each.voter_id for each in after.voter_set)
    if case.config is not None and case.config.voters:
        return case.config.voters
    states = (source.state for source in case.sources)
    told = next((state.current_voters for state in states if state and state.current_voters), None)
    return None if told is None else frozenset(told)


def _voters(case: QuorumCase, after: MetadataLog) -> frozenset[int]:
    """The same; raises `UsageError` if nobody tells."""
    told = _told(case, after)
    if told is None:
        raise UsageError(
            f"{case.path}/{FILE_NAME}: cannot be read, and nothing tells which nodes vote: give "
            "--config server.properties"
        )
    return told


def _refuse_unseen(case: QuorumCase, others: Collection[int]) -> None:
    missing = sorted(set(unseen(others, case.sources)) - set(case.options.gone))
    if missing:
        them = ", ".join(map(str, missing))
        since = f", which is an older one ({case.older_votes})" if case.older_votes else ""
        flags = " ".join(f"--gone {each}" for each in missing)
        raise SegmendError(
            f"the votes of node {case.node_id} are lost with its quorum-state{since}, and voter {them} may "
            "know of an epoch in which it voted: give their copies too (--from), or say that their disks are "
            f"gone for good and never come back: {flags}"
        )
