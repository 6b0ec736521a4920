"""The options of a read: which table, which columns, which part of the fleet.

They are also the only push-down there is. A predicate on the DataFrame is applied by Spark
after the reading; an option spares the reading itself.

    table         partitions segments batches records index_entries checkpoints findings
    columns       a,b,c          of the table, in this order
    topics        glob,glob      `orders*,payments`
    partitions    0,3,5-7
    brokers       1,2
    offsets       lo..hi         lo <= offset < hi; either may be left out
    since, until  an instant     2026-11-21T10:00:00Z, or milliseconds since the epoch
    crc           true | false   compute checksums (`records`: true; else false, unless deep)
    level         startup | default | deep     of `findings` and `segments`
    splitBytes    a number       bytes of one task; by default chosen from the whole
    includeHeaders true | false  `records`: the column of Kafka's own option
    aged          true | false   `records`: also those below the log start offset
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa

from segmend.checks import Level
from segmend.errors import UsageError
from segmend.fleet.schemas import KAFKA_RECORD, KAFKA_RECORD_WITH_HEADERS, TABLES
from segmend.frozen import frozen

_LEVELS: Final = {level.name.lower(): level for level in Level}


@frozen
class Options:
    """A read, checked. None and empty mean no limit; times are in ms, ends are exclusive."""

    table: str = "records"
    columns: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    partitions: frozenset[int] = frozenset()
    brokers: frozenset[int] = frozenset()
    low: int | None = None
    high: int | None = None
    since: int | None = None
    until: int | None = None
    crc: bool | None = None
    level: Level = Level.DEFAULT
    split_bytes: int | None = None
    include_headers: bool = False
    aged: bool = False

    @property
    def schema(self) -> pa.Schema:
        """What the read gives: `columns` of the table, or its default."""
        whole = TABLES[self.table]
        if not self.columns:
            if self.table != "records":
                return whole
            return KAFKA_RECORD_WITH_HEADERS if self.include_headers else KAFKA_RECORD
        unknown = [name for name in self.columns if name not in whole.names]
        if unknown:
            known = ", ".join(whole.names)
            raise UsageError(f"the table {self.table} has no column {', '.join(unknown)}; it has {known}")
        return pa.schema([whole.field(name) for name in self.columns])

    def wants(self, broker: int, topic: str, partition: int) -> bool:
        """Whether a partition of a broker is asked for."""
        if self.brokers and broker not in self.brokers:
            return False
        if self.partitions and partition not in self.partitions:
            return False
        return not self.topics or any(fnmatch.fnmatchcase(topic, glob) for glob in self.topics)


def parse_options(given: Mapping[str, str]) -> Options:
    """The options by their names, in any case as Spark hands them over; UsageError for what is none of them.

    `path` and `paths` are the caller's and passed over.
    """
    values: dict[str, Any] = {}
    for name, text in given.items():
        key = name.lower()
        if key in ("path", "paths"):
            continue
        if key not in _PARSERS:
            raise UsageError(f"kafka-log has no option {name}; it has {', '.join(sorted(_PARSERS))}")
        try:
            values |= _PARSERS[key](text.strip())
        except ValueError as error:
            raise UsageError(f"option {name}: {error}") from None
    options = Options(**values)
    if options.table not in TABLES:
        raise UsageError(f"there is no table {options.table}; there are {', '.join(TABLES)}")
    return options


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(text: str) -> frozenset[int]:
    found: set[int] = set()
    for part in _names(text):
        low, dash, high = part.partition("-")
        first, last = _integer(low), _integer(high if dash else low)
        if last - first > 1_000_000:
            raise ValueError(f"'{part}' are too many")
        found.update(range(first, last + 1))
    return frozenset(found)


def _integer(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 19:
        raise ValueError(f"'{text}' is not a number")
    return int(text)


def _offsets(text: str) -> dict[str, int | None]:
    low, dots, high = text.partition("..")
    if not dots:
        raise ValueError(f"'{text}' is not lo..hi")
    return {"low": _integer(low) if low else None, "high": _integer(high) if high else None}


def _instant(text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) < 19:
        return int(text)
    moment = datetime.fromisoformat(text)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1000)


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"'{text}' is neither true nor false")
    return text.lower() == "true"


def _level(text: str) -> Level:
    if text.lower() not in _LEVELS:
        raise ValueError(f"'{text}' is none of {', '.join(_LEVELS)}")
    return _LEVELS[text.lower()]


_PARSERS: Final[dict[str, Callable[[str], dict[str, Any]]]] = {
    "table": lambda text: {"table": text.lower()},
    "columns": lambda text: {"columns": _names(text)},
    "topics": lambda text: {"topics": _names(text)},
    "partitions": lambda text: {"partitions": _numbers(text)},
    "brokers": lambda text: {"brokers": _numbers(text)},
    "offsets": _offsets,
    "since": lambda text: {"since": _instant(text)},
    "until": lambda text: {"until": _instant(text)},
    "crc": lambda text: {"crc": _flag(text)},
    "level": lambda text: {"level": _level(text)},
    "splitbytes": lambda text: {"split_bytes": max(1, _integer(text))},
    "includeheaders": lambda text: {"include_headers": _flag(text)},
    "aged": lambda text: {"aged": _flag(text)},
}
