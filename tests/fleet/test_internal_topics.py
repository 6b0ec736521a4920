"""Decoded internal topics as tables: every record that the broker wrote, in typed columns and as JSON."""

import json
from typing import Any

import pytest
from tests.conftest import golden_params
from tests.fleet.test_tables import rows_of
from tests.golden.shared import golden

from segmend.errors import UsageError
from segmend.fleet.options import parse_options
from segmend.fleet.schemas import DECODED
from segmend.topics import decoder_for

Rows = list[dict[str, Any]]


@pytest.mark.parametrize("name", golden_params())
def test_every_record_of_a_golden_dir_is_there_and_decoded(name: str) -> None:
    root = golden(name)
    for table, topic in DECODED.items():
        decode = decoder_for(topic)
        assert decode is not None
        found = rows_of(root, table=table)
        assert all(row["record_type"] is not None for row in found), table
        if table == "cluster_metadata":  # `records` leaves it out
            assert bool(found) == bool(list(root.rglob("__cluster_metadata-0/*.log")))
            continue
        plain = rows_of(root, topics=topic, columns="partition,offset,key,value")
        told = sorted((row["partition"], row["offset"], row["key_json"], row["value_json"]) for row in found)
        wanted = [(row["partition"], row["offset"], decode(row["key"], row["value"])) for row in plain]
        assert [
            (p, o, key and json.loads(key), value and json.loads(value)) for p, o, key, value in told
        ] == [(p, o, said["key"], said["value"]) for p, o, said in sorted(wanted, key=lambda each: each[:2])]


def test_the_newest_of_each_key_is_what_the_coordinators_remember() -> None:
    root = golden("4.3.1-killed")
    offsets = [row for row in rows_of(root, table="consumer_offsets") if row["committed_topic"]]
    assert offsets
    assert all(row["group_id"] and row["committed_partition"] >= 0 for row in offsets)
    assert all(
        row["committed_offset"] >= 0 and row["commit_timestamp_ms"] > 0
        for row in offsets
        if not row["deleted"]
    )
    transactions = rows_of(root, table="transactions")
    assert {row["status"] for row in transactions} >= {0, 4}
    assert any(row["partitions"] for row in transactions)
    kinds = {row["record_type"] for row in rows_of(root, table="cluster_metadata")}
    assert {"TOPIC_RECORD", "PARTITION_RECORD"} <= kinds


def test_topics_are_not_chosen_there() -> None:
    with pytest.raises(UsageError, match="the table transactions has no option topics"):
        parse_options({"table": "transactions", "topics": "t"})
