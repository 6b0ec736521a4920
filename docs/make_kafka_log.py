"""Write docs/kafka-log.md: every option, table, column and type, of audits and rescues too, out of the code.

    python docs/make_kafka_log.py

A column's note is the comment beside it in `segmend/fleet/schemas.py` or `segmend/rescue/arrow_rows.py`;
tests/fleet/test_page.py holds the page to the code.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pyarrow as pa

from segmend.fleet import merge_schemas, schemas, summary
from segmend.fleet.options import OPTIONS
from segmend.fleet.schemas import ABOUT, ABOUT_AUDIT, STORED, SUMMARY_KEYS, TABLES
from segmend.fleet.summary import SUMMARY
from segmend.kernel import arrow
from segmend.rescue import arrow_rows
from segmend.rescue.decoding import columns

PAGE = Path(__file__).parent / "kafka-log.md"
HEAD = """\
# The data source `kafka-log`

Made by `docs/make_kafka_log.py` out of the code.

```python
import segmend.spark

spark = segmend.spark.session()  # or any session; see "From Spark" in the README
spark.read.format("kafka-log").option("offsets", "1000..2000").load("/brokers/*/data")
spark.read.format("kafka-log").option("table", "segments").load(["/b1/data", "/b2/data"])
segmend.spark.summarize(spark, "/brokers/*/data", by=["topic", "day"])
```

**Say by options what you want.** No release of Spark up to 4.3 tells a Python data source which columns
a query needs, and with pushed filters it gives wrong rows in silence: a `where` or `select` behind
`load` is applied to rows that were read already. `columns`, `offsets`, `since`, `topics` spare the
reading itself; for `key_size` and `value_size` no key or value is copied or travels, though the task reads
the batches, and decompresses what is compressed; where all columns asked for are ones that batch headers
tell (`offset`, `timestampType`, `leader_epoch`, `producer_id`, `position`, ...), nothing is decompressed.
Counts, bytes and bounds are `segmend.spark.summarize(...)`: aggregates that run in the tasks, out of batch
headers. All records into a table are `segmend fleet export`, whose tasks write the files: behind `load` every
row goes through Spark's own writer, and most of what it takes to Parquet remains where rows cost nothing to
read: 7 of 8 parts of the CPU with 1 KiB records, and of small ones in lz4 nearly all of the time, so that 2.2
times as fast as spark-sql-kafka is what there is to be had behind `load` (`python -m bench connector`).
`segmend.spark.scan(spark, segments, paths)` reads the segments that a query over the
table `segments` has left.

A path that is not absolute begins where Spark was started, as for Spark's own sources, wherever a notebook
has gone since.

In SQL it is a view:
``CREATE TEMPORARY VIEW logs USING `kafka-log` OPTIONS (path '/brokers/*/data', topics 'orders')``.
`CREATE TABLE` is refused, for Spark hands none of a table's options on to who reads it.

`spark.readStream` has offsets as Spark's own source has them, without leader epochs: a partition that ends
before the offset that was reached, begins behind it, or is gone, fails the query (`failOnDataLoss`), or is a
warning, and the query goes on. Spark's source does not notice a topic that was made anew and grew past that
offset; here its topic id tells it, which stands in a checkpoint as `"topic:id": {}`, which Spark's own source
reads as nothing. One that was cut and grew so, or has no id (before Kafka 2.8), is not told, as there.

With `replicas=best` a partition is read from the replica that has the newest leader epoch, then goes
furthest, then begins first; what is damaged there comes from another one of the same branch, and nothing
below the highest log start offset that a checkpoint of any of them has (`aged` gives it). That is not all of
`segmend explain merge`: sound bytes that differ are not compared, and what only another one still has of the
beginning is not read. `segmend.spark.merge` and `rescue` do both. Where replicas have different topic ids, as
after a topic was deleted and made anew while a broker was away, the read is refused as a rescue is: leave the
others out, or take `replicas=all`.

