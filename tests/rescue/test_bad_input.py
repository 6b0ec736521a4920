"""Replicas that do not fit together, batches that lie, sources that change meanwhile, and a full disk."""

import csv
import errno
import json
import random
import shutil
import struct
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.cli.run import python, run
from tests.conftest import GOLDEN
from tests.fleet.build import three_brokers
from tests.golden.unpack import unpack
from tests.rescue.replicas import told

from segmend.cluster.cluster_dirs import FleetDirs
from segmend.errors import PartitionError, SegmendError
from segmend.formats.batch import compute_crc
from segmend.formats.build import NewRecord, build_batch
from segmend.formats.codec_write import compress
from segmend.kernel.types import DECODE_LIMIT
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.log_dir import LogDir
from segmend.merge import salvage
from segmend.rescue.forms import log_dir
from segmend.rescue.outlet import Line
from segmend.rescue.request import Due, RescueRequest
from segmend.rescue.rows import some_rows
from segmend.rescue.run import Told, here, rescue
from segmend.rescue.space import require_space
from segmend.surgery.replicas.derived import Derived


@pytest.fixture
def fleet(tmp_path: Path) -> list[Path]:
    return sorted(path.parent for path in three_brokers(tmp_path / "fleet").rglob("meta.properties"))


def changed(path: Path, old: str, new: str) -> None:
    """Put other words into a file of text."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def rewritten(batch: bytes, **fields: tuple[str, int, int]) -> bytes:
    """A batch with other header fields (format, position, value) and a checksum that is right."""
    data = bytearray(batch)
    for form, position, value in fields.values():
        struct.pack_into(form, data, position, value)
    struct.pack_into(">I", data, 17, compute_crc(bytes(data), 2))
    return bytes(data)


def liars() -> list[bytes]:
    """Sound checksums: of 2^31 - 1 records, of more zeros than are held, of as many offsets as can be."""
    one = build_batch([NewRecord(key=b"k", value=b"v", timestamp=1)])
    zeros = compress(4, bytes(DECODE_LIMIT + 9))
    header = build_batch([NewRecord(value=b"", timestamp=1)], codec=4)[:61]
    bomb = header[:8] + struct.pack(">i", 49 + len(zeros)) + header[12:] + zeros
    many = rewritten(one, count=(">i", 57, 2**31 - 1), delta=(">i", 23, 2**31 - 1))
    return [rewritten(one, count=(">i", 57, 2**31 - 1)), rewritten(bomb), many]


def test_batches_that_claim_too_much_are_named_and_the_rest_is_there(tmp_path: Path) -> None:
    good = build_batch([NewRecord(key=b"a", value=b"1", timestamp=7)])
    for number, liar in enumerate(liars()):
        home = tmp_path / f"{number}" / "t-0"
        home.mkdir(parents=True)
        placed = [good, struct.pack(">q", 1) + liar[8:]]
        (home / f"{0:020}.log").write_bytes(b"".join(placed))
        ran = run("rescue", home, "--out", tmp_path / f"o{number}", "--as", "jsonl", "--json", code=4)
        (row,) = ran.of("partition")
        assert row["unreadable"] or row["missing"] or row["doubts"], number
        assert told(tmp_path / f"o{number}")["t-0"][0]["offset"] == 0
        ran = run("rescue", home, "--out", tmp_path / f"l{number}", "--json")
        # Whether records can be had of what is compressed, nobody looks for a log dir.
        assert (ran.code, ran.of("summary")[0]["records"]) == ((0, 2) if number == 1 else (4, 1)), number


@pytest.mark.parametrize("command", [("rescue", "--as", "delta"), ("fleet", "export", "--driver", "local")])
def test_a_table_that_delta_would_look_for_in_another_path_is_refused(
    command: tuple[str, ...], fleet: list[Path], tmp_path: Path
) -> None:
    """It ended with 0 beside a table of the other path, which readers took for it; with 8 without one."""
    for name, code in (("a b", 0), ("a%20b", 16)):
        ran = run(*command, *fleet, "--out", tmp_path / name, code=code)
    assert "Delta's library reads no table where %20 is in the path" in ran.err
    assert not (tmp_path / "a%20b").exists()


_MEMORY = """
import sys
from pathlib import Path
from segmend.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
told = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
print(int(told["VmHWM"].split()[0]) - int(told["RssFile"].split()[0]))
"""
"""Its own memory at most, in KiB: how much of its libraries' files is mapped is up to the page cache."""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "parquet", "delta"])
@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_batch_that_inflates_takes_no_more_than_300_mib(codec: int, form: str, tmp_path: Path) -> None:
    """What one decoder had unpacked before it gave up was held while another one looked at it again."""
    home = tmp_path / "d" / "t-0"
    home.mkdir(parents=True)
    (home / f"{0:020}.log").write_bytes(inflating(codec))
    words = ["rescue", home.parent, "--out", tmp_path / "o", "--as", form]
    assert int(python("-c", _MEMORY, *words).stdout.split()[-1]) < 200 << 10


