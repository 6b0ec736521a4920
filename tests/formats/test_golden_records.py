"""What real brokers wrote, read here and by Kafka's own tools: the same to the last field.

The expected values are the output of each release's DumpLogSegments (batches, records, index
entries, snapshots, aborted transactions) and of a consumer (header values).
"""

import functools
import json
import lzma
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import golden_params
from tests.golden.shared import golden

from segmend.formats import control, offset_index, producer_snapshot, time_index, txn_index
from segmend.formats.batch import CODEC_NAMES, RecordBatch, compute_crc, parse
from segmend.formats.damage import Damage
from segmend.formats.names import parse_dir_name, parse_file_name
from segmend.formats.record import Record, decode

GOLDEN = Path(__file__).parent.parent / "golden"
TIMESTAMP_TYPES = {-1: "NoTimestampType", 0: "CreateTime", 1: "LogAppendTime"}
Rows = dict[str, Any]


def told(kind: str) -> pytest.MarkDecorator:
    """One test for every golden directory of which Kafka told that kind of thing."""
    ending = f".{kind}.json.xz"
    return pytest.mark.parametrize(
        "name", golden_params(sorted(path.name.removesuffix(ending) for path in GOLDEN.glob(f"*{ending}")))
    )


def load(name: str, kind: str) -> Any:
    return json.loads(lzma.decompress((GOLDEN / f"{name}.{kind}.json.xz").read_bytes()))


def dumped(name: str, *suffixes: str) -> dict[str, Rows]:
    files = load(name, "expected")["files"]
    return {path: rows for path, rows in files.items() if path.endswith(suffixes)}


def batches(data: bytes) -> Iterator[tuple[RecordBatch, bytes]]:
    at = 0
    while at < len(data):
        batch, damages = parse(data[at : at + int.from_bytes(data[at + 8 : at + 12], "big") + 12], at)
        assert batch is not None
        assert damages == ()
        yield batch, data[at : batch.end]
        at = batch.end


def hexed(data: bytes | None) -> str:
    return (data or b"").hex()


@told("expected")
def test_batches_are_those_of_kafkas_dump(name: str) -> None:
    seen = 0
    for path, rows in dumped(name, ".log", ".checkpoint").items():
        found = [(batch, raw) for batch, raw in batches((golden(name) / path).read_bytes())]
        if not any(row["magic"] < 2 for row in rows.get("batches", [])):
            # 1.1.0 and 2.8.2 print no such line for an entry of the old formats.
            found = [(batch, raw) for batch, raw in found if batch.magic == 2]
        assert len(found) == len(rows.get("batches", [])), path
        for (batch, raw), row in zip(found, rows.get("batches", []), strict=True):
            assert batch_row(batch, row) == row, path
            assert compute_crc(raw, batch.magic) == batch.crc
            seen += 1
    assert seen > 100


def batch_row(batch: RecordBatch, like: Rows) -> Rows:
    made = {
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "count": batch.records_count,
        "baseSequence": batch.base_sequence,
        "lastSequence": batch.last_sequence,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "partitionLeaderEpoch": batch.partition_leader_epoch,
        "isTransactional": batch.is_transactional,
        "isControl": batch.is_control,
        "deleteHorizonMs": batch.base_timestamp if batch.has_delete_horizon else None,
        "position": batch.position,
        "timestampType": TIMESTAMP_TYPES[batch.timestamp_type],
        "timestamp": batch.max_timestamp,
        "size": batch.size,
        "magic": batch.magic,
        "codec": CODEC_NAMES[batch.codec],
        "crc": batch.crc,
        "isValid": True,
    }
    if batch.magic < 2:  # the sizes of the message, and no base offset, which needs decompression
        made |= {key: like[key] for key in ("keySize", "valueSize") if key in like}
    return {key: made[key] for key in like}


@told("expected")
def test_records_are_those_of_kafkas_dump(name: str) -> None:
    kinds = set()
    for path, rows in dumped(name, ".log", ".checkpoint").items():
        found = []
        for batch, raw in batches((golden(name) / path).read_bytes()):
            records, damages = decode(raw, batch)
            assert damages == ()
            base = batch.base_offset if batch.magic == 2 else records[0].offset
            found += [(batch._replace(base_offset=base), record) for record in records]
            kinds.add((batch.magic, batch.codec))
        # 2.8.2 prints a line without sizes for every entry of the old formats.
        told_of = [row for row in rows.get("records", []) if "valueSize" in row]
        assert len(found) == len(told_of), path
        for (batch, record), row in zip(found, told_of, strict=True):
            made, wanted = record_row(batch, record), comparable(row)
            if batch.magic < 2 and row.get("codec") == "none":
                made["codec"] = "none"  # 0.10.2.2 tells the inner message's
            assert {key: made[key] for key in wanted} == wanted, path
    assert len(kinds) >= 4


