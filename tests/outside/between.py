"""What must be so between `check` at its three levels and `forecast`, of the same dirs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.outside.held import Rows, places

LOSING = (
    *("reads-fail", "tail-truncated", "segment-emptied", "segments-deleted"),
    *("segment-skipped", "directory-deleted"),
)
"""Effects by which a reader misses something, if bytes are lost."""
STARTUP_ALONE = {"I25"}
"""Codes of what only brokers that start look at."""


LEVELS = {"--startup": "check --startup", "--jobs=2": "check", "--deep": "check --deep"}
"""By the option that asks for a level, what it is called."""


def between(checks: dict[str, Rows], fore: Rows, code: int) -> Iterator[str]:
    """What one says and another does not; `code` is the forecast's exit code."""
    startup, plain, deep = (checks[level] for level in LEVELS)
    for level, name in LEVELS.items():
        rows = checks[level]
        yield from (f"{name} {words}" for words in of_level(rows, fore, code))
        yield from (f"{name} {words}" for row in rows for words in of_effect(row, fore[-1], code))
    by_deep = places(deep)
    yield from (f"check {words}" for words in untold(plain, fore, places(plain) | by_deep))
    yield from (f"check --deep {words}" for words in untold(deep, fore, by_deep))
    yield from (f"found by --startup alone: {each}" for each in only_in(startup, plain))
    yield from (f"found by no --deep: {each}" for each in only_in(plain, deep))


def of_level(rows: Rows, fore: Rows, code: int) -> Iterator[str]:
    """Of the broker, and of whole dirs: what goes offline over owners is none of `--startup`."""
    found, unread, broker = places(rows), rows[-1].get("unreadable"), fore[-1]
    if not found and not unread and broker["outcome"] != "starts":
        yield f"finds nothing, and the forecast: {broker['reason']}"
    if unread and code == 0:
        yield f"could not read {unread}, and the forecast exits 0"
    asks_for_owners = not any("owners" in each for each in rows[-1]["skipped"])
    for dir_ in offline(fore) if asks_for_owners else ():
        if not any(place == dir_ for place, _ in found) and not unread:
            yield f"has nothing about {dir_}, which goes offline"


def offline(fore: Rows) -> set[str]:
    """Dirs that are after the start."""
    return {row["dir"] for row in fore if row["type"] == "dir" and row["outcome"] == "offline"}


def untold(rows: Rows, fore: Rows, found: set[tuple[str, str]]) -> Iterator[str]:
    """Partitions that lose something, or are not served, with no finding that could tell why."""
    if fore[-1]["outcome"] != "starts":
        return
    known = {(where, of_replica(folder)) for where, folder in found}
    hurt = [row for row in fore if row["type"] == "partition" and row["dir"] not in offline(fore)]
    for row in hurt:
        if row["outcome"] == "served" and not loses(row):
            continue
        dir_, folder = place_of(row)
        seen = any(f"{each}/".startswith(f"{dir_}/{folder}/") for each in rows[-1].get("unreadable", ()))
        # What takes many partitions at once lies in none of them.
        of_all = row["outcome"] in ("unserved", "stray") and bool(known)
        if not (seen or of_all or {(dir_, folder), (dir_, "")} & known):
            told = {key: row[key] for key in ("outcome", "reason", "failure", "effects")}
            yield f"has nothing about {folder}, and the forecast: {json.dumps(told)[:900]}"


def only_in(low: Rows, high: Rows) -> list[tuple[str, str]]:
    """Places with an error that the deeper level has nothing about."""
    errors = (row for row in low if row["type"] == "finding" and row["severity"] == "error")
    bad = {(row["dir"], row["file"] or "") for row in errors if row["code"] not in STARTUP_ALONE}
    told = {(row["dir"], row["file"] or "") for row in high if row["type"] == "finding"}
    folders = {(dir_, file.partition("/")[0]) for dir_, file in told}
    return sorted(each for each in bad - told if (each[0], each[1].partition("/")[0]) not in folders)


def place_of(row: dict[str, Any]) -> tuple[str, str]:
    """The log dir, and what lies in it."""
    return row["dir"], (row["file"] or "").partition("/")[0]


def of_replica(folder: str) -> str:
    """The partition of a directory that is set aside, or to be moved in: `topic-0.random-future`."""
    return re.sub(r"\.[0-9a-f]{32}-(future|stray|delete)$", "", folder)


def loses(row: dict[str, Any]) -> bool:
    """Whether a reader misses something of it."""
    effects = row["effects"]
    return any(each["records_lost"] or (each["effect"] in LOSING and each["bytes_lost"]) for each in effects)


def of_effect(row: dict[str, Any], broker: dict[str, Any], code: int) -> Iterator[str]:
    """What a finding says that the start does."""
    effect = row.get("broker_effect") or {}
    if effect.get("basis") != "forecast":
        return
    if (effect["records_lost"] or effect["effect"] == "broker-refuses") and code == 0:
        yield f"says {row['code']} {effect['text']}, and the forecast exits 0"
    if effect["effect"] == "broker-refuses" and broker["outcome"] == "starts":
        yield f"says it refuses: {row['message']}; the forecast: starts"
