"""`plan free`: what goes first, what never goes, what a full disk has to do with the quarantine."""

import itertools
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks.build_partition import PartitionWriter, write_log_dir
from tests.cli.run import Ran
from tests.golden.shared import golden
from tests.surgery.checkpoints import lines, write
from tests.surgery.desk import Desk

from segmend.formats import offset_checkpoint
from segmend.logdir.file_system import Space
from segmend.logdir.log_dir import LogDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.ops.free import operation as free
from segmend.surgery.ops.free.candidates import Candidate, CandidateKind, candidates, first_that_reach, held
from segmend.surgery.request import Request

HEX = "0123456789abcdef0123456789abcdef"
FOREVER = 4_000_000_000_000
"""A time, in ms, at which every record of a golden is older than any retention."""
TOP = {"meta.properties", ".kafka_cleanshutdown", *offset_checkpoint.FILE_NAMES}


@pytest.fixture
def old(tmp_path: Path) -> Desk:
    """Topics of ZooKeeper's time: their own settings are not on these disks."""
    return Desk(golden("1.1.0-clean") / "b1", tmp_path)


def used(root: Path) -> int:
    found = subprocess.run(["du", "-s", "--block-size=1", root], capture_output=True, check=True, text=True)
    return int(found.stdout.split()[0])


def kinds(desk: Desk, ran: Ran) -> list[str]:
    """What goes, in order, without repetition."""
    found: dict[str, None] = {}
    for _, path in desk.steps(ran):
        ending = next(
            (e for e in (".deleted", "-delete", "-stray", "-future") if path.endswith(e)), "segment"
        )
        found[ending] = None
    return list(found)


def stray(desk: Desk, name: str, as_name: str | None = None) -> Path:
    """A copy of a partition as a broker would have set it aside."""
    source = next(d / name for d in desk.dirs if (d / name).is_dir())
    target = source.with_name(f"{as_name or name}.{HEX}-stray")
    subprocess.run(["cp", "-a", "--sparse=always", source, target], check=True)
    return target


@pytest.mark.slow
def test_only_as_much_as_it_takes_and_least_harm_first(killed: Desk) -> None:
    stray(killed, "single-0")
    ran = killed.plan("free", "--bytes", "4KiB")
    assert (ran.code, len(killed.steps(ran))) == (0, 1)
    ran = killed.plan("free", "--bytes", "1GB")
    assert ran.code == 4
    assert kinds(killed, ran) == [".deleted", "-delete", "-stray", "-future"]
    assert ran.of("plan")[0]["left"][0].endswith("this way")
    assert not ran.of("loss")


def test_it_comes_free_on_this_disk_and_undo_brings_it_back(killed: Desk, elsewhere: Path) -> None:
    size = used(killed.home)
    killed.plan("free", "--bytes", "20KB", "--backup-dir", elsewhere)
    killed.apply()
    assert list(elsewhere.iterdir()), "the plan says where the old bytes go"
    assert used(killed.home) <= size - 20_000
    assert killed.forecast().of("broker")[0]["records_lost"] == 0
    killed.undo()


def test_old_bytes_that_would_stay_on_the_full_disk_are_refused(killed: Desk) -> None:
    killed.plan("free", "--bytes", "20KB")
    before = killed.tree()
    for options in ((), ("--dry-run",), ("--backup-dir", killed.root / "aside")):
        ran = killed.run("apply", killed.plan_file, "--yes", "--state-dir", killed.state, *options)
        assert (ran.code, "nothing would come free" in ran.err) == (16, True)
    assert killed.tree() == before
    assert not killed.state.exists()


