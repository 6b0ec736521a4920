"""One file of a replica walked into runs; each batch is held back until the next shows whether it fits."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from typing import Final, Literal

from segmend.formats.batch import RecordBatch
from segmend.formats.java_number import INT_MAX, LONG_MAX
from segmend.frozen import frozen
from segmend.kernel.types import TAIL_KINDS, Problem
from segmend.merge.indexed import Denials
from segmend.merge.open_run import OpenRun
from segmend.merge.packed import Packed
from segmend.merge.proven_epochs import Lines
from segmend.merge.rows import HeaderRow
from segmend.merge.values import NO_EPOCH, Damaged, Run

LONELY: Final = 8
"""So many batches of a file with a gap behind them are runs of their own: one may be misplaced. More are
compaction."""
# Bytes behind the last batch that no broker takes for one; what they may have been, nothing tells.
_QUIET: Final = frozenset({"header-fragment", "zero-tail"})


_Side = Literal["", "gap", "damage", "end"]
"""What is on one side of a batch, if it is not the batch that goes on with it."""


class Walk:
    """Batches of one file put into runs; each is held back until the next one shows whether it fits."""

    def __init__(
        self,
        file: str,
        base: int,
        next_base: int | None,
        inside: Callable[[RecordBatch], tuple[int, int] | None] = lambda _: None,
        before: Callable[[], int] = lambda: NO_EPOCH,
        most: int = INT_MAX,
        lines: Lines = (),
        lonely: int = LONELY,
        denials: Denials | None = None,
        denied: frozenset[int] = frozenset(),
    ) -> None:
        """`before` gives the epoch of the file before; no batch with one above `most` is believed.

        `lines` are those of leader-epoch-checkpoint. More than `lonely` gaps are compaction. `denials`
        hear of batches beside gaps; those at the positions `denied` are misplaced."""
        self._starts = dict(lines)
        self.runs = Packed(Run)
        self.damaged = Packed(Damaged)
        self.removed_below = self.proven_below = 0
        self._lonely, self._alone, self._few = 0, False, lonely
        self._disputed = False
        """Of the batch held back and the one before it both could not be right: it is a run of its own."""
        self.denials, self._denied = denials or Denials(None), denied
        self.leaps: dict[int, tuple[int, int | None]] = {}
        """Batches, by position, that leave offsets out on one side and have none on the other that agrees,
        but damage, or the end of a file; and the offsets that may be theirs: compaction leaves such gaps, and
        so does one bit, for no checksum covers a base offset."""
        self._file, self._base, self._next_base = file, base, next_base
        self._inside = inside
        self._last, self._epoch, self._before, self._most = base - 1, NO_EPOCH, before, most
        self._gone_back: Counter[int] = Counter()
        """How many batches had to be doubted because their epoch is older than one before, by epoch."""
        self._held: RecordBatch | None = None
        self._first = base
        """The first offset of the batch held back: a compressed wrapper of magic 0 or 1 says its last one."""
        self._open: OpenRun | None = None
        self._leapt = False
        """Whether the batch before this one is one of these."""
        self._unsound = Packed(_Unsound)

    def take(self, row: HeaderRow) -> None:
        batch = row.batch
        if not row.sound:
            self._doubt(batch, "crc-mismatch")
        elif (why := batch.beyond_reading) is not None:
            self._doubt(batch, why)  # no consumer reads it, nor what is behind
        else:
            self._take_sound(batch, self._first_of(batch))

    def _take_sound(self, batch: RecordBatch, first: int | None) -> None:
        if first is None or batch.position in self._denied:
            self._doubt(batch, "misplaced")
        elif not self._possible(batch, first):
            self._gone_back[batch.partition_leader_epoch] += batch.magic >= 2 and first > self._last
            self._doubt(batch, "misplaced")
        elif self._held is None or self._follows(self._held, batch, first):
            self._accept((batch.position, first))
            self._held, self._first = batch, first
        elif self._is_odd_one(self._held, batch, first):
            self._doubt(self._held, "misplaced")
            self._held, self._first, self._disputed = batch, first, True
        else:
            self._doubt(batch, "misplaced")

    def follow(self, rows: bytes, at: int) -> int:
        """Of the next batches (rows from byte `at`) those that go on as the run does; gives how many.

        As if `take` got one after the other: only quicker, for nearly all batches are such.
        """
        held, run = self._held, self._open
        if (
            held is None
            or run is None
            or self._alone
            or held.magic < 2
            or (held.position, held.partition_leader_epoch) != (run.end, run.epoch)
            or held.base_offset != self._last + 1
            or held.base_offset == self._starts.get(run.epoch)
            or held.records_count != held.last_offset - self._last
            or held.has_delete_horizon
        ):
            return 0
        count, self._held = run.follow(held, rows, at, self._next_base)
        if count:
            self._first = self._held.base_offset
            self._last = self._first - 1
        return count

    def _possible(self, batch: RecordBatch, first: int) -> bool:
        before_next = self._next_base is None or batch.last_offset < self._next_base
        return (
            first > self._last
            and batch.last_offset >= first
            and before_next
            and (self._epoch <= batch.partition_leader_epoch <= self._most or batch.magic < 2)
        )

    @property
    def fewer_above(self) -> int | None:
        """The epoch above which a few batches made more others doubtful; None if none did.

        Epochs never go back: where some flipped side by side, the many that follow are right.
        """
        most = max(+self._gone_back, default=None)
        if most is None:
            return None
        if max(self.runs.column("epoch"), default=most) <= most:
            return None
        above = [run for run in self.runs if run.epoch > most]
        count = sum(run.batches for run in above)
        # Each alone, and none of them in the checkpoint beside it, which does have what came behind.
        strange = most in self._starts and all(
            run.batches == 1 and run.epoch not in self._starts for run in above
        )
        return most if 0 < count <= LONELY and (strange or count < self._gone_back.total()) else None

    @staticmethod
    def _follows(before: RecordBatch, batch: RecordBatch, first: int) -> bool:
        later = batch.partition_leader_epoch >= before.partition_leader_epoch or batch.magic < 2
        return first > before.last_offset and later

    def _is_odd_one(self, held: RecordBatch, batch: RecordBatch, first: int) -> bool:
        """Of two that cannot both be right: whether it is the earlier one."""
        if first <= held.last_offset:
            return self._first != self._last + 1
        return batch.partition_leader_epoch >= max(self._epoch, self._before())

    def _doubt(self, batch: RecordBatch, kind: str) -> None:
        claimed = batch.last_offset if kind != "misplaced" else None
        self._unsound.append(_Unsound(position=batch.position, end=batch.end, kind=kind, claimed=claimed))

    def _accept(self, following: tuple[int, int] | None = None, *, last: bool = False) -> None:
        """Of the batch that follows, if any: its position and its first offset."""
        batch, self._held = self._held, None
        if batch is None:
            return
        first, epoch = self._first, batch.partition_leader_epoch
        span = batch.last_offset - first + 1
        # A cleaner took records of it, or wrote into it when its tombstones may go.
        if batch.magic >= 2 and (batch.records_count < span or batch.has_delete_horizon):
            self.removed_below = self.proven_below = batch.last_offset + 1
        run, end = self._open, self._open.end if self._open else 0
        alone, leapt = self._alone, self._leapt
        self._alone = (
            following is not None and following[1] > batch.last_offset + 1 and self._lonely < self._few
            and not self.proven_below
        )  # fmt: skip
        self._lonely += self._alone
        self._alone, self._disputed = self._alone or self._disputed, False
        gap = first > self._last + 1
        before, behind = _beside(batch.position == end, gap), self._behind(batch, following, last=last)
        ends = self._next_base if following is None else following[1]
        # Of damage and the end of a file the next one tells where the batch would have to end.
        told = (before, behind) == ("damage", "end") and ends is not None
        self._leapt = told or {before, behind} in ({"gap", "end"}, {"gap", "damage"})
        if self._leapt:
            self.leaps[batch.position] = self._last + 1, None if ends is None else ends - 1
        if before and behind and (not self._leapt or self.removed_below):
            self.denials.ask(batch, first, (self._last + 1, LONG_MAX if ends is None else ends - 1))
        # What is before the line of its epoch may have flipped: it is a run of its own.
        goes_on = run is not None and end == batch.position and run.epoch == epoch
        if run is None or not goes_on or self._leapt or leapt or first == self._starts.get(epoch):
            run = self._begun(batch, first)
        else:
            if gap:
                self.removed_below = max(self.removed_below, first)
                if not alone:
                    self.proven_below = max(self.proven_below, first)
            if alone or self._alone:
                run = self._begun(batch, first)
        run.add(batch, first, batch.records_count if batch.magic >= 2 else span)
        self._last, self._epoch = batch.last_offset, max(epoch, self._epoch)

    def _behind(self, batch: RecordBatch, following: tuple[int, int] | None, *, last: bool) -> _Side:
        if following is None:
            if not last or max(self._unsound.column("position"), default=-1) >= batch.end:
                return "damage"
            return "end" if batch.last_offset + 1 != self._next_base else ""
        position, first = following
        return _beside(position == batch.end, first > batch.last_offset + 1)

    def _begun(self, batch: RecordBatch, first: int) -> OpenRun:
        self._close()
        self._open = OpenRun(first, batch.partition_leader_epoch, batch.position, batch.magic)
        return self._open

    def _first_of(self, batch: RecordBatch) -> int | None:
        """Its first offset; None of a wrapper whose messages say that it is not where it says.

        Where they cannot be read it goes on behind the batch before.
        """
        if batch.magic >= 2 or not batch.codec:
            return batch.base_offset
        inner = self._inside(batch)
        if inner is None:
            before = self._last if self._held is None else self._held.last_offset
            return min(before + 1, batch.last_offset)
        return inner[0] if inner[1] == batch.last_offset else None

    def _close(self) -> None:
        if self._open is not None:
            self.runs.append(self._open.run(self._file, self._base))
            self._open = None

    def give_up(self, last: int | None, size: int) -> None:
        self._accept()
        at = self._open.end if self._open else 0
        self.damaged.append(damage_at(self._last + 1, last, self._file, at, max(size, at), "unreadable"))

    def finish(self, problems: list[Problem], size: int) -> None:
        """The end of the file: name the damage in it, between the sound batches beside it."""
        self._unsound.extend(_located(each, size) for each in problems)
        self._accept(last=True)
        self._close()
        positions = self._unsound.column("position")
        ends, begins, lasts = map(self.runs.column, ("end_position", "first_offset", "last_offset"))
        for number in sorted(range(len(positions)), key=positions.__getitem__):
            each = self._unsound[number]
            position, end, kind, claimed = each.position, each.end, each.kind, each.claimed
            at = bisect_right(ends, position)
            first = lasts[at - 1] + 1 if at else self._base
            last: int | None = None
            if at < len(ends):
                last = begins[at] - 1
            elif self._next_base is not None:
                last = self._next_base - 1
            elif kind in _QUIET:
                continue
            elif claimed is not None and first <= claimed < first + (1 << 24):
                last = claimed
            self.damaged.append(damage_at(first, last, self._file, position, end, kind))


def _beside(touching: bool, gap: bool) -> _Side:
    return ("gap" if gap else "") if touching else "damage"


@frozen
class _Unsound:
    """Bytes that are no sound batch in its place, and the last offset that a batch there claims."""

    position: int
    end: int
    kind: str
    claimed: int | None


def _located(problem: Problem, size: int) -> _Unsound:
    end = size if problem.kind in TAIL_KINDS else problem.end
    return _Unsound(position=problem.position, end=end, kind=problem.kind, claimed=None)


def damage_at(first: int, last: int | None, file: str, position: int, end: int, kind: str) -> Damaged:
    return Damaged(first_offset=first, last_offset=last, file=file, position=position, end=end, kind=kind)
