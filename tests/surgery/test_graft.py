"""`plan graft`, `apply`, `undo` on the log dirs of a real fleet: replicas that lag, diverged, or are gone."""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.beside import broker_on
from tests.cli.run import Ran
from tests.faults.on_disk import batches_of, flip
from tests.golden.shared import golden
from tests.surgery.checkpoints import drop, lines, write
from tests.surgery.picture import picture
from tests.surgery.small_fleet import Fleet

from segmend.formats.batch import RecordBatch, read_header
from segmend.formats.build import NewRecord, build_batch
from segmend.kernel.batches import iter_batches
from segmend.logdir.disk import FileReader
from segmend.surgery.planning import assembly


def batches(replica: Path) -> list[tuple[object, ...]]:
    """The headers of all batches, whatever the segments."""
    found: list[tuple[object, ...]] = []
    for log in sorted(replica.glob("*.log")):
        with FileReader(str(log)) as reader:
            found += [batch[1:] for batch in iter_batches(reader, crc=True)]
    return found


def last(replica: Path) -> tuple[Path, list[RecordBatch]]:
    """The last log that holds batches, and these."""
    for log in sorted(replica.glob("*.log"), reverse=True):
        with FileReader(str(log)) as reader:
            if found := list(iter_batches(reader)):
                return log, found
    raise AssertionError(f"{replica} is empty")


def fall_behind(replica: Path, batch: int, *, torn: int = 0) -> int:
    """Cut the log after its n-th batch, as a kill does that many fetches earlier; the new end offset.

    Indexes of the cut segment are as a crash leaves them: with entries of what is gone.
    """
    seen = 0
    for log in sorted(replica.glob("*.log")):
        found = batches_of(log)
        if seen + len(found) < batch:
            seen += len(found)
            continue
        end = found[batch - seen - 1]
        os.truncate(log, end.end + torn)
        for path in replica.iterdir():
            if path.name[:20].isdigit() and int(path.name[:20]) > end.last_offset:
                path.unlink()
        return end.last_offset + 1
    raise AssertionError(f"{replica} has only {seen} batches")


def fork(replica: Path, count: int) -> None:
    """Replace the last batches by others of the same offsets, of an older leader epoch, in which it ends."""
    log, found = last(replica)
    epochs = replica / "leader-epoch-checkpoint"
    epochs.write_text("\n".join(["0", "1", epochs.read_text().split("\n")[2], ""]))
    data = log.read_bytes()[: found[-count].position]
    for batch in found[-count:]:
        records = [NewRecord(value=b"only here") for _ in range(batch.last_offset_delta + 1)]
        data += build_batch(records, base_offset=batch.base_offset, leader_epoch=0)
    log.write_bytes(data)


LAGGING = [
    ("payments-1", 13),
    pytest.param("orders-0", 30, marks=pytest.mark.slow),
    pytest.param("orders-3", 1, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "batch"), LAGGING)
def test_a_replica_that_fell_behind(fleet: Fleet, name: str, batch: int) -> None:
    mine, leader = fleet.replica(name), fleet.replica(name, "b3")
    end = fall_behind(mine, batch, torn=11)
    assert len(batches(mine)) < len(batches(leader))
    before, theirs = fleet.tree(), picture(fleet.root / "b3")
    shown = fleet.graft(name)
    assert shown.code == 0, shown.err
    assert f"to {end - 1} are proven equal" in shown.out
    assert "it starts and loses nothing" in shown.out
    assert fleet.tree() == before
    fleet.apply()
    assert batches(mine) == batches(leader)
    assert fleet.findings() == []
    leo = last(leader)[1][-1].last_offset + 1
    assert fleet.line("replication", name) == leo
    assert fleet.line("recovery-point", name) == leo
    assert picture(fleet.root / "b3") == theirs
    fleet.undo()


