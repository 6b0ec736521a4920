"""The merge of simulated replicas is the model's true log, wherever any of them has a sound copy."""

import random
import re
from dataclasses import replace

import pytest
from tests.merge.history import History, Node, Stored, fates_of, played
from tests.seeds import sampled

from segmend.errors import UsageError
from segmend.merge import uncleaned
from segmend.merge.no_further import Stayed
from segmend.merge.rule import merge, refuse_another_topic
from segmend.merge.runs import MANY
from segmend.merge.values import Merged
from segmend.merge.walk import LONELY

FOUND = (
    649, 1008, 1053, 1128, 1144, 1798, 2629, 3773, 8228, 22283, 32198, 32236, 40675, 42225, 42885, 43143,
    50997, 52593, 52777,
)  # fmt: skip
"""Histories that were merged wrongly once. The last seven are all of 40000 to 46000 and 50000 to 53000,
played on 2026-11-24."""


def taken(history: History, merged: Merged) -> dict[int, tuple[int, int, bytes, bool]]:
    """The merged records by offset: the batch's checksum and epoch, key and whether a tombstone."""
    found: dict[int, tuple[int, int, bytes, bool]] = {}
    for part in merged.ranges:
        for batch in history.sound(part.replica, part.first_offset, part.last_offset):
            for offset, key, gone in batch.records:
                if part.first_offset <= offset <= part.last_offset and offset not in part.superseded:
                    assert offset not in found, "a record is taken twice"
                    found[offset] = batch.crc, batch.epoch, key, gone
    return found


def is_diverged(offset: int, merged: Merged) -> bool:
    """Whether it is told that a replica has this offset of another branch."""
    return any(each.first_offset <= offset <= each.last_offset for each in merged.diverged)


def judge(seed: int, *, cut_out: bool = False, mixed: str = "") -> None:
    """Without compaction: byte for byte, and every missing offset is missing everywhere.

    Of magic 1 nothing may tell whose it is, if that is told.
    """
    history = played(seed, compacted=False, mixed=mixed)
    for number in range(len(history.nodes) if cut_out else 0):
        history.cut_out(number)
    if history.unknowable:
        return
    replicas = history.replicas(lonely=MANY if cut_out else LONELY)
    merged = merge(replicas, history, compacted=False if cut_out else None)
    found = taken(history, merged)
    held = {
        (batch.crc, offset)
        for node in history.nodes
        for batch in node.log
        if not batch.damaged
        for offset, _, _ in batch.records
    }
    for part in merged.ranges:
        for batch in history.sound(part.replica, part.first_offset, part.last_offset):
            copies = sum(batch in node.log for node in history.nodes)
            above = merged.high_watermark is not None and batch.first >= merged.high_watermark
            if part.first_offset <= batch.first <= part.last_offset:
                assert part.unacknowledged == (above and copies == 1), (seed, part)
    told = (re.match(r"offsets (\d+) to (\d+): no byte", each) for each in merged.doubts)
    spans = (*merged.missing, *((int(each[1]), int(each[2])) for each in told if each))
    missing = {offset for first, last in spans for offset in range(first, last + 1)}
    for batch in history.truth:
        for offset, key, gone in batch.records:
            is_told = batch.magic < 2 and offset in missing and is_diverged(offset, merged)
            if (batch.crc, offset) in held and not is_told:
                assert found.pop(offset, None) == (batch.crc, batch.epoch, key, gone), (seed, offset)
                assert offset not in missing, (seed, offset)
            else:
                assert offset in missing or offset >= merged.next_offset, (seed, offset)
    assert not found, (seed, "taken from a branch that lost")
    assert not merged.conflicts, seed


