"""Strict JSON objects out of any bytes: the small files that Kafka writes with Jackson."""

from __future__ import annotations

import json
from collections.abc import Mapping

from segmend.formats.cursor import Malformed

# Deeper or longer text is none that Kafka wrote, and costs a parser stack and time.
_MAX_TEXT = 1 << 20


def parse_object(data: bytes) -> dict[str, object]:
    """The object that `data` starts with; `Malformed` where there is none.

    As in Jackson's `readTree`, what follows the object is not looked at.
    """
    if len(data) > _MAX_TEXT:
        raise Malformed(0, f"{len(data)} bytes of JSON are more than Kafka ever writes")
    try:
        text = data.decode()
        value, _ = _DECODER.raw_decode(text.lstrip(" \t\r\n"))
    except UnicodeDecodeError as error:
        raise Malformed(error.start, "not UTF-8") from error
    except json.JSONDecodeError as error:
        raise Malformed(error.pos, f"not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise Malformed(0, "not JSON that Kafka can read") from error
    if not isinstance(value, dict):
        raise Malformed(0, "not a JSON object")
    return value


def no_constant(name: str) -> None:
    """For `parse_constant`: NaN and Infinity are refused, which Python reads as JSON; raises `ValueError`."""
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=no_constant)


def integer(json_object: Mapping[str, object], key: str, bits: int) -> int | None:
    """The whole number under `key` that fits `bits`, else None."""
    number = json_object.get(key)
    if (
        isinstance(number, bool)
        or not isinstance(number, int)
        or not -(1 << bits - 1) <= number < 1 << bits - 1
    ):
        return None
    return number


def compact(pairs: dict[str, object]) -> bytes:
    """The object as Jackson writes it: no blanks, no newline."""
    return json.dumps(pairs, separators=(",", ":"), ensure_ascii=False).encode()