@pytest.mark.parametrize("left", ["nothing", "its beginning"])
def test_a_compacted_leader_is_copied_by_the_same_offsets_with_and_without_whole(
    fleet: Fleet, left: str
) -> None:
    """Without `--whole` a plan named only those above what the leader had compacted."""
    mine, dirty = fleet.replica("customers-2"), fleet.line("cleaner", "customers-2")
    assert dirty
    if left == "nothing":
        shutil.rmtree(mine)
    else:
        fall_behind(mine, 1)
    told = []
    for options in ((), ("--whole",)):
        shown = fleet.graft("customers-2", *options)
        assert shown.code == 0, shown.err
        plan = json.loads(fleet.plan_file.read_text())
        told.append((plan["notes"], plan["extra"], plan["losses"], plan["steps"]))
    assert told[0] == told[1]
    first = told[0][1]["graft"]["first_copied_offset"]
    assert f"the leader's whole log is copied, offsets {first} to " in "".join(told[0][0])


def test_what_the_leader_has_compacted_is_not_lost_by_copying_all_of_it(fleet: Fleet) -> None:
    """Each compacts when it wants to: the replica has records that its leader had, too."""
    mine, leader = fleet.replica("customers-2"), fleet.replica("customers-2", "b3")
    log = last(mine)[0]
    log.write_bytes(log.read_bytes()[: last(mine)[1][-1].position])
    assert {*batches(mine)} - {*batches(leader)}
    ran = fleet.graft("customers-2", "--whole")
    assert (ran.code, "lost: nothing" in ran.out) == (0, True), ran.err
    fleet.apply()
    assert batches(mine) == batches(leader)
    fleet.undo()
    epochs = leader / "leader-epoch-checkpoint"
    epochs.write_text("0\n2\n0 0\n1 40\n")
    refused_by_epoch = fleet.graft("customers-2", "--whole")
    assert (refused_by_epoch.code, "lost: nothing" in refused_by_epoch.out) == (0, False), refused_by_epoch


def test_a_compacted_replica_that_fell_behind(fleet: Fleet) -> None:
    """Each broker compacts on its own, so only what neither has cleaned yet is compared, and copied."""
    mine, leader = fleet.replica("customers-2"), fleet.replica("customers-2", "b3")
    dirty = fleet.line("cleaner", "customers-2")
    assert dirty
    cleaned = [batch for batch in batches(mine) if int(str(batch[1])) < dirty]
    fall_behind(mine, 24)
    assert f"below offset {dirty} each broker compacts on its own" in fleet.graft("customers-2").out
    fleet.apply()
    theirs = [batch for batch in batches(leader) if int(str(batch[1])) >= dirty]
    assert len(theirs) > 5
    assert batches(mine) == cleaned + theirs
    assert fleet.findings() == []


def test_only_what_is_missing_is_copied(fleet: Fleet) -> None:
    mine, leader = fleet.replica("orders-0"), fleet.replica("orders-0", "b3")
    fall_behind(mine, 30)
    missing = sum(path.stat().st_size for path in leader.glob("*.log"))
    missing -= sum(path.stat().st_size for path in mine.glob("*.log"))
    fleet.graft("orders-0")
    steps = fleet.planned()["steps"]
    copied = [s for s in steps if s["kind"] == "append_file" and s["path"].endswith(".log")]
    assert sum(step["content"]["length"] for step in copied) == missing
    assert not [step for step in steps if step["kind"] in ("cut_file", "quarantine")]
    assert fleet.planned()["extra"]["graft"]["copied_bytes"] == missing


def test_the_files_become_those_of_the_leader(fleet: Fleet) -> None:
    """With equal segments nothing but the indexes' own entries can differ, and those copied do not."""
    mine, leader = fleet.replica("payments-1"), fleet.replica("payments-1", "b3")
    fall_behind(mine, 13)
    fleet.graft("payments-1")
    fleet.apply()
    same = ("*.log", "*.txnindex", "leader-epoch-checkpoint", "partition.metadata")
    for pattern in same:
        names = sorted(path.name for path in leader.glob(pattern))
        assert sorted(path.name for path in mine.glob(pattern)) == names
        assert [(mine / name).read_bytes() for name in names] == [(leader / n).read_bytes() for n in names]
    assert list(leader.glob("*.txnindex"))


