"""Bytes of records made presentable."""

import json

from hypothesis import given
from hypothesis import strategies as st

from segmend.report.payload import Payload


def test_text() -> None:
    shown = Payload("text")
    assert shown.text(None) == "<null>"
    assert shown.text(b"") == "<empty>"
    assert shown.text("Zürich".encode()) == "Zürich"
    assert shown.text(b"\xff\x00a") == "\\xff\\x00a"
    assert Payload("text", bound=3).text(b"abcdef") == "abc…"
    assert Payload("hex").text(b"\xff\x00") == "ff00"


def test_json_as_text_and_as_value() -> None:
    shown = Payload("json")
    assert shown.text(b'{"a":[1]}') == '{"a": [1]}'
    assert shown.text(b"no json") == "no json"
    assert shown.json(b'{"a":[1]}') == {"a": [1]}
    assert shown.json(b"Infinity") == "Infinity"
    assert shown.json(b"[" * 100_000) == "[" * 100_000
    assert Payload("hex").json(b"\xff") == "ff"
    assert Payload("text").json(b"\xff") == {"hex": "ff"}
    assert shown.json(None) is None


@given(st.binary(max_size=200))
def test_any_bytes_come_out_as_json_and_nothing_is_lost(data: bytes) -> None:
    value = json.loads(json.dumps(Payload("text").json(data)))
    back = bytes.fromhex(value["hex"]) if isinstance(value, dict) else value.encode()
    assert back == data
