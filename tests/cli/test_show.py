"""What `show` can be asked for, on small directories made here."""

import json
import os
from pathlib import Path

import pytest
from tests.beside import broker_on
from tests.cli.run import run
from tests.markers import build_marker

from segmend.formats import control
from segmend.formats.build import BatchProducer, NewRecord, build_batch

ZERO = "00000000000000000000"
NOW = 1_761_955_200_000


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A log dir with three partitions: 30 records, 10 records, none."""
    root = tmp_path / "data"
    for topic, count in (("orders-0", 30), ("orders-1", 10), ("empty-0", 0)):
        partition = root / topic
        partition.mkdir(parents=True)
        batches = [
            build_batch(
                [
                    NewRecord(b'{"n": %d}' % n, key=b"k%d" % n, timestamp=NOW + n * 1000)
                    for n in range(b, b + 5)
                ],
                base_offset=b,
            )
            for b in range(0, count, 5)
        ]
        (partition / f"{ZERO}.log").write_bytes(b"".join(batches))
        (partition / "leader-epoch-checkpoint").write_text("0\n1\n3 0\n")
    (root / "replication-offset-checkpoint").write_text("0\n3\norders 0 25\norders 1 10\nempty 0 0\n")
    (root / "recovery-point-offset-checkpoint").write_text("0\n1\norders 0 20\n")
    (root / "log-start-offset-checkpoint").write_text("0\n1\norders 0 7\n")
    (root / "meta.properties").write_text("version=1\nnode.id=5\ncluster.id=abc\n")
    return root


def test_the_table_of_partitions(data: Path) -> None:
    rows = run("show", data, "--json").of("partition")
    first = next(row for row in rows if row["name"] == "orders-0")
    assert {
        "log_start_offset": 7,
        "log_end_offset": 30,
        "high_watermark": 25,
        "recovery_point": 20,
        "leader_epoch": 3,
        "segments": 1,
        "oldest_timestamp": NOW,
        "newest_timestamp": NOW + 29_000,
        "flags": ["HW<LEO"],
    }.items() <= first.items()
    assert next(row for row in rows if row["name"] == "empty-0")["flags"] == ["empty"]
    page = run("show", data).out
    assert "broker 5  cluster abc" in page
    assert "3 partitions, 3 segments" in page


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ([], ["empty-0", "orders-0", "orders-1"]),
        (["--sort", "size"], ["orders-0", "orders-1", "empty-0"]),
        (["--sort", "lag"], ["orders-0", "empty-0", "orders-1"]),
        (["--sort", "leo", "--reverse"], ["empty-0", "orders-1", "orders-0"]),
        (["--sort", "newest", "--top", "1"], ["orders-0"]),
        (["--topic", "ord*"], ["orders-0", "orders-1"]),
        (["--partition", "1"], ["orders-1"]),
        (["--topic", "nothing"], []),
    ],
)
def test_choosing_and_sorting(options: list[str], names: list[str], data: Path) -> None:
    rows = run("show", data, "--json", *options).of("partition")
    assert [row["name"] for row in rows] == names
    assert run("show", data, *options).code == 0


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        (["--offset", "7..9"], [7, 8, 9]),
        (["--offset", "28.."], [28, 29]),
        (["--offset", "..1"], [0, 1]),
        (["--offset", "3"], [3]),
        (["--since", str(NOW + 28_500)], [29]),
        (["--until", "2025-11-01T00:00:01"], [0, 1]),
        (["--since", "2025-11-01T00:00:03Z", "--until", "2025-11-01T01:00:04+01:00"], [3, 4]),
        (["--position", "0..0"], [0, 1, 2, 3, 4]),
        (["--offset", "999.."], []),
    ],
)
def test_selecting_records(options: list[str], offsets: list[int], data: Path) -> None:
    file = run("show", data / "orders-0" / f"{ZERO}.log", "--records", "--json", *options)
    assert [row["offset"] for row in file.of("record")] == offsets
    partition = run("show", data / "orders-0", "--records", "--json", *options)
    assert partition.of("record") == file.of("record")
    whole = run("show", data, "--topic", "orders", "--partition", "0", "--records", "--json", *options)
    assert whole.of("record") == file.of("record")


def test_since_after_until_makes_no_sense(data: Path) -> None:
    run("show", data / "orders-0", "--records", "--since", "2026-01-01", "--until", "2025-01-01", code=16)


def test_each_position_in_a_file_is_where_the_bytes_are(data: Path) -> None:
    path = data / "orders-0" / f"{ZERO}.log"
    content = path.read_bytes()
    ran = run("show", path, "--records", "--json")
    assert len(ran.of("record")) >= len(ran.of("batch")) > 0
    for row in ran.of("record"):
        part = content[row["position"] : row["position"] + row["size"]]
        assert row["key"].encode() in part
    for row in ran.of("batch"):
        assert content[row["position"] : row["position"] + 8] == row["base_offset"].to_bytes(8, "big")


def log_of(tmp_path: Path, *batches: bytes) -> Path:
    path = tmp_path / f"{ZERO}.log"
    path.write_bytes(b"".join(batches))
    return path


def test_keys_and_values_as_text_hex_and_json(tmp_path: Path) -> None:
    records = [
        NewRecord(b'{"a": [1, null]}', key=b"\xff\x00", headers=(("h", b"x"), ("n", None))),
        NewRecord(None, key=b""),
        NewRecord(b"NaN", key=None),
        NewRecord("Zürich\x1b[2J".encode()),
    ]
    path = log_of(tmp_path, build_batch(records))

    def shown(kind: str) -> list[tuple[object, object]]:
        rows = run("show", path, "--records", "--json", "--as", kind).of("record")
        return [(row["key"], row["value"]) for row in rows]

    assert shown("text") == [
        ({"hex": "ff00"}, '{"a": [1, null]}'),
        ("", None),
        (None, "NaN"),
        (None, "Zürich\x1b[2J"),
    ]
    assert shown("hex")[0] == ("ff00", b'{"a": [1, null]}'.hex())
    assert shown("json")[0] == ({"hex": "ff00"}, {"a": [1, None]})
    assert shown("json")[2] == (None, "NaN")
    text = run("show", path, "--records").out
    assert "\\xff\\x00" in text
    assert "<empty>" in text
    assert "<null>" in text
    assert "h=x, n=<null>" in text
    assert "Zürich\\x1b[2J" in text
    assert '{"a": [1, null]}' in run("show", path, "--records", "--as", "json").out


def test_long_values_are_shortened_unless_full(tmp_path: Path) -> None:
    path = log_of(tmp_path, build_batch([NewRecord(b"x" * 5000)]))
    assert "x" * 200 not in run("show", path, "--records").out
    assert "…" in run("show", path, "--records").out
    assert "x" * 5000 in run("show", path, "--records", "--full").out
    assert run("show", path, "--records", "--json").of("record")[0]["value"] == "x" * 5000


def test_control_records_are_named(tmp_path: Path) -> None:
    path = log_of(
        tmp_path,
        build_batch([NewRecord(b"v")], producer=BatchProducer(7, 1, 3, transactional=True)),
        build_marker(offset=1, commit=False, producer_id=7, producer_epoch=1, coordinator_epoch=9),
    )
    marker = run("show", path, "--records", "--json").of("record")[1]
    assert marker["control"] == {"type": "ABORT", "version": 0, "coordinator_epoch": 9}
    text = run("show", path, "--records").out
    assert "ABORT" in text
    assert "producer 7/1 sequence 3, txn" in text
    assert control.TYPE_NAMES[0] == "ABORT"


@pytest.mark.parametrize(
    ("name", "kind", "base"),
    [
        (f"{ZERO}.log", "log", 0),
        ("00000000000000000042.log.deleted", "log", 42),
        ("00000000000000000042.index.swap", "index", 42),
        ("saved-00000000000000000042.timeindex.cleaned", "timeindex", 42),
        ("host7_orders-3_42.txnindex.bak", "txnindex", 0),
        ("00000000000000000042.snapshot", "snapshot", 42),
        ("00000000000000000042-0000000003.checkpoint", "log", 0),
        ("00000000000000000042-0000000003.checkpoint.part", "log", 0),
        ("bootstrap.checkpoint", "log", 0),
        ("replication-offset-checkpoint", "offset-checkpoint", 0),
        ("cleaner-offset-checkpoint.tmp", "offset-checkpoint", 0),
        ("leader-epoch-checkpoint", "leader-epochs", 0),
        ("partition.metadata", "partition-metadata", 0),
        ("meta.properties", "properties", 0),
        ("server.properties", "properties", 0),
        ("quorum-state", "quorum-state", 0),
        (".kafka_cleanshutdown", "clean-shutdown", 0),
        ("42_AbCdEf.index", "index", 42),
    ],
)
def test_what_a_file_is_by_its_name(name: str, kind: str, base: int, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(
        bytes(7) + b"\1" + bytes(3) + b"\5" if kind == "timeindex" else b"\0\0\0\1\0\0\0\1"
    )
    ran = run("show", tmp_path / name, "--json", code=0)
    assert ran.of("file")[0]["kind"] == kind
    entries = ran.of("index-entry") + ran.of("timeindex-entry")
    if entries:
        assert entries[0]["offset"] - base == (5 if kind == "timeindex" else 1)


def test_zero_tails_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / f"{ZERO}.index"
    path.write_bytes(b"\0\0\0\x05\0\0\0\x64" + bytes(8000))
    ran = run("show", path, "--json")
    assert len(ran.json) == 3
    assert ran.json[2] == {"type": "preallocated", "position": 8, "entries": 1000}
    assert "byte 8: 1,000 zero entries (preallocated)" in run("show", path).out


def test_files_of_a_partition_are_explained(data: Path) -> None:
    partition = data / "orders-0"
    for name in (f"{5:020d}.index", "688.log", f"{0:020d}.log.deleted", "foo.log", "notes.txt", "x.cleaned"):
        (partition / name).touch()
    (partition / "sub").mkdir()
    files = {row["name"]: row["meaning"] for row in run("show", partition, "--json").of("file")}
    assert files[f"{5:020d}.index"] == "index without its log: a broker deletes it"
    assert files["688.log"] == "unpadded: a broker takes its base and never reads it"
    assert files["foo.log"] == "a broker dies on this name"
    assert set(files) == {*files} >= {"notes.txt", "sub", "x.cleaned", "leader-epoch-checkpoint"}
    text = run("show", partition).out
    assert "gone at the next start" in text
    segments = run("show", partition, "--json").of("segment")
    assert [(s["base_offset"], "shadowed" in s["flags"]) for s in segments] == [(0, False), (688, True)]


def test_a_running_broker_is_told(data: Path) -> None:
    with broker_on(data):
        assert "a broker is running here" in run("show", data).out
        assert run("show", data, "--json").of("dir")[0]["broker_running"] is True


def test_json_is_ascii_lines_with_a_type(data: Path) -> None:
    for argv in ([data], [data / "orders-0"], [data / "orders-0", "--records"], [data / "meta.properties"]):
        out = run("show", "--json", *argv).out
        assert out.isascii()
        assert all("type" in json.loads(line) for line in out.splitlines())


def test_a_partition_dir_may_have_any_name(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.rename(data / "orders-0", data / "copy of orders")
    row = run("show", data / "copy of orders", "--json").of("partition")[0]
    assert row["log_end_offset"] == 30
    monkeypatch.chdir(data / "orders-1")
    assert run("show", ".", "--json").of("partition")[0]["topic"] == "orders"


def test_files_that_are_not_kafkas_are_shown(data: Path) -> None:
    (data / "heap.hprof").write_bytes(bytes(10 << 20))
    assert "10.0 MiB in 1 file that Kafka did not make (heap.hprof)" in run("show", data).out
    assert run("show", data, "--json").of("dir")[0]["foreign_files"] == {"heap.hprof": 10 << 20}
