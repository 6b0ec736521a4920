"""The text layout shared by the offset checkpoints and the leader epochs.

Follows `org.apache.kafka.server.common.CheckpointFile`: a version, a count, one entry a
line. Readers go on after a bad line, but the first damage is the one the broker meets.

Damage kinds, by what the broker does:

    malformed        IOException: the log dir goes offline
    not-a-number     NumberFormatException: escapes as it is
    negative-count   IllegalArgumentException
    huge-count       OutOfMemoryError: the broker dies
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from segmend.formats.damage import Damage
from segmend.formats.java_number import INT_MAX, parse_int

VERSION = 0
MAX_DAMAGES = 16
HUGE_COUNT = 100_000_000
"""The reader makes an array of this many references before it reads an entry: 400 MB."""

Entry = TypeVar("Entry")

_LINE = re.compile(rb"([^\r\n]+)(?:\r\n|\r|\n)?|()(?:\r\n|\r|\n)")
_WHITESPACE = re.compile(r"[ \t\n\x0b\f\r]+")


def lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    r"""`BufferedReader.readLine`: (position, line), where `\n`, `\r` and `\r\n` end a line."""
    for match in _LINE.finditer(data):
        yield match.start(), match[1] or b""


def read_entries(
    data: bytes, width: int, convert: Callable[[Sequence[str]], Entry | None]
) -> tuple[int, list[tuple[int, Entry]], list[Damage]]:
    """(header lines, (position, entry) of every readable line, damages).

    A line has `width` tokens; `convert` makes an entry of them, or gives None where Java
    throws a NumberFormatException.
    """
    entries: list[tuple[int, Entry]] = []
    damages: list[Damage] = []
    expected: int | None = None
    header_lines = 0
    rows = 0
    for number, (at, line) in enumerate(lines(data)):
        if number < 2:
            header_lines = number + 1
            expected = _header(number, at, line, damages)
            continue
        rows += 1
        entry = _entry(at, line, width, convert, damages)
        if entry is not None:
            entries.append((at, entry))
    if header_lines == 2 and expected is not None and expected != rows:
        reason = f"Expected [{expected}] entries in checkpoint file, but found only [{rows}]"
        damages.append(Damage("malformed", len(data), reason))
    return header_lines, entries, damages


def _header(number: int, at: int, line: bytes, damages: list[Damage]) -> int | None:
    """The number on line 1 (version) or 2 (count); None where it is none."""
    value = parse_int(line.decode("utf-8", "replace"))
    if value is None:
        damages.append(_malformed(at, line))
    elif number == 0 and value != VERSION:
        damages.append(Damage("malformed", at, f"Unrecognised version:{value}, expected version: {VERSION}"))
    elif number == 1 and value < 0:
        damages.append(Damage("negative-count", at, f"Illegal Capacity: {value}"))
    elif number == 1 and value >= HUGE_COUNT:
        says = "Requested array size exceeds VM limit" if value >= INT_MAX - 1 else "Java heap space"
        damages.append(Damage("huge-count", at, f"{says} (count {value})"))
    return value


def _entry(
    at: int, line: bytes, width: int, convert: Callable[[Sequence[str]], Entry | None], damages: list[Damage]
) -> Entry | None:
    tokens = _tokens(line)
    if tokens is None or len(tokens) != width:
        if len(damages) < MAX_DAMAGES:
            damages.append(_malformed(at, line))
        return None
    entry = convert(tokens)
    if entry is None and len(damages) < MAX_DAMAGES:
        damages.append(Damage("not-a-number", at, f"not a number in line: {_quote(line)}"))
    return entry


def _tokens(line: bytes) -> list[str] | None:
    r"""`Pattern.compile("\\s+").split(line)`, which drops empty tokens at the end only."""
    try:
        tokens = _WHITESPACE.split(line.decode())
    except UnicodeDecodeError:
        return None
    while tokens and not tokens[-1]:
        tokens.pop()
    return tokens


def _malformed(at: int, line: bytes) -> Damage:
    return Damage("malformed", at, f"Malformed line in checkpoint file: {_quote(line)}")


def _quote(line: bytes) -> str:
    return repr(line[:80].decode("utf-8", "replace"))


def render_entries(header_lines: int, texts: Sequence[str]) -> bytes:
    """The canonical file: version, count, entries, each line ended by a newline."""
    if header_lines == 0 and not texts:
        return b""
    if header_lines == 1 and not texts:
        return b"0\n"
    return "".join(f"{line}\n" for line in (VERSION, len(texts), *texts)).encode()
