"""Surgery that was begun over log dirs and has not come to its end, for commands that only read.

Only the ends of each journal are looked at (`begun.json` says what a damaged first line did), not the plan,
which may be large, and nothing of surgery is loaded.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import Final

from segmend.frozen import dataclass, field
from segmend.logdir import disk
from segmend.logdir.file_system import DEFAULT_LIMIT, Unreadable
from segmend.logdir.log_dir import LogDir
from segmend.state_dir import default_state_dir, usual_state_dir

_LINE: Final = 1 << 20
"""Bytes that nearly every line has room in; of more, as much is read as there is."""
_ENDS: Final = frozenset({"finished", "told", "discarded"})


@dataclass(slots=True)
class StoppedSurgery:
    """`open`: a line for each run over the log dirs whose journal, in a usual place, has no end.

    `unseen`: places of journals that are closed to this user, and who may look there.
    """

    open: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)


def stopped_surgery(dirs: Iterable[LogDir]) -> StoppedSurgery:
    """Of this user, of root and of those whom the log dirs belong to: whoever was stopped there."""
    stopped, paths, own = StoppedSurgery(), [log_dir.real_path for log_dir in dirs], default_state_dir()
    places = dict.fromkeys([own, *map(usual_state_dir, (0, *_owners(paths)))])
    for home in (f"{place}/journals" for place in places if place is not None):
        try:
            names = sorted(disk.names(home))
        except Unreadable as refused:
            if not refused.missing:
                stopped.unseen.append(refused.told())
            continue
        for name in _open_runs(home, names, paths):
            called = name if home.startswith(f"{own}/") else shlex.quote(f"{home}/{name}")
            stopped.open.append(
                f"segmend's journal {called} is open over these dirs: `segmend apply {called}` brings it to "
                f"its end, `segmend undo {called}` brings back what was"
            )
    return stopped


def _owners(paths: Iterable[str]) -> Iterator[int]:
    for path in paths:
        with suppress(Unreadable):
            yield disk.file_stat(path).uid


def _open_runs(home: str, names: Iterable[str], dirs: Collection[str]) -> Iterator[str]:
    """The names of runs over these log dirs (real paths) that were stopped on the way; never raises."""
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
