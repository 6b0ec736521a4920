"""The sentences of `segmend explain merge`, each as small replicas show it, or by the test that has it."""

import json
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import Ran, run

from segmend.formats.build import BatchProducer, NewRecord, build_batch

TESTS = Path(__file__).parents[1]
START = 1_700_000_000_000
Row = tuple[int, str | None, int]
"""Offset, value and the broker whose it is."""


def batch(first: int, count: int = 3, value: str = "v", epoch: int = 0, **more: Any) -> bytes:
    """Records without a key, whose values end in their offsets."""
    records = [
        NewRecord(value=f"{value}{offset}".encode(), timestamp=START + offset)
        for offset in range(first, first + count)
    ]
    return build_batch(records, base_offset=first, leader_epoch=epoch, **more)


def keyed(offset: int, key: str, epoch: int = 0, *, tombstone: bool = False) -> bytes:
    value = None if tombstone else f"{key}{offset}".encode()
    record = NewRecord(value=value, key=key.encode(), timestamp=START + offset)
    return build_batch([record], base_offset=offset, leader_epoch=epoch)


def hurt(data: bytes) -> bytes:
    """With a bit flipped that the checksum covers."""
    return data[:30] + bytes([data[30] ^ 1]) + data[31:]


class Bed:
    """Log dirs of one partition, and what is made of them."""

    def __init__(self, root: Path) -> None:
        self.root, self.dirs = root, list[Path]()
        self.options: tuple[object, ...] = ()
        self.outs = 0

    def replica(
        self, *batches: bytes, more: dict[int, bytes] | None = None, base: int = 0,
        epochs: tuple[tuple[int, int], ...] = (), name: str = "", broker: int | None = 0,
        cluster: str = "c", topic_id: str = "", **checkpoints: int,
    ) -> Path:  # fmt: skip
        """`more` are further files by their base; the checkpoints are `high`, `start`, and `cleaned`."""
        number = len(self.dirs) + 1
        home = self.root / (name or f"b{number}")
        (folder := home / "t-0").mkdir(parents=True)
        for first, data in {base: b"".join(batches), **(more or {})}.items():
            (folder / f"{first:020}.log").write_bytes(data)
        if broker is not None:
            meta = f"version=1\nnode.id={broker or number}\ncluster.id={cluster}\n"
            (home / "meta.properties").write_text(meta)
        if epochs:
            lines = "".join(f"{epoch} {offset}\n" for epoch, offset in epochs)
            (folder / "leader-epoch-checkpoint").write_text(f"0\n{len(epochs)}\n{lines}")
        if topic_id:
            (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
        files = {"high": "replication", "start": "log-start", "cleaned": "cleaner"}
        for which, offset in checkpoints.items():
            file = "cleaner-offset" if which == "cleaned" else f"{files[which]}-offset"
            (home / f"{file}-checkpoint").write_text(f"0\n1\nt 0 {offset}\n")
        self.dirs.append(home)
        return home

    def compacted(self) -> None:
        """The policy of the brokers."""
        (config := self.root / "server.properties").write_text("log.cleanup.policy=compact\n")
        self.options = ("--config", config)

    def rescue(self, code: int = 0) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The line of the partition, and its rows."""
        ran = self.ran(code)
        rows = (self.root / f"out{self.outs}" / "t-0.jsonl").read_text().splitlines()
        return ran.of("partition")[0], [json.loads(row) for row in rows]

    def ran(self, code: int) -> Ran:
        self.outs += 1
        asked = ("rescue", *self.dirs, "--out", self.root / f"out{self.outs}", "--as", "jsonl", "--json")
        return run(*asked, *self.options, code=code)

    def rows(self, code: int = 0) -> list[Row]:
        return [
            (row["offset"], None if row["value"] is None else b64decode(row["value"]).decode(), row["broker"])
            for row in self.rescue(code)[1]
        ]

    def diff(self) -> list[dict[str, Any]]:
        return run("diff", *self.dirs, "--json", "--all", *self.options).of("replica")


def all_of(*parts: tuple[int, range, str]) -> list[Row]:
    return [(offset, f"{value}{offset}", broker) for broker, offsets, value in parts for offset in offsets]


def an_epoch_that_does_not_fit(bed: Bed) -> None:
    bed.replica(batch(0), batch(3, epoch=9), batch(6))
    (told,) = bed.diff()
    assert [(each["first_offset"], each["last_offset"]) for each in told["damaged"]] == [(3, 5)]


def the_newest_epoch_wins(bed: Bed) -> None:
    """And what the older one has beyond is a divergence."""
    bed.replica(batch(0, 5), batch(5, 5, epoch=1), epochs=((0, 0), (1, 5)))
    lost = batch(5, 3, "w", producer=BatchProducer(77, 0, 0))
    bed.replica(batch(0, 5), lost, batch(8, 2, "w"), epochs=((0, 0),))
    (_, told) = bed.diff()
    assert told["diverged_at"] == {"offset": 5, "epoch": 0}
    assert told["diverged"] == [{"first_offset": 5, "last_offset": 9, "records": 5, "producers": [77]}]
    assert bed.rows(4) == all_of((1, range(10), "v"))


def a_contradicted_checkpoint(bed: Bed) -> None:
    bed.replica(batch(0, 10), batch(10, 2), epochs=((0, 0), (5, 3)))
    bed.replica(batch(0, 10), batch(10, 2), batch(12, epoch=1), epochs=((0, 0), (1, 12)))
    assert bed.rows() == all_of((2, range(15), "v"))


def holes_on_both(bed: Bed) -> None:
    bed.replica(batch(0), hurt(batch(3)), batch(6))
    bed.replica(batch(0), batch(3), hurt(batch(6)))
    assert bed.rows() == all_of((1, range(3), "v"), (2, range(3, 6), "v"), (1, range(6, 9), "v"))


def salvaged_by_most(bed: Bed) -> None:
    """Of two that differ, the first in order."""
    broken = [batch(3).replace(b"v4", new) for new in (b"a4", b"b4", b"b4")]
    bed.options = ("--salvage",)
    for number, data in enumerate(broken, 1):
        bed.replica(batch(0), data, batch(6))
        if number > 1:
            line, rows = bed.rescue(4)
            assert line["missing"] == line["salvaged"] == [[3, 5]]
            assert b64decode(rows[4]["value"]) == (b"b4" if number == 3 else b"a4")
            assert [row["offset"] for row in rows if row["salvaged"]] == [3, 4, 5]


def most_replicas(bed: Bed) -> None:
    bed.replica(batch(0), batch(3, value="a"))
    bed.replica(batch(0), batch(3, value="b"))
    bed.replica(batch(0), batch(3, value="b"))
    (line, _) = bed.rescue(4)
    told = {"first_offset": 3, "last_offset": 5, "because": "majority", "taken": [2, 3]}
    assert line["conflicts"] == [told]
    assert bed.rows(4)[3:] == all_of((2, range(3, 6), "b"))


def by_order(
    first: dict[str, Any], second: dict[str, Any], *ahead: bytes, damaged: bool = False
) -> Callable[[Bed], None]:
    """Two alike but for the bytes at 3 to 5: the second is taken, however they are given."""

    def play(bed: Bed) -> None:
        bed.replica(hurt(batch(0)) if damaged else batch(0), batch(3, value="a"), **first)
        bed.replica(batch(0), batch(3, value="b"), *ahead, **second)
        for _ in range(2):
            (line, rows) = bed.rescue(4)
            assert [each["because"] for each in line["conflicts"]] == ["order"]
            assert [b64decode(row["value"]) for row in rows][3:6] == [b"b3", b"b4", b"b5"]
            bed.dirs.reverse()

    return play


def plan_merge_asks(bed: Bed) -> None:
    bed.replica(batch(0), batch(3, value="a"))
    bed.replica(batch(0), batch(3, value="b"))
    (mine, other) = bed.dirs
    ran = run("plan", "merge", mine, "--partition", "t-0", "--from", other / "t-0", code=8)
    assert ran.err.endswith("no rule says who is right; say it: --prefer BROKER\n")


def plan_merge_leaves_the_beginning(bed: Bed) -> None:
    """Neither is what others still have put before it, nor taken away what they have deleted."""
    first = bed.replica(batch(3), batch(6), base=3, start=5)
    second = bed.replica(batch(0), batch(3), more={6: batch(6)})
    for mine, other in ((first, second), (second, first)):
        ran = run("plan", "merge", mine, "--partition", "t-0", "--from", other / "t-0", "--json", code=0)
        assert ran.of("plan")[0]["steps"] == 0


def the_furthest_cleaned_decides(bed: Bed) -> None:
    bed.compacted()
    bed.replica(keyed(0, "a"), keyed(1, "b"), keyed(2, "a"), keyed(3, "b", tombstone=True), keyed(4, "d"))
    bed.replica(keyed(2, "a"), keyed(3, "b", tombstone=True), keyed(4, "d"), cleaned=5)
    assert bed.rows() == [(2, "a2", 2), (3, None, 2), (4, "d4", 2)]
    assert {each["relation"] for each in bed.diff()} == {"best", "equal"}


def no_deleted_key_comes_back(bed: Bed) -> None:
    bed.compacted()
    bed.replica(keyed(0, "a"), keyed(1, "b"), keyed(2, "a"), keyed(3, "b", tombstone=True), keyed(5, "d"))
    bed.replica(hurt(keyed(2, "a")), keyed(3, "b", tombstone=True), keyed(5, "d"), cleaned=6)
    assert bed.rows() == [(2, "a2", 1), (3, None, 2), (5, "d5", 2)]


def cleaned_by_a_branch_that_lost(bed: Bed) -> None:
    bed.compacted()
    bed.replica(keyed(2, "c"), keyed(4, "a"), cleaned=5, epochs=((0, 0),))
    new = [keyed(offset, "q", epoch=1) for offset in (3, 4)]
    bed.replica(keyed(0, "a"), keyed(1, "b"), keyed(2, "c"), *new, epochs=((0, 0), (1, 3)))
    (line, _) = bed.rescue(4)
    assert "compacted up to offset 5 with records of a branch that lost" in line["doubts"][0]
    assert bed.rows(4)[:3] == [(0, "a0", 2), (1, "b1", 2), (2, "c2", 2)]


def a_gap_between_files(bed: Bed) -> None:
    bed.compacted()
    bed.replica(keyed(0, "a"), more={3: keyed(3, "b") + keyed(4, "c")}, cleaned=5)
    bed.replica(*(keyed(offset, key) for offset, key in enumerate("abcbc")))
    assert [row[0] for row in bed.rows()] == [0, 3, 4]
    assert bed.diff()[0]["damaged"] == []


def a_lost_file(bed: Bed) -> None:
    bed.compacted()
    bed.replica(keyed(0, "a"), more={3: keyed(3, "b") + keyed(4, "c")}, cleaned=5)
    bed.replica(*(keyed(offset, key) for offset, key in enumerate("abzbc")))
    assert (2, "z2", 2) in bed.rows()
    assert bed.diff()[0]["damaged"][0]["sound_on"] == [2]


def the_newest_of_a_key(bed: Bed) -> None:
    bed.compacted()
    bed.replica(keyed(0, "a"), keyed(2, "b"), keyed(3, "c"), cleaned=4)
    bed.replica(*(keyed(offset, key) for offset, key in enumerate("azbc")))
    assert (1, "z1", 2) in bed.rows()


def a_tombstone_may_go(bed: Bed) -> None:
    bed.compacted()
    bed.replica(keyed(0, "a"), keyed(2, "b"), cleaned=3)
    bed.replica(keyed(0, "a"), keyed(1, "z", tombstone=True), keyed(2, "b"))
    assert [row[0] for row in bed.rows()] == [0, 2]


def a_tombstone_in_doubt(bed: Bed) -> None:
    bed.compacted()
    bed.replica(hurt(keyed(1, "b")), keyed(5, "d"), cleaned=6)
    bed.replica(keyed(0, "a"), keyed(1, "b"), hurt(keyed(3, "a", tombstone=True)), keyed(5, "d"))
    assert "whether a tombstone among it deleted what" in bed.rescue(4)[0]["doubts"][0]


def came_again_only_above(bed: Bed) -> None:
    bed.compacted()
    bed.replica(hurt(keyed(0, "a")), keyed(1, "b"), cleaned=2)
    bed.replica(keyed(0, "a"), keyed(1, "b"), keyed(2, "a"))
    assert bed.rows()[0] == (0, "a0", 2)


def a_gap_where_another_has_no_key(bed: Bed) -> None:
    bed.replica(batch(0, 1), batch(2, 1))
    bed.replica(batch(0, 1), batch(1, 1), batch(2, 1))
    assert [row[0] for row in bed.rows()] == [0, 1, 2]
    assert bed.diff()[0]["relation"] == "damaged"


def came_again_before_the_gap(bed: Bed) -> None:
    bed.compacted()
    bed.replica(keyed(0, "a"), keyed(1, "a"), keyed(3, "c"), keyed(4, "d"))
    assert bed.rescue(4)[0]["missing"] == [[2, 2]]


def a_false_checkpoint(bed: Bed) -> None:
    """At the gap and above; it was believed wherever no other replica had what is gone, with exit code 0."""
    bed.compacted()
    for number, cleaned in enumerate((1, 2, 4)):
        alone = Bed(bed.root / str(number))
        alone.options = bed.options
        alone.replica(batch(0, 1), batch(1, 1), batch(3, 1), cleaned=cleaned)
        assert alone.rescue(4)[0]["missing"] == [[2, 2]]


def what_one_still_has(bed: Bed) -> None:
    bed.replica(batch(3), batch(6), base=3)
    bed.replica(batch(0), batch(3), more={6: batch(6)})
    assert bed.rows() == all_of((2, range(9), "v"))


def nothing_below_the_start(bed: Bed) -> None:
    bed.replica(batch(3), batch(6), base=3, start=5)
    bed.replica(batch(0), batch(3), more={6: batch(6)})
    assert [row[0] for row in bed.rows()] == [5, 6, 7, 8]
    (words,) = bed.rescue()[0]["assumed"]
    assert words.startswith("offsets 0 to 4 of ")
    assert "is 5" in words


def nothing_below_the_start_of_all(bed: Bed) -> None:
    for _ in range(2):
        bed.replica(batch(3), batch(6), base=3, start=5)
    assert bed.rescue()[0]["assumed"] == []


def the_first_line_of_the_epochs(bed: Bed) -> None:
    bed.replica(batch(6), base=6, epochs=((0, 0),))
    assert bed.rescue(4)[0]["missing"] == [[0, 5]]


def above_the_high_watermark(bed: Bed) -> None:
    bed.replica(batch(0), batch(3), batch(6), high=6)
    bed.replica(batch(0), batch(3), high=4)
    assert [row["offset"] for row in bed.rescue()[1] if row["unacknowledged"]] == [6, 7, 8]


def the_high_watermark_of_who_left(bed: Bed) -> None:
    bed.replica(batch(0), batch(3, epoch=1), high=3, epochs=((0, 0), (1, 3)))
    bed.replica(batch(0), batch(3, 6, "w"), high=9, epochs=((0, 0),))
    assert [row["offset"] for row in bed.rescue(4)[1] if row["unacknowledged"]] == [3, 4, 5]


def an_end_that_may_be_lost(bed: Bed) -> None:
    mine = BatchProducer(7, 0, 0, transactional=True)
    bed.replica(batch(0, producer=mine), batch(3), more={9: batch(9)})
    (line, rows) = bed.rescue(4)
    assert (line["missing"], line["open"]) == ([[6, 8]], 3)
    assert [row["aborted"] for row in rows] == [None] * 3 + [False] * 6


def the_longest_of_old(bed: Bed) -> None:
    bed.replica(batch(0, magic=1), batch(3, value="a", magic=1))
    bed.replica(batch(0, magic=1), batch(3, value="b", magic=1), batch(6, magic=1))
    (line, _) = bed.rescue(4)
    assert [each["because"] for each in line["conflicts"]] == ["order"]
    assert bed.rows(4)[3:6] == all_of((2, range(3, 6), "b"))


def epoch_lines_over_old_messages(bed: Bed) -> None:
    bed.replica(batch(0, magic=1), batch(3, epoch=2), epochs=((1, 0), (2, 3)))
    bed.replica(batch(0, magic=1), batch(3, epoch=2), batch(6, epoch=2), epochs=((2, 3),))
    assert bed.rows() == all_of((2, range(9), "v"))


def old_messages_for_batches(bed: Bed) -> None:
    bed.replica(batch(0), batch(3))
    bed.replica(batch(0), batch(3, magic=1))
    assert bed.diff()[1]["diverged_at"] == {"offset": 3, "epoch": -1}


def other_topic_ids(bed: Bed) -> None:
    for topic_id in ("AAECAwQFBgcICQoLDA0ODw", "BAECAwQFBgcICQoLDA0ODw"):
        bed.replica(batch(0), topic_id=topic_id)
    assert "these are no replicas of one partition" in bed.ran(8).of("partition")[0]["refused"]


def other_clusters(bed: Bed) -> None:
    bed.replica(batch(0))
    bed.replica(batch(0), cluster="other")
    assert "of cluster other" in bed.ran(16).err


def given_twice(bed: Bed) -> None:
    bed.dirs.append(bed.replica(batch(0)))
    assert bed.rescue()[0]["read"] == 3


def a_torn_end(bed: Bed) -> None:
    bed.replica(batch(0), batch(3)[:-4])
    bed.replica(batch(0))
    assert "whether there were records from offset 3 on nothing tells" in bed.rescue(4)[0]["doubts"][0]


PLAYS: tuple[tuple[str, Callable[[Bed], None]], ...] = (
    ("and whose offset and epoch fit between its neighbours", an_epoch_that_does_not_fit),
    ("the newest epoch, and back from there by those replicas that have it", the_newest_epoch_wins),
    ("told with offset, epoch, records and producers, and never mixed in", the_newest_epoch_wins),
    (
        "the replica's own sound batches contradict does not count",
        a_contradicted_checkpoint,
    ),
    ("taken from any that has the offsets sound on the branch", holes_on_both),
    ("have one, what most of them say is taken, else the first in order", salvaged_by_most),
    ("The bytes that most replicas have are taken", most_replicas),
    ("the one that goes furthest", by_order({}, {}, batch(6))),
    ("then the one that lacks least", by_order({}, {}, damaged=True)),
    ("then one that says of which broker it is", by_order({"broker": None, "name": "a"}, {"name": "z"})),
    ("then the lower broker id", by_order({"broker": 9, "name": "a"}, {"name": "z"})),
    ("then by path", by_order({"broker": 7, "name": "z"}, {"broker": 7, "name": "a"})),
    ("plan merge takes none by that order, and asks (--prefer BROKER)", plan_merge_asks),
    ("the replica cleaned furthest decides what was removed", the_furthest_cleaned_decides),
    ("Below what was compacted, bytes are not compared", the_furthest_cleaned_decides),
    ("no record whose key has a later one below that point", no_deleted_key_comes_back),
    ("Tombstones that are there stay", no_deleted_key_comes_back),
    ("cleaned with records of a branch that lost is not trusted", cleaned_by_a_branch_that_lost),
    ("is compaction only if each key that another replica has there came again", a_gap_between_files),
    ("else a file is lost, with its tombstones and markers", a_lost_file),
    ("where another replica has the newest record of a key there", the_newest_of_a_key),
    ("no cleaner takes that, but for a tombstone", a_tombstone_may_go),
    ("may be gone on one replica and damaged on the others, it is told as a doubt", a_tombstone_in_doubt),
    ("What came again only above all that was compacted is taken, too", came_again_only_above),
    ("takes, or a record without a key", a_gap_where_another_has_no_key),
    ("one whose key came again, for none leaves those", came_again_before_the_gap),
    ("Nor is a cleaner's checkpoint true above such a record", a_false_checkpoint),
    ("so what one still has is taken", what_one_still_has),
    ("nothing below the highest log start offset in a checkpoint", nothing_below_the_start),
    ("What replicas have below one that only another's has is told", nothing_below_the_start),
    ("as assumed; of what all of them deleted nothing is said", nothing_below_the_start_of_all),
    ("plan merge leaves the beginning of its replica as it is", plan_merge_leaves_the_beginning),
    ("begins before the first file, no broker deleted what is missing", the_first_line_of_the_epochs),
    ("looks like one that lost them: it is said so", the_first_line_of_the_epochs),
    ("is taken, and marked as unacknowledged", above_the_high_watermark),
    ("A replica that left the branch counts only up to where it did", the_high_watermark_of_who_left),
    ("Where offsets are lost, it may be among them", an_end_that_may_be_lost),
    ("the longest log is taken, as the leaders of those releases did", the_longest_of_old),
    ("Lines of leader-epoch-checkpoint count from where batches have epochs", epoch_lines_over_old_messages),
    ("for the batches that others have is told as a divergence", old_messages_for_batches),
    ("Replicas whose topic ids differ: that partition alone", other_topic_ids),
    ("Replicas of several clusters: all", other_clusters),
    ("A directory that is given twice counts once", given_twice),
    ("Records at the torn end of a log, beyond every other replica", a_torn_end),
)
ELSEWHERE = {
    "is a flipped bit: followers copy a batch": "merge/test_put_back.py epoch_is_no_leader",
    "its epoch is put right in what is written": "merge/test_put_back.py epoch_right_where",
    "Each is marked and still counts as missing": "rescue/test_salvage.py marked_and_true_before_the_flip",
    "none stands where a sound one is, or goes into a log": "rescue/test_salvage.py and_where_it_is_refused",
    "more than a million keys are open at once": "merge/test_rule.py open_transactions_up_to_a_bound",
    "another replica has in that gap is misplaced": "merge/test_leaps.py have_what_was_moved",
    "has elsewhere is misplaced": "merge/test_leaps.py knows_which_is_moved",
    "where the high watermark says so, or an index by": "merge/test_leaps.py an_index_tells",
    "that would not be its own where it is due": "merge/test_flipped.py fits_both_places_tells_nothing",
    "has its bytes beside that, or other bytes there": "merge/test_leaps.py many_flipped_bits",
    "else it is taken, and told as a doubt": "merge/test_leaps.py no_single_bit_makes_that",
    "Its gap is no compaction, for any replica": "merge/test_leaps.py before_it_is_no_compaction",
    "says that a topic is not compacted, it is one if": "rescue/test_gaps.py that_is_not_compacted",
    "--config server.properties tells it": "merge/test_default_policy.py what_tells_the_policy",
    "but what an index of aborted transactions says": "rescue/test_fates.py nor_aborted",
    "follow them, nothing is known of any": "rescue/test_fates.py over_holes_nothing_is_known",
    "What brokers have of which no dir is given": "rescue/test_elsewhere.py no_dir_is_given_are_named",
    "by it none of those that were in sync": "rescue/test_elsewhere.py none_of_which_was_in_sync",
    "reach beyond what the others have, that is told": "rescue/test_elsewhere.py more_than_the_replicas_have",
    "all of such brokers are of an older copy": "rescue/test_older_copies.py beside_newer_metadata",
    "it is a doubt if not all in sync are here, else assumed": "rescue/test_older_copies.py as_it_was_left",
    "a recovery point beyond the end of a log tells": "rescue/test_elsewhere.py ends_before_its_recovery",
    "of another ending (.swap, .cleaned, .deleted) are not read": "merge/test_passed_over.py of_another",
}
"""The test that has it, by its file and a part of its name."""


@pytest.fixture(scope="module")
def manual() -> str:
    return " ".join(run("explain", "merge", code=0).out.split())


@pytest.mark.parametrize(("sentence", "play"), PLAYS, ids=[sentence for sentence, _ in PLAYS])
def test_it_is_as_explained(sentence: str, play: Callable[[Bed], None], manual: str, tmp_path: Path) -> None:
    assert sentence in manual
    play(Bed(tmp_path))


@pytest.mark.parametrize("sentence", ELSEWHERE)
def test_the_test_of_a_sentence_is_there(sentence: str, manual: str) -> None:
    file, name = ELSEWHERE[sentence].split()
    assert sentence in manual
    assert f"{name}" in (TESTS / file).read_text()
