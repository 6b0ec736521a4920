"""The words of `broker/deletions.py` found again in the lines of a server.log, and what they tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from segmend.broker.deletions import REASONS, SAYINGS
from segmend.frozen import frozen

_NUMBER: Final = r"-?\d{1,19}"
_PARTS: Final = {
    **dict.fromkeys(("base", "size", "limit", "left", "high", "number"), _NUMBER),
    "bases": r"[\d,]*", "partition": r"[\w.-]+", "topic": r"[\w.-]+", "segments": r".*", "reason": r".*",
    "path": r".*?", "index": r"\S*/[\w.-]+/\d{20}\.timeindex", "dir": r".*",
    "local": r"(?:local )?", "whose": r"[\w ]+",
}  # fmt: skip
_BRACES = re.compile(r"\{(\w+)\}")
_SEGMENT = re.compile(
    rf"LogSegment\(baseOffset=({_NUMBER}), size=({_NUMBER})"
    # LogSegment.toString: the time that counts (2.4 to 2.6), or what the index says (Some, None; a number).
    rf"(?:, lastModifiedTime=({_NUMBER}), (largestTime|largestRecordTimestamp)="
    rf"(?:Some\()?({_NUMBER}|None)\)?)?\)"
)


@frozen
class Saying:
    """How the releases from `since` to before `until` tell one thing."""

    kind: str
    since: tuple[int, ...]
    until: tuple[int, ...] | None
    words: re.Pattern[str]
    head: str
    """The longest part that does not vary: where it is not, nothing else need be looked for."""


@frozen
class Named:
    """A segment as a line shows it. `largest` is None where it has no timestamp, or none is told."""

    base_offset: int
    size: int | None = None
    last_modified: int | None = None
    largest: int | None = None
    by_any_clock: bool = False
    """Whether `largest` may be the modification time: `largestTime` of 2.4 to 2.6."""


@cache
def sayings() -> tuple[Saying, ...]:
    return tuple(_sayings())


def _sayings() -> Iterator[Saying]:
    for kind, words in SAYINGS.items():
        ends = [since for since, _ in words.steps[1:]]
        for (since, text), until in zip(words.steps, [*ends, None], strict=True):
            if text is not None:
                head = max(_BRACES.sub("\n", text).split("\n"), key=len)
                yield Saying(kind=kind, since=since, until=until, words=pattern(text), head=head)


def pattern(text: str) -> re.Pattern[str]:
    """The words with what varies as groups."""
    regex, last, seen = "", 0, set[str]()
    for brace in _BRACES.finditer(text):
        name = brace[1]
        regex += re.escape(text[last : brace.start()])
        regex += f"(?:{_PARTS[name]})" if name in seen else f"(?P<{name}>{_PARTS[name]})"
        seen.add(name)
        last = brace.end()
    return re.compile(regex + re.escape(text[last:]))


@cache
def reasons() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """What a reason of `FOUND` tells."""
    return tuple((kind, pattern(text)) for kind, text in REASONS.items())


def named(text: str) -> Iterator[Named]:
    """The segments that a line shows."""
    for segment in _SEGMENT.finditer(text):
        base, size, modified, word, largest = segment.groups()
        yield Named(
            base_offset=int(base), size=int(size), last_modified=None if modified is None else int(modified),
            largest=None if largest in (None, "None") else int(largest), by_any_clock=word == "largestTime",
        )  # fmt: skip
