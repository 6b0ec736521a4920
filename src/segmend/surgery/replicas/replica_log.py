"""The batches of a replica one after the other, with the damage between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from segmend.formats.batch import RecordBatch
from segmend.frozen import dataclass
from segmend.kernel.batch_rows import CRC_OK, WIDTH, batch_rows
from segmend.kernel.types import BatchRange, Problem, ProblemKind, Reader
from segmend.logdir.files import FileEntry
from segmend.logdir.partition_dir import PartitionDir

_ROW: Final = Struct(f"={WIDTH}q")
Open: TypeAlias = Callable[[], AbstractContextManager[Reader]]


@contextmanager
def _opened(log: FileEntry, tell: Callable[[int], None]) -> Iterator[Reader]:
    with log.reader() as reader:
        yield reader
        tell(reader.size)


class SoundBatch(NamedTuple):
    """A sound batch, and the base offset of the segment that holds it."""

    segment: int
    header: RecordBatch

    def is_same(self, other: SoundBatch) -> bool:
        """Equal in all of the header: offsets, size, leader epoch, checksum; wherever it lies."""
        return self.header[1:] == other.header[1:]


class DamagedBytes(NamedTuple):
    """Bytes of a segment that are no sound batch."""

    segment: int
    problem: Problem


BatchOrDamage: TypeAlias = SoundBatch | DamagedBytes


@dataclass(frozen=True, slots=True)
class ReplicaLog:
    """The logs by base offset, ascending, and how each is opened for reading."""

    logs: tuple[tuple[int, Open], ...]

    @classmethod
    def of(cls, partition: PartitionDir, tell: Callable[[int], None] = lambda _: None) -> ReplicaLog:
        """The segments of a directory, `tell` is told the size of each that was read; `Unreadable`."""
        logs = sorted(partition.layout.logs.items())
        return cls(tuple((base, partial(_opened, partition.files[name], tell)) for base, name in logs))

    @property
    def last_segment(self) -> int:
        """The base offset of the active segment, -1 without one."""
        return self.logs[-1][0] if self.logs else -1

    def records(self) -> int:
        """Records of its sound batches by their headers; a compressed one of magic 0 or 1 counts once."""
        batches = (item.header for item in self.items() if isinstance(item, SoundBatch))
        return sum(b.records_held if b.magic >= 2 else 1 for b in batches if not b.is_control)

    def items(self, low: int = 0, high: int | None = None) -> Iterator[BatchOrDamage]:
        """Batches that end at or after offset `low`, up to the first that reaches `high`; checksums computed.

        Damage comes where it lies. What does not go on after the batch before it counts as damage.
        """
        last = -1
        for number, (base, opened) in enumerate(self.logs):
            if number + 1 < len(self.logs) and self.logs[number + 1][0] <= low:
                continue
            for item in _items(base, opened):
                if isinstance(item, SoundBatch):
                    if high is not None and item.header.last_offset >= high:
                        return
                    if item.header.base_offset <= last:
                        item = DamagedBytes(item.segment, _problem(item.header, "offset-backwards"))
                    else:
                        last = item.header.last_offset
                if isinstance(item, DamagedBytes) or item.header.last_offset >= low:
                    yield item


def _items(base: int, opened: Open) -> Iterator[BatchOrDamage]:
    problems: list[Problem] = []
    with opened() as reader:
        for data in batch_rows(reader, BatchRange(base_offset=base), problems.append):
            for row in _ROW.iter_unpack(data):
                while problems and problems[0].position < row[0]:
                    yield DamagedBytes(base, problems.pop(0))
                batch = RecordBatch._make(row[:CRC_OK])
                yield (
                    SoundBatch(base, batch)
                    if row[CRC_OK]
                    else DamagedBytes(base, _problem(batch, "crc-mismatch"))
                )
        for problem in problems:
            yield DamagedBytes(base, problem)


def _problem(batch: RecordBatch, kind: ProblemKind) -> Problem:
    return Problem(kind=kind, position=batch.position, end=batch.end, offset=batch.base_offset)