def compacted(seed: int, *, lifted: bool, horizons: bool, forgotten: bool, mixed: str) -> History:
    """With compaction.

    `lifted`: batches, transactions and markers among them, are gone from within compacted files. `horizons`:
    cleaners write into batches when their tombstones may go. `forgotten`: some have no checkpoints.
    """
    history = played(seed, compacted=True, transactions=lifted, horizons=horizons, mixed=mixed)
    for number in range(len(history.nodes) if lifted else 0):
        if history.draw.random() < 0.5:
            history.lift(number)
    if forgotten:
        history.forget()
    return history


def judge_compacted(
    seed: int, *, lifted: bool = False, horizons: bool = False, forgotten: bool = False, mixed: str = ""
) -> None:
    """With compaction: nothing lost that is not superseded, and no key lives again."""
    history = compacted(seed, lifted=lifted, horizons=horizons, forgotten=forgotten, mixed=mixed)
    if history.unknowable:
        return
    merged = merge(history.replicas(), history, compacted=bool(seed % 2) or None)
    if mixed and merged.diverged and (merged.missing or merged.conflicts):
        return  # Of magic 1 nothing may tell whose it is; that is told.
    found = taken(history, merged)
    true = {
        offset: (batch.epoch, key, gone) for batch in history.truth for offset, key, gone in batch.records
    }
    for offset, (_, epoch, key, gone) in found.items():
        assert true.get(offset) == (epoch, key, gone), (seed, offset, "not of the true log")
    sound = {
        offset
        for node in history.nodes
        for batch in node.log
        for offset, key, gone in batch.records
        if not batch.damaged and true.get(offset) == (batch.epoch, key, gone)
    }
    markers = {b for node in history.nodes for b in node.log if b.commits is not None and not b.damaged}
    if any(batch.commits is not None and batch not in markers for batch in history.truth):
        return  # How that transaction ended nobody can know.
    removed = max(node.cleaned for node in history.nodes)
    fates = fates_of(history.truth)
    stands = {o for batch in history.truth if fates.get(batch.first, True) for o, _, _ in batch.records}
    for key, offset in {key: offset for offset, (_, key, _) in true.items() if offset in stands}.items():
        latest = max((at for at, each in found.items() if each[2] == key and at in stands), default=None)
        tombstone = true[offset][2]
        if offset in sound and (not tombstone or offset >= removed):
            assert latest == offset or is_bounded(merged), (seed, key, latest, offset, "lost")
        elif offset in sound:
            alive = latest is not None and not true[latest][2]
            assert merged.doubts or not alive, (seed, key, latest, offset, "lives again")
        elif tombstone and not (merged.missing or merged.doubts or any(node.gap for node in history.nodes)):
            assert latest is None or true[latest][2], (seed, key, latest, offset, "lives again, untold")
    judge_markers(seed, history, merged, set(found))
    assert merged.doubts or not merged.conflicts, seed


def is_bounded(merged: Merged) -> bool:
    """Whether it is told that not all records of open transactions were held."""
    return any("too many records of open transactions" in each for each in merged.doubts)


def judge_markers(seed: int, history: History, merged: Merged, found: set[int]) -> None:
    """A record of a transaction is nowhere without the marker that ended it, if that is anywhere."""
    sound = {batch for node in history.nodes for batch in node.log if not batch.damaged}
    taken = {
        batch.first
        for part in merged.ranges
        for batch in history.sound(part.replica, part.first_offset, part.last_offset)
    }
    begun: dict[int | None, bool] = {}
    for batch in history.truth:
        if batch.commits is None:
            begun[batch.producer] = begun.get(batch.producer, False) or not found.isdisjoint(
                offset for offset, _, _ in batch.records
            )
        elif begun.pop(batch.producer, False) and batch in sound:
            assert batch.first in taken, (seed, batch, "a marker is lost")


