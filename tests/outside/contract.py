"""The JSON lines that other programs rely on: which keys an object of each type has, and of which kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segmend.loading import EFFECTS

Shape = Mapping[str, Any]
NUMBER, TEXT, YES, LIST = int, str, bool, list
MAYBE = type(None)
EXTENT = ("log_start_offset", "log_end_offset", "segments", "bytes")
SHAPES: dict[str, Shape] = {
    "finding": {
        "code": TEXT,
        "severity": {"error", "warning", "info"},
        "dir": TEXT,
        "topic": (TEXT, MAYBE),
        "partition": (NUMBER, MAYBE),
        "file": (TEXT, MAYBE),
        "position": (NUMBER, MAYBE),
        "offset": (NUMBER, MAYBE),
        "message": TEXT,
        "remedy": {"command": TEXT, "safety": {"safe", "lossy", "advice"}},
    },
    "check/summary": {
        "errors": NUMBER,
        "warnings": NUMBER,
        "segments": NUMBER,
        "batches": NUMBER,
        "bytes": NUMBER,
        "skipped": LIST,
        "seconds": (float, NUMBER),
    },
    "forecast/partition": {
        "dir": TEXT,
        "topic": TEXT,
        "partition": NUMBER,
        "effects": LIST,
        "reason": (TEXT, MAYBE),
        "outcome": {"served", "empty", "unserved", "stray", "offline"},
        "before": dict.fromkeys(EXTENT, (NUMBER, MAYBE)),
        "after": dict.fromkeys(EXTENT, (NUMBER, MAYBE)),
    },
    "directory": {"dir": TEXT, "kind": TEXT, "outcome": TEXT},
    "dir": {"dir": TEXT, "outcome": {"online", "offline"}, "clean_shutdown": YES, "reason": (TEXT, MAYBE)},
    "broker": {
        "outcome": {"starts", "refuses"},
        "reason": (TEXT, MAYBE),
        "seconds": (float, NUMBER),
        "unserved": NUMBER,
        "lost": dict.fromkeys(("partitions", "records", "bytes"), NUMBER),
        "unknown": LIST,
        "assumed": LIST,
    },
    "later": {"dir": TEXT, "file": TEXT},
    "effect": {
        "effect": set(EFFECTS),
        "file": (TEXT, MAYBE),
        "offset": (NUMBER, MAYBE),
        "records_lost": NUMBER,
        "bytes_lost": NUMBER,
        "broker_says": (TEXT, MAYBE),
    },
    "replica": {
        "topic": TEXT,
        "partition": NUMBER,
        "dir": TEXT,
        "log_start_offset": (NUMBER, MAYBE),
        "log_end_offset": (NUMBER, MAYBE),
        "high_watermark": (NUMBER, MAYBE),
        "relation": {"best", "equal", "behind", "ahead", "diverged", "damaged"},
        "behind_records": (NUMBER, MAYBE),
        "damaged": LIST,
        "unique": LIST,
    },
    "diff/partition": {
        "topic": TEXT,
        "partition": NUMBER,
        "verdict": {"equal", "behind", "diverged", "damaged"},
        "missing": LIST,
    },
    "rescue/partition": {
        "topic": TEXT,
        "partition": NUMBER,
        "first_offset": (NUMBER, MAYBE),
        "next_offset": (NUMBER, MAYBE),
        "records": NUMBER,
        "aborted": NUMBER,
        "marked": NUMBER,
        "missing": LIST,
        "diverged": LIST,
        "sources": LIST,
    },
    "rescue/summary": dict.fromkeys(("partitions", "records", "bytes", "missing", "seconds")),
}
"""By type, or command and type: a set holds all values, None takes any, a mapping is an object or null."""


def amiss(command: str, rows: list[dict[str, Any]]) -> list[str]:
    """What is not as it is documented in the lines of a command."""
    found = [words for row in rows for words in _amiss(_shape(command, row), row, str(row.get("type")))]
    for row in rows:
        for effect in row.get("effects") or () if command == "forecast" else ():
            found += _amiss(SHAPES["effect"], effect, "effect")
    return found


def _shape(command: str, row: dict[str, Any]) -> Shape:
    kind = str(row.get("type"))
    return SHAPES.get(f"{command}/{kind}", SHAPES.get(kind, {"type": TEXT}))


def _amiss(shape: Shape, row: Mapping[str, Any], where: str) -> list[str]:
    found: list[str] = []
    for key, wanted in shape.items():
        value, name = row.get(key), f"{where}.{key}"
        if key not in row:
            found.append(f"{name} is missing")
        elif isinstance(wanted, Mapping):
            found += [] if value is None else _amiss(wanted, value, name)
        elif isinstance(wanted, set):
            found += [] if value in wanted else [f"{name} is {value!r}"]
        elif wanted is not None and not (
            isinstance(value, wanted) and isinstance(value, bool) <= (wanted is YES)
        ):
            found.append(f"{name} is {value!r}")
    return found
