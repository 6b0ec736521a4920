"""A file in a partition directory whose name the broker misreads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from segmend.broker.failures import NUMBER_FORMAT
from segmend.broker.recovery import BY_LISTING, FROM_SWAP, LISTED_BY_PATH, NO_INDEX
from segmend.findings import Finding, Safety, Severity, Where
from segmend.formats.java_number import parse_long
from segmend.formats.names import SEGMENT_SUFFIXES, file_prefix, is_found, parse_file_name
from segmend.logdir.layout import UNFINISHED
from segmend.logdir.partition_dir import PartitionDir

from . import remedies
from .compaction_leftovers import is_finished
from .context import PartitionContext
from .manual import ERROR, INFO, LOSES, NONE, REFUSES, WARNING, WRONG, Code, Level, Page, Scope
from .text_directory import is_text

CODES = (
    Code("N03", ERROR, "a segment file without a number in its name: the broker does not start", REFUSES,
         fatal=True),
    Code("N04", ERROR,
         "an offset that is not written with 20 digits: the file is shadowed by an empty segment", LOSES),
    Code("N22", INFO, "a file or directory that is not Kafka's, or half of one that segmend wrote: ignored",
         NONE, ignored=True, explains_beside=("P03",)),
    Code("N26", WARNING, "an unpadded copy beside the real segment: never read", LOSES, ignored=True),
    Code("N31", WARNING, "two producer snapshots of one offset: the order of listing decides", WRONG),
)  # fmt: skip
PAGE = Page(
    meaning="""
        A broker takes the number before the first dot for the base offset. `foo.log` has none. `688.log` has
        one, but the broker then opens 00000000000000000688.log, which it creates empty; the real bytes are
        never read. So it does for `688.log.swap`, and the empty one takes the place of the segment 688.""",
    own={
        "N03": "NumberFormatException, the broker does not start.",
        "N04": """
            the log end offset jumps to the name's number and new records go into the empty segment.""",
        "N31": """
            it reads one of the two, and which hangs on the order in which the file system lists them: another
            one after a copy of the directory.""",
        "N22, N26": "nothing; a topic's deletion removes them too.",
    },
    advice="""
        N03: move the file out. N04: if its first batch has the offset in the name, rename it to 20 digits;
        otherwise move it out. N31: move the one out that is not called by 20 digits.""",
    kafka="""
        LogFileUtils.offsetFromFileName, LogLoader.loadSegmentFiles, LogFileUtils.logFile,
        ProducerStateManager.loadSnapshots.""",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP

HALF: Final = (
    "half of a file that segmend was stopped in: the same command goes on (`segmend journal list` names it); "
    "if its journal is gone, it is no more than an unfinished copy; brokers ignore it"
)

# Left by tiered storage's metadata manager in 3.0 to 3.7; unused, not foreign.
_UNUSED = frozenset({"remote_log_snapshot"})
# A directory called like one of these is I23; N30 has the others.


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """Every name the layout sets apart."""
    names = partition.layout
    for name in sorted(names.unparsable):
        if not name.endswith(".snapshot"):
            yield _unparsable(name, context)
    for base, name in sorted(names.shadowed):
        yield _shadowed(base, name, context)
    for name in sorted(names.swap):
        at = parse_file_name(name).base_offset
        if at is not None and name.endswith(".log.swap") and name != f"{file_prefix(at)}.log.swap":
            yield from _shadowed_swap(at, name, context)
    known = {base: f"{file_prefix(base)}.snapshot" for base in names.snapshots}
    for base, name in sorted((base, name) for base, name in names.unpadded if name.endswith(".snapshot")):
        if base in known:
            words = BY_LISTING.format(f"{known[base]} and {name}")
            yield context.finding("N31", words, Where(name, offset=base), remedy=context.set_aside(name))
        known.setdefault(base, name)
    if _is_ours(partition):
        yield from _foreign(partition, context)
    for name in (name for name in names.temporary if name.endswith(UNFINISHED)):
        remedy = context.set_aside(name)
        yield context.finding("N22", HALF, Where(name), remedy=remedy, severity=Severity.WARNING)


def _is_ours(partition: PartitionDir) -> bool:
    names = partition.layout
    return bool(names.logs or names.known)


def _unparsable(name: str, context: PartitionContext) -> Finding:
    stem = name.partition(".")[0]
    return context.finding(
        "N03",
        f"the name of {name} has no offset in it",
        Where(name),
        broker_says=NUMBER_FORMAT.format(stem),
        remedy=context.set_aside(name),
    )


def _shadowed(base: int, name: str, context: PartitionContext) -> Finding:
    padded = f"{file_prefix(base)}.log"
    if base in context.partition.layout.logs:
        message = f"{name} is never read: {padded} is there too"
        return context.finding("N26", message, Where(name), remedy=context.set_aside(name))
    folder = context.partition.name
    return context.finding(
        "N04",
        f"{name} is never read: the broker creates and uses an empty {padded}",
        Where(name, offset=base),
        broker_says=NO_INDEX.say(context.release, f"{context.partition.path}/{padded}"),
        remedy=remedies.rename(context.dir.path, f"{folder}/{name}", f"{folder}/{padded}")
        if _first_offset(context, name) == base
        else context.set_aside(name, safety=Safety.ADVICE),
    )


def _shadowed_swap(base: int, name: str, context: PartitionContext) -> Iterator[Finding]:
    padded, folder = f"{file_prefix(base)}.log", context.partition.name
    if not is_finished(context.partition.layout, base):
        return
    needed = base not in context.partition.layout.logs and _first_offset(context, name) == base
    yield context.finding(
        "N04",
        f"{name} is never read: the broker puts an empty {padded} there, also in the place of a real one",
        Where(name, offset=base),
        broker_says=FROM_SWAP.say(context.release, f"{context.partition.path}/{name}"),
        remedy=remedies.rename(context.dir.path, f"{folder}/{name}", f"{folder}/{padded}")
        if needed
        else context.set_aside(name),
    )


def _first_offset(context: PartitionContext, name: str) -> int:
    with context.partition.entry(name).reader() as reader:
        data = reader.read(8, 0)
    return int.from_bytes(data, "big", signed=True) if len(data) == 8 else -1


def _foreign(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    names = partition.layout
    others = [name for name in names.foreign if name not in _UNUSED]
    folders = [name for name in names.directories if not (name.endswith(SEGMENT_SUFFIXES) or is_text(name))]
    for name in sorted(others + folders):
        unfound = _unfound(name, context)
        if unfound is not None:
            yield unfound
        elif name in others or not name.endswith(".snapshot"):  # else I23
            yield context.finding("N22", f"{name} is not Kafka's; brokers ignore it", Where(name))


def _unfound(name: str, context: PartitionContext) -> Finding | None:
    """Of a snapshot that is listed by its path, under which Java finds nothing."""
    if is_found(name) or not name.endswith(".snapshot") or not LISTED_BY_PATH.of(context.release):
        return None
    offset = parse_long(name.partition(".")[0])
    words = f"{name} is listed as a producer snapshot, and Java finds nothing under a name that is no UTF-8"
    if offset is None:
        return None
    where, remedy = Where(name, offset=offset), context.set_aside(name)
    if offset in context.partition.layout.snapshots:
        words = BY_LISTING.format(f"{file_prefix(offset)}.snapshot and {name}")
        return context.finding("N31", f"{words}; Java finds nothing under that name", where, remedy=remedy)
    return context.finding("N22", words, where, remedy=remedy)
