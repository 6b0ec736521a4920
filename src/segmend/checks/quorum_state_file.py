"""The election state of a controller or broker cannot be read, or is behind its log."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.metadata_log import NO_EPOCH_LEFT, QUORUM_BEHIND
from segmend.findings import Finding, Where
from segmend.formats import quorum_state
from segmend.formats.java_number import INT_MAX
from segmend.logdir.partition_dir import PartitionDir

from . import metadata_mends
from .context import PartitionContext
from .manual import ERROR, INFO, NONE, REFUSES, Code, Level, Page, Scope

CODES = (
    Code("K11", ERROR, "quorum-state cannot be read: the process ends", REFUSES),
    Code("K24", ERROR, "quorum-state has the last epoch there is: who is elected ends", REFUSES),
    Code("K12", INFO, "quorum-state has a lower epoch than the log", NONE),
)
PAGE = Page(
    meaning="The file holds the last vote and the leader's epoch.",
    own={
        "K11": "it does not start.",
        "K24": "a lone voter ends as soon as it elects itself; of several, nobody can be elected any more.",
        "K12": "it warns and goes on without a leader.",
    },
    advice="""
        K11: without the file a voter may vote twice in an epoch. `plan quorum` gives it one of an epoch in
        which it cannot have voted; for that it must see the files of the other voters (`--from`). K24: no
        broker counts so far: the file is damaged; a backup of it has the epoch that was. K12: nothing.""",
    kafka="FileQuorumStateStore, QuorumState, KIP-595, KIP-853.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """The file alone, and its epoch against the last one of the leader-epoch-checkpoint."""
    if partition.kind != "cluster-metadata":
        return
    file = partition.quorum_state.readable()
    state = file.value
    for damage in file.damages[:1]:
        yield context.finding(
            "K11",
            damage.reason,
            Where(quorum_state.FILE_NAME, position=damage.position),
            broker_says=damage.reason,
            remedy=metadata_mends.vote(context),
        )
    if state and not file.damages and state.leader_epoch == INT_MAX:
        message = f"the epoch is {INT_MAX}, and none comes after it"
        yield context.finding(
            "K24", message, Where(quorum_state.FILE_NAME), broker_says=NO_EPOCH_LEFT.format(INT_MAX)
        )
    epochs = context.epochs.value
    last = max((entry.epoch for entry in epochs.entries), default=-1) if epochs else -1
    if state and not file.damages and state.leader_epoch is not None and state.leader_epoch < last:
        message = f"the epoch is {state.leader_epoch}, the log already has epoch {last}"
        path = f"{partition.path}/{quorum_state.FILE_NAME}"
        says = QUORUM_BEHIND.say(context.release, file=path, epoch=state.leader_epoch, last=last)
        yield context.finding("K12", message, Where(quorum_state.FILE_NAME), broker_says=says)
