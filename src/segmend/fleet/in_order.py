"""Rows of a table in another order, however many: some thousands are in memory, the others in files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_PLACE = "its place"


def in_order(parts: Iterable[pa.Table], order: npt.NDArray[np.integer], at_once: int) -> Iterator[pa.Table]:
    """The rows of `parts` in the order of their numbers in `order`, `at_once` of them at a time."""
    if not len(order):
        return
    if len(order) <= at_once:
        yield pa.concat_tables(parts).take(pa.array(order))
        return
    with tempfile.TemporaryDirectory(prefix="segmend-") as folder:
        for file in _sorted_in(folder, parts, order, at_once):
            with pa.ipc.open_stream(file) as stream:
                yield stream.read_all().sort_by(_PLACE).drop_columns(_PLACE)


def _sorted_in(
    folder: str, parts: Iterable[pa.Table], order: npt.NDArray[np.integer], at_once: int
) -> list[str]:
    """Files, each with the rows of so many places, one behind the other."""
    places: npt.NDArray[np.int64] = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    files = [f"{folder}/{number}" for number in range(-(-len(order) // at_once))]
    writers: dict[int, pa.RecordBatchStreamWriter] = {}
    with ExitStack() as closed:
        at = 0
        for part in parts:
            mine = places[at : at + len(part)]
            at += len(part)
            for number in np.unique(mine // at_once).tolist():
                if number not in writers:
                    writers[number] = closed.enter_context(
                        pa.ipc.new_stream(files[number], _placed(part, mine).schema)
                    )
                there = np.flatnonzero(mine // at_once == number)
                writers[number].write_table(_placed(part, mine).take(pa.array(there)))
    return files


def _placed(part: pa.Table, places: npt.NDArray[np.int64]) -> pa.Table:
    return part.append_column(_PLACE, pa.array(places))