def inflating(codec: int) -> bytes:
    """A batch of more than is ever unpacked, between two that are good."""
    zeros = compress(codec, bytes(DECODE_LIMIT + 9))
    header = build_batch([NewRecord(value=b"", timestamp=1)], base_offset=1, codec=codec)[:61]
    good, end = (build_batch([NewRecord(key=b"a", value=b"1")], base_offset=at) for at in (0, 2))
    return good + rewritten(header[:8] + struct.pack(">i", 49 + len(zeros)) + header[12:] + zeros) + end


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_batch_that_inflates_is_named_with_what_keeps_it_alone_as_in_the_fleet(
    codec: int, tmp_path: Path
) -> None:
    home = tmp_path / "d" / "t-0"
    home.mkdir(parents=True)
    (home / f"{0:020}.log").write_bytes(inflating(codec))
    good = build_batch([NewRecord(key=b"a", value=b"1")])
    told = [
        run(*command, "--out", tmp_path / command[0], "--as", "jsonl", "--json", code=4)
        for command in (("rescue", home.parent), ("fleet", "rescue", home.parent, "--driver", "local"))
    ]
    (line,), (again,) = (ran.of("partition") for ran in told)
    where = f"t-0/{0:020}.log", len(good), "too-large", str(home.parent)
    assert (line["records"], line["unreadable"], line) == (2, [[*where]], again)
    assert [ran.of("summary")[0]["unreadable"] for ran in told] == [1, 1]
    text = (tmp_path / "rescue" / "_rescue.txt").read_text()
    assert f"unreadable: {home}/{0:020}.log at byte {len(good)}: its records were not looked at" in text
    assert "--as log-dir keeps it as it is" in text
    assert "no offset missing; 1 batch unreadable" in text


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "delta", "log-dir", "export"])
def test_a_topic_with_the_longest_name_there_can_be(form: str, tmp_path: Path) -> None:
    """Names of files have 255 bytes, and what is being written has an ending more."""
    home = tmp_path / "d" / f"{'t' * 249}-12345"
    home.mkdir(parents=True)
    (home / f"{0:020}.log").write_bytes(build_batch([NewRecord(key=b"a", value=b"1", timestamp=7)]))
    out = tmp_path / "out"
    command = ["export"] if form == "export" else ["rescue", "--as", form]
    for code in (0, 0):
        ran = run(*command, home, "--out", out, "--json")
        assert (ran.code, ran.err.count("too long")) == (code, 0), ran.err
    assert ran.of("summary")[0]["partitions"] == 1
    assert (out / home.name).is_dir() == (form == "log-dir")


def test_other_clusters_are_refused_and_other_releases_are_not(fleet: Sequence[Path], tmp_path: Path) -> None:
    whole = run("rescue", fleet[0], "--out", tmp_path / "one", "--as", "jsonl")
    meta = fleet[1] / "meta.properties"
    cluster = next(line for line in meta.read_text().splitlines() if line.startswith("cluster.id="))
    changed(meta, cluster, "cluster.id=AAECAwQFBgcICQoLDA0ODw")
    ran = run("rescue", *fleet, "--out", tmp_path / "no")
    assert (ran.code, ran.err.count("\n"), "of cluster AAECAwQFBgcICQoLDA0ODw" in ran.err) == (16, 1, True), (
        ran.err
    )
    assert not (tmp_path / "no").exists()
    # As a broker with ZooKeeper, before cluster ids, topic ids and epochs, left it.
    meta.write_text("version=0\nbroker.id=2\n")
    for path in [*fleet[1].glob("*/leader-epoch-checkpoint"), *fleet[1].glob("*/partition.metadata")]:
        path.unlink()
    ran = run("rescue", *fleet, "--out", tmp_path / "all", "--as", "jsonl")
    assert (whole.code, ran.code) == (0, 0), ran.out
    assert told(tmp_path / "all") == told(tmp_path / "one")


