"""The options of a read: which table, which columns, which part of the fleet.

They are also the only push-down there is. A predicate on the DataFrame is applied by Spark
after the reading; an option spares the reading itself. `OPTIONS` lists them, each with the
tables that know it: for any other table it is an error, never ignored.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from segmend.checks import Level
from segmend.errors import UsageError
from segmend.fleet import option_values as values
from segmend.fleet.option_values import TopicOffsets
from segmend.fleet.schemas import DECODED, KAFKA_RECORD, KAFKA_RECORD_WITH_HEADERS, RECORDS, TABLES
from segmend.frozen import frozen

PERMISSIVE, DROPMALFORMED, FAILFAST = "PERMISSIVE", "DROPMALFORMED", "FAILFAST"
MODES: Final = (PERMISSIVE, DROPMALFORMED, FAILFAST)
DAMAGE_COLUMN: Final = "_damage"
INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""`Topic.INTERNAL_TOPICS`, and the share coordinator's (KIP-932)."""

_LEVELS: Final = {level.name.lower(): level for level in Level}


@frozen
class Options:
    """A read, checked. None and empty mean no limit; offsets and times (ms) are inclusive."""

    table: str = "records"
    columns: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    subscribe: tuple[str, ...] = ()
    subscribe_pattern: str | None = None
    assign: frozenset[tuple[str, int]] = frozenset()
    partitions: frozenset[int] = frozenset()
    brokers: frozenset[int] = frozenset()
    internal: bool | None = None
    low: int | None = None
    high: int | None = None
    since: int | None = None
    until: int | None = None
    starting_offsets: TopicOffsets = ()
    ending_offsets: TopicOffsets = ()
    starting_timestamp: int | None = None
    ending_timestamp: int | None = None
    replicas: str = "best"
    isolation: str = "read_uncommitted"
    mode: str = PERMISSIVE
    crc: bool | None = None
    level: Level = Level.DEFAULT
    split_bytes: int | None = None
    min_partitions: int = 1
    include_headers: bool = False
    aged: bool = False

    @property
    def schema(self) -> pa.Schema:
        """What the read gives: `columns` of the table, or its default."""
        whole = TABLES[self.table]
        if not self.columns:
            return self._default_records() if self.table == "records" else whole
        unknown = [name for name in self.columns if name not in whole.names]
        if unknown:
            known = ", ".join(whole.names)
            raise UsageError(f"the table {self.table} has no column {', '.join(unknown)}; it has {known}")
        return pa.schema([whole.field(name) for name in self.columns])

    def _default_records(self) -> pa.Schema:
        plain = KAFKA_RECORD_WITH_HEADERS if self.include_headers else KAFKA_RECORD
        if self.replicas == "best":
            return plain
        return pa.schema([*plain, RECORDS.field("broker"), RECORDS.field("dir")])

    @property
    def consumes(self) -> bool:
        """Whether records are read as a consumer gets them, of each partition one replica's."""
        return self.table == "records" or self.table in DECODED

    def wants(self, broker: int, topic: str, partition: int) -> bool:
        """Whether a partition of a broker is asked for."""
        if topic != DECODED.get(self.table, topic):
            return False
        if self.brokers and broker not in self.brokers:
            return False
        if self.partitions and partition not in self.partitions:
            return False
        if self.assign:
            return (topic, partition) in self.assign
        return self._wants_topic(topic)

    def _wants_topic(self, topic: str) -> bool:
        if topic in self.topics or topic in self.subscribe:
            return True
        # As Spark's source: internal topics are there for who names them (`exclude.internal.topics`).
        internal = self.table != "records" if self.internal is None else self.internal
        if topic in INTERNAL_TOPICS and not internal:
            return False
        if self.subscribe:
            return False
        if self.subscribe_pattern is not None:
            return re.fullmatch(self.subscribe_pattern, topic) is not None
        return not self.topics or any(fnmatch.fnmatchcase(topic, glob) for glob in self.topics)

    @property
    def chooses_topics(self) -> bool:
        """Whether only some partitions are asked for."""
        chosen = (self.topics, self.subscribe, self.subscribe_pattern, self.assign, self.partitions)
        return any(chosen)


