"""`plan delete`, `plan restamp`, `plan rename`: what partitions are called, whose they are, that they go."""

import re
import shutil
from pathlib import Path

import pytest
from tests.copies import copy_tree
from tests.golden.shared import golden
from tests.seeds import sampled
from tests.surgery.checkpoints import lines
from tests.surgery.desk import Desk, left_code
from tests.surgery.loop import Loop
from tests.surgery.recovery_rule import batches_of
from tests.surgery.shows.names import OTHER, stamp
from tests.surgery.small_fleet import Fleet

from segmend.formats import partition_metadata
from segmend.formats.names import is_legal_topic, topics_collide
from segmend.surgery.plan import Plan

SINGLE = 96


def home_of(desk: Desk, name: str) -> Path:
    return next(d / name for d in desk.dirs if (d / name).is_dir())


def notes(desk: Desk) -> str:
    return "\n".join(desk.planned()["notes"])


def with_lines(desk: Desk, topic: str) -> set[str]:
    files = [path for d in desk.dirs for path in d.glob("*-offset-checkpoint")]
    return {path.name for path in files if any(key[0] == topic for key in lines(path))}


@pytest.mark.slow
def test_the_last_copy_goes_by_its_figure_only(clean: Desk) -> None:
    ran = clean.plan("delete", "--partition", "single-0", "--partition", "empty-0")
    assert (ran.code, [kind for kind, _ in clean.steps(ran)].count("quarantine")) == (4, 1)
    assert f"it is the only replica; --replica DIR proves that another one has its {SINGLE} records" in str(
        ran.of("plan")[0]["left"]
    )
    ran = clean.plan("delete", "--partition", "single-0", "--accept-loss", "95-records")
    assert (ran.code, f"{SINGLE} would be lost" in ran.err) == (16, True)
    ran = clean.plan("delete", "--partition", "singl?-*", "--accept-loss", f"{SINGLE}-records")
    assert (ran.code, ran.of("loss")[0]["last_offset"]) == (0, SINGLE - 1)
    assert with_lines(clean, "single") == {
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    }
    clean.apply()
    assert with_lines(clean, "single") == set()
    assert not [d for d in clean.dirs if (d / "single-0").exists()]
    clean.undo()


def test_what_a_replica_proves_to_have_is_not_lost(clean: Desk) -> None:
    other = clean.root / "other"
    copy_tree(home_of(clean, "single-0"), other / "single-0")
    asked = ("delete", "--partition", "single-0", "--replica", other)
    assert (clean.plan(*asked).code, clean.planned()["losses"]) == (0, [])
    log = max((other / "single-0").glob("*.log"))
    log.write_bytes(log.read_bytes()[: batches_of(log)[-1].position])
    ran = clean.plan(*asked)
    assert (ran.code, "lacks some of it, or differs" in str(ran.of("plan")[0]["left"])) == (4, True)
    for wrong in (home_of(clean, "single-0"), clean.root / "none"):
        assert clean.plan("delete", "--partition", "single-0", "--replica", wrong).code == 16
    ran = clean.plan("delete", "--partition", "_*")
    assert (ran.code, "Kafka's own topics are meant only by __*" in ran.err) == (16, True)


def test_a_proof_that_is_gone_by_then_proves_nothing(clean: Desk) -> None:
    """Another node led meanwhile, and the replica was cut to what that one had, or removed; it may grow."""
    other = clean.root / "other"
    copy_tree(home_of(clean, "single-0"), other / "single-0")
    assert clean.plan("delete", "--partition", "single-0", "--replica", other).code == left_code(
        clean.planned()
    )
    first, *_, last = sorted((other / "single-0").glob("*.log"))
    before, (sealed, active) = clean.tree(), (log.read_bytes() for log in (first, last))
    end = batches_of(last)[-1]
    for log, hurt in (
        (last, active[: end.position]),  # cut, and more fetched from a leader that had another history
        (last, active[:-1] + bytes([active[-1] ^ 1]) + active),
        (first, sealed[:-1]),
        (first, None),
    ):
        kept = log.read_bytes()
        log.write_bytes(hurt) if hurt is not None else log.unlink()
        ran = clean.run("apply", clean.plan_file, "--yes", "--state-dir", clean.state)
        assert (ran.code, f"{log}: " in ran.err, "make the plan again" in ran.err) == (8, True, True), ran
        assert "since it proved to have what this plan gives up here" in ran.err
        assert clean.tree() == before
        copy_tree(home_of(clean, "single-0"), other / "single-0")
        assert log.read_bytes() == kept
    last.write_bytes(active + active[end.position :])
    clean.apply()
    clean.undo()


