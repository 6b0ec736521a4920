"""Batches and records of a log, as JSON objects and as lines: all that kafka-dump-log tells, and more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from segmend.formats import control
from segmend.formats.batch import CODEC_NAMES, LOG_APPEND_TIME, RecordBatch
from segmend.formats.envelope import DecodedPart, DecodedRecord
from segmend.formats.record import Record
from segmend.frozen import frozen
from segmend.logdir.walk import BatchItem, DamageItem, Item, RecordItem
from segmend.report import text
from segmend.report.fields import damage_line, damage_row
from segmend.report.payload import Payload
from segmend.report.style import PLAIN, Style
from segmend.report.table import columns, table
from segmend.topics import Decoder

_TIMESTAMP_TYPES = {-1: "NoTimestampType", 0: "CreateTime", 1: "LogAppendTime"}


@frozen
class RecordView:
    """How keys and values are shown: `payload` makes text of bytes, `decoder` reads an internal topic."""

    payload: Payload
    decoder: Decoder | None = None
    width: int = 80


def codec_name(codec: int) -> str:
    """Kafka's name of a codec, the bare number for one that does not exist."""
    return CODEC_NAMES[codec] if codec < len(CODEC_NAMES) else str(codec)


def batch_row(item: BatchItem) -> dict[str, object]:
    """The JSON object of a batch. Without a producer, producer and sequence fields are -1."""
    batch = item.batch
    return {
        "type": "batch",
        "position": batch.position,
        "size": batch.size,
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "count": batch.records_count,
        "base_sequence": batch.base_sequence,
        "last_sequence": batch.last_sequence,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "partition_leader_epoch": batch.partition_leader_epoch,
        "is_transactional": batch.is_transactional,
        "is_control": batch.is_control,
        "delete_horizon_ms": batch.base_timestamp if batch.has_delete_horizon else None,
        "timestamp_type": _TIMESTAMP_TYPES[batch.timestamp_type],
        "base_timestamp": None if batch.has_delete_horizon else batch.base_timestamp,
        "max_timestamp": batch.max_timestamp,
        "magic": batch.magic,
        "compress_codec": codec_name(batch.codec),
        "crc": batch.crc,
        "is_valid": item.valid,
    }


def record_row(item: RecordItem, view: RecordView) -> dict[str, object]:
    """The JSON object of a record. `position` is its byte in the file, None inside a compressed batch."""
    batch, record = item.batch, item.record
    row = {
        "type": "record",
        "offset": record.offset,
        "position": record.position + batch.position if batch.codec == 0 else None,
        "batch_position": batch.position,
        "size": record.size,
        "timestamp_type": _TIMESTAMP_TYPES[record.timestamp_type],
        "timestamp": record.timestamp,
        "sequence": record.sequence,
        "key_size": -1 if record.key is None else len(record.key),
        "value_size": -1 if record.value is None else len(record.value),
        "headers": [{"key": key, "value": view.payload.json(value)} for key, value in record.headers],
        "key": view.payload.json(record.key),
        "value": view.payload.json(record.value),
    }
    if batch.is_control:
        row["control"] = control_facts(record)
    elif view.decoder is not None:
        row["decoded"] = view.decoder(record.key, record.value)
    return row


def control_facts(record: Record) -> dict[str, object]:
    parsed, damages = control.parse(record.key, record.value)
    facts: dict[str, object] = {"type": parsed.type_name}
    if parsed.value is not None:
        facts |= {name: _plain(part) for name, part in parsed.value._asdict().items()}
    if damages:
        facts["damage"] = damages[0].reason
    return facts


def _plain(value: object) -> object:
    """Named tuples, however nested, as dicts and lists."""
    if isinstance(value, tuple):
        named = getattr(value, "_asdict", None)
        if named is not None:
            return {name: _plain(part) for name, part in named().items()}
        return [_plain(part) for part in value]
    return value


def rows(items: Iterable[Item], view: RecordView) -> Iterator[Mapping[str, object]]:
    """The JSON objects, in file order."""
    for item in items:
        if isinstance(item, BatchItem):
            yield batch_row(item)
        elif isinstance(item, RecordItem):
            yield record_row(item, view)
        else:
            yield damage_row(item, item.end)


def _flags(item: BatchItem) -> str:
    batch, words = item.batch, []
    if batch.timestamp_type == LOG_APPEND_TIME:
        words.append("append-time")
    if batch.is_control:
        words.append("control")
    elif batch.is_transactional:
        words.append("txn")
    if batch.has_delete_horizon:
        words.append("delete-horizon")
    if not item.valid:
        words.append("CRC-BAD")
    return " ".join(words)


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}..{last}"