@pytest.mark.parametrize(
    "name",
    ["orders-1", *(pytest.param(name, marks=pytest.mark.slow) for name in ("payments-0", "customers-2"))],
)
def test_a_lost_replica(fleet: Fleet, name: str) -> None:
    mine, leader = fleet.replica(name), fleet.replica(name, "b3")
    mode, log_mode = mine.stat().st_mode, next(mine.glob("*.log")).stat().st_mode
    shutil.rmtree(mine)
    shown = fleet.graft(name)
    assert shown.code == 0, shown.err
    assert "the leader's whole log is copied" in shown.out
    fleet.apply()
    assert batches(mine) == batches(leader)
    assert mine.stat().st_mode == mode
    assert {path.stat().st_mode for path in mine.glob("*.log")} == {log_mode}
    assert fleet.findings() == []
    fleet.undo()


@pytest.mark.parametrize("what", ["file", "link", "pipe"])
def test_what_has_the_name_of_a_lost_replica_is_moved_away_first(fleet: Fleet, what: str) -> None:
    """The next command of its finding gives it another name, then comes the graft, refused before."""
    mine = fleet.replica("orders-1")
    shutil.rmtree(mine)
    {"file": Path.touch, "link": lambda path: path.symlink_to("nowhere"), "pipe": os.mkfifo}[what](mine)
    shown = fleet.graft("orders-1")
    assert (shown.code, fleet.plan_file.exists()) == (8, False)
    assert shown.err.startswith(f"segmend: {mine}: ")
    found = fleet.run("check", *fleet.dirs, "--json").of("finding")
    (command,) = (row["remedy"]["command"] for row in found if row["code"] == "N27")
    subprocess.run(shlex.split(command), check=True)
    found = fleet.run("check", *fleet.dirs, "--json").of("finding")
    (command,) = (row["remedy"]["command"] for row in found if row["code"] == "N27")
    assert command.startswith("segmend plan graft ")
    assert fleet.graft("orders-1").code == 0


@pytest.mark.slow
def test_a_lost_replica_that_comes_to_another_log_dir(fleet: Fleet) -> None:
    """All cleaner checkpoints make one map: the line of a replica that is elsewhere now must not count."""
    mine = fleet.replica("orders-0")
    home = mine.parent
    other = next(each for each in fleet.dirs if each != home)
    cleaner = home / "cleaner-offset-checkpoint"
    cleaner.write_bytes(b"0\n1\norders 0 7\n")
    shutil.rmtree(mine)
    assert fleet.graft("orders-0", "--to", other).code == 0
    fleet.apply()
    assert cleaner.read_bytes() == b"0\n0\n"
    for path in home.glob("*-offset-checkpoint"):
        assert ("orders", 0) not in lines(path)
    assert lines(other / "recovery-point-offset-checkpoint")["orders", 0] > 0
    fleet.undo()


@pytest.mark.slow
@pytest.mark.parametrize(("release", "does"), [("4.3.1", "renames it to -stray"), ("3.6.2", "deletes it")])
def test_a_replica_that_the_metadata_gives_to_other_nodes(fleet: Fleet, release: str, does: str) -> None:
    """A start does away with it: a note says so, where the operator was about to rely on it."""
    every = golden("4.3.1-fleet")
    mine = {path.name for path in every.glob("b2/d*/*-[0-9]")}
    foreign = next(path for path in sorted(every.glob("b3/d*/clicks-[0-9]")) if path.name not in mine)
    shown = fleet.graft(foreign.name, "--to", fleet.dirs[0], "--kafka", release, source=foreign)
    assert (shown.code, f"The next start {does}" in shown.out) == (4, True), shown.err
    own = fleet.graft("orders-0", "--whole", "--kafka", release)
    assert (own.code, "stray" in own.out) == (
        0 if release == "4.3.1" else 4,
        False,
    )  # 3.6 refuses this metadata