def test_a_directory_under_several_names_counts_once(fleet: Sequence[Path], tmp_path: Path) -> None:
    once = run("diff", fleet[0], fleet[1], "--json", code=0).of("partition")
    (tmp_path / "other").symlink_to(fleet[0])
    for again in (f"{fleet[0]}/", tmp_path / "other"):
        twice = run("diff", fleet[0], fleet[1], again, "--json", code=0)
        assert twice.err == f"segmend: {again}: the same directory as {fleet[0]}; counted once\n"
        assert twice.of("partition") == once
        there = run("fleet", "diff", fleet[0], fleet[1], again, "--json", "--driver", "local", code=0)
        assert there.of("partition") == once
        for command in (("rescue", "--as", "jsonl"), ("export",)):
            out = tmp_path / f"{command[0]} {Path(again).name}"
            ran = run(*command, fleet[0], again, "--out", out, "--topic", "orders", "--json", code=0)
            assert [line["read"] for line in ran.of("partition")] == [120, 120]
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "orders-0").symlink_to(fleet[0] / "orders-0")
    ran = run(
        "rescue", fleet[0], tmp_path / "links", "--out", tmp_path / "out", "--as", "jsonl",
        "--topic", "orders", "--json", code=0,
    )  # fmt: skip
    row = ran.of("partition")[0]
    assert (row["read"], row["records"], len(row["sources"])) == (120, 120, 1)


@pytest.mark.parametrize("command", [("diff",), ("rescue", "--as", "jsonl"), ("export",)])
def test_a_partition_directory_that_is_not_there_any_more(
    command: Sequence[str], fleet: Sequence[Path], tmp_path: Path
) -> None:
    given = [each / "orders-0" for each in fleet]
    shutil.rmtree(given[1])
    ran = run(*command, *given, *([] if "diff" in command else ["--out", tmp_path / "out"]))
    assert (ran.code, ran.err) == (8, f"segmend: {given[1]}: no such directory\n")


def go(dirs: Sequence[Path], out: Path, form: str, meanwhile: Callable[[], None] | None = None) -> list[Line]:
    """A rescue during which, once all replicas of one are read, something happens; what it told."""
    request = RescueRequest(dirs=tuple(map(str, dirs)), out=str(out), form=form, topic="orders")
    todo = [] if meanwhile is None else [meanwhile]
    heard: Told = lambda behind, _, __: todo.pop()() if behind and todo else None  # noqa: E731
    return [*rescue(request, FleetDirs(map(LogDir.open, request.dirs)), (), here(heard), lambda _: ())]


def refused(lines: Sequence[Line]) -> list[Line]:
    """Those of partitions that were not written; the summary counts them."""
    assert [each["type"] for each in lines] == ["partition", "partition", "summary"]
    found = [each for each in lines if "refused" in each and each["type"] == "partition"]
    assert lines[-1].get("refused", 0) == len(found)
    return found


@pytest.mark.parametrize("form", ["jsonl", "log-dir", "delta"])
def test_a_source_that_grows_or_goes_meanwhile(fleet: Sequence[Path], tmp_path: Path, form: str) -> None:
    assert not refused(go(fleet, tmp_path / "wanted", form))
    logs = [max(each.glob("orders-0/*.log")) for each in fleet]
    before = [log.read_bytes() for log in logs]
    more = build_batch([NewRecord(value=b"new")], base_offset=120)

    def become(data: bytes | None) -> None:
        for log, whole in zip(logs, before, strict=True):
            log.unlink() if data is None else log.write_bytes(whole + data if data else data)

    outs = [tmp_path / name for name in ("grown", "gone", "empty")]
    assert not refused(go(fleet, outs[0], form, lambda: become(more)))
    for out, data in zip(outs[1:], (None, b""), strict=True):
        restored(logs, before)
        (line,) = refused(go(fleet, out, form, lambda data=data: become(data)))  # type: ignore[misc]
        assert (line["partition"], "\n" in line["refused"]) == (0, False)
        assert sorted(each.name for each in out.iterdir() if each.is_dir() and each.name[0] == "o") == (
            ["orders-1"] if form == "log-dir" else []
        )
        restored(logs, before)
        assert not refused(go(fleet, out, form))
    for out in outs:
        for path in (tmp_path / "wanted").glob("orders-*/*" if form == "log-dir" else "orders-*"):
            assert (out / path.relative_to(tmp_path / "wanted")).read_bytes() == path.read_bytes(), path
        if form == "delta":
            assert len(DeltaTable(str(out)).file_uris()) == 2


