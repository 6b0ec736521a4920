"""A batch has a right CRC and yet cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.serving import RECORD_STRUCTURE, UNKNOWN_CODEC, WRONG_COUNT
from segmend.findings import Finding, Where
from segmend.kernel.types import Problem

from .context import PartitionContext
from .evidence import first, problems
from .manual import ERROR, WRONG, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("L18", ERROR, "the attributes name a compression codec that does not exist", WRONG, ignored=True),
    Code("L19", ERROR, "the compressed records cannot be decompressed", WRONG, ignored=True),
    Code("L20", ERROR, "the records do not fit the header: their number, lengths or offsets are wrong", WRONG,
         ignored=True),
)  # fmt: skip
PAGE = Page(
    meaning="""
        The bytes are those that were written: the fault was there before the CRC was made. A client wrote it,
        or a broker's cleaner rebuilt a damaged batch with a fresh CRC over the damage.""",
    broker="""
        Nothing, in no kind of start. Consumers fail on the offset and cannot get past it ("Unknown
        compression type id: 7", "Incorrect declared batch size, records still remaining in file"); the
        cleaner marks the partition as uncleanable; a coordinator cannot load an internal topic.""",
    advice="""
        Look for a sound copy on another replica. Otherwise `segmend plan repair DIR --blank` makes the batch
        an empty one: its offsets stay, its records are gone. Consumers can also be moved past it by hand.""",
    kafka="CompressionType.forId, DefaultRecordBatch.iterator, LogCleaner.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT
OF_PROBLEMS = True

_CODE_OF = {
    "bad-codec": "L18",
    "undecodable": "L19",
    "record-structure": "L20",
    "count-mismatch": "L20",
    "header-field": "L20",
}
_WORDS = {
    "bad-codec": "the compression codec {codec} does not exist",
    "undecodable": "the compressed records cannot be decompressed",
    "record-structure": "a record's lengths or offset do not fit the batch",
    "count-mismatch": "the header declares another number of records than there are",
    "header-field": "the header has a negative number of records or last offset delta",
}
_BROKER_SAYS = {
    "bad-codec": UNKNOWN_CODEC,
    "record-structure": RECORD_STRUCTURE,
    "count-mismatch": WRONG_COUNT,
}


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    for problem in first(problems(view.scan, *_CODE_OF)):
        yield _finding(view, context, problem)


def _finding(view: SegmentView, context: PartitionContext, problem: Problem) -> Finding:
    facts = problem.facts
    words = _BROKER_SAYS.get(problem.kind)
    told = ", ".join(f"{name} {value}" for name, value in problem.detail)
    message = _WORDS[problem.kind].format_map({"codec": "?", **facts})
    return context.finding(
        _CODE_OF[problem.kind],
        f"{message} ({told})" if told else message,
        Where(view.segment.name, position=problem.position, offset=problem.offset),
        broker_says=words and words.format(facts.get("codec", "?")),
        remedy=context.good_batches(),
        detail=facts,
    )