def test_a_replica_gets_the_id_that_its_topic_has(clean: Desk) -> None:
    home = home_of(clean, "single-0")
    own = home.joinpath("partition.metadata").read_text()
    stamp(home)
    ran = clean.plan("restamp", "--topic", "s*")
    assert (ran.code, clean.steps(ran)) == (
        0,
        [("replace_file", f"{home.parent.name}/single-0/partition.metadata")],
    )
    assert f"the topicId {OTHER} does not exist in the metadata image" in notes(clean)
    clean.apply()
    assert home.joinpath("partition.metadata").read_text() == own
    assert clean.plan("restamp", "--topic", "single").of("step") == []
    other = partition_metadata.parse((home_of(clean, "headers-0") / "partition.metadata").read_bytes())[0]
    ran = clean.plan("restamp", "--topic", "single", "--topic-id", other.topic_id)
    assert (ran.code, "is that of topic headers" in ran.err) == (8, True)
    for operation in (("restamp", "--topic", "single"), ("rename", "--topic", "single", "--to", "other")):
        ran = clean.plan(*operation, "--topic-id", other.topic_id, "--even-stray")
        assert (ran.code, "is that of topic headers, and" in ran.err) == (8, True)
    ran = clean.plan("restamp", "--topic", "*s", "--topic-id", OTHER)
    assert (ran.code, "one id, and" in ran.err) == (16, True)
    ran = clean.plan("restamp", "--topic", "single", "--topic-id", OTHER, "--kafka", "2.7")
    assert (ran.code, "came with 2.8" in ran.err) == (16, True)


def test_no_two_topics_get_one_id_where_no_metadata_tells_whose_it_is(clean: Desk) -> None:
    """Either is then not served, nor is what the broker would have come to after it."""
    shutil.rmtree(home_of(clean, "__cluster_metadata-0"))
    other = partition_metadata.parse((home_of(clean, "headers-0") / "partition.metadata").read_bytes())[0]
    ran = clean.plan("restamp", "--topic", "single", "--topic-id", other.topic_id)
    assert (ran.code, "/headers-0, another topic" in ran.err) == (8, True)
    assert clean.plan("restamp", "--topic", "single", "--topic-id", OTHER).code == left_code(clean.planned())


def test_what_a_leader_elsewhere_may_cut_off_is_given_up_by_its_figure_only(tmp_path: Path) -> None:
    """Three nodes of 4.3.1: a stray is kept; restamped it was cut to the log of a leader that had nothing."""
    whole = golden("4.3.1-fleet")
    fleet, asked = Desk(whole / "b1", tmp_path), ("restamp", "--topic", "orders")
    stamp(home_of(fleet, "orders-1"))
    others = {node: next(whole.glob(f"b{node}/d*/orders-1")) for node in (2, 3)}
    for proof in ((), ("--replica", others[2])):
        ran = fleet.plan(*asked, *proof)
        (left,) = ran.of("plan")[0]["left"]
        assert (ran.code, ran.of("step")) == (4, [])
        assert "node 3 may lead by the metadata here" in left
    figure = re.findall(r"--accept-loss (\d+)-records", left)[0]
    assert fleet.plan(*asked, "--accept-loss", "1-records").code == 16
    assert fleet.plan(*asked, "--accept-loss", f"{figure}-records").code == left_code(fleet.planned())
    assert [loss["records"] for loss in fleet.planned()["losses"]] == [int(figure)]
    for proof in (others[3], others[3].parent):
        assert fleet.plan(*asked, "--replica", proof).code == left_code(fleet.planned())
        assert fleet.planned()["losses"] == []
    stamp(home_of(fleet, "clicks-2"))
    assert fleet.plan("restamp", "--topic", "clicks").code == left_code(
        fleet.planned()
    )  # nobody but this node may lead
    assert fleet.planned()["losses"] == []


