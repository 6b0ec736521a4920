"""One partition directory on one page: its offsets, its segments, its other files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from segmend.frozen import frozen
from segmend.logdir.overview import PartitionOverview, SegmentOverview
from segmend.report import text
from segmend.report.style import PLAIN, Style
from segmend.report.table import columns, table
from segmend.wording import plural


@frozen
class OtherFile:
    """A file of the partition that belongs to no segment; size in bytes, None if unreadable."""

    name: str
    size: int | None
    meaning: str


@frozen
class Partition:
    """Everything the page says; `epochs` are (epoch, start offset)."""

    overview: PartitionOverview
    segments: Sequence[SegmentOverview]
    others: Sequence[OtherFile]
    epochs: Sequence[tuple[int, int]]


def json_rows(partition: Partition) -> Iterator[dict[str, object]]:
    epochs = [{"epoch": epoch, "start_offset": start} for epoch, start in partition.epochs]
    yield {"type": "partition", **asdict(partition.overview), "leader_epochs": epochs}
    for segment in partition.segments:
        yield {"type": "segment", **asdict(segment)}
    for other in partition.others:
        yield {"type": "file", **asdict(other)}


def lines(partition: Partition, style: Style = PLAIN) -> Iterator[str]:
    yield from _heading(partition, style)
    yield ""
    if partition.segments:
        yield from table(_SEGMENTS, (_cells(s, style) for s in partition.segments), style)
    else:
        yield "no segments"
    if partition.others:
        yield ""
        cells = ([text.clean(f.name), _size(f.size), f.meaning] for f in partition.others)
        yield from table(_OTHERS, cells, style)


def _heading(partition: Partition, style: Style) -> Iterator[str]:
    row = partition.overview
    title = style("bold", f"{text.clean(row.topic)}-{row.partition}")
    kind = "" if row.kind == "current" else style("yellow", row.kind)
    topic_id = style("dim", f"topic id {text.clean(row.topic_id)}") if row.topic_id else ""
    yield "  ".join(filter(None, (title, kind, topic_id, style("dim", text.clean(row.dir)))))
    yield (
        f"log start {text.number(row.log_start_offset)}, log end {text.number(row.log_end_offset)}, "
        f"high watermark {text.number(row.high_watermark)}, recovery point {text.number(row.recovery_point)}"
        + ("" if row.first_dirty_offset is None else f", cleaned up to {row.first_dirty_offset}")
    )
    segments = plural(row.segments, "segment")
    yield f"{text.size(row.size)} in {segments}, {text.size(row.allocated)} on disk"
    if partition.epochs:
        shown = ", ".join(f"{epoch} from {start}" for epoch, start in partition.epochs[-8:])
        more = "… " if len(partition.epochs) > 8 else ""
        yield f"leader epochs {more}{shown}"


_SEGMENTS = columns(
    ">BASE OFFSET", ">NEXT", ">LOG", ">INDEX", ">TIMEINDEX", ">TXNINDEX", "OLDEST (UTC)", "NEWEST (UTC)",
    "MODIFIED (UTC)", "FLAGS", dim=("INDEX", "TIMEINDEX", "TXNINDEX", "MODIFIED (UTC)"),
)  # fmt: skip
_OTHERS = columns("FILE", ">SIZE", "MEANING", dim=("MEANING",))


def _cells(segment: SegmentOverview, style: Style) -> list[str]:
    return [
        str(segment.base_offset),
        text.number(segment.next_offset),
        _size(segment.size),
        _size(segment.index_size),
        _size(segment.timeindex_size),
        _size(segment.txnindex_size),
        text.when(segment.oldest_timestamp),
        text.when(segment.newest_timestamp),
        text.when(segment.modified),
        " ".join(style("dim" if f == "active" else "yellow", f) for f in segment.flags),
    ]


def _size(size: int | None) -> str:
    return "-" if size is None else text.size(size)
