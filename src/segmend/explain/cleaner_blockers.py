"""What keeps the cleaner from more of a log, the oldest first: where each is, and since when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from segmend.broker.cleaner import UNCLEANABLE, Bound, CleanerLimits, CleanerVerdict, CleanerView
from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.frozen import AsJson, frozen
from segmend.kernel.scan import iter_batches
from segmend.loading.cleaner_reads import Spoiled
from segmend.loading.load import LoadedLog
from segmend.loading.segment import Segment, position_of
from segmend.logdir.release import Release

_MOST = 20
"""Open transactions that are looked up."""


@frozen
class Blocker(AsJson):
    """`offset` is the first that it holds; it is there `since_ms`, stays `until_ms` (None: not known).

    `file` and `position` are where something cannot be read; `detail` tells it in words.
    """

    kind: Literal["damage", "transaction", "high-watermark", "lag", "active"]
    offset: int
    since_ms: int | None = None
    until_ms: int | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    file: str | None = None
    position: int | None = None
    detail: str | None = None
    broker_says: str | None = None


@frozen
class Held:
    loaded: LoadedLog
    view: CleanerView
    verdict: CleanerVerdict
    limits: CleanerLimits
    release: Release
    spoiled: Spoiled | None


def blockers(held: Held) -> list[Blocker]:
    """All of them; those without a time come last."""
    unsorted = [*_spoiled(held), *_transactions(held), *_high_watermark(held), *_lag(held), *_active(held)]
    return sorted(unsorted, key=lambda each: (each.since_ms is None, each.since_ms or 0))


def _spoiled(held: Held) -> Iterator[Blocker]:
    spoiled = held.spoiled
    if spoiled is not None:
        partition = held.loaded.state.partition
        says = UNCLEANABLE.say(held.release, f"{partition.topic}-{partition.partition}")
        yield Blocker(
            kind="damage", offset=spoiled.offset, file=spoiled.file, position=spoiled.position,
            detail=spoiled.reason, broker_says=says, since_ms=0,
        )  # fmt: skip


def _transactions(held: Held) -> Iterator[Blocker]:
    states = [each for each in held.loaded.state.states.values() if each.current_txn_first_offset >= 0]
    for state in sorted(states, key=lambda each: each.current_txn_first_offset)[:_MOST]:
        offset = state.current_txn_first_offset
        if offset <= held.view.segments[-1].base_offset:
            yield Blocker(
                kind="transaction", offset=offset, since_ms=_begun(held.loaded, state),
                producer_id=state.producer_id, producer_epoch=state.producer_epoch,
            )  # fmt: skip


def _begun(loaded: LoadedLog, state: ProducerStateEntry) -> int | None:
    """When the first batch of its transaction was written; its last one where that is not there any more."""
    offset = state.current_txn_first_offset
    for segment in reversed(loaded.state.segments):
        if segment.base_offset > offset or segment.log is None:
            continue
        with segment.log.reader() as reader:
            for batch in iter_batches(reader, start=position_of(segment, offset), stop=segment.size):
                if batch.last_offset >= offset:
                    return batch.max_timestamp
        break
    return state.timestamp if state.timestamp >= 0 else None


def _high_watermark(held: Held) -> Iterator[Blocker]:
    if held.verdict.bound == Bound.HIGH_WATERMARK:
        yield Blocker(kind="high-watermark", offset=held.view.high_watermark)


def _lag(held: Held) -> Iterator[Blocker]:
    for each in held.view.segments[:-1]:
        if held.limits.min_lag_ms > 0 and each.base_offset >= held.verdict.stop:
            if held.verdict.bound == Bound.LAG:
                until = each.largest_timestamp + held.limits.min_lag_ms
                yield Blocker(
                    kind="lag", offset=each.base_offset, since_ms=each.largest_timestamp, until_ms=until
                )
            return


def _active(held: Held) -> Iterator[Blocker]:
    active = held.view.segments[-1]
    if active.size:
        began = first_timestamp(held.loaded.state.segments[-1])
        since = began if began is not None and began > 0 else None
        yield Blocker(kind="active", offset=active.base_offset, since_ms=since)


def first_timestamp(segment: Segment) -> int | None:
    """`LogSegment.getFirstBatchTimestamp`: the largest timestamp of the first batch."""
    if segment.log is None or not segment.size:
        return None
    with segment.log.reader() as reader:
        first = next(iter_batches(reader, stop=1), None)
    return None if first is None else first.max_timestamp