What a rescue would not give its all-clear for, and no byte of a log tells, is a warning, an error with
FAILFAST: that none of the brokers that were in sync has its replica here, or a checkpoint reaches further
than all that are; logs of names that no broker reads, and files that tell of a log which is gone; directories
that were set aside and may have more, links to nothing, and links to the directory of another partition (no
row comes of those). A stream tells it once, where it begins. Brokers of which no dir was given are not named.
Two doubts only a merge has: a read holds no keys of several replicas against each other, so it does not know
that the one it takes was compacted and lacks what may never have been deleted; and with `read_committed` it
ends in silence before the first transaction that is open, as a consumer does, where `rescue` gives what is
there and ends with 4 (its marker may be lost).

**What damage cost** is in three places. `.option("table", "damage")` has a row for each damaged place, and
reads the logs anew; the column `_damage`, if it is asked for, gives such rows among the records; and a read
with the default mode warns. In a session of `segmend.spark.session()`, which also takes one that is there,
the warning is written by the process that asked (logger `segmend.fleet`), once an action, with counts of
all its tasks: on `local`, on a cluster, and through Spark Connect. For that it has Spark keep what Python
logs in workers (`spark.sql.pyspark.worker.logging.enabled`): what your own functions log there is in
`spark.tvf.python_worker_logs()` then, and no longer on the workers' stderr. In any other session, and in a
stream, it is a line of each task in the logs of its worker only. Who stops early (`limit`) may not hear of
it at all. An executor that is lost within a second of the read takes with it what its tasks met; the warning
says so then, but not through Spark Connect.

Ranges `A..B` take both ends. Spark's own option names mean what they mean in Spark. Integers are Kafka's
own, with their unit in the name (`_ms`, `_bytes`); -1 is Kafka's "none", null is "the disk does not
say". Offsets are offsets, positions are bytes of the file.

## Options

An option that a table does not know is an error, as are two ways of choosing topics at once. Names are
taken in any case. What is wrong is said in one line of Spark's exception. A value of `None` never comes as
far: Spark itself ends by it, with a stack of Java's (`"str" is null`); leave that option out.

| option | value | meaning | tables |
|---|---|---|---|
"""
_COLUMN = re.compile(r'"(\w+)"(?:, .*\)|: .*),\s*# (.+)$')
_SHARED = 0
_NAMES = {
    pa.int32(): "int", pa.int64(): "bigint", pa.string(): "string", pa.binary(): "binary",
    pa.bool_(): "boolean", pa.float64(): "double", pa.date32(): "date",
}  # fmt: skip


def page() -> str:
    """The text of the page."""
    return (
        "\n".join([HEAD + "\n".join(_options()), *_tables(), *_summary(), *_merge(), *_audit(), *_rescued()])
        + "\n"
    )


def _options() -> Iterator[str]:
    for option in OPTIONS:
        every = len(option.tables) == len(TABLES)
        tables = "all" if every else ", ".join(name for name in TABLES if name in option.tables)
        values = option.values.replace("|", "\\|")
        yield f"| `{option.name}` | {values} | {option.meaning} | {tables} |"


def _tables() -> Iterator[str]:
    of_batches = (
        (name, note) for (mark, name), note in _notes(arrow).items() if mark == id(arrow.BATCH_SCHEMA)
    )
    notes = _notes(schemas) | {(id(schemas.BATCHES), name): note for name, note in of_batches}
    for name, schema in TABLES.items():
        yield f"\n## {name}\n\nOne row: {ABOUT[name]}.\n\n| column | type | |\n|---|---|---|"
        yield from _columns(schema, notes)


def _summary() -> Iterator[str]:
    yield "\n## summarize\n"
    yield '`segmend.spark.summarize(spark, paths, by=["topic", "partition"], **options)`; `by` may'
    yield "also name `day`, and has to name `cluster_id` beside topic or partition where there are several."
    yield "The times come as timestamps. The options are those of `records` but for columns, includeHeaders"
    yield "and crc: no checksum is computed."
    yield "\n| column | type | |\n|---|---|---|"
    yield from _columns(SUMMARY, _notes(summary))


_AUDIT = """
# The tables of an audit

