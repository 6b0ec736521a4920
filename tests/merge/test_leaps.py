"""A flipped bit of a base offset, which no checksum covers: a batch in the wrong place, and no compaction."""

import json
import random
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.faults.on_disk import flip
from tests.fleet.build import three_brokers
from tests.merge.test_diff import batch, broker

from segmend.formats.build import NewRecord, build_batch


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return three_brokers(tmp_path / "fleet")


def leap(log: Path, by: int) -> int:
    """Move the last batch of a log that many offsets up; the first one it had."""
    data, position, last = bytearray(log.read_bytes()), 0, 0
    while position < len(data):
        last = position
        position += 12 + int.from_bytes(data[position + 8 : position + 12])
    first = int.from_bytes(data[last : last + 8])
    data[last : last + 8] = (first + by).to_bytes(8)
    log.write_bytes(data)
    return first


def told(tmp_path: Path, dirs: Sequence[Path]) -> tuple[int, dict[str, object], list[int]]:
    out = tmp_path / "out"
    ran = run("rescue", *dirs, "--topic", "orders", "--out", out, "--as", "jsonl", "--json")
    line = next(each for each in map(json.loads, ran.out.splitlines()) if each.get("partition") == 0)
    rows = (out / "orders-0.jsonl").read_text().splitlines()
    return ran.code, line, [json.loads(row)["offset"] for row in rows]


def test_the_others_have_what_was_moved(fleet: Path, tmp_path: Path) -> None:
    dirs = sorted(path.parent for path in fleet.rglob("meta.properties"))
    logs = sorted((dirs[1] / "orders-0").glob("*.log"))
    for log, by in ((logs[-1], 1 << 21), (logs[0], 1)):
        leap(log, by)
    # Damage elsewhere is filled from the one that leapt, and the other way round: no key was removed.
    hurt = sorted((dirs[0] / "orders-0").glob("*.log"))[1]
    flip(hurt, -1)
    code, line, offsets = told(tmp_path, dirs[:2])
    assert (code, line["missing"], line["next_offset"]) == (0, [], 120)
    assert offsets == list(range(120))


def test_the_only_batch_of_a_file_leaps(tmp_path: Path) -> None:
    """Nothing stands before it in its file, whose name tells where it was."""
    dirs = []
    for number in range(2):
        dirs.append(broker(tmp_path, number, [batch(first, 0) for first in range(0, 50, 10)], mark=60))
        log = dirs[-1] / "t-0" / f"{50:020d}.log"
        log.write_bytes(batch(50, 0))
    leap(log, 1 << 36)
    ran = run("diff", *dirs, "--json")
    (line,) = ran.of("partition")
    assert (line["missing"], line["next_offset"]) == ([], 60)
    assert [each["damaged"] != [] for each in ran.of("replica")] == [False, True]


def test_alone_it_is_said_and_no_offset_is_made_up(fleet: Path, tmp_path: Path) -> None:
    log = sorted((fleet / "b1/data/orders-0").glob("*.log"))[-1]
    first = leap(log, 1 << 21)
    code, line, offsets = told(tmp_path, [fleet / "b1/data"])
    assert code == 4
    assert offsets == list(range(first))
    assert line["missing"] == [[first, 119]]  # up to the high watermark, which the checkpoint has


def test_an_epoch_of_one_batch_in_each_file_is_no_doubt(tmp_path: Path) -> None:
    home = tmp_path / "d" / "orders-0"
    home.mkdir(parents=True)
    for offset in range(3):
        data = build_batch([NewRecord(value=b"v")], base_offset=offset)
        (home / f"{offset:020}.log").write_bytes(data)
    code, line, offsets = told(tmp_path, [tmp_path / "d"])
    assert (code, line["doubts"], offsets) == (0, [], [0, 1, 2])