def test_the_command_that_is_printed_asks_for_a_place_where_there_is_none(
    killed: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old bytes beside the full disk's own would be refused, so the command without a place is half a one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(killed.root))
    ran = killed.run("plan", "free", *killed.dirs, "--bytes", "20KB", "-o", killed.plan_file)
    *_, asks, place = shlex.split(ran.out.rpartition("next: ")[2], comments=True)
    assert (asks, place) == ("--backup-dir", "DIR")


def test_what_is_served_and_the_identity_stay(shelf: Desk) -> None:
    ran = shelf.plan("free", "--bytes", "1GB", "--now", FOREVER)
    served = {f"d{n}/{p.name}" for n, d in enumerate(shelf.dirs) for p in d.iterdir() if "." not in p.name}
    for _, path in shelf.steps(ran):
        assert Path(path).name not in TOP
        assert path not in served


@pytest.mark.slow
def test_retention_counts_only_where_it_is_known(old: Desk) -> None:
    config = old.root / "server.properties"
    config.write_text("log.retention.hours=1\n")
    common = ("--bytes", "200KB", "--now", FOREVER, "--kafka", "1.1")
    for options in ((), ("--config", config), ("--broker-retention",)):
        ran = old.plan("free", *common, *options)
        assert (ran.code, old.steps(ran)) == (4, [])
        assert any("retention would delete" in note for note in ran.of("plan")[0]["notes"])
    ran = old.plan("free", *common, "--config", config, "--broker-retention")
    assert kinds(old, ran) == ["segment"]
    config.write_text("log.retention.hours=-1\n")
    assert old.steps(old.plan("free", *common, "--config", config, "--broker-retention")) == []


@pytest.mark.slow
def test_retention_s_segments_go_oldest_first_and_the_end_stays(old: Desk, elsewhere: Path) -> None:
    config = old.root / "server.properties"
    config.write_text("log.retention.ms=3600000\n")
    rules = ("--kafka", "1.1")
    ends = {
        (r["topic"], r["partition"]): r["after"]["log_end_offset"]
        for r in old.forecast(*rules).of("partition")
    }
    options = ("--now", FOREVER, "--config", config, "--broker-retention", *rules)
    ran = old.plan("free", "--bytes", "1GB", *options)
    paths = [Path(path) for _, path in old.steps(ran)]
    compacted = {f"{t}-{n}" for d in old.dirs for t, n in lines(d / offset_checkpoint.CLEANER_OFFSET)}
    assert compacted
    assert not [p for p in paths if p.parent.name in compacted or p.parent.name.startswith("__")]
    old.plan("free", "--bytes", "20KB", "--backup-dir", elsewhere, *options)
    old.apply()
    rows = old.forecast(*rules).of("partition")
    assert {(r["topic"], r["partition"]): r["after"]["log_end_offset"] for r in rows} == ends
    assert not [r for r in rows if r["failure"] or any(e["records_lost"] for e in r["effects"])]
    assert old.run("check", *old.dirs, *rules).code == 0
    old.undo()


def test_segments_below_the_log_start_need_no_setting(old: Desk) -> None:
    home = next(d for d in old.dirs if (d / "single-0").is_dir())
    path = home / offset_checkpoint.LOG_START_OFFSET
    write(path, {**lines(path), ("single", 0): 60})
    ran = old.plan("free", "--bytes", "1GB", "--kafka", "1.1", "--now", 0)
    names = [Path(p).name for _, p in old.steps(ran) if "single-0" in p and p.endswith(".log")]
    bases = sorted(int(p.name[:20]) for p in (home / "single-0").glob("*.log"))
    assert names == [f"{base:020d}.log" for base, end in itertools.pairwise(bases) if end <= 60]
    assert names


def test_the_same_disk_is_refused_unless_it_is_to_be_discarded(shelf: Desk) -> None:
    ran = shelf.plan("free", "--bytes", "4K", "--backup-dir", shelf.root / "aside")
    assert (ran.code, ran.err.count("\n")) == (16, 1)
    assert "nothing would come free" in ran.err
    ran = shelf.plan("free", "--bytes", "4K", "--backup-dir", shelf.root / "aside", "--discard")
    assert ran.code == 0
    notes = " ".join(ran.of("plan")[0]["notes"])
    assert "needs no room, and frees none" in notes
    assert "quarantine discard JOURNAL, which apply names, gives it up for good" in notes
    assert "bytes are set aside" in notes


@pytest.mark.slow
def test_without_another_disk_it_is_set_aside_first_and_then_discarded(killed: Desk) -> None:
    place = killed.root / "aside"
    before = used(killed.home)
    killed.plan("free", "--bytes", "12K", "--discard", "--backup-dir", place)
    killed.apply("--backup-dir", place)
    assert len([path for path in place.rglob("*") if path.is_file()]) > 1
    ran = killed.run("quarantine", "discard", "0001", "--yes", "--state-dir", killed.state, "--json")
    assert ran.json[0]["bytes"] >= 12 * 1024
    assert used(killed.home) <= before - 12 * 1024
    assert [path.name for path in place.rglob("*") if path.is_file()] == ["plan.json"]  # of that run
    assert killed.forecast().of("broker")[0]["records_lost"] == 0


@pytest.mark.slow
def test_records_that_are_nowhere_else_are_given_up_by_their_number_only(killed: Desk) -> None:
    same, other = stray(killed, "single-0"), stray(killed, "headers-0", "gone-0")
    ran = killed.plan("free", "--bytes", "1GB", "--discard")
    paths = {path for _, path in killed.steps(ran)}
    assert str(same.relative_to(killed.home)) in paths
    assert str(other.relative_to(killed.home)) not in paths
    left = ran.of("plan")[0]["left"]
    assert any("--accept-loss 72-records" in line for line in left)
    ran = killed.plan("free", "--bytes", "1GB", "--discard", "--accept-loss", "71-records")
    assert (ran.code, ran.err.count("\n")) == (16, 1)
    assert "72 would be lost" in ran.err
    ran = killed.plan("free", "--bytes", "1GB", "--discard", "--accept-loss", "72-records")
    assert ("quarantine", str(other.relative_to(killed.home))) in killed.steps(ran)
    assert [(row["records"], row["topic"]) for row in ran.of("loss")] == [(72, "gone")]


@pytest.mark.slow
def test_a_stray_that_differs_by_one_batch_is_not_proven(killed: Desk) -> None:
    path = stray(killed, "single-0")
    log = min(path.glob("*.log"))
    data = bytearray(log.read_bytes())
    data[12:16] = (9).to_bytes(4, "big")  # the leader epoch, which no checksum covers
    log.write_bytes(data)
    left = killed.plan("free", "--bytes", "1GB", "--discard").of("plan")[0]["left"]
    assert any("records that no replica here proves to have" in line for line in left)


@pytest.mark.slow
def test_the_only_copy_of_a_partition_needs_a_word_in_any_case(killed: Desk) -> None:
    future = next(p for d in killed.dirs for p in d.iterdir() if p.name.endswith("-future"))
    current = next(d / "moved-0" for d in killed.dirs if (d / "moved-0").is_dir())
    shutil.rmtree(current)
    ran = killed.plan("free", "--bytes", "1GB")
    assert not [path for _, path in killed.steps(ran) if path.endswith("-future")]
    assert any(future.name in line for line in ran.of("plan")[0]["left"])


@pytest.mark.slow
def test_hard_links_free_nothing_and_are_left_out(killed: Desk) -> None:
    entry = next(p for d in killed.dirs for p in d.rglob("*.log.deleted") if p.stat().st_size)
    (killed.root / "link").hardlink_to(entry)
    ran = killed.plan("free", "--bytes", "1GB")
    assert str(entry.relative_to(killed.home)) not in {path for _, path in killed.steps(ran)}


@pytest.mark.slow
def test_the_cache_of_remote_indexes_may_go(killed: Desk) -> None:
    cache = killed.dirs[0] / "remote-log-index-cache"
    cache.mkdir()
    (cache / "0_x.index").write_bytes(bytes(range(256)) * 64)
    ran = killed.plan("free", "--bytes", "1GB")
    assert ("quarantine", "d0/remote-log-index-cache") in killed.steps(ran)


def test_it_says_what_the_start_needs(old: Desk) -> None:
    notes = old.plan("free", "--bytes", "1K", "--kafka", "1.1").of("plan")[0]["notes"]
    said = next(note for note in notes if note.startswith("a start needs some"))
    count = sum(len(list(d.glob("*-*/"))) for d in old.dirs)
    assert f"first writes to {count} logs" in said
    # All indexes were trimmed by the clean stop: each grows to 10 MiB again.
    grown = int(said.partition("grow by ")[2].partition(" in length")[0].replace(",", ""))
    assert count * 20 * (1 << 20) * 0.99 < grown <= count * 20 * (1 << 20)


def test_moves_are_told_if_another_disk_has_room(shelf: Desk, elsewhere: Path) -> None:
    place = elsewhere / "d2"
    place.mkdir()
    (place / "meta.properties").write_bytes((shelf.dirs[0] / "meta.properties").read_bytes())
    shelf.dirs.append(place)
    ran = shelf.plan("free", "--bytes", "300KB", "--on", shelf.dirs[0])
    line = next(x for x in ran.of("plan")[0]["left"] if x.startswith("to move partitions instead"))
    assert line.endswith(f"--to {place} -o move.json")
    assert not [path for path in shelf.plan_file.read_text().split('"') if path.endswith("moved-0")]


def test_the_same_plan_each_time(shelf: Desk) -> None:
    plans = []
    for _ in range(2):
        shelf.plan("free", "--bytes", "50KB", "--now", FOREVER)
        plans.append(shelf.plan_file.read_bytes())
    assert plans[0] == plans[1]


def test_it_is_the_same_on_a_disk_that_fills_up_meanwhile(
    shelf: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    less = itertools.count(1 << 30, -4096)
    monkeypatch.setattr(
        LogDir, "space", lambda _: Space(total=1 << 40, free=1 << 30, available=next(less), read_only=False)
    )
    ran = shelf.plan("free", "--bytes", "50KB", "--now", FOREVER)
    assert f"DIR is on another disk than {shelf.dirs[0]}" in " ".join(ran.of("plan")[0]["notes"])


@pytest.mark.parametrize(
    "options",
    [(), ("--bytes", "lots"), ("--bytes", "0"), ("--bytes", "-1"), ("--bytes", "1GB", "--on", "/tmp"),
     ("--bytes", "1GB", "--config", "/nowhere"), ("--bytes", "1GB", "--accept-loss", "7"),
     ("--bytes", "1GB", "--now", "soon")],
)  # fmt: skip
def test_bad_input_is_told_in_one_line(shelf: Desk, options: tuple[str, ...]) -> None:
    ran = shelf.plan("free", *options)
    assert ran.code in (8, 16)
    assert (ran.out, ran.err.count("\n")) == ("", 1)


def test_no_more_goes_than_it_takes() -> None:
    offered = [Candidate(kind=CandidateKind.DELETED, paths=(name,), bytes=5) for name in "abc"]
    assert [len(first_that_reach(offered, wanted)) for wanted in (0, 1, 5, 6, 10, 99)] == [0, 1, 1, 2, 2, 3]


def test_what_has_another_name_frees_nothing(tmp_path: Path) -> None:
    one, two = tmp_path / "d" / "one", tmp_path / "d" / "two"
    one.parent.mkdir()
    for path in (one, two):
        path.write_bytes(bytes(50_000))
    alone = held(str(one)), held(str(one.parent))
    (tmp_path / "snapshot").hardlink_to(one)
    assert alone[0] >= 50_000
    assert (held(str(one)), held(str(one.parent))) == (0, alone[1] - alone[0])


def test_of_one_kind_the_largest_goes_first(tmp_path: Path) -> None:
    place = tmp_path / "a" / "single-0"
    place.mkdir(parents=True)
    for number, size in enumerate((1, 3, 2)):
        (place / f"{number:020}.log.deleted").write_bytes(bytes(size * 50_000))
    log_dir = LogDir.open(str(tmp_path / "a"))
    offered = candidates([log_dir], BrokerDirs([log_dir]), [], frozenset())
    assert [Path(each.paths[0]).name[19] for each in offered] == ["1", "2", "0"]


def test_less_than_a_start_takes_is_named(tmp_path: Path) -> None:
    folder = write_log_dir(tmp_path / "a", [PartitionWriter("single")])
    broker = broker_of([folder], "4.3")

    def notes(size: int) -> str:
        options = free.Options(bytes=size)
        return "; ".join(free.plan(Request(broker=broker, given=[str(folder)], options=options)).notes)

    least = int(notes(1).partition("a start needs some ")[2].partition(" ")[0].replace(",", ""))
    assert f"--bytes {least - 1} is less: have {least:,} bytes free" in notes(least - 1)
    assert "is less" not in notes(least)
