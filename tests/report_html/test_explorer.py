"""What the page carries to be searched and opened: replicas and segments, or how many are elsewhere."""

import base64
import gzip
import json
from typing import Any

import pyarrow as pa
import pytest
from tests.report_html import sample

from segmend.report.html.columns import Tables
from segmend.report.html.explorer import Explorer, explorer
from segmend.report.html.places import places


def made(tables: Tables) -> Explorer:
    return explorer(tables, places(tables))


def unpacked(text: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(text)))
    return told


def replicas(found: Explorer) -> list[tuple[Any, ...]]:
    """Broker, path, topic, partition, bytes, end of each, and the bases of its segments."""
    told = unpacked(found.partitions_packed)
    bases = iter(unpacked(found.segments_packed)["base"] if found.segments_packed else ())
    rows = zip(*(told[name] for name in ("dir", "topic", "partition", "bytes", "end", "held")), strict=True)
    return [
        (*told["dirs"][log_dir], told["topics"][topic], *more, [next(bases) for _ in range(held)])
        for log_dir, topic, *more, held in rows
    ]


def of_tables(tables: dict[str, pa.Table]) -> list[tuple[Any, ...]]:
    """The same, read row by row."""
    segments = tables["segments"].to_pylist()
    paths = {row["log_dir_id"]: row["path"] for row in tables["log_dirs"].to_pylist()}
    return [
        (
            *(str(row["broker"]), paths[row["log_dir_id"]], row["topic"], row["partition"]),
            *(row["log_bytes"], row["log_end_offset"]),
            [
                s["segment"]
                for s in segments
                if all(s[k] == row[k] for k in ("log_dir_id", "topic", "partition"))
            ],
        )
        for row in tables["partitions"].to_pylist()
    ]


def test_every_replica_travels_with_its_segments() -> None:
    tables = sample.tables()
    found = made(tables)
    assert sorted(replicas(found)) == sorted(of_tables(tables))
    assert (found.hidden, found.carried_segments) == (0, tables["segments"].num_rows)


def test_findings_are_told_beside_their_replica_whatever_log_dir_they_name() -> None:
    tables = sample.tables()
    told = unpacked(made(tables).partitions_packed)
    brokers = [told["dirs"][n][0] for n in told["dir"]]
    names = [f"{told['topics'][t]}-{p}" for t, p in zip(told["topic"], told["partition"], strict=True)]
    at = next(n for n, whose in enumerate(zip(brokers, names, strict=True)) if whose == ("1", "orders-3"))
    assert told["error"][at] >= 1


def test_what_is_too_much_for_a_page_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = sample.tables()
    monkeypatch.setattr("segmend.report.html.explorer.PARTITIONS", 20)
    monkeypatch.setattr("segmend.report.html.explorer.SEGMENTS", 30)
    found = made(tables)
    assert (found.carried, found.hidden) == (20, tables["partitions"].num_rows - 20)
    assert 0 < found.carried_segments <= 30
    whole = {row[:4]: row for row in of_tables(tables)}
    for row in replicas(found):
        assert row[6] in ([], whole[row[:4]][6]), "the segments of a replica are carried all or none"
    worst = unpacked(found.partitions_packed)["error"]
    assert sum(worst) == sum(unpacked(made(sample.tables()).partitions_packed)["error"])


def test_numbers_that_a_browser_would_round_go_as_text() -> None:
    (row,) = replicas(made(sample.hostile()))
    assert row[4] == str(9_223_372_036_854_775_807 // 4)


@pytest.mark.parametrize("name", ["partitions", "segments", "log_dirs", "findings"])
def test_a_table_that_is_missing_is_no_trouble(name: str) -> None:
    tables = {each: table for each, table in sample.tables().items() if each != name}
    assert bool(made(tables).partitions_packed) == (name != "partitions")
