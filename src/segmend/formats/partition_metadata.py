"""`partition.metadata`: the topic id of a partition directory.

Follows `org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile`, which takes
the part after the colon of the first two lines and looks at no key and no further line.

Damage kinds, by what the broker does:

    malformed    IOException: the log dir goes offline
    too-short    NullPointerException: the broker dies
    bad-uuid     IllegalArgumentException: the broker dies
"""

from __future__ import annotations

import re
from functools import lru_cache

from segmend.formats.checkpoint_file import lines
from segmend.formats.damage import Damage
from segmend.formats.java_number import parse_int
from segmend.formats.kafka_uuid import ZERO, parse_uuid, uuid_text
from segmend.frozen import frozen

FILE_NAME = "partition.metadata"
_SEPARATOR = re.compile(r":[ \t\n\x0b\f\r]+")
_NULL_LINE = 'Cannot invoke "java.lang.CharSequence.length()" because "this.text" is null'


@frozen
class PartitionMetadata:
    """`topic_id` as Kafka writes it (22 characters); None where it cannot be read."""

    version: int | None = 0
    topic_id: str | None = None


@lru_cache(maxsize=256)  # all partitions of a topic have the same
def parse(data: bytes) -> tuple[PartitionMetadata, tuple[Damage, ...]]:
    """Version and topic id, each where it can be read."""
    damages = _not_utf8(data)
    pairs = [
        (at, line.decode("utf-8", "replace")) for _, (at, line) in zip(range(2), lines(data), strict=False)
    ]
    version = _version(*pairs[0], damages) if pairs else None
    topic_id = _topic_id(*pairs[1], damages) if len(pairs) > 1 else None
    if len(pairs) < 2:
        damages.append(Damage("too-short", len(data), _NULL_LINE))
    return PartitionMetadata(version=version, topic_id=topic_id), tuple(damages)


def _not_utf8(data: bytes) -> list[Damage]:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return [Damage("malformed", error.start, "MalformedInputException: the file is not UTF-8")]
    return []


def _field(at: int, line: str, damages: list[Damage]) -> str | None:
    """The part after the separator, where there is one separator."""
    parts = _SEPARATOR.split(line)
    while parts and not parts[-1]:
        parts.pop()
    if len(parts) == 2:
        return parts[1]
    damages.append(_malformed(at, line))
    return None


def _malformed(at: int, line: str) -> Damage:
    return Damage("malformed", at, f"Malformed line in partition metadata file: {line[:80]!r}")


def _version(at: int, line: str, damages: list[Damage]) -> int | None:
    text = _field(at, line, damages)
    if text is None:
        return None
    version = parse_int(text)
    if version is None:
        damages.append(_malformed(at, line))
    elif version < 0:
        damages.append(Damage("malformed", at, f"Unrecognized version of partition metadata file: {version}"))
    return version


def _topic_id(at: int, line: str, damages: list[Damage]) -> str | None:
    text = _field(at, line, damages)
    if text is None:
        return None
    try:
        raw = parse_uuid(text)
    except ValueError as error:
        damages.append(Damage("bad-uuid", at, str(error)))
        return None
    if raw == ZERO:
        damages.append(Damage("malformed", at, "Invalid topic ID in partition metadata file"))
    return uuid_text(raw)


def render(metadata: PartitionMetadata) -> bytes:
    """The file as the broker writes it, without a newline at its end."""
    return f"version: {metadata.version or 0}\ntopic_id: {metadata.topic_id or uuid_text(ZERO)}".encode()
