"""Generated messages by field tables: plain and flexible encoding, tags, nulls, hostile lengths."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segmend.formats.cursor import Cursor, Malformed
from segmend.formats.schema import Message, messages, read
from segmend.topics import coordinators, metadata, remote_log, share_groups

TABLE = (
    "id:i32 name:string? tags:[]string parts:[]{n:i8 flag:bool} ratio:f64@1+ uid:uuid@1 old:i16@0 x:u16@2+#3"
)
MESSAGE = Message(name="M", table=TABLE, flexible=1, highest=2)


def test_plain_encoding() -> None:
    data = b"\0\0\0\7" + b"\xff\xff" + b"\0\0\0\1\0\2hi" + b"\0\0\0\1\xff\1" + b"\0\5"
    cursor = Cursor(data)
    assert read(MESSAGE, cursor, 0) == {
        "id": 7, "name": None, "tags": ["hi"], "parts": [{"n": -1, "flag": True}], "old": 5,
    }  # fmt: skip
    assert cursor.remaining == 0


def test_flexible_encoding_with_known_and_unknown_tags() -> None:
    data = b"\0\0\0\7" + b"\2a" + b"\1" + b"\2\1\0\0" + b"\x3f\xf0" + bytes(6) + b"\2\3\2\1\1\x09\1z"
    cursor = Cursor(data)
    assert read(MESSAGE, cursor, 2) == {
        "id": 7, "name": "a", "tags": [], "parts": [{"n": 1, "flag": False}], "ratio": 1.0, "x": 257,
        "_unknownTaggedFields": [{"tag": 9, "data": "eg=="}],
    }  # fmt: skip
    assert cursor.remaining == 0


def test_nullable_structures() -> None:
    message = Message(name="M", table="host:{name:string}? list:[]i32?", flexible=0)
    assert read(message, Cursor(b"\xff\0\0"), 0) == {"host": None, "list": None}
    assert read(message, Cursor(b"\1\2a\0\1\0"), 0) == {"host": {"name": "a"}, "list": []}


@pytest.mark.parametrize(
    ("data", "version", "said"),
    [
        (b"", 0, "4 bytes expected, 0 left"),
        (b"", 9, "version 9 of M is not known"),
        (b"", -1, "version -1 of M is not known"),
        (b"\0\0\0\7\xff\xff\x7f\xff\xff\xff", 0, "2147483647 elements declared, 0 bytes left"),
        (b"\0\0\0\7\xff\xff\xff\xff\xff\xff", 0, "non-nullable field tags was serialized as null"),
        (b"\0\0\0\7\7a", 1, "6 bytes expected, 1 left"),
    ],
)
def test_what_cannot_be_is_malformed(data: bytes, version: int, said: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(MESSAGE, Cursor(data), version)
    assert said in caught.value.reason


TABLES = [
    coordinators.OFFSET_KEYS, coordinators.OFFSET_VALUES, coordinators.TRANSACTION_KEYS,
    coordinators.TRANSACTION_VALUES, coordinators.CONSUMER_PROTOCOL, metadata.RECORDS,
    share_groups.KEYS, share_groups.VALUES, remote_log.RECORDS,
]  # fmt: skip


@given(table=st.sampled_from(TABLES), data=st.binary(max_size=60), version=st.integers(0, 5))
def test_every_table_reads_any_bytes_or_says_malformed(table: str, data: bytes, version: int) -> None:
    """Whatever the bytes, a table gives a dict or `Malformed`, and reads no byte beyond them."""
    for message in messages(table).values():
        cursor = Cursor(data)
        with contextlib.suppress(Malformed):
            assert isinstance(read(message, cursor, version), dict)
        assert cursor.position <= len(data)


def test_tables_know_their_numbers() -> None:
    records = messages(metadata.RECORDS)
    assert records[0].name == "REGISTER_BROKER_RECORD"
    assert records[0].highest == 4
    assert 20 in records
    assert messages(coordinators.OFFSET_VALUES)[1].flexible == 4
