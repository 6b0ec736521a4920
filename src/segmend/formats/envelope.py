"""The two wrappings of messages in records of internal topics, read to plain JSON values.

`keyed` follows `CoordinatorRecordSerde`: an i16 in front of the key is its type, an i16 in front
of the value its version. `framed` follows `AbstractApiMessageSerde`: frame version, api key and
version as unsigned varints, then the message; the key is null. Neither raises on content: what
cannot be read is `{"error", "hex"}`.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from segmend.formats.cursor import Cursor, Malformed
from segmend.formats.schema import base64, messages, read

FRAME_VERSION = 1


class DecodedPart(TypedDict, total=False):
    """A key or a value: its message (`data`; bytes of a later release), or why it cannot be read."""

    type: str | int
    version: str | int
    data: dict[str, object] | str
    error: str
    hex: str


class DecodedRecord(TypedDict):
    """A record."""

    key: DecodedPart | None
    value: DecodedPart | None


def keyed(key: bytes | None, value: bytes | None, keys: str, values: str) -> DecodedRecord:
    """`{"key": {"type", "data"}, "value": {"version", "data"}}`; a tombstone's value is None.

    `keys` and `values` are the tables (`schema.messages`) by record type. Numbers are strings
    where Kafka prints them so.
    """
    kind = None if key is None or len(key) < 2 else int.from_bytes(key[:2], "big", signed=True)
    # Types 0 and 1 of offsets are the same message in two versions: only keys know type 0.
    table = 1 if kind == 0 and 0 not in messages(values) else kind
    return {"key": _part(key, "type", keys, kind, version=0), "value": _part(value, "version", values, table)}


def _part(
    data: bytes | None,
    label: Literal["type", "version"],
    table: str,
    kind: int | None,
    version: int | None = None,
) -> DecodedPart | None:
    if data is None:
        return None
    cursor = Cursor(data)
    try:
        number = cursor.i16()
        message = messages(table).get(-1 if kind is None else kind)
        if message is None:
            raise Malformed(0, f"record type {kind} is not known")
        part: DecodedPart = {"data": read(message, cursor, number if version is None else version)}
        return {"type": str(number), **part} if label == "type" else {"version": str(number), **part}
    except Malformed as error:
        return _unread(error, data)


def framed(key: bytes | None, value: bytes | None, records: str) -> DecodedRecord:
    """`{"key": None, "value": {"type", "version", "data"}}` by the table `records`.

    A record of a later release has its api key for a type and its bytes (base64) for data.
    """
    return {
        "key": None if key is None else {"hex": key.hex()},
        "value": None if value is None else _frame(value, records),
    }


def _frame(data: bytes, records: str) -> DecodedPart:
    cursor = Cursor(data)
    try:
        frame, kind, version = cursor.uvarint(), cursor.uvarint(), cursor.uvarint()
        if frame != FRAME_VERSION:
            raise Malformed(0, f"frame version {frame} is not known")
        message = messages(records).get(kind)
        if message is None or version > message.highest:
            name = kind if message is None else message.name
            return {"type": name, "version": version, "data": base64(data[cursor.position :])}
        value: DecodedPart = {
            "type": message.name,
            "version": version,
            "data": read(message, cursor, version),
        }
        if cursor.remaining:
            raise Malformed(
                cursor.position, f"Found {cursor.remaining} byte(s) of garbage after {message.name}"
            )
    except Malformed as error:
        return _unread(error, data)
    return value


def _unread(error: Malformed, data: bytes) -> DecodedPart:
    return {"error": f"byte {error.position}: {error.reason}", "hex": data.hex()}
