"""What the segments are made of: codecs, record formats, sizes. All of it counted in Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from segmend.formats.batch import CODEC_NAMES
from segmend.frozen import frozen
from segmend.wording import plural

from .columns import Tables, folded, number, parts
from .units import count, percent, share, size

_NOTHING: Final = "no batches"
_SEVERAL: Final = "several in one segment"
_MIB: Final = 1 << 20
_SIZES: Final = (
    ("empty", 0, 1),
    ("< 1 MiB", 1, _MIB),
    ("1–16 MiB", _MIB, 16 * _MIB),
    ("16–128 MiB", 16 * _MIB, 128 * _MIB),
    ("128–512 MiB", 128 * _MIB, 512 * _MIB),
    ("512 MiB–1 GiB", 512 * _MIB, 1024 * _MIB),
    ("> 1 GiB", 1024 * _MIB, 1 << 62),
)


@frozen
class SegmentShare:
    """One kind of segment: how many, how many bytes, how much of all."""

    name: str
    css: str
    segments: int
    bytes: int
    width: float
    share: str
    tip: str


@frozen
class SegmentsSection:
    total: int
    codecs: tuple[SegmentShare, ...]
    magics: tuple[SegmentShare, ...]
    sizes: tuple[SegmentShare, ...]


def segments(tables: Tables) -> SegmentsSection:
    """Groups `segments` by the codecs and the magics they hold, and by size."""
    codecs, magics, sizes = _Counts(), _Counts(), _Counts()
    for part in parts(tables, "segments", ["log_bytes", "codecs", "magics"]):
        codecs.add(_grouped(part, "codecs"))
        magics.add((_format(name), times, size_) for name, times, size_ in _grouped(part, "magics"))
        sizes.add(_by_size(part["log_bytes"]))
    total = sum(times for times, _ in sizes.found.values())
    if not total:
        return SegmentsSection(total=0, codecs=(), magics=(), sizes=())
    return SegmentsSection(
        total=total,
        codecs=_shares(codecs.found, _codec_css),
        magics=_shares(magics.found, _magic_css),
        sizes=_sizes(sizes.found),
    )


class _Counts:
    """Segments and bytes by kind, added up over parts of the table."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[int, int]] = {}

    def add(self, counted: Iterable[tuple[str, int, int]]) -> None:
        """(kind, segments, bytes)."""
        for name, times, size_ in counted:
            before = self.found.get(name, (0, 0))
            self.found[name] = before[0] + times, before[1] + size_


def _grouped(table: pa.Table, column: str) -> Iterator[tuple[str, int, int]]:
    """Segments and bytes by what the list column holds; segments that hold more than one kind go together."""
    values = table[column]
    if pa.types.is_null(values.type):
        return
    texts = values.combine_chunks().cast(pa.list_(pa.string()))
    alone = pc.less_equal(pc.fill_null(pc.list_value_length(texts), 0), 1)
    joined = pc.if_else(alone, pc.fill_null(pc.binary_join(texts, ""), ""), _SEVERAL)
    plain = pa.table({"name": joined, "log_bytes": table["log_bytes"]})
    for row in folded([plain], ["name"], {"log_bytes": "sum"}).to_pylist():
        yield row["name"] or _NOTHING, row["rows"], number(row["log_bytes"])


def _format(magics: str) -> str:
    return magics if magics in (_NOTHING, _SEVERAL) else f"magic {magics}"


def _codec_css(name: str) -> str:
    return f"codec-{name}" if name in CODEC_NAMES else "codec-empty" if name == _NOTHING else "codec-mixed"


def _magic_css(name: str) -> str:
    if name.startswith("magic"):
        return f"magic-{name[-1]}"
    return "codec-empty" if name == _NOTHING else "codec-mixed"


def _shares(groups: Mapping[str, tuple[int, int]], css: Callable[[str], str]) -> tuple[SegmentShare, ...]:
    whole = sum(bytes_ for _, bytes_ in groups.values())
    ordered = sorted(groups.items(), key=lambda item: (-item[1][1], item[0]))
    return tuple(
        SegmentShare(
            name=name,
            css=css(name),
            segments=segments_,
            bytes=bytes_,
            width=percent(bytes_, whole),
            share=share(bytes_, whole),
            tip=f"{name}\n{plural(segments_, 'segment')} · {size(bytes_)} · {share(bytes_, whole)} of bytes",
        )
        for name, (segments_, bytes_) in ordered
    )


def _by_size(log_bytes: pa.ChunkedArray) -> Iterator[tuple[str, int, int]]:
    column = pc.fill_null(log_bytes.cast(pa.int64()), 0)
    for name, low, high in _SIZES:
        inside = pc.filter(column, pc.and_(pc.greater_equal(column, low), pc.less(column, high)))
        yield name, len(inside), number(pc.sum(inside).as_py())


def _sizes(counted: Mapping[str, tuple[int, int]]) -> tuple[SegmentShare, ...]:
    """The histogram; every class is there, for an empty one says something too."""
    most = max(times for times, _ in counted.values())
    return tuple(
        SegmentShare(
            name=name,
            css="",
            segments=times,
            bytes=bytes_,
            width=percent(times, most),
            share="",
            tip=f"{name}\n{count(times)} segments · {size(bytes_)}",
        )
        for name, (times, bytes_) in counted.items()
    )
