"""Two replicas made from one history, cut and forked at random: what they share is found exactly."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segmend.errors import SegmendError
from segmend.formats.batch import read_header
from segmend.formats.build import NewRecord, build_batch
from segmend.kernel.types import BytesReader
from segmend.surgery.ops.graft.decision import Pair, Splice, decide
from segmend.surgery.replicas.comparison import Comparison, Position, compare
from segmend.surgery.replicas.joined_log import LARGEST_SPAN, FileRange, JoinedSegment, LogFile, join, whole
from segmend.surgery.replicas.replica_log import ReplicaLog


def history(counts: Sequence[int], *, first: int = 0, epoch: int = 0, word: bytes = b"v") -> list[bytes]:
    """Batches of so many records each."""
    found = []
    for number, count in enumerate(counts):
        records = [NewRecord(value=word + str(first + n).encode(), timestamp=number) for n in range(count)]
        found.append(build_batch(records, base_offset=first, leader_epoch=epoch))
        first += count
    return found


def replica(batches: Sequence[bytes], rolls: frozenset[int] = frozenset(), tail: bytes = b"") -> ReplicaLog:
    """The batches in segments: a new one begins before each batch whose number is in `rolls`."""
    logs: list[tuple[int, bytes]] = []
    for number, batch in enumerate(batches):
        if not logs or number in rolls:
            logs.append((read_header(batch).base_offset, b""))
        logs[-1] = logs[-1][0], logs[-1][1] + batch
    if logs:
        logs[-1] = logs[-1][0], logs[-1][1] + tail
    return ReplicaLog(tuple((base, lambda data=data: nullcontext(BytesReader(data))) for base, data in logs))


def pair(leader: ReplicaLog, *, same_id: bool = True, empty: bool = False, low: int = 0) -> Pair:
    return Pair(target="mine", source="theirs", leader=leader, same_id=same_id, low=low, empty=empty)


@dataclass(frozen=True)
class Two:
    """A common beginning of batches, and what each replica has after it."""

    shared: list[bytes]
    mine: list[bytes]
    theirs: list[bytes]
    dropped: tuple[int, int]
    rolls: tuple[frozenset[int], frozenset[int]]
    torn: bytes

    @property
    def logs(self) -> tuple[list[bytes], list[bytes]]:
        """All batches of either; retention took some from the beginning of one or the other."""
        return (self.shared + self.mine)[self.dropped[0] :], (self.shared + self.theirs)[self.dropped[1] :]


counts = st.lists(st.integers(1, 4), max_size=6)
rolled = st.frozensets(st.integers(0, 12), max_size=4)


@st.composite
def two(draw: st.DrawFn) -> Two:
    shared = history(draw(st.lists(st.integers(1, 4), min_size=1, max_size=8)))
    end = read_header(shared[-1]).last_offset + 1
    mine = history(draw(counts), first=end, epoch=1, word=b"mine")
    theirs = history(draw(counts), first=end, epoch=2, word=b"theirs")
    dropped = draw(st.sampled_from([(0, 0), (1, 0), (0, 1)])) if len(shared) > 1 else (0, 0)
    torn = draw(st.sampled_from([b"", b"\0" * 30, b"\0\0\0", shared[-1][:-1]]))
    return Two(shared, mine, theirs, dropped, (draw(rolled), draw(rolled)), torn)


def compared(case: Two) -> tuple[Comparison, ReplicaLog]:
    mine, theirs = case.logs
    leader = replica(theirs, case.rolls[1])
    return compare(replica(mine, case.rolls[0], case.torn), leader), leader


@pytest.mark.slow
@given(two())
def test_what_is_shared_and_what_either_has_alone(case: Two) -> None:
    found, _ = compared(case)
    common = case.shared[max(case.dropped) :]
    assert found.shared.batches == len(common)
    assert found.shared.first == read_header(common[0]).base_offset
    assert found.shared.end == read_header(common[-1]).last_offset + 1
    assert (found.lost.batches, found.lost.bytes) == (len(case.mine), sum(map(len, case.mine)))
    assert (found.copied.batches, found.copied.bytes) == (len(case.theirs), sum(map(len, case.theirs)))
    assert found.diverged == bool(case.mine and case.theirs)


def bytes_of(logs: ReplicaLog) -> dict[int, bytes]:
    found = {}
    for base, opened in logs.logs:
        with opened() as reader:
            buffer = bytearray(reader.size)
            reader.read_into(memoryview(buffer), 0)
            found[base] = bytes(buffer)
    return found


@given(two())
def test_the_joined_log_holds_the_leaders_batches(case: Two) -> None:
    found, leader = compared(case)
    mine, _ = case.logs
    if case.mine and not case.theirs:
        with pytest.raises(SegmendError, match="is that the leader's log"):
            decide(found, pair(leader), whole=False)
        return
    cut = decide(found, pair(leader), whole=False)
    if cut is None:
        assert not case.mine
        assert not case.theirs
        return
    files = {"mine": bytes_of(replica(mine, case.rolls[0], case.torn)), "theirs": bytes_of(leader)}
    segments = joined(cut, files)
    assert [segment.base for segment in segments] == sorted({segment.base for segment in segments})
    data = b"".join(cut_out(files, part) for segment in segments for part in segment.parts)
    assert data == b"".join(mine[: len(mine) - len(case.mine)] + case.theirs)


def logs_of(files: dict[str, dict[int, bytes]], side: str) -> list[LogFile]:
    return [LogFile(base, f"{side}/{base}", len(data)) for base, data in sorted(files[side].items())]


def joined(cut: Splice, files: dict[str, dict[int, bytes]]) -> list[JoinedSegment]:
    if cut.kept is None:
        return whole(logs_of(files, "theirs"), cut.end, last_offset=cut.end_offset - 1)
    return join(
        logs_of(files, "mine"), logs_of(files, "theirs"), kept=cut.kept, copied_from=cut.copied_from,
        end=cut.end, offset=cut.offset, last_offset=cut.end_offset - 1,
    )  # fmt: skip


def cut_out(files: dict[str, dict[int, bytes]], part: FileRange) -> bytes:
    side, _, base = part.path.partition("/")
    return files[side][int(base)][part.start : part.end]


@given(two(), st.data())
def test_damage_ends_what_is_shared(case: Two, data: st.DataObject) -> None:
    mine, theirs = case.logs
    common = len(case.shared) - max(case.dropped)
    number = data.draw(st.integers(0, common - 1)) + max(case.dropped) - case.dropped[0]
    hurt = [*mine]
    hurt[number] = hurt[number][:-1] + bytes([hurt[number][-1] ^ 1])
    found = compare(replica(hurt, case.rolls[0]), replica(theirs, case.rolls[1]))
    assert found.shared.batches == number - (max(case.dropped) - case.dropped[0])
    assert found.lost.batches == len(case.mine), "what the leader has too is not lost"


@given(two())
def test_damage_of_the_leader_is_never_copied(case: Two) -> None:
    mine, theirs = case.logs
    if len(theirs) < 2:
        return
    hurt = [*theirs]
    hurt[-2] = hurt[-2][:-1] + bytes([hurt[-2][-1] ^ 1])
    leader = replica(hurt, case.rolls[1])
    with pytest.raises(SegmendError, match=r"theirs/0{10}.*damaged at byte \d+ \(crc-mismatch\)"):
        decide(compare(replica(mine), leader), pair(leader), whole=False)


def test_the_same_records_of_another_epoch_are_another_history() -> None:
    """The leader epoch is not under the checksum."""
    shared = history([2])
    mine, theirs = ([*shared, *history([2], first=2, epoch=epoch)] for epoch in (1, 2))
    found = compare(replica(mine), replica(theirs))
    assert (found.shared.end, found.lost.batches, found.diverged) == (2, 1, True)
    assert found.lost.epochs == {1}


def test_a_torn_end_of_the_leader_is_left_out() -> None:
    batches = history([2, 2, 2])
    leader = replica(batches, tail=batches[0][:-3])
    cut = decide(compare(replica(batches[:1]), leader), pair(leader), whole=False)
    assert cut is not None
    assert (cut.offset, cut.end_offset, cut.end.position) == (2, 6, sum(map(len, batches)))


def test_only_what_is_committed_of_a_live_leader() -> None:
    batches = history([2, 2, 2, 2])
    leader = replica(batches)
    found = compare(replica(batches[:1]), leader, high=5)
    cut = decide(found, pair(leader), whole=False)
    assert cut is not None
    assert (cut.offset, cut.end_offset) == (2, 4)


def refused(mine: ReplicaLog, leader: ReplicaLog, **known: bool) -> str:
    with pytest.raises(SegmendError) as refusal:
        decide(compare(mine, leader), pair(leader, **known), whole=False)
    return str(refusal.value)


def test_another_log_is_refused_with_the_offsets() -> None:
    text = refused(replica(history([3, 3])), replica(history([2, 2, 2], word=b"w")))
    assert "mine and theirs hold offsets 0 to 5 and 0 to 5" in text
    assert "offsets 0 to 2, epoch 0" in text
    assert "offsets 0 to 1, epoch 0" in text
    assert "\n" not in text


def test_a_leader_that_ends_before_the_replica_begins() -> None:
    text = refused(replica(history([2], first=100)), replica(history([2])))
    assert "theirs ends at offset 2, before mine begins (100)" in text


def test_a_leader_without_batches() -> None:
    assert "has no batch to copy" in refused(replica(history([1])), replica(()))


def test_a_replica_below_the_leaders_start_is_replaced_if_the_topic_ids_say_so() -> None:
    mine, leader = replica(history([2])), replica(history([2], first=100))
    cut = decide(compare(mine, leader), pair(leader), whole=False)
    assert cut is not None
    assert (cut.kept, cut.offset, cut.end_offset) == (None, 100, 102)
    assert "ends before offset 100, where theirs begins" in refused(mine, leader, same_id=False)


def test_a_leader_that_was_compacted_does_not_begin_where_that_ends() -> None:
    mine, leader = replica(history([2])), replica([*history([2], first=2), *history([2], first=100)])
    with pytest.raises(SegmendError, match="mine has no batch from offset 100 on, where neither was"):
        decide(compare(mine, leader, low=100), pair(leader, low=100, same_id=False), whole=False)


def test_nothing_is_missing() -> None:
    both = replica(history([2, 2]))
    assert decide(compare(both, both), pair(both), whole=False) is None


def test_a_compacted_beginning_is_not_compared() -> None:
    head, tail = history([1, 1, 1]), history([2, 2], first=3)
    mine, leader = replica([head[0], head[2], tail[0]]), replica([head[1], *tail])
    assert "differ from the first batch on" in refused(mine, leader)
    cut = decide(compare(mine, leader, low=3), pair(leader, low=3), whole=False)
    assert cut is not None
    assert (cut.offset, cut.end_offset) == (5, 7)
    with pytest.raises(SegmendError, match="put its cleaner-offset-checkpoint beside the copy"):
        decide(compare(mine, leader, low=1), replace(pair(leader, low=1), alone=True), whole=False)


LOG = LogFile(0, "mine/0", 100)


def segments(mine: Sequence[LogFile], theirs: Sequence[LogFile], kept: Position, last: int) -> list[int]:
    found = join(
        mine, theirs, kept=kept, copied_from=Position(0, 60), end=Position(0, theirs[0].size), offset=7,
        last_offset=last,
    )  # fmt: skip
    return [segment.base for segment in found]


def test_a_segment_becomes_no_larger_than_any_before() -> None:
    same = LogFile(0, "theirs/0", 200)
    assert segments([LOG], [same], Position(0, 60), 9) == [0]
    assert segments([LOG], [same], Position(0, 60), LARGEST_SPAN + 1) == [0, 7]
    late = LogFile(5, "mine/5", 190)
    assert segments([LOG, late], [same], Position(5, 190), 9) == [0, 5, 7]
    assert segments([LOG, late], [same], Position(5, 40), 9) == [0, 5]
    huge = replace(JoinedSegment(0, None, None), kept=FileRange("mine/0", 0, (1 << 31) - 10))
    assert huge.size < 1 << 31
    assert segments([LogFile(0, "mine/0", huge.size)], [same], Position(0, huge.size), 9) == [0, 7]


def test_an_empty_first_segment_stays_where_offsets_do_not_fit_into_one() -> None:
    logs = [LogFile(0, "empty", 0), LogFile(LARGEST_SPAN, "b", 100), LogFile(2 * LARGEST_SPAN, "c", 100)]
    found = whole(logs, Position(2 * LARGEST_SPAN, 100), last_offset=2 * LARGEST_SPAN + 9)
    assert [(each.base, each.size) for each in found] == [(log.base, log.size) for log in logs]
    near = whole(logs[:2], Position(LARGEST_SPAN, 100), last_offset=LARGEST_SPAN)
    assert [(each.base, each.size) for each in near] == [(0, 100)]
