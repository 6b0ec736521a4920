"""The same fault weighs differently by what the next start will do; and where each one is shown."""

import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks import build_partition as build
from tests.cli.run import run
from tests.faults.hands import field, flipped, positions, with_field, zeroed
from tests.faults.log import TORN
from tests.faults.written import ACTIVE, ROLLED, clean_dir, in_place, killed_dir, written

from segmend.checks import CheckRun, Level
from segmend.checks.context import DirContext
from segmend.findings import Finding, Safety, Severity

Hurt = Callable[[Sequence[Path]], None]
TORN_TAIL = in_place(f"{ACTIVE}.log", lambda data: data + TORN)


def found(path: Path, level: Level = Level.DEFAULT) -> list[Finding]:
    return list(CheckRun(broker_of([path], "4.3"), level=level))


def only(path: Path, level: Level = Level.DEFAULT) -> Finding:
    (finding,) = found(path, level)
    return finding


def recovery_point(offset: int) -> Hurt:
    return written("recovery-point-offset-checkpoint", f"0\n2\nt 0 {offset}\nu 0 0\n")


def test_a_torn_tail_is_an_error_beside_the_marker_and_a_doubt_without(tmp_path: Path) -> None:
    for name, base, severity in (("c", clean_dir, Severity.ERROR), ("k", killed_dir, Severity.WARNING)):
        dirs = base(tmp_path / name)
        TORN_TAIL(dirs)
        finding = only(dirs[0])
        assert (finding.code, finding.severity) == ("L01", severity)
        assert finding.position == (dirs[0] / f"{ACTIVE}.log").stat().st_size - len(TORN)
        assert finding.detail["bytes"] == len(TORN)


def test_bytes_in_flight_are_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dirs = killed_dir(tmp_path)
    TORN_TAIL(dirs)
    in_place(f"{ACTIVE}.index", lambda data: data[:64] + b"\0\0\x0f\xff\0\0\xff\xff" + data[72:])(dirs)
    monkeypatch.setattr(DirContext, "running", True)
    assert {finding.code for level in Level for finding in found(dirs[0], level)} == {"K15"}


