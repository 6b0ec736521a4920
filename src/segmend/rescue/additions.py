"""What is new of a partition, added to a Delta table: files of one date each, and how far the table reaches.

How far is told by app transactions (`txn`) of the commit that adds the files, so that one is never there
without the other; unlike what else a commit says of itself, they outlast it. Needs deltalake.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import date, timedelta
from hashlib import sha256
from secrets import token_hex
from typing import Final

import numpy as np
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.transaction import AddAction

from segmend.errors import UsageError
from segmend.formats.names import is_legal_topic
from segmend.frozen import frozen
from segmend.rescue.arrow_rows import batches, schema
from segmend.rescue.committed import Committed, refuse_lost_files
from segmend.rescue.delta_log import delta_in_words
from segmend.rescue.lines import DatedFile, PartitionLine
from segmend.rescue.long_names import stem
from segmend.rescue.outlet import Folder, Stream
from segmend.rescue.parquet_file import ParquetFile, stored
from segmend.rescue.reached import Reached, what_is_new
from segmend.rescue.request import Job, Written
from segmend.rescue.rows import Tally

_BY: Final = ["topic", "date"]
_INSTANT: Final = pa.timestamp("us", tz="UTC")
_EPOCH: Final = date(1970, 1, 1)
_DAYS: Final = ((date.min - _EPOCH).days, (date.max - _EPOCH).days)
_NO_DAY: Final = _DAYS[0] - 1
_DAY_US: Final = 86_400_000_000
_OPEN: Final = 8
"""So many files of one partition are open at a time: a producer may give any times in any order."""


class Additions:
    """A Delta table that grows; a form (see `forms`) that has to know it."""

    def __init__(self, outlet: Folder, sides: Sequence[str] = ()) -> None:
        path = outlet.path
        self._schema = schema(_INSTANT, sides).append(pa.field("date", pa.date32()))
        self._committed = Committed(outlet)
        with delta_in_words(path):
            self._table = DeltaTable.create(path, self._schema, mode="ignore", partition_by=_BY)
            names = [each.name for each in self._table.schema().fields]
            ours = self._table.metadata().partition_columns == _BY and names == self._schema.names
            refuse_lost_files(self._table, path)
        if not ours:
            raise UsageError(
                f"{path}: holds another table than that of an export with this --decode; give another --out"
            )
        for name in self._committed.left_over(self._table):
            outlet.drop(name)
        self._path = path

    def reached(self, name: str) -> Reached:
        """How far the table has a partition."""
        with delta_in_words(self._path):  # the library looks into the table's log anew
            versions = {
                each: self._table.transaction_version(_application(name, each)) for each in Reached._fields
            }
        return Reached(**{each: value for each, value in versions.items() if value is not None})

    def write(self, job: Job, outlet: Folder) -> Written:
        """The files of what is new; raises `SegmendError` where this is not the log that the table has."""
        return _write(job, outlet, self.reached(job.name))

    def elsewhere(self, name: str) -> Elsewhere:
        """The form by which a task on another machine writes what is new of a partition."""
        return Elsewhere(before=self.reached(name))

    def commit(self, lines: Sequence[PartitionLine]) -> None:
        """Add the files of these partitions, and how far they reach; raises `SegmendError`."""
        now = time.time_ns() // 1_000_000
        actions = [
            AddAction(
                each["file"], each["size"], {"topic": line["topic"], "date": each["date"]}, now, True,
                json.dumps({"numRecords": each["rows"]}),
            )
            for line in lines
            for each in line["form"]["files"]
        ]  # fmt: skip
        transactions = [
            Transaction(_application(f"{line['topic']}-{line['partition']}", each), value)
            for line in lines
            for each, value in line["form"]["reached"].items()
        ]
        if not transactions:
            return
        properties = CommitProperties(app_transactions=transactions)
        with delta_in_words(self._path), self._committed.adding(actions, transactions):
            self._table.create_write_transaction(
                actions, "append", self._schema, partition_by=_BY, commit_properties=properties
            )


@frozen
class Elsewhere:
    """What is new of one partition, written by a task: a form that is told how far the table has it.

    Its files have names that no other attempt gives: one that was taken for lost may still be writing.
    """

    before: Reached

    def write(self, job: Job, outlet: Folder) -> Written:
        return _write(job, outlet, self.before, f"-{token_hex(8)}")


def _write(job: Job, outlet: Folder, before: Reached, attempt: str = "") -> Written:
    new = what_is_new(job, before)
    files, tally, last = _write_files(new.job, outlet, attempt)
    size = sum(each["size"] for each in files)
    after = new.after(last)
    changed = {} if after == before else after._asdict()
    return tally.written(size, files=files, reached=changed, next_offset=after.next_offset)


def _application(name: str, what: str) -> str:
    return f"segmend-export/{name}/{what}"


def _write_files(job: Job, outlet: Folder, attempt: str) -> tuple[list[DatedFile], Tally, int | None]:
    """The new records in files, what they are, and the offset of the last one."""
    tally, files, last = Tally(job.request.decode), _Files(job, outlet, attempt), None
    with files:
        for batch in batches(job, stored(schema(_INSTANT, job.request.sides)), tally, outlet.tell):
            last = batch["offset"][-1].as_py()
            for day, part in _by_day(batch):
                files.add(day, part)
    return files.written, tally, last


def _by_day(batch: pa.RecordBatch) -> Iterator[tuple[str | None, pa.RecordBatch]]:
    """The records of each day (UTC), in order; a record without a time, or none of a calendar, has no day."""
    times = batch["timestamp"].cast(pa.int64()).to_numpy()
    days = times // _DAY_US
    days[(times == -1000) | (days < _DAYS[0]) | (days > _DAYS[1])] = _NO_DAY
    inside = batch.select([each for each in batch.schema.names if each not in _BY])
    days_seen = days[:1] if days.min() == days.max() else np.unique(days)
    for day in days_seen:
        name = None if day == _NO_DAY else (_EPOCH + timedelta(days=int(day))).isoformat()
        yield name, inside if len(days_seen) == 1 else inside.filter(pa.array(days == day))


class _Files:
    """The files of one partition in one run, a few of them open.

    Their names begin with the first offset that was not in the table, so none of a commit is written over.
    """

    def __init__(self, job: Job, outlet: Folder, attempt: str) -> None:
        topic = (
            job.topic
            if is_legal_topic(job.topic)
            else sha256(job.topic.encode("utf-8", "replace")).hexdigest()
        )
        self._stem = f"{stem(f'{topic}-{job.partition}')}-{job.request.low:020}{attempt}"
        self._outlet = outlet
        self._open: dict[str | None, _TableFile] = {}
        self._count = 0
        self.written: list[DatedFile] = []

    def add(self, day: str | None, part: pa.RecordBatch) -> None:
        file = self._open.pop(day, None)
        if file is None:
            if len(self._open) >= _OPEN:
                self._close(next(iter(self._open)))
            file = _TableFile(f"{self._stem}-{self._count}.parquet", self._outlet, part.schema)
            self._count += 1
        self._open[day] = file
        file.add(part)

    def _close(self, day: str | None) -> None:
        self.written.append(self._open.pop(day).close(day))

    def __enter__(self) -> None:
        """Nothing is open yet."""

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Close what is open; what was begun when something failed has no name."""
        for day in [*self._open]:
            if error is None:
                self._close(day)
            else:
                self._open.pop(day).drop(error)


class _TableFile:
    def __init__(self, name: str, outlet: Folder, wanted: pa.Schema) -> None:
        self._name, self._rows = name, 0
        self._stack = ExitStack()
        self._stream: Stream = self._stack.enter_context(outlet.file(name))
        self._file = ParquetFile(self._stream, wanted)

    def add(self, part: pa.RecordBatch) -> None:
        self._file.add(part)
        self._rows += part.num_rows

    def close(self, day: str | None) -> DatedFile:
        """Have it whole and synced."""
        self._file.close()
        size = self._stream.tell()
        self._stack.close()
        return {"date": day, "file": self._name, "size": size, "rows": self._rows}

    def drop(self, error: object) -> None:
        """Leave it as it is, under its temporary name."""
        assert isinstance(error, BaseException)
        self._stack.__exit__(type(error), error, error.__traceback__)
