"""An index has, or needs, more entries than `segment.index.bytes` has room for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from segmend.broker.index_room import OF_BROKER, OF_TOPIC, IndexRoom, known_room, outgrown
from segmend.broker.sanity import TIME_INDEX
from segmend.findings import Finding, Remedy, Severity, Where
from segmend.formats import offset_index, time_index
from segmend.formats.config_values import integer
from segmend.logdir.config import DEFAULTS
from segmend.logdir.files import FileEntry
from segmend.logdir.index_file import last_entry

from . import remedies
from .context import PartitionContext
from .manual import ERROR, REFUSES, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (Code("I26", ERROR, "an index has more entries than `segment.index.bytes` has room for", REFUSES),)
PAGE = Page(
    meaning="""
        A broker rolls a segment before its indexes are full. They are too long where somebody has made
        `segment.index.bytes` or `log.index.size.max.bytes` smaller since, or something was appended to one.
        A running broker does not mind; the next start does.""",
    broker="""
        It gives the active segment's indexes that length again, and dies if their entries do not fit
        ("newPosition > limit"); it cuts off what is too long before it dies. A segment that it recovers gets
        its indexes anew, and it dies when one is full ("Attempt to append to a full ...").""",
    advice="""
        Set it back to what it was, or higher, and start. A topic's own setting can be changed while other
        nodes run (`kafka-configs.sh --alter`). Zeros at its end `plan repair` takes off.""",
    kafka="AbstractIndex.resize, OffsetIndex.append, TimeIndex.maybeAppend, LogSegment.resizeIndexes.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.STARTUP


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """By the lengths alone; what a recovery really writes into indexes the start tells."""
    if context.partition.kind in ("delete", "cluster-metadata"):
        return
    recovered = context.dir.recovers(context.partition, view.base_offset)
    if not (recovered or view.is_active):
        return
    topic = _topic(context)
    longest = known_room(context.broker_dirs.given, topic)
    if recovered:
        room = IndexRoom(release=context.release, longest=longest, path="")
        most = view.size // (_interval(context, topic) + 1)
        if not room.surely_has(most):
            words = f"up to {most:,} entries are to be made, and there is room for {longest:,} bytes"
            yield _finding(view, context, "timeindex", words, Severity.INFO)
    else:
        for kind, entry_size in (("index", offset_index.ENTRY_SIZE), ("timeindex", time_index.ENTRY_SIZE)):
            entry = _file(view, kind, context)
            if entry is not None and outgrown(entry.known_size, entry_size, longest):
                last = last_entry(entry, entry_size)
                used = 0 if last is None else (last.row + 1) * entry_size
                words = f"it has {entry.known_size:,} bytes, and may have {longest:,}"
                zeros = outgrown(used, entry_size, longest) is None
                yield _finding(view, context, kind, words, Severity.ERROR, zeros=zeros)


def _topic(context: PartitionContext) -> Mapping[str, str]:
    image = context.broker_dirs.image
    return {} if image is None else image.configs.get(context.partition.topic, {})


def _interval(context: PartitionContext, topic: Mapping[str, str]) -> int:
    own = integer(topic.get("index.interval.bytes"))
    return context.broker_dirs.config.number("log.index.interval.bytes") if own is None else own


def _file(view: SegmentView, kind: str, context: PartitionContext) -> FileEntry | None:
    if kind == "timeindex" and not TIME_INDEX.of(context.release):
        return None
    return view.segment.index if kind == "index" else view.segment.timeindex


def _finding(
    view: SegmentView,
    context: PartitionContext,
    kind: str,
    words: str,
    severity: Severity,
    *,
    zeros: bool = False,
) -> Finding:
    """`zeros`: without those at its end it has room."""
    return context.finding(
        "I26",
        words,
        Where(view.named(kind)),
        remedy=context.repair() if zeros else _setting(context),
        severity=severity,
        zeros=zeros,
    )


def _setting(context: PartitionContext) -> Remedy:
    if OF_TOPIC in _topic(context):
        return remedies.unset(context.partition.topic, OF_TOPIC)
    return remedies.advice(f"{OF_BROKER}={DEFAULTS[OF_BROKER]} in server.properties")
