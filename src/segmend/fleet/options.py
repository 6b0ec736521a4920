"""The options of a read: which table, which columns, which part of the fleet.

They are also the only push-down there is. A predicate on the DataFrame is applied by Spark
after the reading; an option spares the reading itself. `OPTIONS` lists them, each with the
tables that know it: for any other table it is an error, never ignored.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import pyarrow as pa

from segmend.checks import Level
from segmend.errors import UsageError
from segmend.explain.timestamp_units import FORMS, stated_ms
from segmend.fleet import option_values as values
from segmend.fleet.listing import Place
from segmend.fleet.option_values import TopicOffsets
from segmend.fleet.schemas import DECODED, KAFKA_RECORD, KAFKA_RECORD_WITH_HEADERS, RECORDS, TABLES
from segmend.formats.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from segmend.frozen import frozen, replace

PERMISSIVE, DROPMALFORMED, FAILFAST = "PERMISSIVE", "DROPMALFORMED", "FAILFAST"
FAIL_ON_LOSS: Final = "failOnDataLoss"
MODES: Final = (PERMISSIVE, DROPMALFORMED, FAILFAST)
DAMAGE_COLUMN: Final = "_damage"
INTERNAL_TOPICS: Final = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})

_LEVELS: Final = {level.name.lower(): level for level in Level}


@frozen
class ReadOptions:
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
    starting_offsets: TopicOffsets | None = ()
    ending_offsets: TopicOffsets | None = None
    """None where nothing is said, which is the latest."""
    starting_timestamp: int | None = None
    ending_timestamp: int | None = None
    starting_times: TopicOffsets = ()
    ending_times: TopicOffsets = ()
    unmatched_start: str = "error"
    replicas: str = "best"
    isolation: str = "read_uncommitted"
    mode: str = PERMISSIVE
    fail_on_data_loss: bool = False
    crc: bool | None = None
    level: Level = Level.DEFAULT
    split_bytes: int | None = None
    min_partitions: int = 1
    max_offsets_per_trigger: int | None = None
    include_headers: bool = False
    aged: bool = False
    config: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """What the read gives: `columns` of the table, or its default."""
        whole = TABLES[self.table]
        if self.include_headers and self.columns and "headers" not in self.columns:
            raise UsageError("option includeHeaders: the columns that are asked for leave headers out")
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
    def gone_mode(self) -> str:
        """The mode for what is not there any more, of which no reader of bytes can tell."""
        return FAIL_ON_LOSS if self.fail_on_data_loss else self.mode

    def start_time(self, key: tuple[str, int]) -> int | None:
        """The time (ms) at which a partition's records begin, by Spark's options; the one for all wins."""
        return (
            dict(self.starting_times).get(key) if self.starting_timestamp is None else self.starting_timestamp
        )

    def end_time(self, key: tuple[str, int]) -> int | None:
        """The same for where they end."""
        return dict(self.ending_times).get(key) if self.ending_timestamp is None else self.ending_timestamp

    @property
    def begins_by_time(self) -> bool:
        """Whether times say where to begin, so that nobody looks at `startingOffsets`."""
        return self.starting_timestamp is not None or bool(self.starting_times)

    @property
    def ends_by_time(self) -> bool:
        """The same for `endingOffsets`."""
        return self.ending_timestamp is not None or bool(self.ending_times)

    @property
    def consumes(self) -> bool:
        """Whether records are read as a consumer gets them, of each partition one replica's."""
        return self.table == "records" or self.table in DECODED

    def wants(self, broker: int, topic: str, partition: int) -> bool:
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
            # Regex.findFirstIn in SubscribePatternStrategy: Spark asks the whole name only with ^ and $.
            return re.search(self.subscribe_pattern, topic) is not None
        return not self.topics or any(fnmatch.fnmatchcase(topic, glob) for glob in self.topics)

    def nowhere(self, places: Iterable[Place], partitions: AbstractSet[tuple[str, int]]) -> Iterator[str]:
        """In words: what is named and not there, of the brokers of `places` or of the partitions wanted.

        A slip in a name would give fewer rows, or none, and no word; where it is a topic's, a broker throws
        (UnknownTopicOrPartitionException).
        """
        topics = {topic for topic, _ in partitions}
        unmatched = (glob for glob in self.topics if glob not in topics and not fnmatch.filter(topics, glob))
        pattern = () if self.subscribe_pattern is None or topics else (self.subscribe_pattern,)
        decoded = {DECODED[self.table]} if self.table in DECODED else set[str]()
        for name in (*unmatched, *sorted({*self.subscribe, *decoded} - topics), *pattern):
            yield f"{name}: on none of these log dirs; no row comes of it"
        for topic, partition in sorted(self.assign - partitions):
            yield f"{topic}-{partition}: on none of these log dirs; no row comes of it"
        for broker in sorted(self.brokers - {place.broker for place in places}):
            yield f"broker {broker}: has none of these log dirs; no row comes of it"
        if self.partitions and not partitions:
            yield "option partitions: there is none of these in the log dirs; no row comes of it"

    def without_patterns(self) -> ReadOptions:
        """The same, of topics only what names one: a pattern may well match nothing yet."""
        named = tuple(glob for glob in self.topics if not set(glob) & set("*?["))
        return replace(self, topics=named, subscribe_pattern=None)

    @property
    def chooses_topics(self) -> bool:
        """Whether only some partitions are asked for."""
        chosen = (self.topics, self.subscribe, self.subscribe_pattern, self.assign, self.partitions)
        return any(chosen)


