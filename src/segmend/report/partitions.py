"""A broker's disks on one page: identity, partitions, totals."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict

from segmend.frozen import frozen
from segmend.logdir.overview import DirOverview, PartitionOverview, Space
from segmend.report import text
from segmend.report.style import PLAIN, Style
from segmend.report.table import Column, columns, table
from segmend.wording import plural

_UNKNOWN = -(2**63)


def _known(value: int | None) -> int:
    return _UNKNOWN if value is None else value


def _lag(row: PartitionOverview) -> int:
    """Offsets between high watermark and log end."""
    if row.high_watermark is None or row.log_end_offset is None:
        return _UNKNOWN
    return row.log_end_offset - row.high_watermark


SORTS: dict[str, Callable[[PartitionOverview], int]] = {
    "size": lambda row: row.size,
    "allocated": lambda row: row.allocated,
    "segments": lambda row: row.segments,
    "start": lambda row: _known(row.log_start_offset),
    "leo": lambda row: _known(row.log_end_offset),
    "hw": lambda row: _known(row.high_watermark),
    "lag": _lag,
    "oldest": lambda row: -row.oldest_timestamp,
    "newest": lambda row: row.newest_timestamp,
}
"""Orders of the table beside `topic`; the largest, youngest or (oldest) oldest come first."""


@frozen
class Choice:
    """Which partitions are shown, and in which order."""

    topic: str | None = None
    partition: int | None = None
    sort: str = "topic"
    reverse: bool = False
    top: int | None = None

    def wants(self, topic: str, partition: int) -> bool:
        """Whether topic glob and number fit."""
        return (self.topic is None or fnmatch.fnmatchcase(topic, self.topic)) and (
            self.partition is None or self.partition == partition
        )

    def order(self, rows: Sequence[PartitionOverview]) -> list[PartitionOverview]:
        """The rows in order, cut to the top."""
        ordered = list(rows)
        if self.sort in SORTS:
            ordered.sort(key=SORTS[self.sort], reverse=True)
        if self.reverse:
            ordered.reverse()
        return ordered if self.top is None else ordered[: self.top]


@frozen
class Disks:
    """Everything the page says."""

    dirs: Sequence[DirOverview]
    partitions: Sequence[PartitionOverview]
    release: str
    release_reason: str


def json_rows(disks: Disks, choice: Choice) -> Iterator[dict[str, object]]:
    for each in disks.dirs:
        space = each.space
        yield {
            "type": "dir",
            **{k: v for k, v in asdict(each).items() if k != "space"},
            "space": None if space is None else asdict(space),
            **_totals(disks, each.dir),
        }
    for row in choice.order(disks.partitions):
        yield {"type": "partition", **asdict(row)}
    yield {
        "type": "summary",
        "kafka": disks.release,
        "kafka_reason": disks.release_reason,
        **_totals(disks, None),
    }


def _totals(disks: Disks, dir: str | None) -> dict[str, int]:
    rows = [row for row in disks.partitions if dir is None or row.dir == dir]
    return {
        "partitions": len(rows),
        "segments": sum(row.segments for row in rows),
        "size": sum(row.size for row in rows),
        "allocated": sum(row.allocated for row in rows),
    }


def lines(disks: Disks, choice: Choice, style: Style = PLAIN) -> Iterator[str]:
    yield from _heading(disks, style)
    yield ""
    rows = choice.order(disks.partitions)
    if rows:
        yield from _partitions(disks, rows, style)
        yield ""
    hidden = len(disks.partitions) - len(rows)
    if hidden:
        yield style("dim", f"… and {plural(hidden, 'more partition')}")
    yield from _dir_totals(disks, style)


def _heading(disks: Disks, style: Style) -> Iterator[str]:
    nodes = sorted({str(d.node_id) for d in disks.dirs if d.node_id is not None})
    clusters = sorted({d.cluster_id for d in disks.dirs if d.cluster_id})
    parts = [
        style("bold", f"broker {text.clean(', '.join(nodes)) or '?'}"),
        f"cluster {text.clean(', '.join(clusters))}" if clusters else "",
        f"Kafka {disks.release}",
    ]
    yield "  ".join(filter(None, parts)) + style("dim", f"  ({disks.release_reason})")
    for each in disks.dirs:
        yield "  ".join(filter(None, _state(each, style)))


def _state(each: DirOverview, style: Style) -> Iterator[str]:
    yield style("bold", text.clean(each.dir))
    yield style("dim", f"directory.id {text.clean(each.directory_id)}") if each.directory_id else ""
    if each.broker_running:
        yield style("green", "a broker is running here")
    elif each.clean_shutdown:
        yield style("green", "stopped cleanly")
    else:
        yield style("yellow", "not stopped cleanly: the next start recovers")
    if each.broker_running is None:
        yield style("yellow", "whether a broker runs cannot be told")
    for name in each.foreign:
        yield style("red", f"'{text.clean(name)}' is no partition: a broker refuses to start")
    for name in each.not_found:
        yield style("yellow", f"'{text.clean(name)}' is no UTF-8: a broker finds nothing there")


_COLUMNS = columns(
    "PARTITION", ">SIZE", ">SEGS", ">START", ">LEO", ">HW", ">RECOVERED", ">EPOCH", "OLDEST (UTC)",
    "NEWEST (UTC)", "FLAGS", dim=("OLDEST (UTC)", "NEWEST (UTC)"),
)  # fmt: skip
_FLAG_STYLES = {
    **dict.fromkeys(("unparsable", "shadowed", "unreadable", "damaged", "LEO<start"), "red"),
    **dict.fromkeys(("future", "delete", "stray", "orphans", "swap", "cleaned", "HW>LEO", "tail?"), "yellow"),
}


def _partitions(disks: Disks, rows: Sequence[PartitionOverview], style: Style) -> Iterator[str]:
    several = len(disks.dirs) > 1
    columns = (*_COLUMNS[:1], Column("DIR", style="dim"), *_COLUMNS[1:]) if several else _COLUMNS
    # The last part of each path, or the whole path where that is not unique.
    last = {each: each.rstrip("/").rpartition("/")[2] for each in (place.dir for place in disks.dirs)}
    unique = len(set(last.values())) == len(last)
    short = {each: text.clean(name if unique else each) for each, name in last.items()}
    cells = (_cells(row, style, short[row.dir] if several else None) for row in rows)
    yield from table(columns, cells, style)


def _cells(row: PartitionOverview, style: Style, dir: str | None) -> list[str]:
    return [
        f"{text.clean(row.topic)}-{row.partition}",
        *([] if dir is None else [dir]),
        text.size(row.size),
        str(row.segments),
        text.number(row.log_start_offset),
        text.number(row.log_end_offset),
        text.number(row.high_watermark),
        text.number(row.recovery_point),
        text.number(row.leader_epoch),
        text.when(row.oldest_timestamp),
        text.when(row.newest_timestamp),
        " ".join(style(_FLAG_STYLES.get(flag, "dim"), flag) for flag in row.flags),
    ]


def _foreign_files(sizes: Mapping[str, int]) -> str:
    largest = sorted(sizes, key=lambda name: -sizes[name])
    names = ", ".join(map(text.clean, largest[:3])) + (", ..." if len(sizes) > 3 else "")
    return (
        f"{text.size(sum(sizes.values()))} in {plural(len(sizes), 'file')} that Kafka did not make ({names})"
    )


def _space(space: Space) -> str:
    """Free space; the share in use counts as `df` does, without what is kept for root."""
    used = space.total - space.free
    share = 100 * used / (used + space.available) if used + space.available else 0
    return f"{text.size(space.available)} free of {text.size(space.total)} ({share:.0f} % used)"


def _dir_totals(disks: Disks, style: Style) -> Iterator[str]:
    for each in disks.dirs:
        totals = _totals(disks, each.dir)
        words = [
            plural(totals["partitions"], "partition"),
            plural(totals["segments"], "segment"),
            f"{text.size(totals['size'])} of logs",
            f"{text.size(totals['allocated'])} on disk",
        ]
        if each.foreign_files:
            words.append(style("yellow", _foreign_files(each.foreign_files)))
        if each.space is not None:
            words.append(_space(each.space))
            if each.space.read_only:
                words.append(style("yellow", "mounted read-only"))
        yield f"{style('bold', text.clean(each.dir))}: {', '.join(words)}"
    shared = {d.device for d in disks.dirs if d.device is not None}
    if len(disks.dirs) > 1 and len(shared) == 1:
        yield style("dim", "all dirs lie on one file system; its free space is counted once")