@pytest.mark.parametrize("replicas", [1, 2])
def test_an_epoch_of_a_last_batch_is_in_doubt_unless_another_replica_has_it(
    replicas: int, tmp_path: Path
) -> None:
    dirs = [tmp_path / f"b{number}" for number in range(replicas)]
    for home in dirs:
        (home / "orders-0").mkdir(parents=True)
        built = [
            build_batch([NewRecord(value=b"v")], base_offset=at, leader_epoch=5 * (at == 2))
            for at in range(3)
        ]
        (home / "orders-0" / f"{0:020}.log").write_bytes(b"".join(built))
    _, line, offsets = told(tmp_path, dirs)
    assert offsets == [0, 1, 2]
    assert ["epoch 5 is told by nothing but one batch" in each for each in line["doubts"]] == [True][
        replicas - 1 :
    ]


def test_of_two_batches_in_one_place_the_other_replica_knows_which_is_moved(tmp_path: Path) -> None:
    """Of a compacted log, where neither begins behind the batch before."""
    dirs = [tmp_path / "a", tmp_path / "b"]
    for home in dirs:
        (home / "orders-0").mkdir(parents=True)
        built = [
            build_batch(
                [NewRecord(key=b"k%d" % offset, value=b"v", offset=offset) for offset in offsets],
                base_offset=offsets[0],
            )
            for offsets in ((22,), (33, 38), (39, 43), (60,))
        ]
        for base, batches in ((0, built[:3]), (60, built[3:])):
            (home / "orders-0" / f"{base:020}.log").write_bytes(b"".join(batches))
    # Whose cleaner's checkpoint is there, that one's gaps count.
    (dirs[0] / "cleaner-offset-checkpoint").write_text("0\n1\norders 0 60\n")
    log = dirs[0] / "orders-0" / f"{0:020}.log"
    leap(log, -4)
    code, line, offsets = told(tmp_path, dirs)
    assert (line["missing"], offsets) == ([], [22, 33, 38, 39, 43, 60]), (code, line)


