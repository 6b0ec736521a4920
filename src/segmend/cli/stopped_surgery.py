"""Surgery that was begun over log dirs and has not come to its end, for commands that only read.

Only the ends of each journal are looked at (`begun.json` says what a damaged first line did), not the plan,
which may be large, and nothing of surgery is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from segmend.logdir import disk
from segmend.logdir.file_system import DEFAULT_LIMIT, Unreadable
from segmend.logdir.tree import LogDir
from segmend.state_dir import default_state_dir

_LINE: Final = 1 << 20
"""Bytes that nearly every line has room in; of more, as much is read as there is."""
_ENDS: Final = frozenset({"finished", "told", "discarded"})


def stopped_surgery(dirs: Iterable[LogDir]) -> Iterator[str]:
    """A line for each run over these log dirs whose journal, in the default place, has no end."""
    paths = [log_dir.real_path for log_dir in dirs]
    for name in _open_runs(default_state_dir(), paths):
        yield (
            f"segmend's journal {name} is open over these dirs: `segmend apply {name}` brings it to its end, "
            f"`segmend undo {name}` brings back what was"
        )


def _open_runs(state_dir: str, dirs: Collection[str]) -> Iterator[str]:
    """The names of runs over these log dirs (real paths) that were stopped on the way; never raises."""
    home = f"{state_dir}/journals"
    try:
        names = sorted(disk.names(home))
    except Unreadable:
        return
    for name in names:
        first, last = _ends(f"{home}/{name}/journal.jsonl")
        beginnings = [first, last, _ends(f"{home}/{name}/begun.json")[0]]
        touched = [each.get("folders") for each in beginnings if each.get("event") == "begun"]
        touched = touched or [_of_plan(f"{home}/{name}")]
        over = any(isinstance(each, dict) and not each.keys().isdisjoint(dirs) for each in touched)
        if over and last.get("event") not in _ENDS:
            yield name


def _of_plan(run: str) -> dict[str, object]:
    """The log dirs of a run by its plan, where no line that can be read tells of them."""
    try:
        lost = disk.file_size(f"{run}/journal.jsonl") > 0
        plan = _event([disk.read(f"{run}/plan.json")] if lost else [])
    except Unreadable:
        return {}
    dirs = plan.get("dirs")
    rows = [each for each in dirs if isinstance(each, dict)] if isinstance(dirs, list) else []
    return {path: each for each in rows if isinstance(path := each.get("path"), str)}


def _ends(path: str) -> tuple[dict[str, object], dict[str, object]]:
    """The first and the last whole line; empty where there is none."""
    try:
        with disk.open(path) as reader:
            head = reader.read(_LINE)
            if b"\n" not in head:
                head = reader.read(DEFAULT_LIMIT)
            tail = reader.read(_LINE, max(0, reader.size - _LINE))
            if tail.count(b"\n") < 2:
                tail = reader.read(DEFAULT_LIMIT, max(0, reader.size - DEFAULT_LIMIT))
    except Unreadable:
        return {}, {}
    return _event(head.splitlines(keepends=True)[:1]), _event(
        [line for line in tail.splitlines(keepends=True) if line.endswith(b"\n")][-1:]
    )


def _event(lines: list[bytes]) -> dict[str, object]:
    try:
        event = json.loads(lines[0]) if lines else {}
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}
