"""`segmend show` says of a real broker's files exactly what Kafka's own tools and clients say."""

import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import run
from tests.conftest import GOLDEN, expected, golden_names, golden_params
from tests.golden.shared import golden

NAMES = golden_params(name for name in golden_names() if (GOLDEN / f"{name}.expected.json.xz").exists())

BATCH_FIELDS = {
    "baseOffset": "base_offset",
    "lastOffset": "last_offset",
    "count": "count",
    "baseSequence": "base_sequence",
    "lastSequence": "last_sequence",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
    "partitionLeaderEpoch": "partition_leader_epoch",
    "isTransactional": "is_transactional",
    "isControl": "is_control",
    "deleteHorizonMs": "delete_horizon_ms",
    "position": "position",
    "timestampType": "timestamp_type",
    "timestamp": "max_timestamp",
    "size": "size",
    "magic": "magic",
    "codec": "compress_codec",
    "crc": "crc",
    "isValid": "is_valid",
}
RECORD_FIELDS = {
    "offset": "offset",
    "timestamp": "timestamp",
    "keySize": "key_size",
    "valueSize": "value_size",
    "key": "key",
    "value": "value",
}


def sampled(name: str) -> list[tuple[str, dict[str, Any]]]:
    """All files of small and clean golden directories; a share of the others, which repeat much of them."""
    found = expected(name)["files"].items()
    if name.endswith("-clean") or len(found) < 200:
        return list(found)
    return [(file, dumped) for file, dumped in found if zlib.crc32(file.rpartition("/")[0].encode()) % 8 == 0]


@pytest.mark.parametrize("name", NAMES)
def test_every_batch_is_as_kafka_dumps_it(name: str) -> None:
    checked = 0
    for file, dumped in sampled(name):
        if not file.endswith((".log", ".checkpoint")) or not dumped.get("batches"):
            continue  # empty, or old messages, which an old dump lists one by one
        shown = {b["position"]: b for b in run("show", golden(name) / file, "--json").of("batch")}
        assert len(shown) == len(dumped["batches"]) or {b["magic"] for b in shown.values()} > {2}, file
        for theirs in dumped["batches"]:
            ours = shown[theirs["position"]]
            wanted = {BATCH_FIELDS[k]: v for k, v in theirs.items() if k in BATCH_FIELDS}
            if wanted["magic"] < 2:
                wanted = {k: v for k, v in wanted.items() if k not in ("base_sequence", "last_sequence")}
            assert {k: ours[k] for k in wanted} == wanted, (file, theirs["position"])
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("name", NAMES)
def test_every_record_is_as_kafka_dumps_it(name: str) -> None:
    checked = 0
    for file, dumped in sampled(name):
        if not file.endswith(".log") or "records" not in dumped:
            continue
        shown = run("show", golden(name) / file, "--records", "--as", "hex", "--json").of("record")
        assert [row["offset"] for row in shown] == [row["offset"] for row in dumped["records"]], file
        for ours, theirs in zip(shown, dumped["records"], strict=True):
            wanted = {RECORD_FIELDS[k]: v for k, v in theirs.items() if k in RECORD_FIELDS}
            assert {k: ours[k] for k in wanted} == wanted, file
            assert [h["key"] for h in ours["headers"]] == theirs.get("headerKeys", []) or "control" in ours, (
                file
            )
            if "endTxnMarker" in theirs:
                assert ours["control"]["type"] == theirs["endTxnMarker"].upper()
            checked += 1
    assert checked > 100


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("suffix", "type", "fields"),
    [
        (".index", "index-entry", ("offset", "position")),
        (".timeindex", "timeindex-entry", ("timestamp", "offset")),
    ],
)
def test_every_index_entry_is_as_kafka_dumps_it(
    name: str, suffix: str, type: str, fields: tuple[str, ...]
) -> None:
    checked = 0
    for file, dumped in sampled(name):
        if not file.endswith(suffix) or file.endswith(f"{'0' * 20}{suffix}"):
            continue
        shown = run("show", golden(name) / file, "--json").of(type)
        theirs = [entry for entry in dumped.get("entries", []) if tuple(entry) != (0, 0)]
        ours = [[row[field] for field in fields] for row in shown]
        # The dump stops at, or shows, the first entry of zero fill; it is none.
        base = int(Path(file).stem)
        assert ours == [entry for entry in theirs if entry not in ([base, 0], [0, base])], file
        checked += len(ours)
    written = suffix == ".index" or not name.startswith("0.8")  # time indexes came with 0.10.1
    assert checked > 20 or not written or not name.endswith("-clean")