def test_a_replica_that_went_another_way(fleet: Fleet) -> None:
    name = "orders-3"
    mine, leader = fleet.replica(name), fleet.replica(name, "b3")
    fork(mine, 2)
    shown = fleet.graft(name, "--json")
    plan = fleet.planned()
    [loss] = plan["losses"]
    assert loss["records"] > 0
    assert "the topic does not lose them" in loss["what"]
    assert shown.code == 0
    assert any("had gone another way from offset" in note for note in plan["notes"])
    mark = fleet.line("replication", name)
    assert f"had them committed up to high watermark {mark}" in loss["what"]
    fleet.apply()
    assert batches(mine) == batches(leader)
    assert fleet.findings() == []
    kept = [path.read_bytes() for path in (fleet.root / "state").rglob("*") if path.is_file()]
    assert any(b"only here" in data for data in kept)
    fleet.undo()


@pytest.mark.slow
def test_damage_in_the_middle_goes_with_all_that_follows(fleet: Fleet) -> None:
    """What is cut off the leader has too, so nothing is lost."""
    mine = fleet.replica("orders-0")
    log, found = last(mine)
    flip(log, found[1].end - 1)
    assert fleet.findings() != []
    shown = fleet.graft("orders-0").out
    assert "lost: nothing" in shown
    assert f"damaged from offset {found[1].base_offset} on (crc-mismatch)" in shown
    assert "for a running broker" not in shown
    assert fleet.planned()["losses"] == []
    fleet.apply()
    assert batches(mine) == batches(fleet.replica("orders-0", "b3"))
    assert fleet.findings() == []


def test_whole_sets_the_old_one_aside(fleet: Fleet) -> None:
    mine = fleet.replica("orders-3")
    fork(mine, len(last(mine)[1]))
    assert fleet.graft("orders-3", "--whole").code == 0
    fleet.apply()
    assert batches(mine) == batches(fleet.replica("orders-3", "b3"))
    assert fleet.findings() == []
    assert any(path.name == "orders-3" for path in (fleet.root / "state").rglob("orders-3"))
    fleet.undo()


def test_it_begins_where_the_log_of_the_leader_begins(fleet: Fleet) -> None:
    """Compaction left nothing in its first segment: without that base readers of it are sent away."""
    mine, leader = fleet.replica("orders-0"), fleet.replica("orders-0", "b3")
    first, second, *rest = sorted(leader.glob("*.log"))
    for suffix in (".log", ".index", ".timeindex"):
        first.with_suffix(suffix).write_bytes(b"")
    assert fleet.graft("orders-0", "--whole").code == 0
    fleet.apply()
    assert [path.name for path in sorted(mine.glob("*.log"))] == [path.name for path in (first, *rest)]
    assert (mine / first.name).read_bytes() == second.read_bytes()
    assert fleet.findings() == []
    fleet.undo()


def test_the_epochs_of_a_copy_tell_where_it_starts(fleet: Fleet) -> None:
    copied = fleet.root / "saved" / "orders-0"
    shutil.copytree(fleet.replica("orders-0", "b3"), copied)
    epochs = copied / "leader-epoch-checkpoint"
    version, count, first, *rest = epochs.read_text().splitlines()
    epochs.write_text("\n".join([version, count, f"{first.split()[0]} 37", *rest, ""]))
    shutil.rmtree(fleet.replica("orders-0"))
    assert fleet.graft("orders-0", "--to", fleet.dirs[0], source=copied).code == 0
    fleet.apply()
    assert fleet.line("log-start", "orders-0") == 37
    assert fleet.findings() == []


def test_from_a_copied_directory(fleet: Fleet) -> None:
    mine = fleet.replica("orders-0")
    end = fall_behind(mine, 30)
    copied = fleet.root / "saved" / "leader-of-orders-0"
    shutil.copytree(fleet.replica("orders-0", "b3"), copied)
    marks = fleet.line("replication", "orders-0")
    assert marks is not None
    shown = fleet.graft("orders-0", source=copied)
    assert shown.code == 0
    assert "its high watermark is not known" in shown.out
    fleet.apply()
    assert batches(mine) == batches(copied)
    assert fleet.line("replication", "orders-0") == min(end, marks)
    assert fleet.findings() == []


