"""How far what is exported reaches: of each partition the next offset, and by what its log is known again.

Whoever adds what is new asks here what that is, and keeps where it ends with what it added.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from hashlib import sha256
from typing import NamedTuple

from segmend.errors import PartitionError, UsageError
from segmend.frozen import frozen, replace
from segmend.merge.fates import Fates
from segmend.rescue.request import Job, within
from segmend.rescue.rows import Tally, rows


class Reached(NamedTuple):
    """How far the table has a partition, and by what its log is known again. 0 is what is not known."""

    next_offset: int = 0
    last_offset: int = 0
    """Of the last record, plus 1."""
    last_record: int = 0
    topic_id: int = 0
    cluster_id: int = 0
    isolation: int = 0
    last_epoch: int = 0
    """The leader epoch of the batch before `next_offset`, which need not hold a record, plus 1."""


@frozen
class New:
    """What is new of a partition: `job` holds it, `before` tells where it begins and whose log it is."""

    job: Job
    before: Reached
    end: int

    def after(self, last: int | None) -> Reached:
        """How far it reaches once all is added; `last` is the offset of its last record, if there is one."""
        epoch = _written_in(self.job, self.end - 1) if self.end > self.before.next_offset else None
        after = self.before._replace(next_offset=self.end)
        if epoch is not None:
            after = after._replace(last_epoch=epoch + 1)
        if last is None:
            return after
        return after._replace(last_offset=last + 1, last_record=_record(self.job, last) or 0)


def what_is_new(job: Job, before: Reached) -> New:
    """Raises `PartitionError` where this is not the log that was exported before."""
    now = _origin(job)
    _refuse_other(job, before, now)
    end = _end(job, before)
    kept = {
        each: getattr(now, each) or getattr(before, each) for each in ("topic_id", "cluster_id", "isolation")
    }
    return New(job=within(job, before.next_offset, end - 1), before=before._replace(**kept), end=end)


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
    """Raise `PartitionError` where what the table has is not of this log, as far as that can be known."""
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
    elif before.last_epoch and (led := _led_in(job, before.next_offset - 1)) >= before.last_epoch:
        said = (
            f"was led in epoch {led} at offset {before.next_offset - 1} already, and what is in there ends "
            f"in epoch {before.last_epoch - 1}: the log was truncated and written again"
        )
    if said is not None:
        raise PartitionError(
            f"{job.request.out}: {job.name} {said}; nothing of it was added: give other DIRs, a new --out, "
            "or choose with --topic"
        )


def _led_in(job: Job, offset: int) -> int:
    """The leader epoch that owns this offset; -1 if nothing tells."""
    starts = [each.first_offset for each in job.merged.lineage]
    at = bisect_right(starts, offset)
    return job.merged.lineage[at - 1].epoch if at else -1


def _written_in(job: Job, offset: int) -> int | None:
    """The same, where a sound batch says so; None where none is there."""
    epoch = _led_in(job, offset)
    for runs in (each.runs for each in job.replicas):
        at = bisect_left(runs.column("last_offset"), offset)
        if at < len(runs) and runs[at].first_offset <= offset and runs[at].epoch == epoch:
            return epoch if epoch >= 0 else None
    return None


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
    open_from = job.fates().open_from
    return max(end if open_from is None else min(end, open_from), before.next_offset)
