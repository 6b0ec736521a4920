"""What of a merge could not be known, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.formats.names import file_prefix
from segmend.formats.offset_checkpoint import RECOVERY_POINT
from segmend.merge.branch import Branch
from segmend.merge.packed import Packed
from segmend.merge.spans import Span, Spans, common, has, united, without
from segmend.merge.strayed import Tie
from segmend.merge.values import Range, Replica
from segmend.node.older import DOUBTFUL_MARK


def unknown(
    replicas: Sequence[Replica], branches: Sequence[Branch], marks: Sequence[int | None], bounds: Span
) -> Iterator[str]:
    """What no replica tells; `bounds` are the first and next offset of the merge."""
    yield from _doubts(replicas, branches, marks, bounds[1])
    yield from _told_beside(replicas, branches, *bounds)


def beside(replicas: Sequence[Replica], missing: Spans, end: int) -> Iterator[str]:
    """What lies elsewhere than in segments, in words; `end` is that of the merge."""
    yield from _set_aside(replicas, missing, end)
    yield from _in_remote_storage(replicas)


def _set_aside(replicas: Sequence[Replica], missing: Spans, end: int) -> Iterator[str]:
    """Which files that are no segments may have what no replica has, in words.

    Not what a broker cut off behind the end of a log, which it deletes as well.
    """
    empty = not any(replica.runs for replica in replicas)
    for replica in replicas:
        for first, last, waits, name in replica.aside:
            waiting = waits and first >= (replica.deleted_below or 0) and not _any_has(replicas, first, last)
            if waiting or (empty and first >= end) or common(missing, [(first, last)]):
                yield of_a_log_aside(replica.path, name, first)


def of_a_log_aside(path: str, name: str, first: int) -> str:
    """The words for a log of another ending in the directory `path` of a replica."""
    return (
        f"{path}/{name} may have records from offset {first} on that no log here has; "
        f"give a copy of {path}, too, in which it is called {file_prefix(first)}.log"
    )


def _any_has(replicas: Sequence[Replica], first: int, last: int) -> bool:
    """Whether any has a sound batch of these; gaps are told to be compacted for less."""
    return any(a <= last and b >= first for each in replicas for a, b in _held(each))


def unexplained_gaps(left_out: Sequence[Span]) -> Iterator[str]:
    """Gaps of all replicas of a topic that is not compacted, in words."""
    for first, last in left_out:
        yield (
            f"offsets {first} to {last}: no byte of them is here, and its topic is not compacted; whether "
            "they are lost, or were compacted before that was changed, nothing tells"
        )


def misplaceable(replicas: Sequence[Replica], missing: Spans) -> Iterator[str]:
    """Missing offsets that are a gap between two batches of one replica alone, in words.

    It has several gaps, as a cleaner leaves them, so none was held against the batches beside it (`leaps`).
    """
    for replica in (each for each in replicas if each.thinned and missing):
        firsts, lasts = (replica.runs.column(name) for name in ("first_offset", "last_offset"))
        pairs = enumerate(zip(lasts, firsts[1:], strict=False))
        apart = ((at, last, first) for at, (last, first) in pairs if last + 1 < first)
        gaps = [each for each in apart if has(missing, each[1] + 1, each[2] - 1)]
        others = [each for each in replicas if each is not replica]
        held = united(span for each in others for span in _held(each)) if gaps else Spans()
        for at, last, first in gaps:
            before, behind = replica.runs[at], replica.runs[at + 1]
            touch = (before.file, before.end_position) == (behind.file, behind.first_position)
            if touch and not (has(held, last) and has(held, first)):
                yield (
                    f"{replica.path}/{behind.file} at byte {behind.first_position}: nothing but the "
                    f"batches before and behind it says that offsets {last + 1} to {first - 1} are missing; "
                    "no checksum covers where they begin, so one of them may belong there, "
                    "and not where it is taken for"
                )


def tied(ties: Sequence[Tie], replicas: Sequence[Replica]) -> Iterator[str]:
    """Batches that two replicas have at different places, in words."""
    for tie in ties:
        yield (
            f"offsets {tie.batch.first_offset} to {tie.batch.last_offset}: {replicas[tie.replica].path} has "
            f"there what {replicas[tie.kept].path} has at {tie.there.first_offset} to "
            f"{tie.there.last_offset}; no checksum covers where a batch begins, and nothing else tells; "
            "the latter is taken"
        )


def deleted(first: int, branches: Sequence[Branch], replicas: Sequence[Replica]) -> Iterator[str]:
    """What lies below the `first` offset where a checkpoint beside other replicas has that, in words."""
    whose = next((each for each in replicas if each.deleted_below == first), None)
    for branch, replica in zip(branches, replicas, strict=True):
        below = common(branch.parts.held, [(0, first - 1)]) if whose is not None else Spans()
        if whose is not None and below and (replica.deleted_below or 0) < first:
            yield (
                f"offsets {below[0][0]} to {below[-1][1]} of {replica.path}: taken to be deleted "
                f"(DeleteRecords), for the log start offset in the checkpoint beside {whose.path} is {first}"
            )


def assumed(
    ranges: Packed[Range], branches: Sequence[Branch], replicas: Sequence[Replica], loose: Sequence[Spans]
) -> Iterator[str]:
    """Of what was compacted the batches beside gaps that one replica only has there, in words."""
    for number, (branch, replica) in enumerate(zip(branches, replicas, strict=True)):
        taken = united((each.first_offset, each.last_offset) for each in ranges if each.replica == number)
        if places := common(common(loose[number], branch.parts.held), taken):
            yield (
                f"offsets {places[0][0]} to {places[-1][1]} of {replica.path}: batches beside offsets that "
                "compaction left out are taken to begin where they say; no checksum covers that, and no "
                "other replica here has the same ones there"
            )


def _held(replica: Replica) -> Iterator[Span]:
    runs = replica.runs
    return zip(runs.column("first_offset"), runs.column("last_offset"), strict=True)


def _in_remote_storage(replicas: Sequence[Replica]) -> Iterator[str]:
    """Where the log begins before the first file, in words: in remote storage (KIP-405), or that is gone.

    A broker that deleted the files moved log-start-offset-checkpoint or the first epoch up with them.
    """
    starts = [
        each.deleted_below
        for each in replicas
        if each.deleted_below is not None and each.epochs and each.epochs[0][1] < each.log_start_offset
    ]
    first = min((each.log_start_offset for each in replicas), default=0)
    if starts and min(starts) < first:
        gone = f"offsets {min(starts)} to {first - 1}: no file here has them"
        yield f"{gone}; a tiered topic has them in remote storage, which is not read"


def _told_beside(
    replicas: Sequence[Replica], branches: Sequence[Branch], first: int, end: int
) -> Iterator[str]:
    """Where a file tells of offsets that no replica has, in words."""
    for number, (replica, branch) in enumerate(zip(replicas, branches, strict=True)):
        for low, high, file in replica.told:
            deleted = replica.deleted_below is not None and replica.deleted_below > high
            if branch.left is not None or deleted:
                continue
            if high >= end or low < first:
                yield of_what_is_told(replica.dir, replica.name, file, low)
            for begin, last in _taken_by_none(number, (low, high), replicas, branches):
                yield (
                    f"offsets {begin} to {last}: no byte of them is here, though {replica.path}/{file} has "
                    "an entry; whether they are lost, or were compacted, nothing tells"
                )


def of_what_is_told(home: str, name: str, file: str, low: int) -> str:
    """The words for a file in a log dir, or in its directory of a name, that tells of what no log has."""
    path = home if file == RECOVERY_POINT else f"{home}/{name}"
    return (
        f"{path}/{file} tells of offsets from {low} on, which no log here has; whether "
        "they are lost, or were deleted, nothing tells"
    )


def _taken_by_none(number: int, told: Span, replicas: Sequence[Replica], branches: Sequence[Branch]) -> Spans:
    """What of these a replica seems to have compacted, and no other one has or has compacted."""
    spoken_for = without(common(branches[number].cover, [told]), branches[number].parts.held)
    for other, branch in enumerate(branches):
        if other != number and spoken_for:
            doubtful = united((low, high) for low, high, _ in replicas[other].told)
            spoken_for = without(spoken_for, without(branch.cover, without(doubtful, branch.parts.held)))
    return spoken_for


def _doubts(
    replicas: Sequence[Replica], branches: Sequence[Branch], marks: Sequence[int | None], end: int
) -> Iterator[str]:
    """What could not be known, in words."""
    # A high watermark may tell of offsets behind all that is sound: these are missing, more are unknown.
    sound = max(branch.end for branch in branches)
    for replica, branch, mark in zip(replicas, branches, marks, strict=True):
        yield from (*replica.unreadable, *replica.unread_beside)
        if (replica.odd_mark or 0) > end:
            yield DOUBTFUL_MARK.format(replica.path, end, (replica.odd_mark or 0) - 1)
        if mark is not None and branch.left is None and (replica.high_watermark or 0) > max(mark, end):
            yield (
                f"{replica.path}: its high watermark is {replica.high_watermark}, but the newest epoch that "
                f"it knows ends at offset {mark - 1} on the newest leader's branch; whether the offsets from "
                f"{end} on were only of a leader that lost, or are lost here, nothing tells"
            )
        for each in replica.damaged:
            if each.last_offset is None and each.first_offset >= sound:
                yield (
                    f"{replica.path}/{each.file} at byte {each.position}: {each.kind}; whether there were "
                    f"records from offset {max(each.first_offset, end)} on nothing tells"
                )
        if branch.left is not None and branch.left < replica.thinned:
            yield (
                f"{replica.path} was compacted up to offset {replica.thinned} with records of a branch that "
                "lost; what it lacks below may have been removed for them"
            )