def test_in_step_already(whole: Fleet) -> None:
    shown = whole.graft("orders-0")
    assert shown.code == 0
    assert "nothing is missing" in shown.out
    assert "nothing to do" in shown.out


EPOCHS = "leader-epoch-checkpoint"


@pytest.mark.parametrize("behind", [False, True])
def test_epochs_of_a_topic_before_go_as_they_went_at_the_leader(behind: bool, fleet: Fleet) -> None:
    """After `plan restamp`: no follower came into sync by them, and graft saw nothing missing."""
    mine, theirs = fleet.replica("orders-3"), fleet.replica("orders-3", "b3")
    if behind:
        fall_behind(mine, 20)
    (mine / EPOCHS).write_text("0\n2\n0 0\n99 3\n")
    shown = fleet.graft("orders-3")
    assert shown.code == 0, shown.err
    assert "are of a topic of this name before, and its leader forgot them" in shown.out
    fleet.apply()
    assert (mine / EPOCHS).read_bytes() == (theirs / EPOCHS).read_bytes()
    assert fleet.findings() == []
    assert "nothing to do" in fleet.graft("orders-3").out
    fleet.undo()


def test_epochs_that_the_topic_came_to_stay(fleet: Fleet) -> None:
    """The source is no leader of today, or its file is cut short: that tells nothing of the replica's."""
    source = fleet.replica("orders-3", "b3") / EPOCHS
    assert source.read_text().split("\n")[1] == "2"
    source.write_text("\n".join(["0", "1", source.read_text().split("\n")[2], ""]))
    shown = fleet.graft("orders-3")
    assert shown.code == 0, shown.err
    assert "nothing to do" in shown.out


def test_a_log_that_begins_later_at_the_leader(fleet: Fleet) -> None:
    """Retention and DeleteRecords ran there: what readers must not get again they do not get here."""
    mine, leader = fleet.replica("orders-0"), fleet.replica("orders-0", "b3")
    fall_behind(mine, 30)
    for path in leader.glob("00000000000000000000.*"):
        path.unlink()
    start = min(int(path.stem) for path in leader.glob("*.log"))
    assert start > 0
    assert fleet.graft("orders-0").code == 0
    fleet.apply()
    assert fleet.line("log-start", "orders-0") == start
    assert fleet.findings() == []


@pytest.fixture
def lagging(fleet: Fleet) -> Fleet:
    """Whose orders-0 on b2 is behind."""
    fall_behind(fleet.replica("orders-0"), 30)
    return fleet


def refused(found: Ran, code: int) -> str:
    """The one line of a refusal."""
    assert found.code == code
    assert found.out == ""
    [line] = found.err.splitlines()
    return line


def test_another_topic_id_is_refused(lagging: Fleet) -> None:
    metadata = lagging.replica("orders-0", "b3") / "partition.metadata"
    metadata.write_bytes(lagging.replica("payments-0", "b3").joinpath("partition.metadata").read_bytes())
    assert "of a topic with the id" in refused(lagging.graft("orders-0"), 8)
    assert "of a topic with the id" in refused(lagging.graft("orders-0", "--whole"), 8)
    assert not (lagging.root / "plan.json").exists()


def test_another_partition_is_refused(lagging: Fleet) -> None:
    text = refused(lagging.graft("orders-0", source=lagging.replica("orders-1", "b3")), 16)
    assert "is a replica of orders-1, not orders-0" in text
    copied = lagging.root / "some-copy"
    shutil.copytree(lagging.replica("orders-1", "b3"), copied)
    text = refused(lagging.graft("orders-0", source=copied), 8)
    assert "hold offsets 0 to" in text
    assert "differ from the first batch on" in text


def test_a_stale_copy_is_refused(fleet: Fleet) -> None:
    fall_behind(fleet.replica("orders-0", "b3"), 20)
    assert "nothing is missing here" in refused(fleet.graft("orders-0"), 8)


