"""Batch headers of a log one after the other, each with its checksum looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from segmend.formats.batch import HEADER_SIZE_V2, RecordBatch, read_header
from segmend.formats.java_number import LONG_MIN
from segmend.kernel.batch_rows import batch_rows
from segmend.kernel.batches import checksum
from segmend.kernel.types import BatchRange, Problem
from segmend.logdir.file_system import OpenFile
from segmend.logdir.files import FileEntry
from segmend.merge.open_run import ROW, passing_below


class HeaderRow(NamedTuple):
    """A batch header as `batch_rows` has it, with its checksum looked at."""

    batch: RecordBatch
    sound: bool


def iter_rows(
    log: FileEntry, *, base_offset: int, start: int = 0, stop: int | None = None, low: int = LONG_MIN
) -> Iterator[HeaderRow]:
    """The batches from byte `start` on; those whose checksum fails, too, where their end is known.

    Such as end below offset `low` may be left out.
    """
    with log.reader() as reader:
        yield from read_rows(
            reader, BatchRange(base_offset=base_offset, start=start, stop=stop), [], passing_below(low, start)
        )


def read_rows(
    reader: OpenFile,
    batches: BatchRange,
    problems: list[Problem],
    follow: Callable[[bytes, int], int] = lambda _, __: 0,
) -> Iterator[HeaderRow]:
    """`follow` is given rows before they are made, from a byte on, and says how many of them it takes."""
    position, ends = batches.start, set[int]()

    def report(problem: Problem) -> None:
        problems.append(problem)
        ends.add(problem.end)

    for rows in batch_rows(reader, batches, report):
        at = 0
        while at < len(rows):
            if taken := follow(rows, at):
                at += taken * ROW.size
                numbers = ROW.unpack_from(rows, at - ROW.size)
                position = numbers[0] + numbers[1]
                continue
            numbers = ROW.unpack_from(rows, at)
            at += ROW.size
            if numbers[0] > position and numbers[0] not in ends:
                yield _huge(reader, position)
            position = numbers[0] + numbers[1]
            yield HeaderRow(RecordBatch._make(numbers[:-1]), numbers[-1] == 1)
    _, limit, _ = batches.limits(reader.size)
    if position < limit and not any(problem.end > position for problem in problems):
        yield _huge(reader, position)


def _huge(reader: OpenFile, position: int) -> HeaderRow:
    """A batch too large for any window, which the kernel passes over: summed up in pieces."""
    batch = read_header(reader.read(HEADER_SIZE_V2, position), 0, position)
    return HeaderRow(batch, checksum(reader, batch) == batch.crc)
