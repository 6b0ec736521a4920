"""Recorded outages of drawn clusters against today's forecast, without a broker."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.lab.broker import Broker, Seat
from tests.lab.disasters.compare import wrong
from tests.lab.outages.compare import complaints
from tests.lab.outages.draw import Outage
from tests.lab.outages.trial import HERE, fatal, hurt, prepared, said
from tests.lab.releases import release
from tests.seeds import SWEEP

ROWS: list[dict[str, Any]] = [
    json.loads(line) for path in sorted(HERE.glob("*.jsonl")) for line in path.read_text().splitlines()
]
LEFT_OPEN = {
    "1.1.0-twins-lax 1,2 future-of@1:full-1#656 dropped@1:d0#355 replica-of@1:any-1#498",
    "3.9.2-controllers 1,2,3,4 no-metadata@4:d0#58",
    "4.0.1-lax 2,3 no-metadata@2:pair-1#269 killed@1:any-1#64",
    "4.2.0-changed 1,2,3 restored@1:d0#0 restored@3:all#0",
    "4.3.1-changed-lax 1,2,3 restored@1:d0#0 restored@2:d0#0",
    "4.3.1-together 2,3 metadata-of@3:two-0#522 no-metadata@2:pair-1#828",
    "4.3.1-together 2,3/1 meta-id-empty@3:d0#964 dropped@2:d0#517 meta-snapshot-garbage@2:d0#472",
    "4.3.1-together said:1,2,3 replica-of@3:one-1#831 cut@1:safe-0#74 no-metadata@2:two-1#709",
}
"""Of these alone the forecast would be wrong, had it not named as unknown what it hangs on."""
TELLING = {
    "1.1.0-twins-lax 1,2 dropped@1:d1#607 replica-of@2:any-1#436 future-of@2:two-2#926",
    "4.3.1-controllers 1,2,3,4,5 no-metadata@3:d0#473",
}
"""What alone of the recorded ones shows a fault that was: CI takes it always."""
SHORT = ("1.1.0-stagger 2,3/1 disk-of@2:d0#946", "4.3.1-changed-lax 1,2,3 killed@3:two-2#670")
"""Of these partitions are led by replicas that lack what others in sync have."""
EACH = 24
"""The fast tests take one of so many, CI every third one and those that leave something open, a sweep all."""
CASES = [
    pytest.param(row, id=row["outage"], marks=() if number % EACH == 0 else pytest.mark.slow)
    for number, row in enumerate(ROWS)
    if SWEEP or number % 3 == 0 or row["outage"] in LEFT_OPEN | TELLING
]


def lines_of(row: dict[str, Any], root: Path) -> list[dict[str, Any]]:
    outage = Outage.of(row["outage"])
    prepared(outage, root)
    assert hurt(root) == row["hurt"], "other files than those that were recorded: record it again"
    return said(root, outage)


@pytest.mark.parametrize("row", CASES)
def test_the_cluster_becomes_what_is_said(row: dict[str, Any], tmp_path: Path) -> None:
    points = complaints(lines_of(row, tmp_path), row)
    assert wrong(points) == []
    assert bool(points) == (row["outage"] in LEFT_OPEN), points


def test_no_record_has_a_place_of_the_machine_that_wrote_it(tmp_path: Path) -> None:
    """As a node ends, it names its files by their full paths."""
    node = Broker(release("4.3.1"), tmp_path / "b2", Seat(2))
    node.log.write_text(
        f"ERROR Error while reading {node.dirs[0]}/meta.properties of {tmp_path}/b1/d1/any-0\n"
    )
    assert fatal(node) == "ERROR Error while reading b2/d0/meta.properties of b1/d1/any-0"
    absolute = re.compile(r"(?<![\w.])/[\w.-]+/")
    assert [row["outage"] for row in ROWS if absolute.search(json.dumps(row))] == []


def test_a_wrong_forecast_is_seen(tmp_path: Path) -> None:
    row = next(each for each in ROWS if each["elected"] and each.get("partitions"))
    lines = lines_of(row, tmp_path)
    for kind, key, other in (
        ("broker", "outcome", "refuses"),
        ("quorum", "leaders_possible", []),
        ("partition", "leaders_possible", [9]),
        ("partition", "refuses_acks_all", None),
    ):
        changed = copy.deepcopy(lines)
        for line in changed:
            if line["type"] == kind:
                line[key] = not line[key] if other is None else other
        assert complaints(changed, row), (kind, key)


def test_a_partition_at_risk_that_is_called_led_is_seen(tmp_path: Path) -> None:
    """Wherever the one who led it ended before a whole copy in sync, one partition after another."""
    done = 0
    for row in (each for each in ROWS if each["outage"] in SHORT):
        lines = lines_of(row, tmp_path / row["outage"].replace("/", "-"))
        for at, line in enumerate(lines):
            name = f"{line.get('topic')}-{line.get('partition')}"
            end = row.get("partitions", {}).get(name, {}).get("end")
            if line.get("outcome") not in ("at-risk", "loses") or end is None:
                continue
            whole = [each for each in line["copies"] if each["node_id"] in line["in_sync_complete"]]
            if any(each["log_end_offset"] > end for each in whole):
                called_led = [*lines[:at], {**line, "outcome": "led"}, *lines[at + 1 :]]
                new = {*complaints(called_led, row)} - {*complaints(lines, row)}
                assert [each for each in new if each.startswith((name, "not told: " + name))], (row, name)
                done += 1
    assert done > 8


def test_a_whole_partition_that_is_called_at_risk_is_seen(tmp_path: Path) -> None:
    row = next(each for each in ROWS if each["outage"] == SHORT[1])
    lines, done = lines_of(row, tmp_path), 0
    for at, line in enumerate(lines):
        if line.get("outcome") == "led" and not line["topic"].startswith("__"):
            changed = [*lines[:at], {**line, "outcome": "at-risk"}, *lines[at + 1 :]]
            assert len({*complaints(changed, row)} - {*complaints(lines, row)}) == 1, line
            done += 1
    assert done > 3


def test_a_wrong_forecast_of_reads_order_and_metadata_is_seen() -> None:
    """What only newer records have: who is started when, what a consumer gets, where the metadata begins."""
    copies = [{"node_id": node, "complete": node == 1, "log_start_offset": 0, "log_end_offset": 30 - 6 * node,
               "records_lost": 0} for node in (1, 2)]  # fmt: skip
    line = {"type": "partition", "topic": "t", "partition": 0, "outcome": "at-risk",
            "leaders_possible": [1, 2], "in_sync_complete": [1], "copies": copies, "order_helps": True,
            "replicas": [1, 2], "reassigned_to": None, "withholds_reads": False, "refuses_acks_all": False,
            "perhaps_made_anew": [], "reason": None, "isr": [1], "elr": None}  # fmt: skip
    quorum = {"type": "quorum", "voters": [{"node_id": 1, "log_end_offset": 50}], "leaders_possible": [1],
              "committed_offset": 50}  # fmt: skip
    last = {"type": "cluster", "unknown": [], "start_order": [[1], [2]]}
    became = {
        "nodes": {}, "fatal": {}, "elected": 1, "metadata_end": 50, "steps": [[1], [2]], "ordered": True,
        "last": {"t-0": {"end": 24}}, "partitions": {"t-0": {"leader": 1, "isr": [1, 2], "end": 24}},
        "takes": {"t-0": True},
    }  # fmt: skip
    assert complaints([quorum, line, last], became) == []
    short = {"leader": 2, "isr": [1, 2], "end": 18}
    for other in (
        {"metadata_end": 49},
        {"metadata_end": 51},
        {"partitions": {"t-0": short}},
        {"reads": {"t-0": {"first": 6}}},
        {"last": {"t-0": {"end": 24}, "u-0": {"end": 3}}},
    ):
        assert len(complaints([quorum, line, last], {**became, **other})) == 1, other
    assert len(complaints([quorum, line, {**last, "exit": 0}], {**became, "takes": {"t-0": False}})) == 2
    led = {**line, "outcome": "led"}
    assert complaints([quorum, led, last], {**became, "reads": {"t-0": {"stops": [9, "crc"]}}})