@frozen
class Option:
    """One option: how its value is written, what it means, which tables know it, and how it is read."""

    name: str
    values: str
    meaning: str
    tables: frozenset[str]
    parse: Callable[[str], dict[str, Any]]


def _as(field: str, read: Callable[[str], object]) -> Callable[[str], dict[str, object]]:
    return lambda text: {field: read(text)}


def _offsets(text: str) -> dict[str, int | None]:
    low, high = values.offset_range(text)
    return {"low": low, "high": high}


def _choice(field: str, *words: str) -> Callable[[str], dict[str, object]]:
    return lambda text: {field: values.choice(text, words)}


_ALL: Final = frozenset(TABLES)
_RECORDS: Final = frozenset({"records"})
_CONSUMED: Final = _RECORDS | frozenset(DECODED)
_RANGED: Final = _CONSUMED | {"batches"}
_OF_ANY_TOPIC: Final = _ALL - frozenset(DECODED)
_CHECKED: Final = frozenset({"partitions", "segments", "findings"})
_ISOLATION: Final = ("read_uncommitted", "read_committed")

OPTIONS: Final = (
    Option(
        name="table",
        values=" ".join(TABLES),
        meaning="which table; the default is records",
        tables=_ALL,
        parse=_as("table", str.lower),
    ),
    Option(
        name="columns",
        values="a,b,c",
        meaning="columns of the table, in this order; what no column needs is not read or decompressed",
        tables=_ALL,
        parse=_as("columns", values.names),
    ),
    Option(
        name="topics",
        values="glob,glob",
        meaning="topics by name, with * and ?",
        tables=_OF_ANY_TOPIC,
        parse=_as("topics", values.names),
    ),
    Option(
        name="subscribe",
        values="a,b",
        meaning="topics by their exact names",
        tables=_OF_ANY_TOPIC,
        parse=_as("subscribe", values.names),
    ),
    Option(
        name="subscribePattern",
        values="a regular expression",
        meaning="topics whose whole name matches",
        tables=_OF_ANY_TOPIC,
        parse=_as("subscribe_pattern", values.pattern),
    ),
    Option(
        name="assign",
        values='{"orders":[0,1]}',
        meaning="partitions by topic",
        tables=_OF_ANY_TOPIC,
        parse=_as("assign", values.assignment),
    ),
    Option(
        name="partitions",
        values="0,3,5-7",
        meaning="partitions by number",
        tables=_ALL,
        parse=_as("partitions", values.numbers),
    ),
    Option(
        name="brokers",
        values="1,2",
        meaning="brokers by node id",
        tables=_ALL,
        parse=_as("brokers", values.numbers),
    ),
    Option(
        name="internal",
        values="true false",
        meaning="internal topics too; by default only of tables other than records, or where they are named",
        tables=_OF_ANY_TOPIC,
        parse=_as("internal", values.flag),
    ),
    Option(
        name="offsets",
        values="A..B",
        meaning="offsets, both ends included; either may be left out",
        tables=_RANGED,
        parse=_offsets,
    ),
    Option(
        name="since",
        values="an instant",
        meaning="not older: 2026-11-21T10:00:00Z, or milliseconds since the epoch; "
        "of batches those that have such a record",
        tables=_RANGED,
        parse=_as("since", values.instant),
    ),
    Option(
        name="until",
        values="an instant",
        meaning="not younger; the instant itself included",
        tables=_CONSUMED,
        parse=_as("until", values.instant),
    ),
    Option(
        name="startingOffsets",
        values='earliest or {"orders":{"0":23,"1":-2}}',
        meaning="as in Spark: where to begin; every partition must be named, -2 is the earliest",
        tables=_RECORDS,
        parse=_as("starting_offsets", values.starting_offsets),
    ),
    Option(
        name="endingOffsets",
        values='latest or {"orders":{"0":50,"1":-1}}',
        meaning="as in Spark: where to end, itself not included; every partition must be named, "
        "-1 is the latest",
        tables=_RECORDS,
        parse=_as("ending_offsets", values.ending_offsets),
    ),
    Option(
        name="startingTimestamp",
        values="milliseconds",
        meaning="as in Spark: begin at the first offset with such a time or a later one; wins over "
        "startingOffsets",
        tables=_RECORDS,
        parse=_as("starting_timestamp", values.integer),
    ),
    Option(
        name="endingTimestamp",
        values="milliseconds",
        meaning="as in Spark: end before the first offset with such a time or a later one; wins over "
        "endingOffsets",
        tables=_RECORDS,
        parse=_as("ending_timestamp", values.integer),
    ),
    Option(
        name="replicas",
        values="best all",
        meaning="one row a record (the default), or one a replica, then with broker and dir",
        tables=_CONSUMED,
        parse=_choice("replicas", "best", "all"),
    ),
    Option(
        name="isolation",
        values=" ".join(_ISOLATION),
        meaning="with read_committed no records of aborted transactions, nor any from the first open one on",
        tables=_CONSUMED,
        parse=_choice("isolation", *_ISOLATION),
    ),
    Option(
        name="kafka.isolation.level",
        values=" ".join(_ISOLATION),
        meaning="the same by Spark's name",
        tables=_CONSUMED,
        parse=_choice("isolation", *_ISOLATION),
    ),
    Option(
        name="mode",
        values=" ".join(MODES),
        meaning="of damage: PERMISSIVE (the default) gives the sound records, a row with `_damage` for each "
        "damaged place if that column is asked for, and a warning; DROPMALFORMED the sound records; "
        "FAILFAST an error",
        tables=_CONSUMED,
        parse=_choice("mode", *MODES),
    ),
    Option(
        name="includeHeaders",
        values="true false",
        meaning="the column headers, as Spark's own",
        tables=_RECORDS,
        parse=_as("include_headers", values.flag),
    ),
    Option(
        name="aged",
        values="true false",
        meaning="also records below the log start offset",
        tables=_CONSUMED,
        parse=_as("aged", values.flag),
    ),
    Option(
        name="crc",
        values="true false",
        meaning="compute checksums; by default only of records and damage",
        tables=_RANGED | _CHECKED,
        parse=_as("crc", values.flag),
    ),
    Option(
        name="level",
        values=" ".join(_LEVELS),
        meaning="how closely to look",
        tables=_CHECKED,
        parse=lambda text: {"level": _LEVELS[values.choice(text, tuple(_LEVELS))]},
    ),
    Option(
        name="splitBytes",
        values="a number",
        meaning="bytes of one task; by default chosen from the whole",
        tables=_ALL,
        parse=_as("split_bytes", values.positive),
    ),
    Option(
        name="minPartitions",
        values="a number",
        meaning="at least so many tasks, where there are as many batches",
        tables=_RANGED,
        parse=_as("min_partitions", values.positive),
    ),
)
"""Every option there is."""