def judge_converted(seed: int, *, compacted: bool) -> None:
    """Some replicas have messages of magic 1 where others have batches: no record is lost, or it is told."""
    history = played(seed, compacted=compacted, mixed="old")
    if history.unknowable:
        return
    merged = merge(history.replicas(), history, compacted=None)
    found = {offset: each[2:] for offset, each in taken(history, merged).items()}
    true = {offset: (key, gone) for batch in history.truth for offset, key, gone in batch.records}
    assert merged.diverged or found.items() <= true.items(), (seed, "not of the true log")
    newest = {key: offset for offset, (key, gone) in true.items()}
    held = {
        each for node in history.nodes for batch in node.log if not batch.damaged for each in batch.records
    }
    for offset, (key, gone) in true.items():
        is_due = not compacted or (newest[key] == offset and not gone)
        if is_due and (offset, key, gone) in held and offset not in found:
            named = any(first <= offset <= last for first, last in merged.missing)
            assert named or is_diverged(offset, merged), (seed, offset, "lost")


def judge_all(seed: int) -> None:
    """All kinds of histories that this seed draws."""
    for mixed in ("", "upgraded"):
        judge(seed, mixed=mixed)
        judge(seed, cut_out=True, mixed=mixed)
        judge_compacted(seed, mixed=mixed)
    judge_compacted(seed, lifted=True)
    judge_compacted(seed, horizons=True, lifted=True)
    judge_compacted(seed, horizons=True, forgotten=True)
    judge_converted(seed, compacted=False)
    judge_converted(seed, compacted=True)


def test_the_merge_is_the_true_log_wherever_a_sound_copy_exists() -> None:
    """A few hundred histories."""
    for seed in (*range(25), *FOUND):
        judge_all(seed)


def test_keys_are_held_in_several_passes_and_open_transactions_up_to_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(uncleaned, "_HELD", 2)
    monkeypatch.setattr(uncleaned, "STEP", 2)
    for seed in range(25):
        judge_compacted(seed)
        judge_compacted(seed, lifted=True)
    history = compacted(5, lifted=True, horizons=False, forgotten=False, mixed="")
    assert is_bounded(merge(history.replicas(), history, compacted=True))


@pytest.mark.slow
def test_the_merge_is_the_true_log_in_many_histories() -> None:
    """More of them; a sweep takes all."""
    for seed in range(25, sampled(20_000, 400)):
        judge_all(seed)


def test_a_key_that_came_again_says_how_far_the_cleaner_of_a_gap_behind_it_can_have_come() -> None:
    stays = Stayed(keyless=90, again=((50, 30), (60, 10)))
    assert [stays.bound(gap) for gap in (10, 11, 31)] == [90, 60, 50]
    assert stays.bound() == 50


@pytest.mark.parametrize(
    ("ids", "blamed", "leave"),
    [("aab", 2, "leave it out"), ("abb", 0, "leave it out"), ("ab", 1, "leave one of them out")],
)
def test_of_several_topics_the_one_that_fewest_are_of_is_left_out(ids: str, blamed: int, leave: str) -> None:
    (one,) = History(random.Random(0), 1).replicas()
    replicas = [replace(one, dir=f"d{n}", topic_id=each) for n, each in enumerate(ids)]
    with pytest.raises(UsageError, match=rf"^d{blamed}/t-0: .* so {leave}$"):
        refuse_another_topic(replicas)


def test_a_mark_of_before_the_log_was_cut_counts_up_to_the_end_of_its_last_epoch() -> None:
    """Its log was cut below where the next leader began; the checkpoint has what the lost one had."""
    log = [Stored(at, at, int(at >= 10), at, ((at, b"key", False),)) for at in range(15)]
    history = History(random.Random(0), 2)
    history.nodes = [
        Node(log[:8], [(0, 0)], high_watermark=12), Node(log, [(0, 0), (1, 10)], high_watermark=5)
    ]  # fmt: skip
    history.truths = [log[:8], log]
    history.leader, history.epoch = 1, 1
    assert merge(history.replicas(), history, compacted=False).high_watermark == 10


