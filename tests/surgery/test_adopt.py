"""`plan adopt`: -stray and -delete directories brought back, or refused with the reason."""

import os
from pathlib import Path

import pytest
from tests.golden.shared import golden
from tests.surgery.checkpoints import drop, lines
from tests.surgery.desk import Desk

from segmend.formats import offset_checkpoint, partition_metadata

HEX = "0123456789abcdef0123456789abcdef"
MIB_10 = 10 << 20


def set_aside(log_dir: Path, name: str, kind: str = "stray") -> str:
    """As a broker renames it."""
    new = f"{name}.{HEX}-{kind}"
    (log_dir / name).rename(log_dir / new)
    return new


def after(desk: Desk, topic: str, number: int = 0, *rules: str) -> dict[str, int]:
    rows = [
        r for r in desk.forecast(*rules).of("partition") if (r["topic"], r["partition"]) == (topic, number)
    ]
    assert len(rows) == 1
    found: dict[str, int] = rows[0]["after"]
    return found


@pytest.mark.parametrize(
    "kind",
    ["stray", pytest.param("delete", marks=pytest.mark.slow), pytest.param("future", marks=pytest.mark.slow)],
)
def test_brought_back_under_its_name(clean: Desk, kind: str) -> None:
    expected = after(clean, "single")
    home = clean.dirs[0]
    drop(home, "single", 0)
    name = set_aside(home, "single-0", kind)
    if kind != "future":  # which a broker of this release would take by itself
        assert after(clean, "single")["log_end_offset"] == 0
    ran = clean.plan("adopt", "--directory", name)
    assert ran.code == 0
    assert ("move_dir", f"d0/{name}") in clean.steps(ran)
    clean.apply()
    assert after(clean, "single") == expected
    assert lines(home / offset_checkpoint.HIGH_WATERMARK)["single", 0] == expected["log_end_offset"]
    assert clean.run("check", *clean.dirs).code == 0
    clean.undo()