def _producer(batch: RecordBatch) -> str:
    return "-" if batch.producer_id == -1 else f"{batch.producer_id}/{batch.producer_epoch}"


def _sequences(batch: RecordBatch) -> str:
    return "-" if batch.base_sequence == -1 else _range(batch.base_sequence, batch.last_sequence)


_BATCH_COLUMNS = columns(
    ">POSITION", ">SIZE", ">OFFSETS", ">COUNT", ">MAX TIME (UTC)", ">EPOCH", ">PRODUCER", ">SEQUENCE",
    "CODEC", ">V", ">CRC", "FLAGS", dim=("CRC",),
)  # fmt: skip


def batch_lines(items: Iterable[Item], style: Style = PLAIN) -> Iterator[str]:
    """A table of batches, damage in place."""
    rows = (_batch_cells(item, style) for item in items if not isinstance(item, RecordItem))
    return table(_BATCH_COLUMNS, rows, style)


def _batch_cells(item: BatchItem | DamageItem, style: Style) -> Sequence[str]:
    if isinstance(item, DamageItem):
        return [damage_line(damage_row(item, item.end), style)]
    batch, flags = item.batch, _flags(item)
    return (
        str(batch.position),
        str(batch.size),
        _range(batch.base_offset, batch.last_offset),
        "-" if batch.records_count == -1 else str(batch.records_count),
        text.when(batch.max_timestamp, precise=True),
        str(batch.partition_leader_epoch),
        _producer(batch),
        _sequences(batch),
        codec_name(batch.codec),
        str(batch.magic),
        f"{batch.crc:08x}",
        flags if item.valid else style("red", flags),
    )


_RECORD_COLUMNS = columns(
    ">OFFSET", ">TIME (UTC)", ">BYTE", "KEY", "VALUE", "HEADERS", dim=("BYTE", "HEADERS"), cyan=("KEY",),
)  # fmt: skip


def record_lines(items: Iterable[Item], view: RecordView, style: Style = PLAIN) -> Iterator[str]:
    """A table of records, with a remark for each batch and each damage."""
    return table(_RECORD_COLUMNS, _record_cells(items, view, style), style)


def _record_cells(items: Iterable[Item], view: RecordView, style: Style) -> Iterator[Sequence[str]]:
    for item in items:
        if isinstance(item, BatchItem):
            yield [_batch_remark(item, style)]
        elif isinstance(item, DamageItem):
            yield [damage_line(damage_row(item, item.end), style)]
        else:
            yield _cells(item, view)


def _batch_remark(item: BatchItem, style: Style) -> str:
    batch = item.batch
    parts = [
        f"batch at byte {batch.position}",
        f"{batch.size} bytes",
        f"offsets {_range(batch.base_offset, batch.last_offset)}",
        codec_name(batch.codec) if batch.codec else "",
        f"magic {batch.magic}" if batch.magic != 2 else "",
        f"leader epoch {batch.partition_leader_epoch}" if batch.partition_leader_epoch != -1 else "",
        f"producer {_producer(batch)} sequence {_sequences(batch)}" if batch.producer_id != -1 else "",
        _flags(item),
    ]
    return style("dim" if item.valid else "red", "# " + ", ".join(filter(None, parts)))


def _cells(item: RecordItem, view: RecordView) -> list[str]:
    batch, record = item.batch, item.record
    key, value = _key_and_value(batch, record, view)
    headers = ", ".join(f"{text.clean(k)}={view.payload.text(v)}" for k, v in record.headers)
    return [
        str(record.offset),
        text.when(record.timestamp, precise=True),
        str(batch.position + record.position) if batch.codec == 0 else "-",
        text.shorten(key, view.width),
        text.shorten(value, view.width),
        text.shorten(headers, view.width),
    ]


def _key_and_value(batch: RecordBatch, record: Record, view: RecordView) -> tuple[str, str]:
    if batch.is_control:
        facts = control_facts(record)
        return str(facts.pop("type")), view.payload.compact(facts)
    if view.decoder is not None:
        return _decoded(view.decoder(record.key, record.value), view.payload)
    return view.payload.text(record.key), view.payload.text(record.value)


def _decoded(decoded: DecodedRecord, payload: Payload) -> tuple[str, str]:
    """The data of a decoded record; a record without key is named by its type in the key's place."""
    key, value = decoded["key"], decoded["value"]
    name = str(value["type"]) if key is None and value and "type" in value else payload.compact(_data(key))
    return text.clean(name), payload.compact(_data(value))


def _data(part: DecodedPart | None) -> object:
    return part["data"] if part and "data" in part else part
