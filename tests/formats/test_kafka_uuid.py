"""Ids in URL-safe base64, as `Uuid.fromString` reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.kafka_uuid import ZERO, is_reserved, parse_uuid, uuid_text

TEXT = "0aMmLnfGQSucDIs5kDcaAA"


def test_an_id_and_its_text() -> None:
    raw = parse_uuid(TEXT)
    assert len(raw) == 16
    assert uuid_text(raw) == TEXT
    assert uuid_text(ZERO) == "A" * 22
    assert parse_uuid(TEXT + "==") == raw


def test_unused_bits_at_the_end_are_ignored_as_java_does() -> None:
    assert parse_uuid(TEXT[:-1] + "B") == parse_uuid(TEXT)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("zzz", "decoded as 2 bytes, which is not equal to the expected 16 bytes"),
        ("", "decoded as 0 bytes"),
        ("A" * 25, "too long to be decoded as a base64 UUID"),
        ("A" * 21 + "+", "Illegal base64"),
        ("A" * 21 + "/", "Illegal base64"),
        ("A" * 21 + "\n", "Illegal base64"),
        ("A" * 21 + "ä", "Illegal base64"),
        ("A" * 21, "ending byte"),
        (TEXT + "=", "ending byte"),
    ],
)
def test_what_java_refuses(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_uuid(text)


def test_the_first_hundred_are_reserved() -> None:
    assert is_reserved(ZERO)
    assert is_reserved((99).to_bytes(16, "big"))
    assert not is_reserved((100).to_bytes(16, "big"))
    assert not is_reserved(parse_uuid(TEXT))


@given(st.binary(min_size=16, max_size=16))
@examples(50)
def test_every_id_comes_back(raw: bytes) -> None:
    assert parse_uuid(uuid_text(raw)) == raw