@frozen
class ReadOption:
    """One option: how its value is written, what it means, which tables know it, and how it is read."""

    name: str
    values: str
    meaning: str
    tables: frozenset[str]
    parse: Callable[[str], Mapping[str, object]]


def _read(
    name: str, tables: frozenset[str], written: str, read: Callable[[str], object], meaning: str,
    field: str = "",
) -> ReadOption:  # fmt: skip
    """One that is read into the `field` of `ReadOptions`, called as it is if nothing else is said."""
    into = field or re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)
    return ReadOption(
        name=name, values=written, meaning=meaning, tables=tables, parse=lambda text: {into: read(text)}
    )


def _choice(
    name: str, tables: frozenset[str], words: Sequence[str], meaning: str, field: str = ""
) -> ReadOption:
    return _read(
        name, tables, " ".join(words), lambda text: values.choice(text, tuple(words)), meaning, field
    )


def _offsets(text: str) -> dict[str, int | None]:
    low, high = values.offset_range(text)
    return {"low": low, "high": high}


def _level(text: str) -> dict[str, Level]:
    return {"level": _LEVELS[values.choice(text, tuple(_LEVELS))]}


_ALL: Final = frozenset(TABLES)
_RECORDS: Final = frozenset({"records"})
_CONSUMED: Final = _RECORDS | frozenset(DECODED)
_RANGED: Final = _CONSUMED | {"batches"}
_OF_ANY_TOPIC: Final = _ALL - frozenset(DECODED)
_CHECKED: Final = frozenset({"partitions", "segments", "findings"})
_FLAG: Final = "true false"
_ISOLATION: Final = ("read_uncommitted", "read_committed")

