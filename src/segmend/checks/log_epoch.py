"""A batch has a leader epoch that its neighbours contradict."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.serving import EPOCHS_CUT
from segmend.findings import Finding, Severity, Where
from segmend.formats.batch import RecordBatch
from segmend.kernel.types import Problem

from .context import PartitionContext
from .evidence import batch_at, first, headers_before, problems
from .manual import WARNING, WRONG, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code(
        "L17", WARNING, "the leader epoch goes back inside a segment", WRONG, explains=("C04", "C10b", "E06")
    ),
)
PAGE = Page(
    meaning="""
        The leader epoch is not covered by the CRC; a flipped bit there leaves the batch sound. Epochs never
        go back along a log, so a single batch between two of another epoch is wrong, and the message names
        the right one. Where the epochs go back for good (a warning), the log holds a mixed history, as
        unclean elections before KIP-101 left it, or that of an older topic, taken over by one that was made
        anew under its name (`plan restamp`): then leader-epoch-checkpoint has the lower one begin there.""",
    broker="""
        A recovery of this segment writes the wrong epoch into leader-epoch-checkpoint and, if it is higher,
        drops genuine later epochs.""",
    more="At the next change of leader the replicas then truncate at wrong offsets.",
    advice="""
        Write the neighbours' epoch back, and regenerate leader-epoch-checkpoint if it has the wrong one.""",
    kafka="LogSegment.recover, LeaderEpochFileCache.assign, KIP-101.",
)
LED = ": a leader of that epoch began there, says leader-epoch-checkpoint, and forgot the higher ones"
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT
OF_PROBLEMS = True


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    for problem in first(problems(view.scan, "epoch-backwards")):
        led = _led_from_there(view, context, problem)
        odd_one = None if led else _odd_one(view, problem)
        if odd_one is not None:
            yield _outlier(view, context, *odd_one)
        else:
            message = "the leader epoch goes back from {previous} to {epoch}".format(**problem.facts)
            yield context.finding(
                "L17",
                f"{message}{LED if led else ''}",
                Where(view.segment.name, position=problem.position + 12, offset=problem.offset),
                remedy=context.look(view.segment.name),
                severity=Severity.WARNING,
            )


def _outlier(view: SegmentView, context: PartitionContext, batch: RecordBatch, right: int) -> Finding:
    return context.finding(
        "L17",
        f"the batch says leader epoch {batch.partition_leader_epoch}, the batches on both sides say {right}",
        Where(view.segment.name, position=batch.position + 12, offset=batch.base_offset),
        broker_says=EPOCHS_CUT.of(context.release),
        remedy=context.repair(),
        epoch=batch.partition_leader_epoch,
        right_epoch=right,
    )


def _led_from_there(view: SegmentView, context: PartitionContext, problem: Problem) -> bool:
    """Whether leader-epoch-checkpoint lets the lower epoch begin there: then no batch has a wrong one.

    A broker writes such a line only when it begins to lead (`LeaderEpochFileCache.assign` then forgets the
    higher epochs), never for what a recovery finds.
    """
    epoch = problem.facts["epoch"]
    entries = context.epochs.value.entries if context.epochs.value else ()
    start = next((each.start_offset for each in entries if each.epoch == epoch), None)
    if start is None or problem.offset is None or start > problem.offset:
        return False
    earlier = headers_before(view, problem.position, 1)
    return bool(earlier) and earlier[-1].last_offset < start


def _odd_one(view: SegmentView, problem: Problem) -> tuple[RecordBatch, int] | None:
    """The batch whose epoch is wrong and the right one, where the neighbours agree."""
    this = batch_at(view, problem.position)
    earlier = headers_before(view, problem.position)
    if this is None or not earlier:
        return None
    before = earlier[-1].partition_leader_epoch
    after = batch_at(view, problem.end) if problem.end < view.scan.end else None
    if after is not None and after.partition_leader_epoch == before:
        return this, before
    if len(earlier) == 2 and earlier[0].partition_leader_epoch == this.partition_leader_epoch:
        return earlier[1], this.partition_leader_epoch
    return None