@pytest.mark.parametrize("held", [False, True])
def test_who_fetches_from_a_leader_that_was_cleaned_knows_its_epoch_from_a_later_offset(held: bool) -> None:
    """It has left nothing; seen on real 3.9.2. With a batch in between it was no follower of that leader."""
    log = [Stored(at, at, int(at >= 10), at, ((at, b"%d" % (at % 4), False),)) for at in range(15)]
    old = [replace(log[at], epoch=0, crc=99) for at in (11,) if held]
    history = History(random.Random(0), 2)
    history.nodes = [
        Node([*log[:10], *old, *log[12:]], [(0, 0), (1, 12)], high_watermark=15, cleaned=13),
        Node([*log[:10], *log[12:]], [(0, 0), (1, 10)], high_watermark=15, cleaned=13),
    ]
    history.truths = [log, log]
    history.leader, history.epoch = 1, 1
    merged = merge(history.replicas(), history, compacted=True)
    relations = {each.relation for each in merged.standings}
    assert ("diverged" in relations) is held
    assert (relations == {"best", "equal"} and merged.doubts == ()) is not held


def deletions(seed: int) -> tuple[History, list[Stored]]:
    """Keys are written once, some deleted; the first replica was never cleaned, and lost some tombstones.

    Of the others, which were cleaned, bytes are gone, often of the same batches.
    """
    draw = random.Random(seed)
    log, keys = list[Stored](), list[bytes]()
    for at in range(draw.randrange(8, 30)):
        deleted = bool(keys) and draw.random() < 0.4
        keys.append(draw.choice(keys) if deleted else b"%d" % at)
        log.append(Stored(at, at, 0, at, ((at, keys[-1], deleted),)))
    history = History(draw, draw.randrange(2, 5))
    history.truths, history.epoch = [log] * len(history.nodes), 0
    history.nodes = [Node(list(log), [(0, 0)], high_watermark=len(log)) for _ in history.nodes]
    away, *cleaned = history.nodes
    for number in range(1, len(history.nodes)):
        history.clean(number)
        history.clean(number)
        if draw.random() < 0.6:
            history.lift(number)
    away.log = [replace(each, damaged=each.records[0][2] and draw.random() < 0.7) for each in log]
    for gone in draw.choices(range(len(log)), k=draw.randrange(3)):
        for node in cleaned:
            for at in [at for at, each in enumerate(node.log) if each.first == gone < node.cleaned]:
                node.take_out(at)
    return history, log


def judge_deleted(seed: int) -> tuple[int, int]:
    """That several replicas lack a record is no proof: each that is newest is there, if anybody has it.

    How many deleted ones came back where nothing tells, and how many did not.
    """
    history, log = deletions(seed)
    merged = merge(history.replicas(), history, compacted=True)
    found = taken(history, merged)
    records = [each for batch in log for each in batch.records]
    firsts = {key: offset for offset, key, _ in reversed(records)}
    last = {key: (offset, gone) for offset, key, gone in records}
    lost = [offset for offset, gone in last.values() if not gone and offset not in found]
    assert not lost, (seed, lost)
    deleted = {firsts[key]: offset for key, (offset, gone) in last.items() if gone and firsts[key] < offset}
    back = [first for first, offset in deleted.items() if first in found and offset not in found]
    for first in back:
        assert merged.doubts, (seed, first, "lives again, untold")
        for number, node in enumerate(history.nodes):
            lacks = first < node.cleaned and all(each.first != first for each in node.log)
            assert not (lacks and history.cleaned_at(number, first)), (seed, first, "lives again")
    return len(back), len(deleted)


def test_what_was_deleted_stays_so_where_a_cleaned_file_is_whole_and_what_two_lost_is_not() -> None:
    told = [judge_deleted(seed) for seed in range(sampled(20_000, 400))]
    back, deleted = (sum(each[number] for each in told) for number in (0, 1))
    assert deleted > 10 * back > 0
