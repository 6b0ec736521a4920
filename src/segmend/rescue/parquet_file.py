"""A Parquet file of records: zstd and dictionaries where the first rows show that they pay, plain elsewhere.

Keys and values are most of the bytes, and often random, encrypted or compressed already: to look for
repetitions in such takes longer than all the rest of writing them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from segmend.rescue.outlet import Stream

_GROUP: Final = 16 << 20
"""About so many bytes make one row group."""
_PAYLOAD: Final = ("key", "value")
_UNSORTED: Final = frozenset((*_PAYLOAD, "headers", "dir", "file"))
"""Of which the smallest and the largest tell a reader nothing."""
_PLAIN: Final = frozenset((*_PAYLOAD, "offset", "timestamp", "position"))
"""Hardly a value of which is there twice."""
_SAMPLE: Final = 64 << 10
_TOO_FEW: Final = 1 << 10
"""Bytes that show nothing: the first records may be tombstones."""
_SOME: Final = 4 << 10
"""So many rows, wherever they are: were every value there twice among a million, some were among these."""
_WORTH: Final = 0.95
"""The share of its bytes that is left of what is worth to be compressed, at most."""


def stored(wanted: pa.Schema) -> pa.Schema:
    """The schema of batches for a file: texts that most rows share are there once (in the file as ever)."""
    shared = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        field.with_type(shared) if field.name in ("topic", "dir", "file") else field for field in wanted
    )


class ParquetFile:
    """One that is being written into a stream."""

    def __init__(self, stream: Stream, wanted: pa.Schema) -> None:
        self._stream, self._schema = stream, wanted
        self._held: list[pa.RecordBatch] = []
        self._size = 0
        self._writer: pq.ParquetWriter | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        self._size += batch.nbytes
        if self._size >= _GROUP:
            self._write()

    def close(self) -> None:
        """Have it whole in the stream."""
        self._write()
        assert self._writer is not None, "the writer is there once rows were written, if only none"
        self._writer.close()

    def _write(self) -> None:
        held, self._held, self._size = self._held, [], 0
        if self._writer is None:
            self._writer = _writer(self._stream, self._schema, held)
        if held:
            self._writer.write_table(pa.Table.from_batches(held, self._schema).unify_dictionaries())
            # Else Arrow keeps what a group took, for the next one, beside what is decoded meanwhile.
            held.clear()
            pa.default_memory_pool().release_unused()


def _writer(stream: Stream, wanted: pa.Schema, first: Sequence[pa.RecordBatch]) -> pq.ParquetWriter:
    """For rows like the first ones."""
    loose = {name for name in _PAYLOAD if first and not any(_shrinks(batch[name]) for batch in first)}
    unique = _PLAIN - {name for name in _PAYLOAD if first and _repeats(first[0][name])}
    return pq.ParquetWriter(
        stream,
        wanted,
        compression={leaf: "none" if name in loose else "zstd" for name, leaf in _leaves(wanted)},
        use_dictionary=[leaf for name, leaf in _leaves(wanted) if name not in unique],
        write_statistics=[leaf for name, leaf in _leaves(wanted) if name not in _UNSORTED],
        # Without Arrow's own schema beside that of the file: what was a dictionary is a text for readers.
        store_schema=False,
    )


def _leaves(wanted: pa.Schema) -> Iterator[tuple[str, str]]:
    """The columns, and under which names Parquet keeps each."""
    for name in wanted.names:
        inner = (".list.element.key", ".list.element.value") if name == "headers" else ("",)
        yield from ((name, name + each) for each in inner)


def _repeats(values: pa.Array) -> bool:
    """Whether half of them, or more, were there before; all are asked only if some rows show two alike."""
    if len(values) > _SOME:
        some = np.random.default_rng(0).choice(len(values), _SOME, replace=False, shuffle=False)
        if pc.count_distinct(values.take(pa.array(some))).as_py() == _SOME:
            return False
    return 2 * int(pc.count_distinct(values).as_py()) <= len(values)


def _shrinks(values: pa.Array) -> bool:
    """Whether some bytes out of the middle do."""
    _, places, data = values.buffers()
    if data is None:
        return True
    ends = np.frombuffer(places, np.int32)[values.offset : values.offset + len(values) + 1]
    begin, end = int(ends[0]), int(ends[-1])
    middle = max(begin, (begin + end - _SAMPLE) // 2)
    sample = data[middle : min(middle + _SAMPLE, end)]
    if sample.size < _TOO_FEW:
        return True
    return bool(len(pa.Codec("zstd").compress(sample, asbytes=True)) <= _WORTH * sample.size)