@pytest.mark.parametrize("options", [(), ("--whole",)])
def test_a_source_of_an_older_epoch_is_refused(fleet: Fleet, options: tuple[str, ...]) -> None:
    """After an unclean election, the side that lost it: what the replica wrote since would go."""
    mine, stale = fleet.replica("orders-3"), fleet.replica("orders-3", "b3")
    fork(stale, 2)
    text = refused(fleet.graft("orders-3", *options), 8)
    assert f"ends in leader epoch 0, and {mine} goes on in epoch 1" in text
    assert "nothing shows that the topic has lost them" in text


def test_a_source_that_lacks_records_of_the_newest_epoch_is_refused(fleet: Fleet) -> None:
    fall_behind(fleet.replica("orders-3", "b3"), 30)
    assert "has not all of leader epoch 1" in refused(fleet.graft("orders-3", "--whole"), 8)


def test_a_source_that_the_metadata_knows_as_out_of_sync_is_refused(fleet: Fleet) -> None:
    """The ids are swapped: the source is of a node that neither leads nor is in sync."""
    mine = fleet.replica("orders-3")
    fork(mine, 2)
    for path in fleet.root.glob("b3/d*/meta.properties"):
        path.write_text(path.read_text().replace("node.id=3", "node.id=1"))
    text = refused(fleet.graft("orders-3"), 8)
    assert "is of node 1, and by the metadata nobody leads" in text
    assert "(in sync: 3)" in text


@pytest.mark.parametrize("alike", [False, True])
def test_what_was_committed_and_neither_has_is_left(alike: bool, fleet: Fleet) -> None:
    """The plan takes the line that tells of it away; it must not end as if all were there."""
    mine, theirs = fleet.replica("orders-3"), fleet.replica("orders-3", "b3")
    end = last(theirs)[1][-1].last_offset + 1
    if not alike:
        fall_behind(mine, 20)
    marks = mine.parent / "replication-offset-checkpoint"
    write(marks, lines(marks) | {("orders", 3): end + 7})
    shown = fleet.graft("orders-3")
    assert shown.code == 4
    assert f"offsets {end} to {end + 6} were committed here (high watermark {end + 7})" in shown.out
    fleet.apply()
    fleet.undo()


def test_a_damaged_leader_is_refused(lagging: Fleet) -> None:
    log, found = last(lagging.replica("orders-0", "b3"))
    flip(log, found[0].end - 1)
    assert f"{log}: is damaged at byte 0 (crc-mismatch)" in refused(lagging.graft("orders-0"), 8)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--partition", "orders", "--from", "."), "is no partition that a broker replicates"),
        (("--partition", "__cluster_metadata-0", "--from", "."), "is no partition that a broker replicates"),
        (("--partition", "orders-0.0a-future", "--from", "."), "is no partition that a broker replicates"),
        (("--partition", "orders-0", "--from", "/dev"), "no directory of a partition"),
    ],
)
def test_wrong_arguments(whole: Fleet, arguments: tuple[str, ...], says: str) -> None:
    assert says in refused(whole.run("plan", "graft", *whole.dirs, *arguments), 16)


def test_a_source_that_is_not_there(whole: Fleet) -> None:
    assert "no such directory" in refused(whole.graft("orders-0", source=whole.root / "nowhere"), 8)


def test_the_replica_itself_is_no_source(whole: Fleet) -> None:
    text = refused(whole.graft("orders-0", source=whole.replica("orders-0")), 16)
    assert "is the replica that is to be restored" in text


@pytest.mark.slow
def test_a_lost_replica_of_which_nothing_tells_where_it_was(fleet: Fleet) -> None:
    mine = fleet.replica("orders-0")
    home = mine.parent
    shutil.rmtree(mine)
    for log_dir in fleet.dirs:
        shutil.rmtree(log_dir / "__cluster_metadata-0", ignore_errors=True)
        drop(log_dir, "orders", 0)
    assert "say which one gets it: --to DIR" in refused(fleet.graft("orders-0"), 16)
    assert fleet.graft("orders-0", "--to", home).code == 0


@pytest.fixture
def running(lagging: Fleet) -> Iterator[Fleet]:
    """The leader's log dir is locked as by a broker."""
    with broker_on(lagging.replica("orders-0", "b3").parent):
        yield lagging


