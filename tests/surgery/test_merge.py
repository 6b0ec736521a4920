"""`plan merge`: replicas that diverged, or are damaged in different places, made one history again."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.beside import broker_on
from tests.cli.run import Ran
from tests.faults.on_disk import batches_of, flip, lengthen
from tests.surgery.checkpoints import lines, write
from tests.surgery.picture import picture
from tests.surgery.small_fleet import Fleet
from tests.surgery.test_graft import batches, fall_behind, last, set_mark

from segmend.formats.build import NewRecord, build_batch

NAME = "orders-3"
EPOCH, AT = 7, 1_700_000_000_000


def merge(fleet: Fleet, *options: object, name: str = NAME) -> Ran:
    """`segmend plan merge` for the hurt replica, out of the other broker's log dir."""
    source = fleet.replica(name, "b3").parent
    where = ("--partition", name, "--from", source, "-o", fleet.plan_file)
    return fleet.run("plan", "merge", *fleet.dirs, *where, *options)


def flip_batches(replica: Path, *numbers: int) -> None:
    """Flip a byte in the records of these batches, counted over all segments."""
    found = [(log, batch) for log in sorted(replica.glob("*.log")) for batch in batches_of(log)]
    for log, batch in (found[number] for number in numbers):
        flip(log, batch.end - 3, 0x10)


def torn(mine: Path, theirs: Path) -> None:
    """Each is damaged elsewhere, and one is short."""
    fall_behind(mine, len(batches(mine)) - 2, torn=9)
    flip_batches(mine, 1, 2)
    flip_batches(theirs, 4, 7)


