"""Surgery that was begun over log dirs and has not come to its end, for commands that only read.

Only the first and the last line of each journal are looked at (`begun.json` says what a damaged first one
did), not the plan, which may be large, and nothing of surgery is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator

from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable
from segmend.logdir.tree import LogDir
from segmend.state_dir import default_state_dir

_LINE = 4 << 20
_ENDS = frozenset({"finished", "told", "discarded"})


def stopped_surgery(dirs: Iterable[LogDir]) -> Iterator[str]:
    """A line for each run over these log dirs whose journal, in the default place, has no end."""
    paths = [log_dir.real_path for log_dir in dirs]
    for name in _open_runs(default_state_dir(), paths):
        yield (
            f"segmend's journal {name} is open over these dirs: the apply or undo that was stopped goes on "
            f"by the same command; `segmend undo {name}` brings back what was"
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
        first = first or _ends(f"{home}/{name}/begun.json")[0]
        if first.get("event") == "begun" and last.get("event") not in _ENDS:
            touched = first.get("folders")
            if isinstance(touched, dict) and not touched.keys().isdisjoint(dirs):
                yield name


def _ends(path: str) -> tuple[dict[str, object], dict[str, object]]:
    """The first and the last whole line; empty where there is none."""
    try:
        with disk.open(path) as reader:
            head = reader.read(_LINE).splitlines(keepends=True)
            tail = reader.read(_LINE, max(0, reader.size - _LINE)).splitlines(keepends=True)
    except Unreadable:
        return {}, {}
    return _event(head[:1]), _event([line for line in tail if line.endswith(b"\n")][-1:])


def _event(lines: list[bytes]) -> dict[str, object]:
    try:
        event = json.loads(lines[0]) if lines else {}
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}