def set_mark(log_dir: Path, offset: int | None, key: tuple[str, int] = ("orders", 0)) -> None:
    """The high watermark of a partition."""
    path = log_dir / "replication-offset-checkpoint"
    rest = {each: mark for each, mark in lines(path).items() if each != key}
    write(path, rest if offset is None else {**rest, key: offset})


@pytest.mark.slow
def test_a_leader_whose_broker_runs(running: Fleet) -> None:
    leader = running.replica("orders-0", "b3")
    assert "stop it, or read only what is committed: --live-source" in refused(running.graft("orders-0"), 64)
    set_mark(leader.parent, None)
    assert "its high watermark is not known" in refused(running.graft("orders-0", "--live-source"), 8)
    committed = read_header(last(leader)[0].read_bytes()).last_offset + 1
    set_mark(leader.parent, committed)
    assert running.graft("orders-0", "--live-source").code == 0
    running.apply()
    mine = running.replica("orders-0")
    assert last(mine)[1][-1].last_offset + 1 == committed
    assert running.line("replication", "orders-0") == committed
    assert running.findings() == []


def merge(replica: Path, count: int) -> None:
    """The first segments as one, as a follower with another segment.bytes has them; indexes are lost."""
    first, *others = sorted(replica.glob("*.log"))[:count]
    with first.open("ab") as merged:
        for log in others:
            merged.write(log.read_bytes())
            log.unlink()
    for path in replica.iterdir():
        if path.suffix in (".index", ".timeindex") and not path.with_suffix(".log").exists():
            path.unlink()
    for suffix in (".index", ".timeindex"):
        first.with_suffix(suffix).unlink()


@pytest.mark.slow
def test_other_segment_boundaries(fleet: Fleet) -> None:
    """What is missing goes into a new segment where the last one would become too large."""
    mine, leader = fleet.replica("payments-1"), fleet.replica("payments-1", "b3")
    end = fall_behind(mine, 13)
    merge(mine, len(list(mine.glob("*.log"))))
    repaired = fleet.run("plan", "repair", *fleet.dirs, "-o", fleet.plan_file)
    assert repaired.code in (0, 4), repaired.err
    fleet.apply()
    assert fleet.graft("payments-1").code == 0
    fleet.apply()
    assert batches(mine) == batches(leader)
    assert f"{end:020d}.log" in {path.name for path in mine.iterdir()}
    assert not (leader / f"{end:020d}.log").exists()
    assert fleet.findings() == []


@pytest.mark.slow
@pytest.mark.parametrize("leader", ["whole", "began later"])
def test_a_start_scans_nothing_of_what_a_kill_had_left_unflushed(fleet: Fleet, leader: str) -> None:
    """The recovery point goes over what the graft proved, synced, and gave its indexes; over no more."""
    mine, theirs = fleet.replica("payments-1"), fleet.replica("payments-1", "b3")
    fall_behind(mine, 13, torn=11)
    (mine.parent / ".kafka_cleanshutdown").unlink()
    recovery = mine.parent / "recovery-point-offset-checkpoint"
    write(recovery, lines(recovery) | {("payments", 1): 0})
    index, log = min(mine.glob("*.index")), min(mine.glob("*.log"))
    index.write_bytes(b"rotten" * 4)
    if leader == "began later":
        for path in theirs.glob(f"{log.stem}.*"):
            path.unlink()
    assert fleet.graft("payments-1").code == 0
    words = [step["reason"] for step in fleet.planned()["steps"] if step["path"] in (str(log), str(index))]
    proven = leader == "whole"
    assert words == (
        ["is right, and perhaps not on the disk yet", "entries of the new log"] if proven else []
    )
    fleet.apply()
    leo = last(theirs)[1][-1].last_offset + 1
    assert fleet.line("recovery-point", "payments-1") == (leo if proven else 0)
    assert fleet.findings() == []
    fleet.undo()


def test_a_line_of_a_checkpoint_says_no_more_than_is_there() -> None:
    assert [assembly.at_most(offset, 3) for offset in (None, 2, 3, 4)] == [None, 2, 3, 3]
