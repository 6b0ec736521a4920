"""A producer's batch breaks the rules of transactions."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.producer_state import OLD_EPOCH, OUT_OF_TRANSACTION, UNKNOWN_MARKER
from segmend.findings import Finding, Remedy, Where
from segmend.kernel.types import Problem
from segmend.logdir.partition_dir import PartitionDir

from .context import PartitionContext
from .evidence import first, is_sound, problems
from .manual import NONE, REFUSES, WARNING, WRONG, Code, Level, Page, Scope
from .producer_replay import Regress, replay_of
from .segment_view import SegmentView

CODES = (
    Code("P10", WARNING, "a producer writes outside its open transaction", NONE, REFUSES, ignored=True),
    Code(
        "P11", WARNING, "a control batch cannot be understood", NONE, REFUSES, ignored=True, explains=("I21",)
    ),
    Code("P12", WARNING, "a producer epoch or a coordinator epoch goes back", WRONG, ignored=True),
)
PAGE = Page(
    meaning="""
        A leader would have refused such a batch, so it was written by a broken one, by a tool, or its
        neighbours were removed. Its CRC is right.""",
    broker="""
        Nothing after a clean stop. A recovery or replay dies of P10 ("Expected transactional write from
        producer 9 at offset ...") and of P11 ("Invalid control record type for end transaction
        markerUNKNOWN"), and only warns of P12 ("Epoch of producer ... at offset ... in ... is ..., which is
        smaller than the last seen epoch ...").""",
    advice="""
        P10: find out whether the transaction's marker is missing (P09). P11: take the batch from another
        replica. P12: nothing.""",
    kafka="ProducerAppendInfo, ControlRecordType, InvalidTxnStateException.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.DEFAULT

_CODE_OF = {
    "transaction-state": "P10",
    "control-record": "P11",
    "producer-epoch-backwards": "P12",
    "coordinator-epoch-backwards": "P12",
}
_WORDS = {
    "transaction-state": "producer {producer_id} writes outside its transaction, open since {first_offset}",
    "control-record": "the control record is unreadable or of an unknown type",
    "producer-epoch-backwards": "producer {producer_id} goes back from epoch {last} to {epoch}",
    "coordinator-epoch-backwards": "producer {producer_id}: coordinator epoch back from {last} to {epoch}",
}


def run(_partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """Inside each segment by its scan, from segment to segment by the replay."""
    for view, scan in zip(context.views, context.scans, strict=False):
        if scan is not None:
            for problem in first(problems(scan, *_CODE_OF)):
                yield _in_segment(context, view, problem)
    for regress in first(replay_of(context).regresses):
        yield _between(context, regress)


class _Facts(dict[str, int | str]):
    """What a problem says; a word stands for what it does not."""

    def __missing__(self, key: str) -> str:
        return "..."


def _says(context: PartitionContext, code: str, producer: int | str, offset: int | str | None) -> str | None:
    if code == "P10":
        return OUT_OF_TRANSACTION.say(context.release, producer, offset)
    if code == "P11":
        return UNKNOWN_MARKER.say(context.release)
    values = {"partition": context.partition.name, "epoch": "...", "last": "..."}
    return OLD_EPOCH.say(context.release, producer=producer, offset=offset, **values)


def _in_segment(context: PartitionContext, view: SegmentView, problem: Problem) -> Finding:
    code, facts = _CODE_OF[problem.kind], _Facts(problem.facts)
    return context.finding(
        code,
        _WORDS[problem.kind].format_map(facts),
        Where(view.segment.name, position=problem.position, offset=problem.offset),
        broker_says=_says(context, code, facts["producer_id"], problem.offset),
        remedy=_remedy(context, view, code, problem.position),
        detail=dict(facts),
    )


def _remedy(context: PartitionContext, view: SegmentView, code: str, position: int) -> Remedy:
    """Below `--deep` the checksum may be wrong, too: then such a batch is had as any damaged one."""
    if code == "P12":
        return context.look(view.segment.name)
    return context.graft() if is_sound(view, position) else context.good_batches()


def _between(context: PartitionContext, regress: Regress) -> Finding:
    facts = _Facts(producer_id=regress.producer_id, first_offset=regress.before)
    name = regress.view.segment.name
    if regress.what == "transaction":
        return context.finding(
            "P10",
            _WORDS["transaction-state"].format_map(facts),
            Where(name, offset=regress.after),
            broker_says=_says(context, "P10", regress.producer_id, regress.after),
            remedy=context.graft(),
            producer_id=regress.producer_id,
        )
    return context.finding(
        "P12",
        f"producer {regress.producer_id}: {regress.what} goes back from {regress.before} to {regress.after}",
        Where(name),
        broker_says=_says(context, "P12", regress.producer_id, "..."),
        remedy=context.look(name),
        producer_id=regress.producer_id,
    )