def record_row(batch: RecordBatch, record: Record) -> Rows:
    made: Rows = {
        "offset": record.offset,
        "position": batch.position,
        "timestampType": TIMESTAMP_TYPES[record.timestamp_type],
        "timestamp": record.timestamp,
        "keySize": -1 if record.key is None else len(record.key),
        "valueSize": -1 if record.value is None else len(record.value),
        "magic": batch.magic,
        "codec": CODEC_NAMES[batch.codec],
        "compressType": CODEC_NAMES[batch.codec].upper(),
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "baseSequence": batch.base_sequence,
        "lastSequence": batch.last_sequence,
        "partitionLeaderEpoch": batch.partition_leader_epoch,
        "batchSize": batch.size,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "isTransactional": batch.is_transactional,
        "sequence": record.sequence,
        "headerKeys": [key for key, _ in record.headers],
        "key": hexed(record.key),
        "value": hexed(record.value),
    }
    if batch.is_control:
        read, damages = control.parse(record.key, record.value)
        assert damages == ()
        if isinstance(read.value, control.EndTxnMarker):
            made |= {"endTxnMarker": read.type_name, "coordinatorEpoch": read.value.coordinator_epoch}
        if isinstance(read.value, control.LeaderChange):
            made["LeaderChange"] = leader_change(read.value)
        made["controlType"] = f"{read.type_name}({read.type})"
    return made


def leader_change(value: control.LeaderChange) -> str:
    made = {
        "version": value.version,
        "leaderId": value.leader_id,
        "voters": [{"voterId": voter.voter_id} for voter in value.voters],
        "grantingVoters": [{"voterId": voter.voter_id} for voter in value.granting_voters],
    }
    return json.dumps(made, separators=(",", ":"))


def comparable(row: Rows) -> Rows:
    """The row without what the dump's own line format or its parser garbles."""
    if row.get("headerKeys") and row["headerKeys"][0].startswith(" "):
        row = {key: value for key, value in row.items() if key != "headerKeys"}
    return {key: value for key, value in row.items() if key not in ("isValid", "crc")}


@told("consumed")
def test_header_values_are_what_a_consumer_gets(name: str) -> None:
    by_partition: dict[str, dict[int, Record]] = defaultdict(dict)
    for path in sorted(golden(name).rglob("*.log")):
        directory = parse_dir_name(path.parent.name)
        if directory.kind != "current":
            continue
        for batch, raw in batches(path.read_bytes()):
            by_partition[path.parent.name].update((record.offset, record) for record in decode(raw, batch)[0])
    for partition, rows in load(name, "consumed").items():
        for row in rows:
            record = by_partition[partition][row["offset"]]
            assert [[key, None if value is None else value.hex()] for key, value in record.headers] == row[
                "headers"
            ]
            assert (hexed(record.key), hexed(record.value)) == (row["key"] or "", row["value"] or "")
            assert (record.key is None, record.value is None) == (row["key"] is None, row["value"] is None)


@functools.lru_cache(maxsize=4)
def parsed(module: Any, data: bytes) -> tuple[list[tuple[int, int]], tuple[Damage, ...]]:
    """Entries as pairs, in the order of their fields, of an index that renders the same.

    Killed brokers leave many indexes of 10 MiB zeros; those are looked at once.
    """
    index, damages = module.parse(data)
    assert module.render(index) == data
    names = ("timestamp", "relative_offset") if module is time_index else ("relative_offset", "position")
    return [(getattr(entry, names[0]), getattr(entry, names[1])) for entry in index], damages


@pytest.mark.slow
@told("expected")
def test_index_entries_are_those_of_kafkas_dump(name: str) -> None:
    seen = 0
    for path, rows in dumped(name, ".index", ".timeindex").items():
        data = (golden(name) / path).read_bytes()
        base = parse_file_name(Path(path).name).base_offset
        assert base is not None
        zeros = [[base, 0], [0, base], [-1, base]]
        if path.endswith(".index"):
            entries, damages = parsed(offset_index, data)
            found = [[base + relative, position] for relative, position in entries]
        else:
            entries, damages = parsed(time_index, data)
            found = [[timestamp, base + relative] for timestamp, relative in entries]
        assert damages == ()
        # Of a preallocated file, the dump prints the first entry of zeros too.
        assert found == [entry for entry in rows.get("entries", []) if entry not in zeros], path
        seen += len(found)
    assert seen > 40


@told("expected")
def test_aborted_transactions_are_those_of_kafkas_dump(name: str) -> None:
    seen = 0
    for path, rows in dumped(name, ".txnindex").items():
        data = (golden(name) / path).read_bytes()
        index, damages = txn_index.parse(data)
        assert damages == ()
        assert txn_index.render(index) == data
        for entry, row in zip(index.entries, rows.get("entries", []), strict=True):
            keys = ("version", "producerId", "firstOffset", "lastOffset", "lastStableOffset")
            assert dict(zip(keys, entry, strict=True)) == row
            seen += 1
    assert seen == sum(len(rows.get("entries", [])) for rows in dumped(name, ".txnindex").values())


@told("expected")
def test_producer_snapshots_are_those_of_kafkas_dump(name: str) -> None:
    seen = 0
    for path, rows in dumped(name, ".snapshot").items():
        data = (golden(name) / path).read_bytes()
        snapshot, damages = producer_snapshot.parse(data)
        assert damages == ()
        assert producer_snapshot.render(snapshot) == data
        for entry, row in zip(snapshot.entries, rows.get("entries", []), strict=True):
            made = {
                "producerId": entry.producer_id,
                "producerEpoch": entry.producer_epoch,
                "lastSequence": entry.last_sequence,
                "lastOffset": entry.last_offset,
                "offsetDelta": entry.offset_delta,
                "timestamp": entry.timestamp,
                "coordinatorEpoch": entry.coordinator_epoch,
                "currentTxnFirstOffset": entry.current_txn_first_offset,
            }
            none = {"currentTxnFirstOffset": -1}
            assert made == {key: none.get(key) if row[key] is None else row[key] for key in made}
            seen += 1
    assert seen == sum(len(rows.get("entries", [])) for rows in dumped(name, ".snapshot").values())