_BY_NAME: Final = {option.name.lower(): option for option in OPTIONS}
_ONE_OF: Final = ("topics", "subscribe", "subscribepattern", "assign")


def parse_options(given: Mapping[str, str]) -> Options:
    """The options by their names, in any case as Spark hands them over; UsageError for what is none of them.

    `path` and `paths` are the caller's and passed over.
    """
    mine = {
        name.lower(): (name, text) for name, text in given.items() if name.lower() not in ("path", "paths")
    }
    parsed: dict[str, Any] = {}
    for key, (name, text) in mine.items():
        if key not in _BY_NAME:
            known = ", ".join(sorted(option.name for option in OPTIONS))
            raise UsageError(f"kafka-log has no option {name}; it has {known}")
        try:
            parsed |= _BY_NAME[key].parse(text.strip())
        except ValueError as error:
            raise UsageError(f"option {name}: {error}") from None
    options = Options(**parsed)
    if options.table not in TABLES:
        raise UsageError(f"there is no table {options.table}; there are {', '.join(TABLES)}")
    for key, (name, _) in mine.items():
        _known_to_table(_BY_NAME[key], name, options.table)
    _one_choice_of_topics([name for key, (name, _) in mine.items() if key in _ONE_OF])
    if options.since is not None and options.until is not None and options.since > options.until:
        raise UsageError("option since: it is later than until")
    return options


def _known_to_table(option: Option, name: str, table: str) -> None:
    if table not in option.tables:
        tables = ", ".join(name for name in TABLES if name in option.tables)
        raise UsageError(f"the table {table} has no option {name}; it is one of {tables}")


def _one_choice_of_topics(names: list[str]) -> None:
    if len(names) > 1:
        raise UsageError(f"of the options {', '.join(names)} only one can be given")
