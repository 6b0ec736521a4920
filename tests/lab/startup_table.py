"""The measured starts of `startup_times`, and what the model says to each."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segmend.loading.timing.estimate import DirWork, LoadJob, Machine, Work, estimate
from segmend.logdir.release import Release

TABLE = Path(__file__).with_name("startup_times.json")
KEPT = 3
"""Starts kept in the table when a layout is measured again: the quickest."""
CORES = 2
"""Of the machine that the table was measured on."""


def read_table() -> list[dict[str, Any]]:
    """The measured rows."""
    return list(json.loads(TABLE.read_text())) if TABLE.exists() else []


def write_table(rows: list[dict[str, Any]], order: Sequence[str]) -> None:
    """One row a line, layouts in this order."""
    rows.sort(key=lambda row: (row["kafka"], order.index(row["layout"])))
    TABLE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def merged(rows: list[dict[str, Any]], row: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows with one more; starts over the same files are added to those measured before."""
    key = ("kafka", "layout", "jobs", "threads")
    old = next((each for each in rows if all(each[name] == row[name] for name in key)), None)
    rest = [each for each in rows if any(each[name] != row[name] for name in key[:2])]
    if old is not None:
        row = {**row, **{name: sorted(old[name] + row[name])[:KEPT] for name in ("loading", "up", "stop")}}
    return [*rest, row]


def dir_work(row: dict[str, Any]) -> DirWork:
    """The log dir of a measured row, as the model takes it."""
    jobs = []
    for kind in row["jobs"]:
        counts = {name: value for name, value in kind.items() if name != "partitions_alike"}
        jobs += [LoadJob(name="", work=Work(**counts))] * kind["partitions_alike"]
    return DirWork(jobs=jobs)


def modelled(row: dict[str, Any]) -> float:
    """What the model says to a measured row."""
    machine = Machine(cores=CORES, read_speed=row.get("read_speed"), random_read=row.get("random_read"))
    return estimate([dir_work(row)], Release.parse(row["kafka"]), row["threads"], machine).loading


def is_steady(row: dict[str, Any]) -> bool:
    """Whether the disk can be left out of it: its speed was another one from start to start."""
    return "read_speed" not in row


def print_table() -> None:
    """The table of docs/startup-time.md."""
    print("| Kafka | log dir | measured (least, most) | model | error |\n|---|---|--:|--:|--:|")
    for row in read_table():
        least, most = min(row["loading"]), max(row["loading"])
        said = modelled(row)
        error = f"{100 * (said - least) / least:+.0f} %" if is_steady(row) else "-"
        print(f"| {row['kafka']} | {row['layout']} | {least:.2f} s, {most:.2f} s | {said:.2f} s | {error} |")
