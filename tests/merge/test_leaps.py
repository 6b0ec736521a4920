"""A flipped bit of a base offset, which no checksum covers: a batch in the wrong place, and no compaction."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.files import flip
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
        assert "whether it lost that" in ran.of("partition")[0]["doubts"][0]
    else:
        assert (ran.code, offsets) == (0, [*due]), ran.out
    assert run("diff", *dirs).code == 4
