"""Options say what is read; what is none of them is named in one line."""

import argparse
import random
from collections.abc import Callable

import pytest
from tests.cli.run import run
from tests.seeds import SEED, sampled

from segmend.checks import Level
from segmend.cli.moment import moment
from segmend.errors import UsageError
from segmend.explain.timestamp_units import now_ms, other_unit
from segmend.fleet.options import OPTIONS, parse_options
from segmend.fleet.schemas import KAFKA_RECORD, KAFKA_RECORD_WITH_HEADERS, TABLES


def test_the_default_is_what_kafka_gives() -> None:
    assert parse_options({}).schema == KAFKA_RECORD
    assert parse_options({"includeHeaders": "true"}).schema == KAFKA_RECORD_WITH_HEADERS


def test_columns_come_in_the_order_asked_for() -> None:
    assert parse_options({"columns": "offset, topic"}).schema.names == ["offset", "topic"]


@pytest.mark.parametrize("table", TABLES)
def test_every_table_is_known(table: str) -> None:
    assert parse_options({"table": table.upper()}).table == table


def test_values() -> None:
    options = parse_options(
        {
            "path": "/x", "topics": "orders*, clicks", "partitions": "0,3-5", "brokers": "1",
            "offsets": "10..",
            "since": "2026-11-21T10:00:00Z", "until": "1795266911544", "CRC": "true",
            "splitBytes": "65536", "aged": "true",
        }
    )  # fmt: skip
    assert options.topics == ("orders*", "clicks")
    assert options.partitions == {0, 3, 4, 5}
    assert (options.low, options.high) == (10, None)
    assert (options.since, options.until) == (1795255200000, 1795266911544)
    assert (options.crc, options.split_bytes, options.aged) == (True, 65536, True)
    assert parse_options({"table": "findings", "level": "deep"}).level is Level.DEEP


@pytest.mark.parametrize(
    ("broker", "topic", "partition", "wanted"),
    [(1, "orders-x", 0, True), (2, "orders-x", 0, False), (1, "other", 0, False), (1, "orders", 9, False)],
)
def test_wants(broker: int, topic: str, partition: int, wanted: bool) -> None:
    options = parse_options({"brokers": "1", "topics": "orders*", "partitions": "0-3"})
    assert options.wants(broker, topic, partition) is wanted


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize(
    "text", ["", "yesterday", "-1", "1e3", "2026-13-01", "2026-11-21T25:00", "9999999999999999999", "\0", "٣"]
)
def test_a_bad_instant_is_told_with_what_would_be_one(name: str, text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_options({name: text})
    assert str(error.value).startswith(f"option {name}: '{text.strip()}' is no time such as 2026-11-21, ")


def test_each_instant_that_is_named_as_a_form_is_one() -> None:
    with pytest.raises(UsageError) as error:
        parse_options({"since": "yesterday"})
    *forms, last = str(error.value).partition("such as ")[2].replace(" or ", ", ").split(", ")
    read = [parse_options({"since": form.removesuffix(" (ms)")}).since for form in forms]
    assert read == [1795219200000, *[1795255200000] * 3]
    ago = parse_options({"since": last}).since or 0
    assert 0 <= now_ms() - 86_400_000 - ago < 60_000


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        ("20261121", "a date"), ("2026", "a date"), ("202611", "a date"), ("20261121100000", "a date"),
        ("1795255200", "seconds"), ("1795255200000000", "microseconds"),
        ("1795255200000000000", "nanoseconds"),
    ],
)  # fmt: skip
def test_a_number_that_may_be_something_else_is_refused_everywhere(text: str, looks: str) -> None:
    """One meaning: as an option, and on every command line."""
    words = f"'{text}' looks like {looks}: it is no time such as 2026-11-21, "
    with pytest.raises(UsageError, match=f"option since: {words}"):
        parse_options({"since": text})
    for command in (("show", "x", "--records"), ("rescue", "x", "--out", "y", "--as", "jsonl")):
        told = run(*command, "--since", text, code=16)
        assert words in told.err