@pytest.mark.parametrize("operation", ["rename", "rename --copy", "adopt"])
def test_what_becomes_a_replica_of_another_topic_may_be_cut_off(operation: str, tmp_path: Path) -> None:
    fleet = Desk(golden("4.3.1-fleet") / "b1", tmp_path)
    shutil.rmtree(home_of(fleet, "shipments-0"))
    home = home_of(fleet, "dead-letters-0")
    asked: tuple[object, ...] = (*operation.split(), "--topic", "dead-letters", "--to", "shipments")
    if operation == "adopt":
        stray = home.rename(home.with_name(f"shipments-0.{'0' * 32}-stray"))
        asked = ("adopt", "--directory", stray, "--topic-id", "current")
    ran = fleet.plan(*asked)
    assert ran.code == (4 if operation == "adopt" else 0), "its own topic is without it then, as is said"
    losses = [loss["what"] for loss in fleet.planned()["losses"]]
    assert ["node 3 may lead by the metadata here" in what for what in losses] == (
        [] if "--copy" in operation else [True]
    )


def newer(desk: Desk, name: str) -> None:
    """Its log is that of an older topic, which came to leader epoch 99."""
    stamp(home_of(desk, name))
    (home_of(desk, name) / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n99 3\n")


def test_replicas_with_newer_epochs_than_their_topic_are_no_followers(tmp_path: Path, clean: Desk) -> None:
    """Three nodes of 4.3.1: who did not lead came into sync when the topic was past these epochs."""
    (tmp_path / "fleet").mkdir()
    fleet = Desk(golden("4.3.1-fleet") / "b1", tmp_path / "fleet")
    known, followers = "its log has leader epochs up to 99", "do not come into sync before the topic is past"
    newer(fleet, "clicks-1")
    assert fleet.plan("restamp", "--topic", "clicks").code == 4  # node 3 may lead
    assert known in notes(fleet)
    assert followers in notes(fleet)
    assert "stop each of them and graft it from the leader's files" in notes(fleet)
    newer(clean, "single-0")
    assert clean.plan("restamp", "--topic", "single").code == left_code(
        clean.planned()
    )  # its only replica leads
    assert known in notes(clean)
    assert followers not in notes(clean)


def test_a_partition_gets_another_name_with_all_that_is_said_of_it(clean: Desk) -> None:
    home = home_of(clean, "single-0")
    before, records = with_lines(clean, "single"), [p.read_bytes() for p in sorted(home.glob("*.log"))]
    ran = clean.plan("rename", "--topic", "singl?", "--to", "new.{topic}", "--topic-id", OTHER)
    assert (ran.code, "does not exist in the metadata image" in ran.err) == (8, True)
    ran = clean.plan(
        "rename", "--topic", "single", "--to", "new.{topic}", "--topic-id", OTHER, "--even-stray"
    )
    assert ran.code == 4, "nobody made the topic: a start makes it a stray, as is said"
    clean.apply()
    moved = home.with_name("new.single-0")
    assert [path.read_bytes() for path in sorted(moved.glob("*.log"))] == records
    assert (with_lines(clean, "single"), with_lines(clean, "new.single")) == (set(), before)
    assert OTHER in (moved / "partition.metadata").read_text()
    ran = clean.plan("rename", "--topic", "new*", "--to", "single")
    assert ran.code == 0
    assert "after this plan" not in notes(clean)


@pytest.mark.slow
@pytest.mark.parametrize("beside", [True, False])
def test_an_empty_partition_of_the_new_name_is_set_aside_in_whichever_dir(clean: Desk, beside: bool) -> None:
    home = home_of(clean, "single-0")
    empty = next(each for each in clean.dirs if (each == home.parent) is beside) / "other-0"
    empty.mkdir()
    asked = ("rename", "--topic", "single", "--to", "other", "--topic-id", OTHER, "--even-stray")
    assert "--replace sets it aside" in clean.plan(*asked).err
    assert clean.plan(*asked, "--replace").code == left_code(clean.planned())
    logs = sorted(path.name for path in home.glob("*.log"))
    clean.apply()
    assert sorted(path.name for path in (home.parent / "other-0").glob("*.log")) == logs
    assert not home.exists()
    clean.undo()


@pytest.mark.slow
def test_a_copy_leaves_all_as_it_is(clean: Desk) -> None:
    home = home_of(clean, "single-0")
    empty = home.parent / "copy-0"
    empty.mkdir()
    asked = ("rename", "--topic", "single", "--to", "copy", "--copy", "--topic-id", OTHER, "--even-stray")
    assert "--replace sets it aside" in clean.plan(*asked).err
    assert clean.plan(*asked, "--replace").code == left_code(clean.planned())
    clean.apply()
    same = {path.name: path.read_bytes() for path in home.iterdir() if path.name != "partition.metadata"}
    assert {path.name: path.read_bytes() for path in empty.iterdir() if path.name in same} == same
    assert with_lines(clean, "single") == with_lines(clean, "copy")
    clean.undo()
    ran = clean.plan("rename", "--topic", "single", "--to", "headers")
    assert (ran.code, "is there, and has records" in ran.err) == (8, True)


@pytest.mark.parametrize(
    ("topic", "to", "why"),
    [
        ("single", "a b", "no topic can be called so"), ("single", "", "no topic can be called so"),
        ("single", "..", "no topic can be called so"), ("single", "x" * 250, "250 characters"),
        ("single", "single", "its name already"), ("*", "one", "put {topic} into it"),
        ("single", "orders_eu-west_1", "collides with topic orders.eu-west_1"),
        ("single", "unmade", "knows no topic unmade; first kafka-topics.sh --create --topic unmade"),
        ("codec-*", "old.{topic}", "knows no topic old.codec-gzip, old.codec-lz4"),
        ("none", "some", "no such partition"),
        ("single", "__cluster_metadata", "no topic of clients"),
    ],
)  # fmt: skip
def test_names_that_cannot_be(shelf: Desk, topic: str, to: str, why: str) -> None:
    ran = shelf.plan("rename", "--topic", topic, "--to", to)
    assert (ran.code, ran.err.count("\n"), why in ran.err) == (16, 1, True), ran.err


def test_kafka_s_rules_for_names() -> None:
    assert all(map(is_legal_topic, ("a", "_", "a.b-c_9", "...")))
    assert not any(map(is_legal_topic, ("", ".", "..", "a/b", "ä", "a\n")))
    assert topics_collide("a.b", "a_b")
    assert not topics_collide("a.b", "a.c")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "asked",
    [
        ("delete", "--partition", "single-0", "--accept-loss", f"{SINGLE}-records"),
        ("restamp", "--topic", "single", "--topic-id", OTHER, "--even-stray"),
        ("rename", "--topic", "single", "--to", "other", "--topic-id", OTHER, "--even-stray"),
        ("rename", "--topic", "single", "--to", "other", "--topic-id", OTHER, "--even-stray", "--copy"),
    ],
)  # fmt: skip
def test_killed_anywhere_both_ways_are_open(clean: Desk, asked: tuple[str, ...]) -> None:
    assert clean.plan(*asked).code == left_code(clean.planned())
    loop = Loop(Plan.load(str(clean.plan_file)), clean.state, clean.tree)
    assert loop.everywhere(1 + loop.calls["undo"].calls // sampled(1000, 12)) > 10


def test_what_the_metadata_has_in_sync_elsewhere_is_not_lost(whole: Fleet) -> None:
    """Who stopped last knows of no other in sync."""
    asked = ("--partition", "orders-3", "-o", whole.plan_file)
    for broker, others in (("b2", False), ("b3", True)):
        ran = whole.run("plan", "delete", *sorted((whole.disks / broker).iterdir()), *asked)
        assert (ran.code, ran.out.count("lost: nothing")) == ((0, 1) if others else (4, 0))
        assert ("in sync with it by the metadata here" in ran.out) is others
        assert ("no other replica is in sync with it" in ran.out) is not others