@pytest.mark.parametrize("name", golden_params(name for name in golden_names() if name.startswith("4")))
def test_internal_topics_are_decoded_as_kafka_decodes_them(name: str) -> None:
    """As 4.x does; older decoders print something of their own."""
    checked = 0
    for file, lines in expected(name)["decoded"].items():
        shown = run("show", golden(name) / file, "--records", "--json").of("record")
        ours = {row["offset"]: row["decoded"] for row in shown if "decoded" in row}
        for line in lines:
            offset = int(line.partition("offset: ")[2].split()[0])
            head, _, payload = line.partition(" payload: ")
            assert ours[offset]["value"] == (None if payload == "<DELETE>" else json.loads(payload)), line
            if " key: " in head:
                assert ours[offset]["key"] == json.loads(head.partition(" key: ")[2])
            checked += 1
    assert checked > 100


# Nobody could ask the restarted 0.8.2.2 for its offsets.
@pytest.mark.parametrize("name", golden_params(name for name in golden_names() if name != "0.8.2.2-killed"))
def test_offsets_are_what_the_broker_said(name: str) -> None:
    told = expected(name)
    said = told["before_stop" if name.endswith("-clean") else "restart"]["partitions"]
    for broker in sorted(path for path in golden(name).iterdir() if path.is_dir()):
        rows = run("show", *sorted(broker.glob("d*")), "--json").of("partition")
        current = {f"{row['topic']}-{row['partition']}": row for row in rows if row["kind"] == "current"}
        told_of = current.keys() & said.keys()
        assert len(told_of) > 5
        for partition in told_of:
            row, offsets = current[partition], said[partition]
            assert row["log_end_offset"] == offsets["log_end_offset"], partition
            assert row["log_start_offset"] == offsets["log_start_offset"], partition


@pytest.mark.slow
@pytest.mark.parametrize("name", golden_params())
def test_every_file_can_be_shown_as_text_and_json(name: str) -> None:
    """Whatever a broker writes is shown, and no damage is seen in it."""
    files = [path for path in golden(name).rglob("*") if path.is_file() and not skipped(path)]
    assert len(files) > 50
    for path in files[:: 1 + len(files) // 60]:
        ran = run("show", path, "--json", code=0)
        assert not ran.of("damage") or path.name.endswith(".deleted"), path
        text = run("show", path, code=0)
        assert text.out.startswith(str(path))


def skipped(path: Path) -> bool:
    return path.name in (".lock", "README") or path.suffix == ".tmp"


def test_the_disks_page_for_people() -> None:
    name = "4.3.1-killed"
    dirs = sorted((golden(name) / "b1").glob("d*"))
    ran = run("show", *dirs, "--sort", "size", "--top", "3")
    lines = ran.out.splitlines()
    assert lines[0].startswith("broker 1  cluster ")
    assert "Kafka 4.3" in lines[0]
    assert "not stopped cleanly: the next start recovers" in lines[1]
    head = next(i for i, line in enumerate(lines) if line.startswith("PARTITION"))
    sizes = [line.split("  ") for line in lines[head + 1 : head + 4]]
    assert len(sizes) == 3
    assert "more partitions" in ran.out
    assert "GiB free of" in ran.out or "free of" in ran.out


def test_the_release_is_read_off_each_golden() -> None:
    guesses = {"4.3.1-clean": "4.3", "4.3.1-killed": "4.3", "1.1.0-clean": "2.2", "0.8.2.2-clean": "0.8.2"}
    for name, wanted in guesses.items():
        dirs = sorted((golden(name) / "b1").glob("d*"))
        (summary,) = run("show", *dirs, "--json").of("summary")
        assert summary["kafka"] == wanted
        (given,) = run("show", *dirs, "--json", "--kafka", "2.8").of("summary")
        assert (given["kafka"], given["kafka_reason"]) == ("2.8", "as given")


def partition_json(rows: list[dict[str, Any]]) -> dict[str, Any]:
    (row,) = [row for row in rows if row["type"] == "partition"]
    return row


def test_a_partition_page() -> None:
    (path,) = (golden("4.3.1-clean") / "b1").glob("d*/txn-0")
    rows = run("show", path, "--json").json
    row = partition_json(rows)
    segments = [r for r in rows if r["type"] == "segment"]
    assert row["segments"] == len(segments) > 3
    assert [s["next_offset"] for s in segments[:-1]] == [s["base_offset"] for s in segments[1:]]
    assert segments[-1]["next_offset"] == row["log_end_offset"]
    assert "partition.metadata" in {r["name"] for r in rows if r["type"] == "file"}
    page = run("show", path).out
    assert "topic id" in page
    assert "leader epochs 0 from 0" in page


def test_records_of_a_partition_across_its_segments() -> None:
    (path,) = (golden("4.3.1-clean") / "b1").glob("d*/codec-zstd-0")
    ran = run("show", path, "--records", "--offset", "50..60", "--json")
    assert [row["offset"] for row in ran.of("record")] == list(range(50, 61))
    assert 1 <= len(ran.of("file")) <= 2
    since = ran.of("record")[5]["timestamp"]
    later = run("show", path, "--records", "--since", since, "--json").of("record")
    assert min(row["timestamp"] for row in later) == since
