"""What each choice of a branch leaves out: offsets, records, times and producers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.frozen import frozen
from segmend.merge.spans import common, united
from segmend.merge.values import Merged
from segmend.surgery.ops.merge.case import Case


@frozen
class LostOffsets:
    """Offsets that one replica, or several alike, have besides the branch. Times in ms, None without any."""

    replicas: tuple[int, ...]
    first_offset: int
    last_offset: int
    epoch: int
    records: int
    bytes: int
    first_time: int | None
    last_time: int | None
    producers: tuple[int, ...]


@frozen
class BranchChoice:
    """A branch: `prefer` asks for it, None for the newest leader's."""

    prefer: int | None
    merged: Merged
    lost: tuple[LostOffsets, ...]

    @property
    def records(self) -> int:
        """How many it leaves out."""
        return sum(each.records for each in self.lost)

    @property
    def epoch(self) -> int:
        """The newest of the branch, -1 before 0.11."""
        return self.merged.lineage[-1].epoch if self.merged.lineage else -1

    def on_it(self) -> Iterator[int]:
        """The replicas that never left it."""
        return (n for n, each in enumerate(self.merged.standings) if each.relation != "diverged")


def choice(case: Case, prefer: int | None) -> BranchChoice:
    merged = case.merged(prefer)
    return BranchChoice(prefer=prefer, merged=merged, lost=tuple(_lost(case, merged)))


def choices(case: Case) -> list[BranchChoice]:
    """The newest leader's branch, and each other one that a replica has; no two that leave out the same."""
    every = [choice(case, None)]
    on_newest = {*every[0].on_it()}
    for number in range(len(case.replicas)):
        if number not in on_newest:
            other = choice(case, number)
            if all(other.lost != each.lost for each in every):
                every.append(other)
    return every


def losing(merged: Merged, number: int) -> Sequence[tuple[int, int]]:
    """The offsets that a replica has and the branch has not, or has otherwise."""
    spans = [(each.first_offset, each.last_offset) for each in merged.diverged if each.replica == number]
    for each in merged.conflicts:
        if number not in each.taken and any(number in group for group in each.held):
            spans.append((each.first_offset, each.last_offset))
    return united(spans)


def alike(case: Case, numbers: Sequence[int], span: tuple[int, int]) -> bool:
    """Whether two replicas have the same batches there."""
    one, other = (case.look.batches(number, *span) for number in numbers)
    for batch in one:
        if next(other, None) != batch:
            return False
    return next(other, None) is None


def _lost(case: Case, merged: Merged) -> Iterator[LostOffsets]:
    """Each once, however many replicas have it."""
    told: list[tuple[int, tuple[int, int]]] = []
    for number in range(len(case.replicas)):
        for span in losing(merged, number):
            twins = [n for n, other in told if other == span and alike(case, (n, number), span)]
            if not twins:
                others = range(number + 1, len(case.replicas))
                same = [n for n in others if span in losing(merged, n) and alike(case, (number, n), span)]
                yield _told(case, (number, *same), span)
            told.append((number, span))


def _told(case: Case, numbers: tuple[int, ...], span: tuple[int, int]) -> LostOffsets:
    records, producers = case.look.tally(numbers[0], *span)
    epoch, size, times = -1, 0, list[int]()
    for run, _, batch in case.look.headers(numbers[0], *span):
        epoch, size = run.epoch, size + batch.size
        own = [batch.max_timestamp, -1 if batch.has_delete_horizon else batch.base_timestamp]
        times = [*times, *(each for each in own if each >= 0)]
        times = [min(times), max(times)] if times else []
    return LostOffsets(
        replicas=numbers, first_offset=span[0], last_offset=span[1], epoch=epoch, records=records, bytes=size,
        first_time=times[0] if times else None, last_time=times[-1] if times else None, producers=producers,
    )  # fmt: skip


def choice_json(case: Case, one: BranchChoice, *, chosen: bool) -> dict[str, object]:
    """The same for programs, and for the table of a plan."""
    return {
        "prefer": None if one.prefer is None else case.called(one.prefer),
        "chosen": chosen,
        "epoch": one.epoch,
        "next_offset": one.merged.next_offset,
        "branch_of": [case.called(number) for number in one.on_it()],
        "records_lost": one.records,
        "lost": [
            {
                "replicas": [case.called(number) for number in each.replicas],
                "first_offset": each.first_offset, "last_offset": each.last_offset, "epoch": each.epoch,
                "records": each.records, "bytes": each.bytes, "first_time": each.first_time,
                "last_time": each.last_time, "producers": list(each.producers),
            }
            for each in one.lost
        ],
    }  # fmt: skip


def overlapping(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    return common([span], united(others))