def garbage(mine: Path, theirs: Path) -> None:
    """Bytes too many in the middle: what follows does not lie where it should."""
    log = max(mine.glob("*.log"), key=lambda path: path.stat().st_size)
    found = batches_of(log)
    at = found[len(found) // 2].position
    data = log.read_bytes()
    log.write_bytes(data[:at] + b"\xa5" * 77 + data[at:])
    flip_batches(theirs, len(batches(theirs)) - 1)


def a_segment(mine: Path, theirs: Path) -> None:
    """A segment that is gone, and one of zeros."""
    logs = sorted(mine.glob("*.log"))
    logs[1].unlink()
    logs[0].write_bytes(bytes(logs[0].stat().st_size))


def emptied(mine: Path, theirs: Path) -> None:
    """Nothing is left but the last segment."""
    for path in sorted(mine.glob("*.*"))[:-4]:
        path.unlink()


@pytest.mark.parametrize("hurt", [torn, garbage, a_segment, emptied])
def test_damaged_in_different_places(fleet: Fleet, hurt: Callable[[Path, Path], None]) -> None:
    mine, theirs = fleet.replica(NAME), fleet.replica(NAME, "b3")
    truth = batches(theirs)
    hurt(mine, theirs)
    others = picture(fleet.root / "b3")
    ran = merge(fleet)
    assert ran.code == 0, ran.err + ran.out
    assert "lost: nothing" in ran.out
    fleet.apply()
    assert batches(mine) == truth
    assert fleet.findings() == []
    assert fleet.line("recovery-point", NAME) == last(mine)[1][-1].last_offset + 1
    assert merge(fleet).out.splitlines()[-1] == "nothing to do"
    assert picture(fleet.root / "b3") == others
    fleet.undo()


@pytest.mark.slow
def test_a_start_scans_nothing_of_what_a_kill_had_left_unflushed(fleet: Fleet) -> None:
    """The recovery point goes over what stays, too: it is verified, synced, and gets right indexes."""
    mine, truth = fleet.replica(NAME), batches(fleet.replica(NAME, "b3"))
    flip_batches(mine, len(truth) - 2)
    (mine.parent / ".kafka_cleanshutdown").unlink()
    recovery = mine.parent / "recovery-point-offset-checkpoint"
    write(recovery, lines(recovery) | {("orders", 3): 0})
    index, log = min(mine.glob("*.index")), min(mine.glob("*.log"))
    index.write_bytes(b"rotten" * 4)
    assert merge(fleet).code == 0
    words = [step["reason"] for step in fleet.planned()["steps"] if step["path"] in (str(log), str(index))]
    assert words == ["is right, and perhaps not on the disk yet", "of the merged log"]
    fleet.apply()
    assert batches(mine) == truth
    assert fleet.line("recovery-point", NAME) == last(mine)[1][-1].last_offset + 1
    assert fleet.findings() == []
    fleet.undo()


def elected(fleet: Fleet, epoch: int = EPOCH) -> tuple[int, int, int]:
    """The other broker led alone from the last segment on: its offsets, and how many records each has."""
    theirs = fleet.replica(NAME, "b3")
    log, found = last(theirs)
    data = b""
    for batch in found:
        records = [
            NewRecord(value=b"of the new leader", timestamp=AT) for _ in range(batch.last_offset_delta + 1)
        ]
        data += build_batch(records, base_offset=batch.base_offset, leader_epoch=epoch)
    log.write_bytes(data)
    first, end = found[0].base_offset, found[-1].last_offset
    epochs = theirs / "leader-epoch-checkpoint"
    _, count, *rows = epochs.read_text().splitlines()
    epochs.write_text("\n".join(["0", str(int(count) + 1), *rows, f"{epoch} {first}", ""]))
    return first, end, end - first + 1


@pytest.mark.slow
def test_what_the_newest_leader_never_had_goes_to_files_beside(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, side = fleet.replica(NAME), fleet.root / f"left-out-{NAME}-2"
    first, end, count = elected(fleet)
    truth, lost = batches(fleet.replica(NAME, "b3")), batches(mine)[-len(last(mine)[1]) :]
    told = fleet.run("diff", fleet.replica(NAME, "b3"), mine).out
    (printed,) = (line.split()[1:] for line in told.splitlines() if "segmend plan merge" in line)
    refused = merge(fleet)
    assert refused.code == 16
    assert f"{count} records (offsets {first} to {end})" in refused.err
    assert merge(fleet, "--side", side / "deeper").code == 16  # There is no directory to make it in.
    assert merge(fleet, "--side", side).code == 0
    monkeypatch.chdir(fleet.root)
    ran = fleet.run(*printed[1:])
    assert ran.code == 0, ran.err
    (chosen, other) = json.loads(fleet.plan_file.read_text())["extra"]["merge"]["choices"]
    assert (chosen["records_lost"], chosen["chosen"], chosen["lost"][0]["replicas"]) == (count, True, ["2"])
    assert (other["records_lost"], other["prefer"], other["lost"][0]["first_time"]) == (count, "2", AT)
    fleet.apply()
    assert batches(mine) == truth
    # Their metadata was written before that election.
    assert fleet.findings() == [("K25", "__cluster_metadata-0")]
    assert batches(side / NAME) == lost
    assert [path.name for path in (side / NAME).iterdir()] == [f"{first:020}.log"]
    assert fleet.run("show", side).code == 0
    out = fleet.root / "out"
    rescued = fleet.run("rescue", side, "--out", out, "--as", "jsonl", "--json")
    assert rescued.of("partition")[0]["records"] == count, rescued.out
    fleet.undo()
    assert not side.exists()


def test_a_replica_that_is_only_behind_has_no_branch_of_its_own(fleet: Fleet) -> None:
    mine = fleet.replica(NAME)
    truth = batches(fleet.replica(NAME, "b3"))
    fall_behind(mine, 3)
    ran = merge(fleet, "--prefer", 2)
    assert (ran.code, "lost: nothing" in ran.out) == (4, True), ran.err
    fleet.apply()
    assert batches(mine) == truth


def test_a_source_whose_broker_runs_is_read_as_far_as_it_has_committed(fleet: Fleet) -> None:
    mine, theirs = fleet.replica(NAME), fleet.replica(NAME, "b3")
    truth, (log, found) = batches(theirs), last(theirs)
    flip_batches(mine, 1)
    fall_behind(mine, len(found))
    lengthen(log, b"half a batch that is being written")
    with broker_on(theirs.parent):
        refused = merge(fleet)
        assert (refused.code, "read only what is committed: --live-source" in refused.err) == (64, True)
        set_mark(theirs.parent, None, ("orders", 3))
        refused = merge(fleet, "--live-source")
        assert (refused.code, "its high watermark is not known" in refused.err) == (8, True)
        set_mark(theirs.parent, found[-1].base_offset, ("orders", 3))
        ran = merge(fleet, "--live-source")
        assert ran.code == 0, ran.err
        assert f"read up to its high watermark {found[-1].base_offset} only" in ran.out
        fleet.apply()
    assert batches(mine) == truth[:-1]
    assert fleet.findings() == []
    fleet.undo()


def test_a_running_leader_that_has_committed_nothing_of_its_epoch_says_nothing_yet(fleet: Fleet) -> None:
    first, _, _ = elected(fleet)
    home = fleet.replica(NAME, "b3").parent
    set_mark(home, first, ("orders", 3))
    with broker_on(home):
        refused = merge(fleet, "--live-source")
    assert (refused.code, f"leader epoch {EPOCH} begins at offset {first}" in refused.err) == (8, True)


def test_nobody_decides_between_two_that_have_one_epoch_otherwise(fleet: Fleet) -> None:
    first, end, count = elected(fleet, last(fleet.replica(NAME))[1][0].partition_leader_epoch)
    refused = merge(fleet)
    assert (refused.code, f"offsets {first} to {end} are not the same on" in refused.err) == (8, True), (
        refused
    )
    (fleet.root / "side").mkdir()
    price = ("--prefer", "3", "--side", fleet.root / "side", "--accept-loss", f"{count}-records")
    assert merge(fleet, *price).code == 0


@pytest.mark.slow
def test_another_branch_wins_on_purpose_at_its_price(fleet: Fleet) -> None:
    mine, theirs, side = fleet.replica(NAME), fleet.replica(NAME, "b3"), fleet.root / "side"
    first, end, count = elected(fleet)
    side.mkdir()
    truth, lost = batches(mine), batches(theirs)
    dirs = sorted((fleet.root / "b3").iterdir())
    where = (*dirs, "--partition", NAME, "--from", mine, "--side", side, "-o", fleet.plan_file)
    refused = fleet.run("plan", "merge", *where, "--prefer", "2")
    assert refused.code == 16
    assert f"--accept-loss {count}-records" in refused.err
    assert fleet.run("plan", "merge", *where, "--prefer", "2", "--accept-loss", "1-records").code == 16
    ran = fleet.run("plan", "merge", *where, "--prefer", "2", "--accept-loss", f"{count}-records")
    assert ran.code == 0, ran.err
    assert f"{count} records, offsets {first} to {end}" in ran.out
    before = picture(fleet.root / "b3")
    yes = ("--yes", "--state-dir", fleet.state)
    assert fleet.run("apply", fleet.plan_file, *yes).code == 1
    assert batches(theirs) == truth
    assert batches(side / NAME) == lost[-len(last(mine)[1]) :]
    assert fleet.run("diff", theirs, mine).code == 0
    assert fleet.run("undo", *yes).code == 0
    assert picture(fleet.root / "b3") == before


def test_a_replica_that_is_not_there_is_told_apart_from_a_dir_without_it(
    fleet: Fleet, tmp_path: Path
) -> None:
    """Of a path that leads nowhere it said "has no" such partition, as of a dir that is there."""
    gone = merge(fleet, "--from", tmp_path / "nowhere")
    assert (gone.code, gone.err) == (8, f"segmend: {tmp_path}/nowhere: no such directory\n")
    (tmp_path / "empty").mkdir()
    empty = merge(fleet, "--from", tmp_path / "empty")
    assert (empty.code, f"has no {NAME}; give the directory" in empty.err) == (16, True)


def test_what_is_empty_and_has_no_topic_id_gets_that_of_the_topic(fleet: Fleet) -> None:
    """A start took it for a stray: the log was filled, and nothing said of which topic it is."""
    mine, theirs = fleet.replica(NAME), fleet.replica(NAME, "b3")
    known = (theirs / "partition.metadata").read_bytes()
    for path in mine.iterdir():
        path.unlink()
    for told in ("by the other replica", "by the cluster's metadata"):
        assert merge(fleet).code == 0, told
        fleet.apply()
        assert (mine / "partition.metadata").read_bytes() == known, told
        assert (batches(mine), fleet.findings()) == (batches(theirs), []), told
        assert merge(fleet).out.splitlines()[-1] == "nothing to do"
        fleet.undo()
        (theirs / "partition.metadata").unlink(missing_ok=True)
    another = (fleet.replica("payments-0", "b3") / "partition.metadata").read_bytes()
    (theirs / "partition.metadata").write_bytes(another)
    refused = merge(fleet)
    assert (refused.code, "in this cluster orders has " in refused.err) == (8, True), refused
    (mine / "partition.metadata").mkdir()
    (theirs / "partition.metadata").write_bytes(known)
    refused = merge(fleet)
    assert (refused.code, "partition.metadata: is no plain file" in refused.err) == (8, True), refused