def test_what_is_not_written_of_one_partition_leaves_a_log_dir_until_a_broker_ran_there(
    fleet: Sequence[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, out = "orders-0 cannot be, by this test", tmp_path / "out"
    argv = ("rescue", *fleet, "--out", out, "--topic", "orders", "--kafka", "4.3.1")
    really = log_dir.derive

    def derive(segments: list[Any], *more: Any) -> Iterator[Derived]:
        if "orders-0" in segments[0][0].parts[-1].path:
            raise PartitionError(shown)
        return really(segments, *more)

    with monkeypatch.context() as patched:
        patched.setattr(log_dir, "derive", derive)
        ran = run(*argv, "--json", code=8)
    told, other = ran.of("partition")
    known = {"type": "partition", "topic": "orders", "partition": 0, "refused": shown}
    assert told == {**dict.fromkeys(other), **known}
    assert other.get("refused") is None
    assert (ran.of("summary")[0]["partitions"], ran.of("summary")[0]["refused"]) == (1, 1)
    assert f"orders-0  not written: {shown}" in (out / "_rescue.txt").read_text()
    assert run("show", out, "--json").of("partition")[0]["partition"] == 1
    assert run("check", out).code == 0
    (out / ".lock").touch()
    again = run(*argv)
    assert (again.code, "a broker ran there since" in again.err) == (16, True)
    (out / ".lock").unlink()
    run(*argv, code=0)
    assert sorted(each.name for each in out.glob("orders-*")) == ["orders-0", "orders-1"]


def test_a_replica_that_cannot_be_read_is_an_operational_error_for_who_compares_and_who_rescues(
    fleet: Sequence[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, really = str(max(fleet[0].glob("orders-0/*.log"))), disk._open

    def guarded(path: str) -> int:
        if path == closed:
            raise Unreadable(path, "input/output error", errno.EIO)
        return really(path)

    monkeypatch.setattr(disk, "_open", guarded)
    wanted = {0: [f"{closed}: input/output error"], 1: []}
    for command in (
        ["rescue", "--as", "jsonl", "--out", tmp_path / "r"],
        ["export", "--out", tmp_path / "e"],
    ):
        ran = run(*command, *fleet, "--topic", "orders", "--json", code=12)
        assert {each["partition"]: each["unread"] for each in ran.of("partition")} == wanted
    assert run("diff", *fleet, "--topic", "orders").code == 12


def restored(logs: Sequence[Path], before: Sequence[bytes]) -> None:
    """The logs as they were."""
    for log, whole in zip(logs, before, strict=True):
        log.write_bytes(whole)


def test_what_a_full_disk_left_counts_as_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = tmp_path / "t-0.segmend.tmp"
    begun.mkdir()
    (begun / f"{0:020}.log").write_bytes(bytes(700))
    free = disk.space(str(tmp_path))
    monkeypatch.setattr(disk, "space", lambda _: replace(free, available=400))
    request = RescueRequest(dirs=(), out=str(tmp_path), form="log-dir")
    require_space(request, [Due(topic="t", partition=0, size=1000)])
    with pytest.raises(SegmendError, match="1,100 bytes are free there, and about 2,000 or more are needed"):
        require_space(request, [Due(topic="t", partition=0, size=2000)])


IN_MEMORY = """
import sys
from segmend.cli.main import main
assert main(sys.argv[1:]) == 0
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
"""The most kB that it held; what `getrusage` tells goes back to the process that it was forked of."""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_disk_with_room_for_the_log_alone_is_too_small_for_its_text(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = unpack(GOLDEN / "4.3.1-fleet.tar.xz", tmp_path)
    dirs, out = sorted(root.glob("b1/d*")), tmp_path / "out"
    whole = run("rescue", *dirs, "--out", out, "--as", form, "--topic", "[cop]*", "--json")
    size = sum(line["bytes"] for line in whole.of("partition"))
    shutil.rmtree(out)
    free = disk.space(str(tmp_path))
    for available, fits in ((int(size * 0.7), False), (size, True)):
        monkeypatch.setattr(disk, "space", lambda _, room=available: replace(free, available=room))
        ran = run("rescue", *dirs, "--out", out, "--as", form, "--topic", "[cop]*")
        assert ("bytes are free there" in ran.err) is not fits, ran.err
        shutil.rmtree(out)


@pytest.mark.parametrize("magic", [1, 2])
def test_the_look_for_room_reads_a_thousand_records_of_a_batch(magic: int, tmp_path: Path) -> None:
    """A megabyte may hold millions, and all of them were held in memory; old headers tell no number."""
    home = tmp_path / "d" / "t-0"
    home.mkdir(parents=True)
    batch = build_batch([NewRecord(value=b"v", timestamp=1)] * 5000, magic=magic, codec=1)
    (home / f"{0:020}.log").write_bytes(batch)
    place = LogDir.open(str(home.parent)).partitions[0]
    ((size, rows),) = some_rows(place, place.segments[0], 1)
    assert (len(rows), round(size)) == ((1000, round(len(batch) / 5)) if magic == 2 else (5000, len(batch)))


def test_of_a_batch_whose_checksum_fails_the_first_records_are_held(tmp_path: Path) -> None:
    """As many as memory has room for."""
    log = tmp_path / "log"
    log.write_bytes(build_batch([NewRecord(value=b"v", timestamp=1)] * 50))
    entry = FileEntry.at(str(log))
    assert len(salvage.records_of(entry, 0, entry.size)[1]) == 50
    assert len(salvage.records_of(entry, 0, entry.size, 7)[1]) == 7


@pytest.mark.parametrize("empty", ["--topic", "--out"])
@pytest.mark.parametrize("command", ["rescue", "export", "fleet rescue", "fleet export"])
def test_an_option_that_is_empty_asks_for_nothing(command: str, empty: str, fleet: Sequence[Path]) -> None:
    """As of a script whose variable is not set: `--topic ''` took all topics, `--out ''` where one stands."""
    out = fleet[0].parent / "out"
    ran = run(*command.split(), *fleet, empty, "", *([] if empty == "--out" else ["--out", out]), code=16)
    assert ran.err.startswith(f"segmend: argument {empty}: it is empty")
    assert not out.exists()


@pytest.mark.parametrize("command", ["diff", "fleet diff", "check", "show", "explain merge"])
def test_an_empty_topic_is_none(command: str, fleet: Sequence[Path]) -> None:
    ran = run(*command.split(), fleet[0], "--topic", "", code=16)
    assert ran.err.startswith("segmend: argument --topic: it is empty")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_one_record_as_large_as_a_batch_may_be_takes_its_size_in_memory_few_times(
    form: str, tmp_path: Path
) -> None:
    """And each part of it is as of a small one."""
    value = random.Random(7).randbytes(1 << 20) * ((DECODE_LIMIT >> 20) - 1)
    home = tmp_path / "d" / "t-0"
    home.mkdir(parents=True)
    record = NewRecord(key=b"k" * 10, value=value, timestamp=7, headers=[("h", b"x")])
    (home / f"{0:020}.log").write_bytes(build_batch([record], codec=4))
    asked = ["rescue", str(home.parent), "--out", str(tmp_path / "out"), "--as", form]
    ran = python("-c", IN_MEMORY, *asked)
    assert int(ran.stdout.split()[-1]) < 300 << 10, ran
    written = tmp_path / "out" / f"t-0.{form}"
    if form == "jsonl":
        row = json.loads(written.read_text())
        key, told, headers = row["key"], row["value"], row["headers"]
    else:
        csv.field_size_limit(1 << 30)
        (row,) = csv.DictReader(written.read_text().splitlines())
        key, told, headers = row["key"], row["value"], json.loads(row["headers"])
    assert (b64decode(key), b64decode(told) == value) == (b"k" * 10, True)
    assert headers == [{"key": "h", "value": "eA=="}]


@pytest.mark.parametrize("command", [("rescue", "--as", "jsonl"), ("export", "--as", "delta")])
def test_out_is_in_no_log_dir_of_another_broker(command: Sequence[str], tmp_path: Path) -> None:
    """Its broker would not start over that; also one that lost its meta.properties."""
    home = three_brokers(tmp_path / "fleet")
    other = home / "b2/data"
    (other / "meta.properties").unlink()
    before = sorted(home.rglob("*"))
    for out in (other / "out", other / "orders-0" / "out"):
        ran = run(*command, home / "b1/data", "--out", out)
        assert (ran.code, ran.err) == (
            16, f"segmend: {out}: is in the log dir {other}, where no broker would start; choose another\n"
        )  # fmt: skip
    assert sorted(home.rglob("*")) == before
