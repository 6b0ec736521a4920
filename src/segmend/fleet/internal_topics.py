"""The tables of what internal topics say: their records, read as a consumer would, and decoded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypedDict, cast

import pyarrow as pa

from segmend.fleet.damaged import Report
from segmend.fleet.options import ReadOptions
from segmend.fleet.ranges import ByteRange
from segmend.fleet.records import constants, records
from segmend.fleet.rows import Row, table
from segmend.fleet.schemas import DECODED
from segmend.formats.envelope import DecodedPart
from segmend.frozen import replace
from segmend.logdir.file_system import OpenFile
from segmend.topics import decoder_for

_READ: Final = ("offset", "timestamp", "key", "value")


class _Transaction(TypedDict):
    """The partitions of a topic that are in a transaction."""

    topic: str
    partitionIds: list[int]


class _Data(TypedDict, total=False):
    """The fields of the records that count here, by the tables of `topics/coordinators.py`."""

    group: str
    groupId: str
    topic: str
    partition: int
    offset: int
    leaderEpoch: int
    metadata: str
    commitTimestamp: int
    transactionalId: str
    producerId: int
    producerEpoch: int
    transactionStatus: int
    transactionTimeoutMs: int
    transactionLastUpdateTimestampMs: int
    transactionStartTimestampMs: int
    transactionPartitions: list[_Transaction] | None


def decoded_records(
    piece: ByteRange, reader: OpenFile, options: ReadOptions, report: Report
) -> Iterator[pa.RecordBatch]:
    yield from said(records(piece, reader, as_records(options), report), piece, options)


def as_records(options: ReadOptions) -> ReadOptions:
    """The same read of the records themselves."""
    return replace(options, table="records", columns=_READ)


def said(
    chunks: Iterable[pa.RecordBatch], piece: ByteRange, options: ReadOptions
) -> Iterator[pa.RecordBatch]:
    """What records say; one that cannot be read has its bytes and the reason in `key_json`, `value_json`."""
    decode = decoder_for(DECODED[options.table])
    assert decode is not None
    same, columns_of = constants(piece), _COLUMNS.get(options.table, _none)
    for chunk in chunks:
        rows: list[Row] = []
        for record in chunk.to_pylist():
            parts = decode(record["key"], record["value"])
            key, value = parts["key"] or {}, parts["value"] or {}
            kind = value.get("type") if options.table == "cluster_metadata" else key.get("type")
            rows.append(
                same
                | {
                    "offset": record["offset"],
                    "timestamp": record["timestamp"],
                    "record_type": None if kind is None else str(kind),
                    "deleted": record["value"] is None,
                    "version": value.get("version"),
                    "key_json": _json(parts["key"]),
                    "value_json": _json(parts["value"]),
                }
                | columns_of(_data(key), _data(value))
            )
        yield from table(options.table, rows).select(options.schema.names).to_batches()


def _json(part: object) -> str | None:
    return None if part is None else json.dumps(part, ensure_ascii=False)


def _data(part: DecodedPart) -> _Data:
    """The message; that of a record which a later release wrote is text."""
    data = part.get("data")
    return cast(_Data, data) if isinstance(data, dict) else {}


def _none(_key: _Data, _value: _Data) -> Row:
    return {}


def _offset(key: _Data, value: _Data) -> Row:
    # Keys of KIP-848 call it groupId.
    return {
        "group_id": key.get("group", key.get("groupId")),
        "committed_topic": key.get("topic"),
        "committed_partition": key.get("partition"),
        "committed_offset": value.get("offset"),
        "committed_epoch": value.get("leaderEpoch"),
        "metadata": value.get("metadata"),
        "commit_timestamp_ms": value.get("commitTimestamp"),
    }


def _transaction(key: _Data, value: _Data) -> Row:
    told = value.get("transactionPartitions")
    named = None if told is None else [f"{each['topic']}-{n}" for each in told for n in each["partitionIds"]]
    return {
        "transactional_id": key.get("transactionalId"),
        "producer_id": value.get("producerId"),
        "producer_epoch": value.get("producerEpoch"),
        "status": value.get("transactionStatus"),
        "timeout_ms": value.get("transactionTimeoutMs"),
        "last_update_ms": value.get("transactionLastUpdateTimestampMs"),
        "start_ms": value.get("transactionStartTimestampMs"),
        "partitions": named,
    }


_COLUMNS: Final[Mapping[str, Callable[[_Data, _Data], Row]]] = {
    "consumer_offsets": _offset,
    "transactions": _transaction,
}