@pytest.mark.parametrize("place", [6, 10])
@pytest.mark.parametrize("others", ["cleaned too, twice", "cleaned too", "never cleaned"])
def test_within_a_compacted_log_others_have_what_was_moved(place: int, others: str, tmp_path: Path) -> None:
    """Two against one decide; of one against one what has no room beside it; else it is told."""
    due = range(0, 40, 4)
    for number in (1, 2, 3) if others.endswith("twice") else (1, 2):
        home = tmp_path / f"b{number}" / "t-0"
        home.mkdir(parents=True)
        whole = others == "never cleaned" and number == 2
        batches = [
            build_batch(
                [NewRecord(key=b"%d" % at if at in due else b"36", value=b"v")],
                base_offset=place if (number, at) == (1, 8) else at,
            )
            for at in (range(37) if whole else due)
        ]
        (home / f"{0:020d}.log").write_bytes(b"".join(batches))
        if not whole:
            (home.parent / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 37\n")
    dirs, out = sorted(tmp_path.glob("b*")), tmp_path / "out"
    ran = run("rescue", *dirs, "--out", out, "--as", "jsonl", "--json")
    offsets = [json.loads(row)["offset"] for row in (out / "t-0.jsonl").read_text().splitlines()]
    if others == "cleaned too":
        assert (ran.code, len(offsets)) == (4, len(due)), ran.out
        assert "the latter is taken" in ran.of("partition")[0]["doubts"][0]
    else:
        assert (ran.code, offsets) == (0, [*due]), ran.out
    assert run("diff", *dirs).code == 4


def one_by_one(root: Path, number: int, *files: Sequence[int | tuple[int, int]]) -> Path:
    """A log dir: of each file the offsets of its records; where the batch says another one, both."""
    home = root / f"b{number}" / "t-0"
    home.mkdir(parents=True)
    base = 0
    for offsets in files:
        built = []
        for each in offsets:
            at, place = each if isinstance(each, tuple) else (each, each)
            built.append(place.to_bytes(8) + batch(at, 0, count=1)[8:])
        (home / f"{base:020}.log").write_bytes(b"".join(built))
        base = 32
    (home.parent / "meta.properties").write_text(f"version=1\nnode.id={number}\ncluster.id=c\n")
    return home.parent


def rescued(root: Path, *dirs: Path) -> tuple[int, object, list[str], list[tuple[int, int]]]:
    """The exit code, what is missing, the doubts, and offset and number of each record."""
    ran = run("rescue", *dirs, "--out", root / "out", "--as", "jsonl", "--json")
    rows = [*map(json.loads, (root / "out" / "t-0.jsonl").read_text().splitlines())]
    (line,) = ran.of("partition")
    return (
        ran.code,
        line["missing"],
        line["doubts"],
        [(row["offset"], int(b64decode(row["value"]))) for row in rows],
    )


def test_a_sound_batch_behind_a_gap_is_had_where_no_single_bit_makes_that(tmp_path: Path) -> None:
    home = one_by_one(tmp_path, 1, [0, 1, 7])
    code, missing, doubts, rows = rescued(tmp_path, home)
    assert (code, missing, rows) == (4, [[2, 6]], [(0, 0), (1, 1), (7, 7)])
    assert ["nothing but the batch says" in each and "from offset 2 on" in each for each in doubts] == [True]
    assert run("diff", home, "--json").of("partition")[0]["missing"] == [[2, 6]]


def test_a_sound_batch_behind_damage_with_a_gap_behind_it_is_had(tmp_path: Path) -> None:
    home = one_by_one(tmp_path, 1, [0, 1, 4, 8, 9])
    log = home / "t-0" / f"{0:020}.log"
    flip(log, 2 * log.stat().st_size // 5 - 1)
    code, missing, doubts, rows = rescued(tmp_path, home)
    assert (code, missing, [row[0] for row in rows]) == (4, [[1, 3], [5, 7]], [0, 4, 8, 9])
    assert ["from offset 7 on" in each for each in doubts] == [True]


def test_a_file_that_ends_before_the_next_one_begins_was_not_hurt_by_one_bit(tmp_path: Path) -> None:
    """As a cleaner leaves it; wherever the batch belongs, offsets are left out behind it."""
    code, missing, _, rows = rescued(tmp_path, one_by_one(tmp_path, 1, [0, 1, 3], [32, 33]))
    assert (code, missing, [row[0] for row in rows]) == (4, [[2, 2], [4, 31]], [0, 1, 3, 32, 33])


@pytest.mark.parametrize("told", ["by nothing", "by the index", "by the time index", "by the other index"])
def test_where_one_bit_makes_it_an_index_tells(told: str, tmp_path: Path) -> None:
    home = one_by_one(tmp_path, 1, [0, 1, 3])
    log = home / "t-0" / f"{0:020}.log"
    entry = (2 if "other" in told else 3).to_bytes(4)
    if told.endswith("time index"):
        log.with_suffix(".timeindex").write_bytes((1 << 40).to_bytes(8) + entry)
    elif told != "by nothing":
        log.with_suffix(".index").write_bytes(entry + (2 * log.stat().st_size // 3).to_bytes(4))
    code, missing, doubts, rows = rescued(tmp_path, home)
    if told in ("by the index", "by the time index"):
        assert (code, missing, doubts, [row[0] for row in rows]) == (4, [[2, 2]], [], [0, 1, 3])
    else:
        assert (code, [row[0] for row in rows]) == (4, [0, 1])
        assert "one flipped bit may have made that" in doubts[0]


@pytest.mark.parametrize("to", [11, 12, 15, 19, 77])
def test_alone_with_several_gaps_it_is_said_which_batches_may_be_misplaced(to: int, tmp_path: Path) -> None:
    """As one flipped bit, or several, leave it: whatever is taken for another offset is told as a doubt."""
    after = [each for each in (20, 22, 25) if each > to]
    code, missing, doubts, _ = rescued(tmp_path, one_by_one(tmp_path, 1, [0, 1, 5, 6, 10, (13, to), *after]))
    assert code == 4
    assert isinstance(missing, list)
    for first, last in missing:
        assert sum(f"offsets {first} to {last} are missing" in each for each in doubts) == 1, doubts


def test_an_offset_that_no_log_comes_to_at_once_is_wrong_whatever_its_bits(tmp_path: Path) -> None:
    code, _, doubts, rows = rescued(tmp_path, one_by_one(tmp_path, 1, [0, 1, (2, 0x5_0000_0002 + 1)]))
    assert (code, [row[0] for row in rows]) == (4, [0, 1])
    assert "is left out" in doubts[0]


def test_what_two_replicas_have_behind_a_gap_is_there(tmp_path: Path) -> None:
    dirs = [one_by_one(tmp_path, number, [0, 1, 3]) for number in (1, 2)]
    assert rescued(tmp_path, *dirs) == (4, [[2, 2]], [], [(0, 0), (1, 1), (3, 3)])


def test_a_gap_before_it_is_no_compaction(tmp_path: Path) -> None:
    """What another replica has there is taken, keys or none; and what that one has damaged is missing."""
    dirs = [one_by_one(tmp_path, 1, [0, 1, 7]), one_by_one(tmp_path, 2, range(8))]
    log = dirs[1] / "t-0" / f"{0:020}.log"
    flip(log, 4 * log.stat().st_size // 8 - 1)
    flip(log, -1)
    code, missing, doubts, rows = rescued(tmp_path, *dirs)
    assert (code, missing, rows) == (4, [[3, 3]], [(at, at) for at in range(8) if at != 3])
    assert len(doubts) == 1


@pytest.mark.parametrize("hurt", [False, True])
def test_many_flipped_bits_of_an_offset_show_where_another_replica_has_other_bytes(
    hurt: bool, tmp_path: Path
) -> None:
    """Also where its own place is damaged on the other."""
    dirs = [one_by_one(tmp_path, 1, [0, 1, (2, 7)]), one_by_one(tmp_path, 2, range(9))]
    if hurt:
        log = dirs[1] / "t-0" / f"{0:020}.log"
        flip(log, 3 * log.stat().st_size // 9 - 1)
    code, missing, doubts, rows = rescued(tmp_path, *dirs)
    assert (code, missing, doubts) == ((4, [[2, 2]], []) if hurt else (0, [], []))
    assert rows == [(at, at) for at in range(9) if not hurt or at != 2]


@pytest.mark.parametrize("seed", range(60))
def test_no_record_comes_to_another_offset_and_none_is_lost_that_one_bit_does_not_explain(
    seed: int, tmp_path: Path
) -> None:
    """Batches cut out of one or several replicas, or one flipped bit of a base offset."""
    draw = random.Random(f"leaps {seed}")
    count, end = draw.choice((1, 1, 2, 3)), draw.randrange(12, 24)
    flips = draw.random() < 0.5
    dirs, had = [], set[int]()
    for number in range(count):
        offsets: list[int | tuple[int, int]] = [*range(end)]
        for _ in range(draw.randrange(3) if number or not flips else 0):
            at = draw.randrange(1, len(offsets))
            del offsets[at : at + draw.randrange(1, 5)]
        if flips and number == 0:
            at = draw.choice((-1, draw.randrange(len(offsets))))
            told = offsets[at]
            assert isinstance(told, int)
            offsets[at] = told, told ^ (1 << draw.choice((0, 1, 2, 3, 20, 40)))
        dirs.append(one_by_one(tmp_path, number, offsets))
        had |= {each for each in offsets if isinstance(each, int)}
    code, missing, doubts, rows = rescued(tmp_path, *dirs)
    assert all(row[0] == row[1] for row in rows), (rows, doubts)
    lost = had - {row[0] for row in rows}
    named = [each for each in doubts if "is left out" in each]
    assert flips or len(lost) <= len(named), (missing, doubts, lost)
    assert not lost or code == 4, (missing, doubts, lost)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("bit", [0, 1, 2, 3, 5, 17])
def test_a_compressed_message_that_says_another_last_offset_is_nowhere_else(
    magic: int, bit: int, tmp_path: Path
) -> None:
    """Of magic 0 those inside have their own; of magic 1 the next one begins where it would end."""
    home = tmp_path / "b1" / "t-0"
    home.mkdir(parents=True)
    built = [
        build_batch([NewRecord(value=b"%d" % at) for at in range(first, first + 6)],
                    base_offset=first, magic=magic, codec=1)
        for first in range(0, 30, 6)
    ]  # fmt: skip
    built[2] = (17 ^ 1 << bit).to_bytes(8) + built[2][8:]
    (home / f"{0:020}.log").write_bytes(b"".join(built))
    code, missing, _, rows = rescued(tmp_path, home.parent)
    assert (code, missing) == (4, [[12, 17]])
    assert rows == [(at, at) for at in range(30) if not 12 <= at < 18]


@pytest.mark.parametrize("files", [([0, 1, (2, 3), 4, 5],), ([0, 1], [(32, 34), 35, 36])])
def test_one_with_a_gap_before_and_damage_behind_it_may_be_misplaced(
    files: tuple[list[int | tuple[int, int]], ...], tmp_path: Path
) -> None:
    """Also where the gap is at the beginning of its file, whose name says where that began."""
    home = one_by_one(tmp_path, 1, *files)
    log = max((home / "t-0").glob("*.log"))
    flip(log, -1 - log.stat().st_size // len(files[-1]))
    code, _, doubts, rows = rescued(tmp_path, home)
    assert code == 4
    assert all(offset == number for offset, number in rows), rows
    assert ["is left out: one flipped bit" in each for each in doubts] == [True]


def compacted(
    root: Path, number: int, places: Sequence[tuple[int, int]], indexed: Sequence[int] = ()
) -> Path:
    """A replica that a cleaner was in, of records with keys: number and offset; some with an index entry."""
    home = root / f"b{number}" / "t-0"
    home.mkdir(parents=True)
    log, entries = b"", b""
    for at, place in places:
        if at in indexed:
            entries += at.to_bytes(4) + len(log).to_bytes(4)
        log += build_batch([NewRecord(key=b"%d" % at, value=b"%d" % at)], base_offset=place)
    (home / f"{0:020}.log").write_bytes(log)
    (home / f"{0:020}.index").write_bytes(entries)
    (home.parent / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 96\n")
    (home.parent / "meta.properties").write_text(f"version=1\nnode.id={number}\ncluster.id=c\n")
    return home.parent


SOUND = [(at, at) for at in range(0, 100, 5)]


def test_what_only_its_batch_says_of_a_compacted_log_is_said_to_be_assumed(tmp_path: Path) -> None:
    """Nothing else tells that 17 is not the offset of 15; another replica that has the same does."""
    moved = [(at, 17 if at == 15 else at) for at, _ in SOUND]
    home = compacted(tmp_path, 1, moved)
    for command in (("diff", home), ("rescue", home, "--out", tmp_path / "out", "--as", "jsonl")):
        (line,) = run(*command, "--json", code=0).of("partition")
        assert [f"of {home}/t-0: batches beside" in each for each in line["assumed"]] == [True], line
    other = compacted(tmp_path, 2, moved)
    assert run("diff", home, other, "--json", code=0).of("partition")[0]["assumed"] == []


@pytest.mark.parametrize("at", [5, 15, 50, 90])
@pytest.mark.parametrize("bit", [0, 1])
def test_the_index_tells_which_batch_of_a_compacted_log_is_misplaced(
    at: int, bit: int, tmp_path: Path
) -> None:
    moved = [(each, each ^ (each == at) << bit) for each, _ in SOUND]
    _, missing, _, rows = rescued(tmp_path, compacted(tmp_path, 1, moved, indexed=range(0, 100, 5)))
    assert missing == [[at - 4, at + 4]]
    assert rows == [each for each in SOUND if each[0] != at]


def test_an_index_of_an_older_log_denies_nothing(tmp_path: Path) -> None:
    """As a cleaner that was killed may leave it: of batches that were elsewhere in the file."""
    home = compacted(tmp_path, 1, SOUND, indexed=range(0, 100, 5))
    index = home / "t-0" / f"{0:020}.index"
    data = index.read_bytes()
    index.write_bytes(b"".join((5 * at ^ 1).to_bytes(4) + data[8 * at + 4 : 8 * at + 8] for at in range(20)))
    code, missing, _, rows = rescued(tmp_path, home)
    assert (code, missing, rows) == (0, [], SOUND)


@pytest.mark.parametrize("moved_on", [1, 2])
def test_what_two_compacted_replicas_have_at_different_places_is_had_once(
    moved_on: int, tmp_path: Path
) -> None:
    """Its key comes again in a part that no cleaner has been in, so nothing is lost, whichever is taken."""
    again = [*SOUND, (15, 96)]
    moved = [(at, 17 if place == 15 else place) for at, place in again]
    dirs = [compacted(tmp_path, number, moved if number == moved_on else again) for number in (1, 2)]
    code, missing, doubts, rows = rescued(tmp_path, *dirs)
    assert (code, missing, len(rows)) == (4, [], len(again))
    assert [row[1] for row in rows] == [at for at, _ in again]
    assert ["no checksum covers where a batch begins" in each for each in doubts] == [True]


@pytest.mark.parametrize("offsets", [[0, 1, 3], [0, 1, (2, 3)], [*range(9), (9, 13)]])
def test_what_is_left_out_for_a_doubt_is_salvaged_where_it_says_and_marked(
    offsets: list[int | tuple[int, int]], tmp_path: Path
) -> None:
    home = one_by_one(tmp_path, 1, offsets)
    last = offsets[-1]
    said = last if isinstance(last, int) else last[1]
    ran = run("rescue", home, "--out", tmp_path / "o", "--as", "jsonl", "--salvage", "--json", code=4)
    (line,) = ran.of("partition")
    assert line["salvaged"] == [[said, said]]
    rows = [*map(json.loads, (tmp_path / "o" / "t-0.jsonl").read_text().splitlines())]
    assert [row["offset"] for row in rows if row["salvaged"]] == [said]
    assert len(rows) == len(offsets)


def test_what_leapt_too_far_is_not_salvaged(tmp_path: Path) -> None:
    home = one_by_one(tmp_path, 1, [0, 1, (2, 0x5_0000_0003)])
    ran = run("rescue", home, "--out", tmp_path / "o", "--as", "jsonl", "--salvage", "--json", code=4)
    assert ran.of("partition")[0]["salvaged"] == []


@pytest.mark.parametrize("bit", [0, 1])
def test_behind_damage_the_next_file_tells_where_the_last_batch_of_one_ends(bit: int, tmp_path: Path) -> None:
    home = one_by_one(tmp_path, 1, [*range(31), (31, 31 ^ 1 << bit)], [32, 33])
    log = min((home / "t-0").glob("*.log"))
    for size in (len(batch(29, 0, count=1)), 2 * len(batch(29, 0, count=1))):
        flip(log, -1 - size)
    code, _, doubts, rows = rescued(tmp_path, home)
    assert code == 4
    assert all(offset == number for offset, number in rows), rows
    assert ["is left out: one flipped bit" in each and "31 is due" in each for each in doubts] == [True]


def test_a_batch_between_two_damages_ends_no_file(tmp_path: Path) -> None:
    """Behind damage and before more of it, it is not held against where the next file begins."""
    homes = [one_by_one(tmp_path, number, [*range(32)], [32, 33]) for number in (1, 2)]
    size = len(batch(29, 0, count=1))
    for home, hurt in zip(homes, ((29, 31), (30,)), strict=True):
        for offset in hurt:
            flip(min((home / "t-0").glob("*.log")), -1 - (31 - offset) * size)
    code, _, doubts, rows = rescued(tmp_path, *homes)
    assert (code, doubts, [offset for offset, _ in rows]) == (0, [], [*range(34)])
