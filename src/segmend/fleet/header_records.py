"""Records whose columns the batch headers tell: nothing is decompressed, and no record is looked at.

A batch of magic 2 that holds as many records as it spans offsets has one at each of them.
Others (compacted ones, magic 0 and 1) are decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from segmend.fleet.ranges import ByteRange
from segmend.frozen import replace
from segmend.kernel.arrow import RECORD_FIELDS, batch_headers, record_batches
from segmend.kernel.types import BatchRange, Problem, Reader

if TYPE_CHECKING:
    import numpy.typing as npt

_HEADER: Final = {
    "timestamp_type": "timestamp_type",
    "leader_epoch": "leader_epoch",
    "producer_id": "producer_id",
    "producer_epoch": "producer_epoch",
    "is_transactional": "is_transactional",
    "batch_position": "position",
}
OF_HEADERS: Final = frozenset({"offset", *_HEADER})
"""The columns of the kernel's records that headers tell."""

_ROWS: Final = 1 << 17


def header_records(
    piece: ByteRange,
    reader: Reader,
    batches: BatchRange,
    *,
    needed: AbstractSet[str],
    report: Callable[[Problem], None],
) -> Iterator[pa.RecordBatch]:
    """The records of these batches, as `record_batches` gives them."""
    schema = pa.schema([(name, kind) for name, kind in RECORD_FIELDS.items() if name in needed])
    wanted = piece.wanted
    problems: list[Problem] = []
    headers = batch_headers(reader, batches, problems=lambda problem: problems.append(problem))

    def inside(problem: Problem) -> None:
        if problem.kind != "crc-mismatch":  # these the headers have told
            report(problem)

    for chunk in headers:
        # Without control batches, and those that lie before or behind what is wanted.
        first, last = chunk["base_offset"].to_numpy(), chunk["last_offset"].to_numpy()
        control = chunk["is_control"].to_numpy(zero_copy_only=False)
        legacy = chunk["magic"].to_numpy() < 2
        kept = chunk.filter(pa.array(~control & (last >= wanted.low) & (legacy | (first <= wanted.high))))
        problems = sorted([*problems, *_wrong_sums(kept)], key=attrgetter("position"))
        sound = kept.filter(kept["crc_ok"].fill_null(True))
        for plain, part in _parts(sound):
            if plain:
                read = iter([_within(_expanded(part, schema), wanted.low, wanted.high)])
            else:
                first, last = part["position"][0].as_py(), part["position"][part.num_rows - 1].as_py()
                among = replace(batches, start=first, stop=last + 1)
                read = record_batches(reader, wanted.records(needed), among, problems=inside)
            for rows in read:
                # What lies behind these rows is told with those that come next.
                end = rows["batch_position"][rows.num_rows - 1].as_py() if rows.num_rows else -1
                while problems and problems[0].position <= end:
                    report(problems.pop(0))
                yield rows
    for problem in problems:
        report(problem)


def _wrong_sums(chunk: pa.RecordBatch) -> Iterator[Problem]:
    for row in chunk.filter(
        pa.array(~chunk["crc_ok"].fill_null(True).to_numpy(zero_copy_only=False))
    ).to_pylist():
        begin, offset = row["position"], row["base_offset"]
        yield Problem(kind="crc-mismatch", position=begin, end=begin + row["size_bytes"], offset=offset)


def _parts(chunk: pa.RecordBatch) -> Iterator[tuple[bool, pa.RecordBatch]]:
    """(whether headers tell their records, neighbouring batches of not too many records)."""
    span = chunk["last_offset"].to_numpy() - chunk["base_offset"].to_numpy() + 1
    count = chunk["records"].to_numpy()
    plain = (chunk["magic"].to_numpy() == 2) & (count == span) & (count > 0)
    group = np.cumsum(np.where(plain, count, 0)) // _ROWS
    edges: npt.NDArray[np.int64] = (
        np.flatnonzero((np.diff(plain.astype(np.int8)) != 0) | (np.diff(group) != 0)) + 1
    )
    bounds = [0, *edges.tolist(), chunk.num_rows]
    for begin, end in pairwise(bounds):
        if end > begin:
            yield bool(plain[begin]), chunk.slice(begin, end - begin)


def _expanded(chunk: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    count = chunk["records"].to_numpy()
    ends = np.cumsum(count)
    within = np.arange(ends[-1]) - np.repeat(ends - count, count)
    columns: list[object] = []
    for field in schema:
        if field.name == "offset":
            columns.append(pa.array(np.repeat(chunk["base_offset"].to_numpy(), count) + within))
        else:
            values = chunk[_HEADER[field.name]].to_numpy(zero_copy_only=False)
            columns.append(pa.array(np.repeat(values, count), field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _within(chunk: pa.RecordBatch, low: int, high: int) -> pa.RecordBatch:
    offsets = chunk["offset"].to_numpy()
    first, behind = np.searchsorted(offsets, low), np.searchsorted(offsets, high, side="right")
    return chunk.slice(first, behind - first)