@pytest.mark.slow
def test_an_open_index_is_never_believed(clean: Desk) -> None:
    """The long, zero-filled indexes of a log that nobody closed would have retention delete all of it."""
    expected = after(clean, "single")
    name = set_aside(clean.dirs[0], "single-0")
    folder = clean.dirs[0] / name
    for suffix in ("index", "timeindex"):
        active = max(folder.glob(f"*.{suffix}"))
        os.truncate(active, MIB_10 // 12 * 12)
    ran = clean.plan("adopt", "--directory", name)
    assert ("quarantine", f"d0/single-0/{active.stem}.index") in clean.steps(ran)
    clean.apply()
    assert after(clean, "single") == expected
    effects = next(r["effects"] for r in clean.forecast().of("partition") if r["topic"] == "single")
    assert "index-rebuilt" in {effect["effect"] for effect in effects}
    assert not [row for row in clean.forecast().of("later") if row["topic"] == "single"]
    clean.undo()


@pytest.mark.slow
def test_after_a_kill_the_whole_log_is_recovered(killed: Desk) -> None:
    home = next(d for d in killed.dirs if (d / "single-0").is_dir())
    expected = after(killed, "single")
    name = set_aside(home, "single-0")
    killed.plan("adopt", "--directory", name)
    killed.apply()
    assert ("single", 0) not in lines(home / offset_checkpoint.RECOVERY_POINT)
    assert after(killed, "single") == expected


@pytest.mark.slow
def test_an_empty_one_gives_way_if_asked(clean: Desk) -> None:
    home, other = clean.dirs
    expected = after(clean, "single")
    name = set_aside(home, "single-0")
    fake = other / "single-0"
    fake.mkdir()
    (fake / f"{0:020d}.log").write_bytes(b"")
    (fake / "partition.metadata").write_bytes((home / name / "partition.metadata").read_bytes())
    with open(other / offset_checkpoint.LOG_START_OFFSET, "w") as file:
        file.write("0\n1\nsingle 0 100000\n")
    ran = clean.plan("adopt", "--directory", name)
    assert ran.code == 8
    assert "--replace sets it aside" in ran.err
    ran = clean.plan("adopt", "--directory", name, "--replace")
    assert ("quarantine", "d1/single-0") in clean.steps(ran)
    clean.apply()
    assert not fake.exists()
    assert lines(other / offset_checkpoint.LOG_START_OFFSET) == {}
    assert after(clean, "single") == expected
    clean.undo()


def test_one_with_records_never_gives_way(shelf: Desk) -> None:
    future = next(p for d in shelf.dirs for p in d.iterdir() if p.name.endswith("-future"))
    for more in ((), ("--replace",)):
        ran = shelf.plan("adopt", "--directory", future.name, *more)
        assert (ran.code, ran.err.count("\n")) == (8, 1)
        assert "is there, and has records" in ran.err


def test_a_deleted_topic_is_refused_with_kafka_s_reason(killed: Desk) -> None:
    doomed = next(p for d in killed.dirs for p in d.iterdir() if p.name.endswith("-delete"))
    ran = killed.plan("adopt", "--directory", doomed.name)
    assert (ran.code, ran.out) == (8, "")
    assert "does not exist in the metadata image" in ran.err
    assert "stray again" in ran.err
    assert "make topic doomed anew" in ran.err
    ran = killed.plan("adopt", "--directory", doomed, "--even-stray")
    assert ran.code == 4, "a start loses it, as is said"
    found = ran.of("plan")[0]["forecast"]
    assert (found["before"]["records_lost"], found["after"]["records_lost"]) == (0, 96)
    done = killed.run("apply", killed.plan_file, "--yes", "--state-dir", killed.state)
    assert done.code == 5
    last = done.out.splitlines()[-1]
    assert "started after it starts and loses 96 records and does not serve 1 partition; to go back: " in last


def test_records_given_to_the_topic_that_has_the_name_now(clean: Desk) -> None:
    """The topic was deleted and made anew while this directory waited under another id."""
    home = clean.dirs[0]
    name = set_aside(home, "single-0", "delete")
    current = partition_metadata.parse((home / name / "partition.metadata").read_bytes())[0].topic_id
    old = "c2VnbWVuZC1zZWdtZW5kLQ"
    (home / name / "partition.metadata").write_text(f"version: 0\ntopic_id: {old}")
    ran = clean.plan("adopt", "--directory", name)
    assert ran.code == 8
    assert f"has the id {current} now: --topic-id current" in ran.err
    ran = clean.plan("adopt", "--directory", name, "--topic-id", "current")
    assert any(old in note for note in ran.of("plan")[0]["notes"])
    clean.apply()
    metadata = home / "single-0" / "partition.metadata"
    assert partition_metadata.parse(metadata.read_bytes())[0].topic_id == current
    assert clean.forecast().code == 0
    clean.undo()


def test_an_id_of_another_topic_is_refused(clean: Desk) -> None:
    home = clean.dirs[0]
    name = set_aside(home, "single-0")
    other = (home / "headers-0" / "partition.metadata").read_bytes()
    (home / name / "partition.metadata").write_bytes(other)
    ran = clean.plan("adopt", "--directory", name)
    assert ran.code == 8
    assert "is that of topic headers; topic single has the id" in ran.err


@pytest.mark.slow
def test_a_name_that_was_cut_is_made_whole(clean: Desk) -> None:
    """A broker cuts the topic where the name with its suffix would be longer than 255 bytes."""
    home = clean.dirs[0]
    (home / "single-0").rename(home / f"sin-0.{HEX}-stray")
    clean.plan("adopt", "--directory", f"sin-0.{HEX}-stray")
    clean.apply()
    assert after(clean, "single")["log_end_offset"] == 96


@pytest.mark.slow
def test_a_name_that_was_perhaps_cut_is_asked_for_where_nothing_tells_it(tmp_path: Path) -> None:
    """With ZooKeeper no id tells: a partition of the cut name was no partition of any topic."""
    desk = Desk(golden("1.1.0-killed") / "b1", tmp_path)
    doomed = next(p for d in desk.dirs for p in d.iterdir() if p.name.endswith("-delete"))
    asked = ("adopt", "--directory", doomed.name, "--kafka", "1.1", "--topic", "doomed.not")
    assert "is of a topic called doomed" in desk.plan(*asked).err
    whole, suffix = "a.b_c-" * 41 + "end", f"-0.{HEX}-delete"
    name = whole[: 255 - len(suffix)] + suffix
    doomed.rename(doomed.with_name(name))
    asked = ("adopt", "--directory", name, "--kafka", "1.1")
    ran = desk.plan(*asked)
    assert (ran.code, ran.err.rstrip().endswith("nothing here tells the whole one: --topic TOPIC")) == (
        16,
        True,
    )
    for wrong in ("other", "a.b_c-" * 42):
        assert desk.plan(*asked, "--topic", wrong).code == 16
    assert desk.plan(*asked, "--topic", whole).code == 0
    desk.apply()
    rows = [r for r in desk.forecast("--kafka", "1.1").of("partition") if r["topic"] == whole]
    assert rows[0]["after"]["log_end_offset"] == 96
    desk.undo()


def test_a_directory_that_no_broker_can_load_is_refused(clean: Desk) -> None:
    name = set_aside(clean.dirs[0], "single-0")
    (clean.dirs[0] / name / "foo.log").write_bytes(b"")
    ran = clean.plan("adopt", "--directory", name)
    assert ran.code == 8
    assert "no broker can load it" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.slow
def test_zookeeper_asks_for_no_topic_id(tmp_path: Path) -> None:
    desk = Desk(golden("1.1.0-killed") / "b1", tmp_path)
    doomed = next(p for d in desk.dirs for p in d.iterdir() if p.name.endswith("-delete"))
    assert desk.plan("adopt", "--directory", doomed.name, "--kafka", "1.1").code == 0
    desk.apply()
    rows = [r for r in desk.forecast("--kafka", "1.1").of("partition") if r["topic"] == "doomed"]
    assert rows[0]["after"]["log_end_offset"] == 96
    desk.undo()


@pytest.mark.parametrize(
    "options",
    [("--directory", "nothing-0"), ("--directory", "single-0"), ("--directory", "/tmp/single-0"),
     ("--directory", ""), ()],
)  # fmt: skip
def test_bad_input_is_told_in_one_line(shelf: Desk, options: tuple[str, ...]) -> None:
    ran = shelf.plan("adopt", *options)
    assert ran.code == 16
    assert ran.out == ""
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("wish", ["none", "AAAAAAAAAAAAAAAAAAAAAA"])
def test_odd_topic_ids_are_refused(clean: Desk, wish: str) -> None:
    name = set_aside(clean.dirs[0], "single-0")
    ran = clean.plan("adopt", "--directory", name, "--topic-id", wish)
    assert ran.code == 16
    assert "--topic-id" in ran.err