@pytest.mark.parametrize("gone", [(".timeindex",), (".index",), (".index", ".timeindex")])
def test_a_segment_that_is_being_rolled_has_no_indexes_yet(
    gone: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dirs = killed_dir(tmp_path)
    for suffix in gone:
        (dirs[0] / f"{ACTIVE}{suffix}").unlink()
    assert found(dirs[0])
    monkeypatch.setattr(DirContext, "running", True)
    assert {finding.code for level in Level for finding in found(dirs[0], level)} == {"K15"}


def test_a_running_broker_does_not_hide_damage_in_rolled_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dirs = killed_dir(tmp_path)
    in_place(f"{ROLLED}.log", flipped(8))(dirs)
    monkeypatch.setattr(DirContext, "running", True)
    assert {finding.code for finding in found(dirs[0], Level.DEEP)} == {"K15", "L05"}


@pytest.mark.parametrize(("point", "cut"), [(0, True), (54, True), (108, True), (109, False), (164, False)])
def test_a_bad_crc_below_the_recovery_point_is_not_cut(point: int, cut: bool, tmp_path: Path) -> None:
    dirs = killed_dir(tmp_path)
    in_place(f"{ROLLED}.log", flipped(8))(dirs)
    recovery_point(point)(dirs)
    finding = only(dirs[0], Level.DEEP)
    assert ("deletes all later segments" in finding.message) == cut
    assert finding.severity == Severity.ERROR
    assert finding.remedy is not None
    assert finding.remedy.safety == Safety.ADVICE
    assert "--from REPLICA_PARTITION_DIR" in finding.remedy.command


@pytest.mark.parametrize(("lines", "command"), [("t 0 220", "plan graft"), ("u 0 0", "mkdir -p ")])
def test_an_empty_directory_is_made_whole_where_it_had_records(
    lines: str, command: str, tmp_path: Path
) -> None:
    dirs = clean_dir(tmp_path)
    for path in (dirs[0] / "t-0").iterdir():
        path.unlink()
    for name in ("recovery-point", "replication"):
        written(f"{name}-offset-checkpoint", f"0\n1\n{lines}\n")(dirs)
    (remedy,) = {each.remedy.command for each in found(dirs[0]) if each.code == "N11" and each.remedy}
    assert command in remedy


def test_the_last_batch_of_a_killed_broker_weighs_less(tmp_path: Path) -> None:
    dirs = killed_dir(tmp_path)
    in_place(f"{ACTIVE}.log", flipped(-1))(dirs)
    finding = only(dirs[0], Level.DEEP)
    assert (finding.code, finding.severity) == ("L07", Severity.WARNING)


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
def test_indexes_that_the_start_rebuilds_are_facts(suffix: str, tmp_path: Path) -> None:
    dirs = killed_dir(tmp_path)
    in_place(f"{ROLLED}.{suffix}", lambda data: data + bytes(1200))(dirs)
    assert only(dirs[0]).severity in (Severity.ERROR, Severity.WARNING)
    recovery_point(54)(dirs)
    assert only(dirs[0]).severity == Severity.INFO


@pytest.mark.parametrize(
    ("hurt", "code", "place"),
    [
        (flipped(8), "L05", 0),
        (with_field(8, "size", lambda _: 7), "L09", 8),
        (with_field(8, "size", lambda _: 1 << 24), "L08", 8),
        (with_field(8, "magic", lambda _: 5), "L11", 16),
        (with_field(8, "offset", lambda _: 1), "L13", 0),
        (with_field(8, "epoch", lambda _: 1 << 20), "L17", 12),
        (zeroed(8, 11), "L04", 0),
    ],
)
def test_where(hurt: Callable[[bytes], bytes], code: str, place: int, tmp_path: Path) -> None:
    dirs = clean_dir(tmp_path)
    healthy = (dirs[0] / f"{ROLLED}.log").read_bytes()
    in_place(f"{ROLLED}.log", hurt)(dirs)
    finding = only(dirs[0], Level.DEEP)
    assert finding.code == code
    assert finding.file == f"{ROLLED}.log"
    assert finding.position == positions(healthy)[8] + place
    assert (finding.topic, finding.partition) == ("t", 0)
    if code not in ("L04", "L13"):
        assert finding.offset == field(healthy, 8, "offset")


@pytest.mark.parametrize(
    ("hurt", "command"),
    [(zeroed(-3, -1), " plan repair "), (lambda data: data + b"\xa5" * 400, " plan trim ")],
)
def test_what_is_no_batch_is_cut_off_where_nothing_follows_it(
    hurt: Callable[[bytes], bytes], command: str, tmp_path: Path
) -> None:
    dirs = clean_dir(tmp_path)
    in_place(f"{ACTIVE}.log", hurt)(dirs)
    (hole,) = (each for each in found(dirs[0]) if each.code == "L04")
    assert hole.remedy is not None
    assert command in hole.remedy.command
    assert hole.message.endswith("nothing follows them") == ("trim" in command)


def test_the_right_value_is_named(tmp_path: Path) -> None:
    dirs = clean_dir(tmp_path)
    healthy = (dirs[0] / f"{ROLLED}.log").read_bytes()
    in_place(f"{ROLLED}.log", with_field(8, "size", lambda _: 7))(dirs)
    assert only(dirs[0]).detail["right_size"] == field(healthy, 8, "size")
    in_place(f"{ROLLED}.log", lambda _: with_field(8, "offset", lambda o: o - 5)(healthy))(dirs)
    assert only(dirs[0]).detail["expected"] == field(healthy, 8, "offset")


def test_a_segment_full_of_damage_is_told_in_a_few_lines(tmp_path: Path) -> None:
    writer = build.PartitionWriter("t", interval=1 << 20)
    for _ in range(300):
        writer.append(1)
    path = build.write_log_dir(tmp_path / "d", [writer])

    def every_second(data: bytes) -> bytes:
        for number in range(0, 300, 2):
            data = flipped(number)(data)
        return data

    in_place("t-0/00000000000000000000.log", every_second)([path])
    assert [finding.code for finding in found(path, Level.DEEP)] == ["L07"] * 20


def lead(writer: build.PartitionWriter, epoch: int) -> None:
    """What `LeaderEpochFileCache.assign` does where a leader begins: it forgets all that is not before it."""
    here = writer.next_offset
    writer.epochs = [(each, start) for each, start in writer.epochs if each < epoch and start < here]
    writer.epochs.append((epoch, here))
    writer.epoch = epoch


@pytest.mark.parametrize("epochs", [(2, 4, 2, 6), (0, 4, 0), (5, 9, 2, 3), (0, 4, 2)])
def test_records_of_an_older_topic_have_genuine_epochs(epochs: tuple[int, ...], tmp_path: Path) -> None:
    """As 4.3.1 and 3.9.2 left them after `plan restamp` and starts: nothing is to be mended."""
    writer = build.PartitionWriter()
    for epoch in epochs:
        lead(writer, epoch)
        writer.append(3)
        if epoch != max(epochs):
            writer.append(3)
    build.write_log_dir(tmp_path / "d", [writer])
    (finding,) = found(tmp_path / "d")
    assert (finding.code, finding.severity) == ("L17", Severity.WARNING)
    assert "began there, says leader-epoch-checkpoint" in finding.message
    assert finding.remedy is not None
    assert " plan " not in finding.remedy.command


def test_an_epoch_that_no_leader_began_is_a_wrong_one(tmp_path: Path) -> None:
    """Also where a recovery has put it into leader-epoch-checkpoint."""
    writer = build.PartitionWriter(epoch=2)
    for _ in range(5):
        writer.append(3)
    build.write_log_dir(tmp_path / "d", [writer])
    in_place("t-0/" + f"{0:020d}.log", with_field(2, "epoch", lambda _: 4))([tmp_path / "d"])
    (tmp_path / "d" / "t-0" / "leader-epoch-checkpoint").write_text("0\n2\n2 0\n4 6\n")
    (finding,) = (each for each in found(tmp_path / "d") if each.code == "L17")
    assert "the batches on both sides say 2" in finding.message


@pytest.mark.parametrize("entry", [False, True], ids=["no entry", "an entry"])
def test_an_empty_segment_may_be_the_cleaner_s_where_nothing_tells_the_policy(
    entry: bool, tmp_path: Path
) -> None:
    """1.1.0 and 1.0.2 left such ones, with ZooKeeper: beside them the time index has no entry either."""
    log_dir = clean_dir(tmp_path)[0]
    (log_dir / "meta.properties").write_text("version=0\nbroker.id=1\n")
    for suffix in ("log", "index", "timeindex"):
        (log_dir / f"{ROLLED}.{suffix}").write_bytes(b"")
    if entry:
        (log_dir / f"{ROLLED}.timeindex").write_bytes(struct.pack(">qi", build.START_MS, 5))
    findings = CheckRun(broker_of([log_dir], "1.1"), level=Level.DEFAULT)
    (finding,) = (each for each in findings if each.code == "L24")
    assert finding.severity == (Severity.ERROR if entry else Severity.WARNING)
    assert ("unless the cleaner left it so" in finding.message) != entry
    ran = run("forecast", log_dir, "--kafka", "1.1", "--json", code=4)
    told = [effect["effect"] for row in ran.of("partition") for effect in row["effects"]]
    assert ("reads-fail" in told) == entry
    assert any("unless the cleaner left it so" in each for each in ran.of("broker")[0]["unknown"]) != entry


def test_an_entry_beside_an_empty_segment_shows_that_no_cleaner_left_it(tmp_path: Path) -> None:
    """Of a segment of fewer bytes than index.interval.bytes only the time index has one."""
    log_dir = clean_dir(tmp_path)[0]
    (log_dir / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 12\n")
    for suffix in ("log", "index"):
        (log_dir / f"{ROLLED}.{suffix}").write_bytes(b"")
    times = log_dir / f"{ROLLED}.timeindex"
    for data, wanted in ((b"", []), (bytes(24), []), (struct.pack(">qi", build.START_MS, 5), ["L24"])):
        times.write_bytes(data)
        assert [each.code for each in found(log_dir) if each.code == "L24"] == wanted
