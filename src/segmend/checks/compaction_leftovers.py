"""Files that a compaction, a split or a deletion left half-way."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import CONDEMNED_SWAP, FROM_SWAP, SWAP_FILE_RENAMED
from segmend.findings import Finding, Severity, Where
from segmend.formats.names import file_prefix, parse_file_name
from segmend.logdir.layout import Layout
from segmend.logdir.partition_dir import PartitionDir

from .context import PartitionContext
from .manual import INFO, NONE, WARNING, WRONG, Code, Level, Page, Scope

CODES = (
    Code("N12", INFO, "`.deleted` files: removed by the next start", NONE),
    Code("N13", INFO, "`.cleaned` files: removed by the next start, with any `.swap` at or above them", NONE,
         explains_beside=("N08",)),
    Code("N14", INFO, "a finished `.swap`: the next start puts it in the place of the segments it covers",
         NONE, explains=("I22", "I01", "N16")),
    Code("N16", WARNING, "an index `.swap` without its `.log.swap`: put over the real index", WRONG),
)  # fmt: skip
PAGE = Page(
    meaning="""
        The log cleaner writes its output to `.cleaned`, renames it to `.swap` when it is complete, and then
        replaces the originals. A `.deleted` file is a segment that was to vanish after a minute.""",
    broker="It finishes or undoes the work.",
    own={
        "N12": "it deletes them.",
        "N13": """
            it deletes them, and each `.swap` whose base offset is at or above the lowest of them; if the
            originals of such a `.swap` are gone already, its records are lost.""",
        "N14": "it renames it and deletes the originals inside its range.",
        "N16": "it believes it without looking at it.",
    },
    advice="""
        N12, N14: nothing; copy `.deleted` files away first if records are missed. N13 as a warning: save the
        `.swap` files before the broker starts. N16: move the file out.""",
    kafka="""
        LogLoader.removeTempFilesAndCollectSwapFiles and load, since 3.0; before, Log.scala recovered each
        swap segment.""",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """One finding a kind of left-over, since they come in sets."""
    if context.running:
        return
    names = partition.layout
    if names.deleted and partition.kind != "cluster-metadata":
        message = f"{len(names.deleted)} files marked for deletion; the next start removes them"
        yield context.finding("N12", message, Where(min(names.deleted)))
    cleaned = {_base(name) for name in names.cleaned}
    swaps = {_base(name) for name in names.swap if name.endswith(".log.swap")}
    if cleaned:
        yield _cleaned(context, min(cleaned), swaps)
    yield from (_swap(context, base) for base in finished_swaps(names))
    for name in sorted(names.swap):
        if _base(name) not in swaps:
            message = f"{name} will be put over the real index although its .log.swap is not there"
            says = SWAP_FILE_RENAMED.say(context.release, name)
            yield context.finding(
                "N16", message, Where(name), broker_says=says, remedy=context.set_aside(name)
            )


def finished_swaps(names: Layout) -> list[int]:
    """The base offsets of the compactions that the next start finishes."""
    named = (name for name in names.swap if name.endswith(".log.swap") and parse_file_name(name).padded)
    return [base for base in sorted(map(_base, named)) if is_finished(names, base)]


def is_finished(names: Layout, base: int) -> bool:
    """Whether the next start completes a `.swap`: those below each `.cleaned`."""
    return all(base < _base(name) for name in names.cleaned)


def _base(name: str) -> int:
    offset = parse_file_name(name).base_offset
    return -1 if offset is None else offset


def _cleaned(context: PartitionContext, lowest: int, swaps: set[int]) -> Finding:
    names = context.partition.layout
    first = min(names.cleaned)
    doomed = sorted(base for base in swaps if base >= lowest and base not in names.logs)
    if not doomed:
        message = f"{len(names.cleaned)} files of an unfinished compaction; the next start removes them"
        return context.finding("N13", message, Where(first))
    swap = f"{file_prefix(doomed[0])}.log.swap"
    return context.finding(
        "N13",
        f"the next start deletes the .swap of segment {doomed[0]} because of {first}; its original is gone",
        Where(first, offset=doomed[0]),
        severity=Severity.ERROR,
        broker_says=CONDEMNED_SWAP.say(context.release, f"{context.partition.path}/{swap}", lowest),
        remedy=context.set_aside(*sorted(names.cleaned)),
    )


def _swap(context: PartitionContext, base: int) -> Finding:
    name = f"{file_prefix(base)}.log.swap"
    return context.finding(
        "N14",
        "the next start replaces the segments that this finished compaction covers",
        Where(name, offset=base),
        broker_says=FROM_SWAP.say(context.release, f"{context.partition.path}/{name}"),
    )