@pytest.mark.parametrize("number", range(sampled(400, 100)))
def test_all_who_take_a_time_read_it_alike(number: int) -> None:
    draw = random.Random(SEED * 1000 + number)
    digits = "".join(draw.choices("0123456789", k=draw.randint(1, 20)))
    text = draw.choice(
        [digits, f"-{digits[:4]}d", f"{digits[:4]}-11-21T10:00", str(draw.randrange(4 * 10**12))]
    )

    def read(take: Callable[[str], object]) -> object:
        try:
            return take(text)
        except (UsageError, argparse.ArgumentTypeError) as error:
            return str(error).removeprefix("option since: ")

    as_option, as_argument = read(lambda each: parse_options({"since": each}).since), read(moment)
    if isinstance(as_option, int) and isinstance(as_argument, int):
        assert 0 <= as_argument - as_option < 60_000
        if text.isdecimal():
            assert as_option == int(text)
            assert other_unit(as_option) is None
    else:
        assert as_option == as_argument
        assert "such as 2026-11-21" in str(as_option)


@pytest.mark.parametrize("pattern", [r"\p{Alpha}+", r"\Qa.b\E", "[a-z&&[^b]]+"])
def test_a_pattern_of_java_s_alone_is_not_called_no_pattern(pattern: str) -> None:
    """It works in Spark: who is told that it is wrong looks in the wrong place."""
    with pytest.raises(UsageError, match="no regular expression that is Python's, too: ") as error:
        parse_options({"subscribePattern": pattern})
    assert "\n" not in str(error.value)
    (meaning,) = [each.meaning for each in OPTIONS if each.name == "subscribePattern"]
    assert "refused" in meaning


@pytest.mark.parametrize(
    "given",
    [
        {"tabel": "records"}, {"table": "recrods"}, {"columns": "offset,nope"}, {"partitions": "x"},
        {"partitions": "0-99999999"}, {"offsets": "9..5"}, {"since": "yesterday"}, {"crc": "maybe"},
        {"level": "very"}, {"splitbytes": "-1"}, {"partitions": "٣"}, {"partitions": "7-3"},
        {"topics": ""}, {"topics": " , "}, {"subscribe": ","}, {"brokers": ""}, {"config": ""},
        {"assign": "{}"}, {"assign": '{"orders":[]}'}, {"assign": "[" * 100_000}, {"subscribePattern": ""},
        {"columns": "offset,offset"},
        {"subscribePattern": "[a-z&&[^b]]+"},
        {"isolation": "read_committed", "kafka.isolation.level": "read_uncommitted"},
        {"crc": "may\nbe"}, {"since": "a\nday"}, {"startingOffsets": "[\n]"}, {"offsets": "1\n..2"},
    ],
)  # fmt: skip
def test_nonsense_is_one_line(given: dict[str, str]) -> None:
    """Also what names nothing: to a script whose variable is empty, all there is would be the wrong rows."""
    with pytest.raises(UsageError) as error:
        _ = parse_options(given).schema
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize("bad", ["{}", "nonsense", "latest", "earliest", '{"t":{"0":-7}}'])
@pytest.mark.parametrize("end", ["starting", "ending"])
def test_what_a_time_wins_over_is_not_even_read(bad: str, end: str) -> None:
    """As by Spark's source (`KafkaSourceProvider.getKafkaOffsetRangeLimit`)."""
    by_partition = {f"{end}OffsetsByTimestamp": '{"t":{"0":8}}'}
    for given in (by_partition, {f"{end}Timestamp": "5"}):
        assert parse_options({**given, f"{end}Offsets": bad}) == parse_options(given)
    for_all = {f"{end}Timestamp": "5"}
    assert parse_options(for_all | {f"{end}OffsetsByTimestamp": bad}) == parse_options(for_all)
    with pytest.raises(UsageError, match="no option"):
        parse_options({"table": "segments", **for_all})


@pytest.mark.parametrize("text", ["-1", "1,x-", "5-", "1..3"])
def test_what_is_no_number_is_told_as_it_was_written(text: str) -> None:
    part = text.split(",")[-1]
    with pytest.raises(UsageError, match=f"option brokers: '{part}' is neither a number nor a range"):
        parse_options({"brokers": text})
