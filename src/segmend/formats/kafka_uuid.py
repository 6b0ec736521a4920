"""Topic, directory and voter ids: 16 bytes, written as 22 characters of URL-safe base64.

Follows `org.apache.kafka.common.Uuid` and `java.util.Base64.getUrlDecoder`.
"""

from __future__ import annotations

import binascii
import re

SIZE = 16
ZERO = bytes(SIZE)
_BASE64 = re.compile(r"([A-Za-z0-9_-]*)(={0,2})")


def parse_uuid(text: str) -> bytes:
    """The 16 bytes; ValueError with Kafka's words where `Uuid.fromString` throws."""
    if len(text) > 24:
        raise ValueError(f"Input string with prefix `{text[:24]}` is too long to be decoded as a base64 UUID")
    match = _BASE64.fullmatch(text)
    if match is None:
        raise ValueError(f"Illegal base64 character in `{text}`")
    digits, padding = match.groups()
    if len(digits) % 4 == 1 or (padding and len(text) % 4):
        raise ValueError(f"Input byte array of `{text}` has incorrect ending byte")
    raw = binascii.a2b_base64(digits.replace("-", "+").replace("_", "/") + "=" * (-len(digits) % 4))
    if len(raw) != SIZE:
        raise ValueError(
            f"Input string `{text}` decoded as {len(raw)} bytes, "
            "which is not equal to the expected 16 bytes of a base64-encoded UUID"
        )
    return raw


def uuid_text(raw: bytes) -> str:
    """`Uuid.toString`: no padding."""
    text = binascii.b2a_base64(raw, newline=False).decode().rstrip("=")
    return text.replace("+", "-").replace("/", "_")


def is_reserved(raw: bytes) -> bool:
    """One of the first hundred ids, which stand for lost, migrating and unassigned dirs."""
    return int.from_bytes(raw, "big") < 100