OPTIONS: Final = (
    _read("table", _ALL, " ".join(TABLES), str.lower, "which table; the default is records"),
    _read("columns", _ALL, "a,b,c", values.columns,
     "columns of the table, in this order; what no column needs is not read or decompressed"),
    _read("topics", _OF_ANY_TOPIC, "glob,glob", values.names, "topics by name, with * and ?"),
    _read("subscribe", _OF_ANY_TOPIC, "a,b", values.names,
     "topics by their exact names; one that is on none of the log dirs is told as `mode` says"),
    _read("subscribePattern", _OF_ANY_TOPIC, "a regular expression", values.pattern,
     "as in Spark: topics in whose name it is found; ^ and $ stand for its ends. What only Java reads so "
     "(\\p{Alpha}, \\Q...\\E, [a-z&&[^b]]) is refused"),
    _read("assign", _OF_ANY_TOPIC, '{"orders":[0,1]}', values.assignment, "partitions by topic; the same"),
    _read("partitions", _ALL, "0,3,5-7", values.numbers, "partitions by number"),
    _read("brokers", _ALL, "1,2", values.numbers, "brokers by node id"),
    _read("internal", _OF_ANY_TOPIC, _FLAG, values.flag,
     "internal topics too; by default only of tables other than records, or where they are named"),
    ReadOption(name="offsets", tables=_RANGED, values="A..B", parse=_offsets,
     meaning="offsets, both ends included; either may be left out"),
    _read("since", _RANGED, "a time", stated_ms,
     f"not older: {FORMS}; of batches those that have such a record"),
    _read("until", _CONSUMED, "a time", stated_ms, "not younger; the instant itself included"),
    _read("startingOffsets", _RECORDS, 'earliest, latest or {"orders":{"0":23,"1":-2}}',
     values.starting_offsets,
     "as in Spark: where to begin; every partition must be named, -2 is the earliest; latest, and -1, is for "
     "streams, whose default it is. One behind the end, over which Spark throws, is told as `mode` says"),
    _read("endingOffsets", _RECORDS, 'latest or {"orders":{"0":50,"1":-1}}', values.ending_offsets,
     "as in Spark: where to end, itself not included; every partition must be named, -1 is the latest"),
    _read("startingTimestamp", _RECORDS, "milliseconds", values.time,
     "as in Spark: begin at the first offset with such a time or a later one, with -2 at the earliest, -1 at "
     "the latest; wins over startingOffsets"),
    _read("endingTimestamp", _RECORDS, "milliseconds", values.time,
     "as in Spark: end before the first offset with such a time or a later one, with -1 at the latest; wins "
     "over endingOffsets"),
    _read("startingOffsetsByTimestamp", _RECORDS, '{"orders":{"0":1795255200000}}', values.times,
     "as in Spark: the same by partition; every one must be named; wins over startingOffsets",
     "starting_times"),
    _read("endingOffsetsByTimestamp", _RECORDS, '{"orders":{"0":1795255200000}}', values.times,
     "as in Spark: the same by partition; every one must be named; wins over endingOffsets", "ending_times"),
    _choice("startingOffsetsByTimestampStrategy", _RECORDS, ("error", "latest"),
     "as in Spark: of a partition without such a record; the default is an error, latest begins at its end",
     "unmatched_start"),
    _choice("replicas", _CONSUMED, ("best", "all"),
     "one row a record (the default), or one a replica, then with broker and dir"),
    _choice("isolation", _CONSUMED, _ISOLATION,
     "with read_committed no records of aborted transactions, nor any from the first open one or the end of "
     "the log on, as it is at the plan; nor of those that lost markers leave open, told by `mode` as damage"),
    _choice("kafka.isolation.level", _CONSUMED, _ISOLATION, "the same by Spark's name", "isolation"),
    _choice("mode", _CONSUMED, MODES,
     "of damage: PERMISSIVE (the default) gives the sound records, a row with `_damage` for each damaged "
     "place if that column is asked for, and a warning (see above); DROPMALFORMED the sound records; "
     "FAILFAST an error"),
    _read(FAIL_ON_LOSS, _RECORDS, _FLAG, values.flag,
     "as in Spark: fail where offsets that are asked for are not there any more; the default of streams, "
     "otherwise `mode` says how that is told"),
    _read("maxOffsetsPerTrigger", _RECORDS, "a number", values.positive,
     "as in Spark: of streams, at most so many offsets a batch, shared out by what each partition has left "
     "(Spark 4.2 and later); of a batch read a warning, for all is read"),
    _read("includeHeaders", _RECORDS, _FLAG, values.flag, "the column headers, as Spark's own"),
    _read("aged", _CONSUMED, _FLAG, values.flag, "also records below the log start offset"),
    _read("config", _CONSUMED | {"damage"}, "file,file", values.names,
     "server.properties of brokers: log.cleanup.policy counts where a topic has none of its own"),
    _read("crc", _RANGED | _CHECKED, _FLAG, values.flag,
     "compute checksums; by default only of records and damage"),
    ReadOption(name="level", tables=_CHECKED, values=" ".join(_LEVELS), parse=_level,
     meaning="how closely to look"),
    _read("splitBytes", _ALL, "a number", values.positive,
     "bytes of one task; by default chosen from the whole"),
    _read("minPartitions", _RANGED, "a number", values.positive,
     "at least so many tasks, where there are as many batches"),
)  # fmt: skip
"""Every option there is."""

