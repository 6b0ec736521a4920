"""Internal topics: what is no record of theirs is told, and never raises. (Kafka's own decoders
are the judge of the sound ones, in tests/cli/test_show_golden.py.)"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segmend.topics import coordinators, decoder_for, metadata

TOPICS = [
    "__consumer_offsets",
    "__transaction_state",
    "__cluster_metadata",
    "__share_group_state",
    "__remote_log_metadata",
]
STRING = st.text(max_size=5).map(lambda s: len(s.encode()).to_bytes(2, "big") + s.encode())


@pytest.mark.parametrize("topic", TOPICS)
def test_each_topic_has_a_decoder(topic: str) -> None:
    assert decoder_for(topic) is not None


@pytest.mark.parametrize("topic", ["orders", "__other", ""])
def test_other_topics_have_none(topic: str) -> None:
    assert decoder_for(topic) is None


@pytest.mark.parametrize("topic", TOPICS)
@given(key=st.none() | st.binary(max_size=40), value=st.none() | st.binary(max_size=80))
def test_any_bytes_are_answered_with_json(topic: str, key: bytes | None, value: bytes | None) -> None:
    """Whatever key and value hold, the answer is plain JSON with `key` and `value`."""
    decode = decoder_for(topic)
    assert decode is not None
    answer = decode(key, value)
    json.dumps(answer)
    assert set(answer) == {"key", "value"}
    assert (answer["value"] is None) == (value is None)


@given(group=STRING, topic=STRING, partition=st.integers(0, 2**31 - 1), offset=st.integers(0, 2**63 - 1))
def test_an_offset_commit(group: bytes, topic: bytes, partition: int, offset: int) -> None:
    key = b"\0\1" + group + topic + partition.to_bytes(4, "big")
    value = b"\0\0" + offset.to_bytes(8, "big") + b"\0\0" + bytes(8)
    answer = coordinators.decode_offsets(key, value)
    assert answer["key"] == {
        "type": "1",
        "data": {"group": group[2:].decode(), "topic": topic[2:].decode(), "partition": partition},
    }
    assert answer["value"]["data"] == {"offset": offset, "metadata": "", "commitTimestamp": 0}


def test_a_tombstone_and_unknown_types() -> None:
    assert coordinators.decode_offsets(b"\0\2\0\1g", None) == {
        "key": {"type": "2", "data": {"group": "g"}},
        "value": None,
    }
    unknown = coordinators.decode_offsets(b"\0\x63", b"\0\0")
    assert unknown["key"]["error"] == "byte 0: record type 99 is not known"
    assert coordinators.decode_offsets(None, b"\0\0")["value"]["error"]
    assert coordinators.decode_offsets(b"\0\1", b"\0\x63")["value"]["error"] == (
        "byte 2: version 99 of OffsetCommitValue is not known"
    )


def test_metadata_of_another_frame_a_later_release_and_with_garbage() -> None:
    assert "frame version 2" in metadata.decode(None, b"\2\0\0")["value"]["error"]
    assert metadata.decode(None, b"\1\x7f\0abc")["value"] == {"type": 127, "version": 0, "data": "YWJj"}
    assert metadata.decode(None, b"\1\x14\5a")["value"] == {
        "type": "NO_OP_RECORD",
        "version": 5,
        "data": "YQ==",
    }
    assert metadata.decode(None, b"\1\x14\0\0")["value"] == {"type": "NO_OP_RECORD", "version": 0, "data": {}}
    assert "garbage" in metadata.decode(None, b"\1\x14\0\0x")["value"]["error"]
    assert metadata.decode(b"k", None) == {"key": {"hex": "6b"}, "value": None}