`segmend fleet audit PATHS --out OUT` writes each as a Delta table `OUT/<name>`, with `run_id` in front of
each row, and `OUT/summary.json`, one object with {keys}.

As above, where anything is in them: {same}.
`segments` and `findings` have one column more, `carried_from`: the run that read the log (`--since-run`);
null is this one."""
_RESCUED = """
# The tables of rescue and export

Of `rescue --as parquet|delta` (jsonl and csv have the same names), `export` and those of the fleet. One row
is one record. Parquet has instants in milliseconds, Delta in microseconds. `export` is partitioned by `topic`
and `date`, the day of `timestamp` in UTC, null without one. `--decode` adds {decoded} (or `key_...`).

| column | type | |
|---|---|---|"""


def _merge() -> Iterator[str]:
    notes = _notes(merge_schemas)
    for title, about, wanted in (
        ("runs", "(spark, paths, topic=GLOB)`: a row a replica; reads every log", merge_schemas.SOUND_RUNS),
        (
            "merge",
            "(runs)`: what they make together, by the rule of `diff` and `rescue`. A log\n"
            "that is gone since `runs` read it is a row `doubt`; a directory that is gone ends the query",
            merge_schemas.MERGED_RANGES,
        ),
    ):
        yield f"\n## {title}\n\n`segmend.spark.{title}{about}.\n\n| column | type | |\n|---|---|---|"
        yield from _columns(wanted, notes)
    yield "\n`segmend.spark.rescue(spark, paths, topic=GLOB, isolation=...)` gives the records of that"
    yield "log, in the columns of the last table here."


def _audit() -> Iterator[str]:
    keys, same = (
        ", ".join(f"`{each}`" for each in names) for names in (SUMMARY_KEYS, filter(STORED.get, TABLES))
    )
    yield _AUDIT.format(keys=keys, same=same)
    notes = _notes(schemas)
    for name, about in ABOUT_AUDIT.items():
        yield f"\n## {name}\n\nOne row: {about}.\n\n| column | type | |\n|---|---|---|"
        yield from _columns(getattr(schemas, name.upper()), notes)


def _rescued() -> Iterator[str]:
    yield _RESCUED.format(decoded=", ".join(f"`{name}`" for name in columns(["value"])))
    wanted = arrow_rows.schema(pa.timestamp("us", tz="UTC"), salvage=True)
    yield from _columns(wanted, _notes(arrow_rows))


def _columns(schema: pa.Schema, notes: dict[tuple[int, str], str]) -> Iterator[str]:
    for field in schema:
        note = notes.get((id(schema), field.name), notes.get((_SHARED, field.name), ""))
        yield f"| `{field.name}` | {_type(field.type)} | {note.replace('|', '/')} |"


def _notes(module: ModuleType) -> dict[tuple[int, str], str]:
    """The comments beside columns, by the schema that they stand in; those of shared columns are for all."""
    text = inspect.getsource(module)
    lines, found = text.splitlines(), {}
    for node in ast.parse(text).body:
        target = node.target if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [None])[0]
        if isinstance(target, ast.Name):
            shared = target.id.startswith(("_", "KAFKA_RECORD"))
            mark = _SHARED if shared else id(getattr(module, target.id))
            matches = map(_COLUMN.search, lines[node.lineno - 1 : node.end_lineno])
            found |= {(mark, match[1]): match[2] for match in matches if match}
    return found


def _type(kind: pa.DataType) -> str:
    """As Spark SQL has it."""
    if pa.types.is_timestamp(kind):
        return "timestamp"
    if pa.types.is_list(kind):
        return f"array<{_type(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{_type(kind.key_type)},{_type(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{field.name}:{_type(field.type)}' for field in kind)}>"
    return _NAMES[kind]


if __name__ == "__main__":
    PAGE.write_text(page())
