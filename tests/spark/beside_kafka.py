"""`python -m tests.spark.beside_kafka --seed N --count N`: options drawn, our rows and spark-sql-kafka's.

On the golden topics of a live broker: one line for each read whose rows differ, or that only one refuses.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.connector import connector
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from tests.golden import story
from tests.lab.cluster import Cluster
from tests.spark.standalone import MASTERS, master, quiet_session

Partitions = Mapping[tuple[str, int], Sequence[int]]
"""Topic and partition to the offsets that are there."""

_PATIENCE = {"kafkaConsumer.pollTimeoutMs": "5000"}
"""Milliseconds that Spark waits for what is behind the end; two minutes if nothing is said."""


def _of_single(*inner: object) -> list[str]:
    return [f'{{"single":{{{each}}}}}' for each in inner]


_OFFSETS = (
    "{}", " {} ", "nonsense", "latest", "EARLIEST", "", "null", "[]", "0", '{"nowhere":{"0":1}}',
    '{"single":null}', '{"single":[5]}', '{"single":{"0":5},}', '{"single":{"0":5},"nowhere":{}}',
    "{'single':{'0':5}}", '{"single":{"0":5},"single":{"0":7}}',
    *_of_single(
        "", '"0":-1', '"0":-2', '"0":-3', '"0":"5"', '"0":true', '"0":9223372036854775808', '"00":5',
        '"+0":5', '"-0":5', '" 0":5', '"x":5', '"0":5,"9":5', '"0":5,"-1":5', '"0":5,"0":7', "0:5",
    ),
)  # fmt: skip
_LOOSE_OFFSETS = ('{"single":{"0":5}} {}', *_of_single('"0":5.0', '"0":5.7', '"0":1e1', '"0":null'))
_TIMES = (
    "{}", "nonsense", "", "latest", "7", '{"nowhere":{"0":7}}',
    *_of_single("", *(f'"0":{time}' for time in (-1, -2, -6, 0, '"7"', 1 << 62, 1 << 63, '9,"9":7'))),
)  # fmt: skip
_LOOSE_TIMES = _of_single('"0":7.5', '"0":1e1', '"0":null')
_TIME = (
    *(
        "0",
        " 7 ",
        "-1",
        "-2",
        "-6",
        "+7",
        "-0",
        "007",
        "\N{ARABIC-INDIC DIGIT SEVEN}",
        str(1 << 62),
        str(1 << 63),
    ),
    *("", "now", "7.0", "1e1", "0x7"),
)
ODD: Mapping[str, Sequence[str]] = {
    "startingOffsets": _OFFSETS,
    "endingOffsets": _OFFSETS,
    "startingTimestamp": _TIME,
    "endingTimestamp": _TIME,
    "startingOffsetsByTimestamp": _TIMES,
    "endingOffsetsByTimestamp": _TIMES,
    "minPartitions": ("0", "-1", "x", "", "+3", "3.0"),
    "maxOffsetsPerTrigger": ("3",),
    "failOnDataLoss": ("TRUE", "no", ""),
    "startingOffsetsByTimestampStrategy": ("LATEST", "earliest", ""),
    "includeHeaders": ("True", "no", ""),
    "kafka.isolation.level": (" read_committed ", "serializable", ""),
    "subscribe": (
        "single", "nowhere", " ", "", ",", "single,", ",single", "single,single",
        " single , plain-v2 ", "Single",
    ),
    "subscribePattern": ("single", "", " ", "(", "single|", "(?i)SINGLE", " single "),
    "assign": (
        "", "single", '{"nowhere":[0]}', *(f'{{"single":{each}}}' for each in ("[0]", "0", '["0"]', "[0,0]")),
    ),
}  # fmt: skip
"""What few say: values that make no sense, and a second choice of topics; Spark takes some of them."""
OTHERWISE: Mapping[str, Sequence[str]] = {
    # Refused here: fractions, null for 0, text behind the JSON, no partition, what a batch does not look at.
    **dict.fromkeys(("startingOffsets", "endingOffsets"), _LOOSE_OFFSETS),
    **dict.fromkeys(("startingOffsetsByTimestamp", "endingOffsetsByTimestamp"), _LOOSE_TIMES),
    "maxOffsetsPerTrigger": ("0", "-1", "x", ""),
    "assign": ("{}", '{"single":[0]} x', *(f'{{"single":[{each}]}}' for each in ("", "9", "0.0", "-1"))),
    # Taken here: blanks around a word, capitals, and more tasks than an Int counts.
    "minPartitions": (" 3 ", str(1 << 31)),
    "failOnDataLoss": (" true ",),
    "includeHeaders": (" true ",),
    "startingOffsetsByTimestampStrategy": (" latest ",),
    "kafka.isolation.level": ("READ_COMMITTED",),
    # No row and no word would hide a slip; without failOnDataLoss it is a warning.
    "subscribePattern": ("nowhere.+",),
}
"""Where we differ on purpose: values that one side refuses."""


def draw(random_: random.Random, there: Partitions, times: Sequence[int]) -> dict[str, str]:
    """Options of one read."""
    wanted, options = _topics(random_, there)
    for name, time, other in (
        ("startingOffsets", "startingTimestamp", -2), ("endingOffsets", "endingTimestamp", -1),
    ):  # fmt: skip
        if random_.random() < 0.4 and wanted:
            options[name] = json.dumps(_offsets(random_, there, wanted, other))
        elif random_.random() < 0.2:
            options[name] = "earliest" if other == -2 else "latest"
        if random_.random() < 0.15:
            options[time] = str(_time(random_, times))
        if random_.random() < 0.2 and wanted:
            when: dict[str, dict[str, int]] = {}
            for topic, partition in wanted:
                when.setdefault(topic, {})[str(partition)] = _time(random_, times)
            options[f"{name}ByTimestamp"] = json.dumps(when)
    for name, values in (
        ("startingOffsetsByTimestampStrategy", ("latest", "latest", "error")),
        ("kafka.isolation.level", ("read_committed", "read_uncommitted")), ("includeHeaders", ("true",)),
        ("minPartitions", ("1", "2", "3", "17", "40", "200")), ("failOnDataLoss", ("true", "false")),
    ):  # fmt: skip
        if random_.random() < 0.35:
            options[name] = random_.choice(values)
    if random_.random() < 0.2:
        name = random_.choice(sorted(ODD))
        options[name] = random_.choice(ODD[name])
    return options


def _time(random_: random.Random, times: Sequence[int]) -> int:
    """That of a record or beside it; seldom what stands for the beginning or the end of a log."""
    near = random_.choice(times) + random_.choice((-1, 0, 0, 1))
    return random_.choice((-1, -2)) if random_.random() < 0.1 else near


def each_odd() -> Iterator[dict[str, str]]:
    """Each odd value by itself, of one topic if it does not choose the topics."""
    for name in ODD:
        others = {} if name in ("subscribe", "subscribePattern", "assign") else {"subscribe": "single"}
        for value in (*ODD[name], *OTHERWISE.get(name, ())):
            yield others | {name: value}


def _topics(random_: random.Random, there: Partitions) -> tuple[list[tuple[str, int]], dict[str, str]]:
    """The partitions of a read, and how they are said."""
    pick, topics, wanted = random_.choice, sorted({topic for topic, _ in there}), sorted(there)
    which = pick(("subscribe", "subscribePattern", "assign"))
    if which == "subscribe":
        some = random_.sample(topics, random_.randint(1, min(4, len(topics))))
        return [key for key in wanted if key[0] in some], {which: ",".join(some)}
    if which == "subscribePattern":
        ends = "|".join(map(re.escape, random_.sample(topics, 2)))
        pattern = pick((".*", f"{topics[0][:3]}.*", ends, f"^({ends})$", "[a-m].*", ".*-.*", "[0-9]$"))
        return [key for key in wanted if re.search(pattern, key[0])], {which: pattern}
    wanted = random_.sample(wanted, random_.randint(1, min(5, len(wanted))))
    named: dict[str, list[int]] = {}
    for topic, partition in wanted:
        named.setdefault(topic, []).append(partition)
    return wanted, {which: json.dumps(named)}


def _offsets(
    random_: random.Random, there: Partitions, wanted: Sequence[tuple[str, int]], other: int
) -> dict[str, dict[str, int]]:
    """Of each partition one, also deleted ones and such as are not there yet; seldom one too few or many."""
    offsets: dict[str, dict[str, int]] = {}
    for topic, partition in wanted:
        first, last = there[topic, partition][0], there[topic, partition][-1]
        middle = random_.randint(first, last)
        odd = random_.choice(((), (), (0, last + 2, first // 2)))
        places = (first, middle, middle, last, last + 1, other, other, *odd)
        offsets.setdefault(topic, {})[str(partition)] = random_.choice(places)
    if random_.random() < 0.08:
        offsets.pop(random_.choice(sorted(offsets)))
    elif random_.random() < 0.08:
        offsets.setdefault(sorted(offsets)[0], {})["7"] = 3
    return offsets


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    """In the order of offsets."""
    found: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return sorted(found, key=lambda row: (row["topic"], row["partition"], row["offset"]))


def apart(mine: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> str:
    """The partitions that differ: rows, and the first and last offset, on either side."""
    sides: list[dict[str, list[int]]] = [{}, {}]
    for side, found in zip(sides, (mine, theirs), strict=True):
        for row in found:
            side.setdefault(f"{row['topic']}-{row['partition']}", []).append(row["offset"])
    told = {
        name: [(len(at), at[0], at[-1]) if (at := side.get(name)) else 0 for side in sides]
        for name in sorted({*sides[0], *sides[1]})
        if sides[0].get(name) != sides[1].get(name)
    }
    return str(told or "other columns than offset")


def main(words: list[str]) -> int:
    """The number of reads that differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--odd", action="store_true", help="each odd value once, and nothing drawn")
    parser.add_argument("--on", choices=MASTERS, default=MASTERS[0], help="where Spark runs")
    given = parser.parse_args(words)
    with (
        tempfile.TemporaryDirectory() as root,
        tempfile.TemporaryDirectory() as home,
        Cluster("4.3.1", Path(root)) as cluster,
        master(given.on, Path(home), **{"spark.jars": connector()}) as url,
    ):
        cluster.start()
        story.first_life(cluster)
        spark = quiet_session(url)
        dirs = sorted(map(str, Path(root).glob("b*/d*")))
        ours = spark.read.format("kafka-log").option("columns", "topic,partition,offset,timestamp").load(dirs)
        there: dict[tuple[str, int], list[int]] = {}
        for row in rows(ours):
            there.setdefault((row["topic"], row["partition"]), []).append(row["offset"])
        times = [int(row["timestamp"].timestamp() * 1000) for row in rows(ours)]
        random_, differ = random.Random(given.seed), 0
        drawn = [draw(random_, there, times) for _ in range(given.count)]
        asked = [*each_odd()] if given.odd else drawn
        for options in asked:
            # A batch of ours fails over it only if that is said (`mode` is how else it is told).
            loss = {"failOnDataLoss": "true"} | options
            reads = (
                spark.read.format("kafka-log").options(**loss),
                spark.read.format("kafka").options(
                    **options, **{"kafka.bootstrap.servers": cluster.bootstrap, **_PATIENCE}
                ),
            )
            told: list[list[dict[str, Any]] | str] = []
            for reader, paths in zip(reads, (dirs, None), strict=True):
                try:
                    told.append(rows(reader.load(paths)))
                except (PySparkException, Py4JJavaError) as error:
                    told.append(str(error))
            mine, theirs = told
            # Over that Spark throws whatever is said of loss; here `mode` and `failOnDataLoss` say it.
            if isinstance(theirs, str) and "The resolved start offset" in theirs:
                continue
            otherwise = any(value in OTHERWISE.get(name, ()) for name, value in options.items())
            refused = isinstance(mine, str), isinstance(theirs, str)
            if refused[0] == refused[1] if otherwise else mine != theirs and not all(refused):
                differ += 1
                said = [
                    each.partition("\n")[0] if isinstance(each, str) else f"{len(each)} rows" for each in told
                ]
                where = "" if isinstance(mine, str) or isinstance(theirs, str) else f" {apart(mine, theirs)}"
                print(f"{json.dumps(options)}: ours {said[0]}; Spark's {said[1]}{where}", flush=True)
        print(f"seed {given.seed}: {len(asked)} reads, {differ} differ")
        spark.stop()
    return min(differ, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