_BY_NAME: Final = {option.name.lower(): option for option in OPTIONS}
_LONGEST: Final = 400
"""Characters of a line about a value, which may be the assignment of a whole fleet."""
_WINS_OVER: Final = {
    "startingtimestamp": ("startingoffsetsbytimestamp", "startingoffsets"),
    "startingoffsetsbytimestamp": ("startingoffsets",),
    "endingtimestamp": ("endingoffsetsbytimestamp", "endingoffsets"),
    "endingoffsetsbytimestamp": ("endingoffsets",),
}
"""Of these Spark does not even read the values (`KafkaSourceProvider.getKafkaOffsetRangeLimit`)."""
_ONE_OF: Final = ("topics", "subscribe", "subscribepattern", "assign")


def parse_options(given: Mapping[str, str]) -> ReadOptions:
    """The options by their names, in any case as Spark hands them over; UsageError for what is none of them.

    `path` and `paths` are the caller's and passed over.
    """
    mine = {
        name.lower(): (name, text) for name, text in given.items() if name.lower() not in ("path", "paths")
    }
    parsed: dict[str, Any] = {}  # each value is of its field: its option parsed it
    lost = {loser for winner in mine for loser in _WINS_OVER.get(winner, ())}
    for key, (name, text) in mine.items():
        if key not in _BY_NAME:
            known = ", ".join(sorted(option.name for option in OPTIONS))
            raise UsageError(f"kafka-log has no option {name}; it has {known}")
        if key in lost:
            continue
        try:
            read = _BY_NAME[key].parse(text.strip())
        except ValueError as error:
            in_a_line = " ".join(str(error).split())
            if len(in_a_line) > _LONGEST:  # what is wrong stands behind the value
                in_a_line = f"{in_a_line[: _LONGEST // 2]} ... {in_a_line[-_LONGEST // 2 :]}"
            raise UsageError(f"option {_BY_NAME[key].name}: {in_a_line}") from None
        if any(parsed.get(field, value) != value for field, value in read.items()):
            raise UsageError(f"option {_BY_NAME[key].name}: another option says something else")
        parsed |= read
    options = ReadOptions(**parsed)
    if options.table not in TABLES:
        raise UsageError(f"there is no table {options.table}; there are {', '.join(TABLES)}")
    for key in mine:
        _known_to_table(_BY_NAME[key], options.table)
    _one_choice_of_topics([_BY_NAME[key].name for key in mine if key in _ONE_OF])
    if options.since is not None and options.until is not None and options.since > options.until:
        raise UsageError("option since: it is later than until")
    return options


def _known_to_table(option: ReadOption, table: str) -> None:
    if table not in option.tables:
        tables = ", ".join(name for name in TABLES if name in option.tables)
        raise UsageError(f"the table {table} has no option {option.name}; it is one of {tables}")


def _one_choice_of_topics(names: list[str]) -> None:
    if len(names) > 1:
        raise UsageError(f"of the options {', '.join(names)} only one can be given")
