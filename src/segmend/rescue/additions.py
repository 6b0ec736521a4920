"""What is new of a partition, added to a Delta table: files of one date each, and how far the table reaches.

How far is told by app transactions (`txn`) of the commit that adds the files, so that one is never there
without the other; unlike what else a commit says of itself, they outlast it. Needs deltalake.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import date, timedelta
from hashlib import sha256
from secrets import token_hex
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction

from segmend.errors import SegmendError, UsageError
from segmend.formats.names import is_legal_topic
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.rescue.arrow_rows import batches, schema
from segmend.rescue.fates import Fates
from segmend.rescue.outlet import Folder, Line, Stream
from segmend.rescue.request import Home, Job, Written
from segmend.rescue.rows import Tally, rows
from segmend.rescue.run import within

_BY: Final = ["topic", "date"]
_INSTANT: Final = pa.timestamp("us", tz="UTC")
_EPOCH: Final = date(1970, 1, 1)
_DAYS: Final = ((date.min - _EPOCH).days, (date.max - _EPOCH).days)
_NO_DAY: Final = _DAYS[0] - 1
_DAY_US: Final = 86_400_000_000
_OPEN: Final = 8
"""So many files of one partition are open at a time: a producer may give any times in any order."""


class Reached(NamedTuple):
    """How far the table has a partition, and by what its log is known again. 0 is what is not known."""

    next_offset: int = 0
    last_offset: int = 0
    """Of the last record, plus 1."""
    last_record: int = 0
    topic_id: int = 0
    cluster_id: int = 0
    isolation: int = 0


class Additions:
    """A Delta table that grows; a form (see `forms`) that has to know it."""

    def __init__(self, path: str, sides: Sequence[str] = ()) -> None:
        self._schema = schema(_INSTANT, sides).append(pa.field("date", pa.date32()))
        try:
            self._table = DeltaTable.create(path, self._schema, mode="ignore", partition_by=_BY)
            names = [each.name for each in self._table.schema().fields]
            ours = self._table.metadata().partition_columns == _BY and names == self._schema.names
        except DeltaError as error:
            raise SegmendError(f"{path}: the Delta table cannot be read: {error}") from error
        if not ours:
            raise UsageError(
                f"{path}: holds another table than that of an export with this --decode; give another --out"
            )
        self._path = path

    def reached(self, name: str) -> Reached:
        """How far the table has a partition."""
        found = {each: self._table.transaction_version(_application(name, each)) for each in Reached._fields}
        return Reached(**{each: value for each, value in found.items() if value is not None})

    def write(self, job: Job, outlet: Folder) -> Written:
        """The files of what is new; raises `SegmendError` where this is not the log that the table has."""
        return _write(job, outlet, self.reached(job.name))

    def elsewhere(self, name: str) -> Elsewhere:
        """The form by which a task on another machine writes what is new of a partition."""
        return Elsewhere(before=self.reached(name))

    def commit(self, lines: Sequence[Line]) -> None:
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
        try:
            self._table.create_write_transaction(
                actions, "append", self._schema, partition_by=_BY, commit_properties=properties
            )
        except DeltaError as error:
            raise SegmendError(f"{self._path}: the Delta commit failed: {error}") from error

    def finish(self, home: Home, outlet: Folder, lines: Sequence[Line]) -> None:
        """Nothing is left to do."""
        del home, outlet, lines


@frozen
class Elsewhere:
    """What is new of one partition, written by a task: a form that is told how far the table has it.

    Its files have names that no other attempt gives: one that was taken for lost may still be writing.
    """

    before: Reached

    def write(self, job: Job, outlet: Folder) -> Written:
        """As of `Additions`."""
        return _write(job, outlet, self.before, f"-{token_hex(8)}")

    def finish(self, home: Home, outlet: Folder, lines: Sequence[Line]) -> None:
        """Nothing is left to do."""
        del home, outlet, lines


def _write(job: Job, outlet: Folder, before: Reached, attempt: str = "") -> Written:
    now = _origin(job)
    _refuse_other(job, before, now)
    end = _end(job, before)
    job = within(job, before.next_offset, end - 1)
    files, tally, last = _write_files(job, outlet, attempt)
    size = sum(each["size"] for each in files)
    kept = {
        each: getattr(now, each) or getattr(before, each) for each in ("topic_id", "cluster_id", "isolation")
    }
    after = before._replace(next_offset=end, **kept)
    if last is not None:
        after = after._replace(last_offset=last + 1, last_record=_record(job, last) or 0)
    changed = {} if after == before else after._asdict()
    return tally.written(size, files=files, reached=changed, next_offset=end)


def _application(name: str, what: str) -> str:
    return f"segmend-export/{name}/{what}"


def _number(*values: object) -> int:
    """Values as a positive 63-bit number, which is what a `txn` holds."""
    return int.from_bytes(sha256(repr(values).encode()).digest()[:8], "big") >> 1 or 1


def _origin(job: Job) -> Reached:
    """Whose log this is."""
    topic_id = next((each.topic_id for each in job.replicas if each.topic_id), None)
    cluster_id = next((each.cluster_id for each in job.replicas if each.cluster_id), None)
    return Reached(
        topic_id=_number(str(topic_id)) if topic_id else 0,
        cluster_id=_number(cluster_id) if cluster_id else 0,
        isolation=2 if job.request.committed_only else 1,
    )


def _refuse_other(job: Job, before: Reached, now: Reached) -> None:
    """Raise `SegmendError` where what the table has is not of this log, as far as that can be known."""
    said = None
    if before.isolation and before.isolation != now.isolation:
        raise UsageError(f"{job.request.out}: was begun with another --isolation; keep to that one")
    if before.cluster_id and now.cluster_id and before.cluster_id != now.cluster_id:
        said = "is of another cluster than what is in there"
    elif before.topic_id and now.topic_id and before.topic_id != now.topic_id:
        said = "has another topic id than what is in there: the topic was deleted and made anew"
    elif job.merged.next_offset < before.next_offset:
        said = (
            f"ends at offset {job.merged.next_offset}, and what is in there at {before.next_offset}: "
            "the log was truncated or made anew, or these replicas are behind"
        )
    elif before.last_record and _record(job, before.last_offset - 1) not in (None, before.last_record):
        said = (
            f"has another record at offset {before.last_offset - 1} than what is in there: the log was "
            "truncated and written again, or made anew"
        )
    if said is not None:
        raise SegmendError(
            f"{job.request.out}: {job.name} {said}; nothing of it was added: give other DIRs, a new --out, "
            "or choose with --topic"
        )


def _record(job: Job, offset: int) -> int | None:
    """A number that tells a record from another one at this offset; None if the log has it no more."""
    one = replace(within(job, offset, offset), fates=lambda: Fates(spans={}))
    for row in rows(one, Tally(), lambda _: None):
        return _number(
            row.timestamp, row.key, row.value, row.headers, row.leader_epoch, row.producer_id, row.sequence
        )
    return None


def _end(job: Job, before: Reached) -> int:
    """The offset after the last one to take: sound, and of a transaction that has ended if that is asked.

    Offsets at the end that nobody has sound are looked at again: their batch may be half written.
    """
    last = max((piece.last for piece in job.pieces), default=before.next_offset - 1)
    end = max(last + 1, before.next_offset)
    if not job.request.committed_only:
        return end
    behind = job.merged.ranges[-1].last_offset if job.merged.ranges else -1
    spans = [span for each in job.fates().spans.values() for span in each]
    open_ = [span.first for span in spans if span.fate == "unknown" and span.last >= behind]
    return max(min([end, *open_]), before.next_offset)


def _write_files(job: Job, outlet: Folder, attempt: str) -> tuple[list[dict[str, Any]], Tally, int | None]:
    """The new records in files, what they are, and the offset of the last one."""
    tally, files, last = Tally(job.request.decode), _Files(job, outlet, attempt), None
    with files:
        for batch in batches(job, schema(_INSTANT, job.request.sides), tally, outlet.tell):
            last = batch["offset"][-1].as_py()
            for day, part in _by_day(batch):
                files.add(day, part)
    return files.written, tally, last


def _by_day(batch: pa.RecordBatch) -> Iterator[tuple[str | None, pa.RecordBatch]]:
    """The records of each day (UTC), in order; a record without a time, or none of a calendar, has no day."""
    times = batch["timestamp"].cast(pa.int64()).to_numpy()
    days: Any = times // _DAY_US
    days[(times == -1000) | (days < _DAYS[0]) | (days > _DAYS[1])] = _NO_DAY
    inside = batch.select([each for each in batch.schema.names if each not in _BY])
    for day in np.unique(days):
        name = None if day == _NO_DAY else (_EPOCH + timedelta(days=int(day))).isoformat()
        yield name, inside.filter(pa.array(days == day))


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
        self._stem = f"{topic}-{job.partition}-{job.request.low:020}{attempt}"
        self._outlet = outlet
        self._open: dict[str | None, _File] = {}
        self._count = 0
        self.written: list[dict[str, Any]] = []

    def add(self, day: str | None, part: pa.RecordBatch) -> None:
        """Add records of one day."""
        found = self._open.pop(day, None)
        if found is None:
            if len(self._open) >= _OPEN:
                self._close(next(iter(self._open)))
            found = _File(f"{self._stem}-{self._count}.parquet", self._outlet, part.schema)
            self._count += 1
        self._open[day] = found
        found.add(part)

    def _close(self, day: str | None) -> None:
        self.written.append({"date": day, **self._open.pop(day).close()})

    def __enter__(self) -> None:
        """Nothing is open yet."""

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Close what is open; what was begun when something failed has no name."""
        for day in [*self._open]:
            if error is None:
                self._close(day)
            else:
                self._open.pop(day).drop(error)


class _File:
    """One Parquet file, zstd."""

    def __init__(self, name: str, outlet: Folder, wanted: pa.Schema) -> None:
        self._name, self._rows = name, 0
        self._stack = ExitStack()
        self._stream: Stream = self._stack.enter_context(outlet.file(name))
        self._writer = pq.ParquetWriter(self._stream, wanted, compression="zstd")

    def add(self, part: pa.RecordBatch) -> None:
        """A row group."""
        self._writer.write_batch(part)
        self._rows += part.num_rows

    def close(self) -> dict[str, Any]:
        """Have it whole and synced."""
        self._writer.close()
        size = self._stream.tell()
        self._stack.close()
        return {"file": self._name, "size": size, "rows": self._rows}

    def drop(self, error: object) -> None:
        """Leave it as it is, under its temporary name."""
        assert isinstance(error, BaseException)
        self._stack.__exit__(type(error), error, error.__traceback__)


def is_table(path: str) -> bool:
    """Whether a Delta table is there, or was about to be."""
    return disk.path_type(f"{path}/_delta_log") is not None
