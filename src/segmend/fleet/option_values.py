"""What the text of an option means: names, numbers, ranges, instants, and the JSON of Spark's Kafka source.

Each reads one text, and raises ValueError with the reason where it makes no sense.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from typing import Final

from segmend.formats.java_number import LONG_MAX, parse_int, parse_long

EARLIEST: Final = -2
"""In `startingOffsets`: the first offset there is (`JsonUtils`, `KafkaOffsetRangeLimit.EARLIEST`)."""
LATEST: Final = -1
"""In `endingOffsets`, and in the `startingOffsets` of a stream: the end of the log.

Both also in the place of a time, for Spark hands it on as it is (`ListOffsetsRequest`).
"""

TopicOffsets = tuple[tuple[tuple[str, int], int], ...]
"""((topic, partition), offset) pairs; or times in their place."""

NONE_NAMED: Final[TopicOffsets] = ((("", 0), EARLIEST),)
"""What `{}` says, which fits where there is no partition: no topic has this name."""


def columns(text: str) -> tuple[str, ...]:
    """`a,b,c`, each once; none are those that a table has by default."""
    given = tuple(part.strip() for part in text.split(",") if part.strip())
    if len(set(given)) < len(given):
        raise ValueError(f"'{text}' names a column twice")
    return given


def names(text: str) -> tuple[str, ...]:
    """`a,b,c`; none would be no limit, for a script whose variable is empty."""
    given = tuple(part.strip() for part in text.split(",") if part.strip())
    if not given:
        raise ValueError(f"'{text}' names nothing")
    return given


def numbers(text: str) -> frozenset[int]:
    """`0,3,5-7`."""
    values: set[int] = set()
    for part in names(text):
        low, dash, high = part.partition("-")
        try:
            first, last = integer(low), integer(high if dash else low)
        except ValueError:
            raise ValueError(f"'{part}' is neither a number nor a range such as 5-7") from None
        if not 0 <= last - first <= 1_000_000:
            raise ValueError(f"'{part}' are too many" if first < last else f"'{part}' begins behind its end")
        values.update(range(first, last + 1))
    return frozenset(values)


def integer(text: str) -> int:
    """A number from 0."""
    if not text.isascii() or not text.isdecimal() or len(text) > 19:
        raise ValueError(f"'{text}' is not a number")
    return int(text)


def positive(text: str) -> int:
    """A number from 1, as Java reads one."""
    value = parse_long(text)
    if value is None or value < 1:
        raise ValueError(f"'{text}' is not a number of 1 or more")
    return value


def offset_range(text: str) -> tuple[int | None, int | None]:
    """`5`, `5..9`, `5..`, `..9`: both ends belong to it, as in `segmend show --offset`."""
    low, dots, high = text.partition("..")
    first = integer(low) if low else None
    last = (integer(high) if high else None) if dots else first
    if not (low or high) or (first is not None and last is not None and first > last):
        raise ValueError(f"'{text}' is no range such as 100, 100..200, 100.. or ..200")
    return first, last


def flag(text: str) -> bool:
    """`true` or `false`."""
    if text.lower() not in ("true", "false"):
        raise ValueError(f"'{text}' is neither true nor false")
    return text.lower() == "true"


def choice(text: str, choices: tuple[str, ...]) -> str:
    """One of a few words, in any case."""
    for word in choices:
        if text.lower() == word.lower():
            return word
    raise ValueError(f"'{text}' is none of {', '.join(choices)}")


def pattern(text: str) -> str:
    """A regular expression that is looked for in topic names; none that Java reads in another way."""
    if not text:
        raise ValueError("it is empty")
    try:
        with warnings.catch_warnings(action="error"):
            re.compile(text)
    except (re.error, FutureWarning) as error:
        raise ValueError(f"'{text}' is no regular expression that is Python's, too: {error}") from None
    return text


def assignment(text: str) -> frozenset[tuple[str, int]]:
    """`{"orders": [0, 1]}`, as `assign` has it."""
    pairs: set[tuple[str, int]] = set()
    for topic, partitions in _object(text, '{"orders":[0,1]}').items():
        if not isinstance(partitions, list) or not all(type(p) is int and p >= 0 for p in partitions):
            raise ValueError(f"'{text}' is not of the form {{\"orders\":[0,1]}}")
        pairs.update((topic, partition) for partition in partitions)
    if not pairs:
        raise ValueError(f"'{text}' names no partition")
    return frozenset(pairs)


def starting_offsets(text: str) -> TopicOffsets | None:
    """`earliest`, or offsets by partition where -2 is the earliest; None is `latest`, and -1, of a stream."""
    if text.lower() == "earliest":
        return ()
    if text.lower() == "latest":
        return None
    return _offsets(text, EARLIEST, LATEST)


def ending_offsets(text: str) -> TopicOffsets:
    """`latest`, or offsets by partition, not to be read themselves, where -1 is the latest."""
    if text.lower() == "latest":
        return ()
    if text.lower() == "earliest":
        raise ValueError("a batch read cannot end at the earliest offset")
    return _offsets(text, LATEST)


def time(text: str) -> int:
    """Milliseconds since 1970, as Java reads a number; or -1, the end of the log, or -2, its beginning."""
    value = parse_long(text)
    if value is None:
        raise ValueError(f"'{text}' is not a number")
    if not _is_time(value):
        raise ValueError(f"{value} is no time, nor {LATEST} or {EARLIEST}")
    return value


def times(text: str) -> TopicOffsets:
    """The same by partition."""
    what = f"time, nor {LATEST} or {EARLIEST}"
    return _by_partition(text, '{"orders":{"0":1795255200000}}', _is_time, what)


def _is_time(value: int) -> bool:
    return value >= 0 or value in (EARLIEST, LATEST)


def _offsets(text: str, *others: int) -> TopicOffsets:
    form = f'{{"orders":{{"0":23,"1":{others[0]}}}}}'
    what = f"offset, nor {' or '.join(map(str, others))}"
    return _by_partition(text, form, lambda value: value in others or value >= 0, what)


def _by_partition(text: str, form: str, fits: Callable[[int], bool], what: str) -> TopicOffsets:
    offsets: dict[tuple[str, int], int] = {}
    for topic, partitions in _object(text, form).items():
        if not isinstance(partitions, dict):
            raise ValueError(f"'{text}' is not of the form {form}")
        for partition, offset in partitions.items():
            if type(offset) is not int or not fits(offset) or offset > LONG_MAX:
                raise ValueError(f"{topic}-{partition}: {offset} is no {what}")
            number = parse_int(partition)
            if number is None:
                raise ValueError(f"'{partition}' is not a number")
            offsets[topic, number] = offset
    return tuple(sorted(offsets.items())) or NONE_NAMED


def _object(text: str, form: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"'{text}' is not of the form {form}")
    return value
