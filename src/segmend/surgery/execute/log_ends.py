"""Where logs end once a plan is done, so that what a broker appends behind them since is seen.

A broker may append in another file (the old one is full, or its records are of long ago), and leave those of
the plan as they are: by these alone nobody was there. Were the old bytes brought back, what was appended
would lie behind damage, where a recovery cuts it off, or beside other records of the same offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Final

from segmend.formats.names import parse_file_name
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.surgery.execute.journal_events import LogEnd
from segmend.surgery.execute.plan_run import PlanRun, RunState
from segmend.surgery.execute.preconditions import way_back
from segmend.surgery.execute.steps_told import RunRefused
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.cut_file import CutFile
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.patch_file import PatchFile
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.surgery.writing.work import folder

_OF_FILES: Final = (AppendFile, CutFile, PatchFile, Quarantine, ReplaceFile)
_OF_LOGS: Final = ("log", "partition-metadata", "kraft-snapshot", "quorum-state")
"""Files on which it depends who gets the records of a log; others are made anew out of it."""


@frozen
class Behind:
    """What a broker appended in a file of a directory: `path`, and how that shows; `end` was the last log.

    `end` is None where it is not known, or is gone: what there is now may be the log of another topic.
    """

    path: str
    why: str
    end: str | None

    def spares(self, step: Step) -> bool:
        """Whether the step can go back: what it set aside lies before all that is there, as of old."""
        if self.end is None:
            return False
        base = _base(step.paths[0])
        return base is None or (isinstance(step, Quarantine) and base < _order(self.end))


def log_ends(steps: Sequence[Step]) -> dict[str, LogEnd]:
    """By directory with steps on logs, or their identity: the last log that will be there, its size if no
    step is on it. Asked while nothing is begun.
    """
    ends: dict[str, LogEnd] = {}
    came_from = {step.target: step.source for step in steps if isinstance(step, MoveDir)}
    aside = {step.path for step in steps if isinstance(step, Quarantine) and step.before.kind == "dir"}
    for path, changed in _on_logs(steps).items():
        here = came_from.get(path, path)
        logs, touched = {*(_logs(here) if here not in aside else ())}, set[str]()
        for name, step in ((_name(step.paths[0]), step) for step in changed):
            if _base(name) is not None:
                touched.add(name)
                (logs.discard if isinstance(step, Quarantine) else logs.add)(name)
        last = max(logs, key=_order, default="")
        size = None if last in touched or not last else disk.file_size(f"{here}/{last}")
        ends[path] = last, size
    return ends


def _on_logs(steps: Sequence[Step]) -> dict[str, list[Step]]:
    by_dir: dict[str, list[Step]] = {}
    for step in steps:
        if isinstance(step, _OF_FILES) and parse_file_name(_name(step.path)).kind in _OF_LOGS:
            by_dir.setdefault(folder(step.path), []).append(step)
    return by_dir


def behind(run: PlanRun) -> dict[str, Behind]:
    """By directory of the plan's steps: what a broker appended behind the log's end since it was begun.

    Of a plan that was stopped on the way, files that it sets aside may still be there; a directory that it
    moves or sets aside is not looked at then.
    """
    begun, steps = run.last_begun, run.plan.steps
    if begun is None or run.state is RunState.UNDONE:
        return {}
    ends = begun.get("log_ends")
    if ends is None:
        return {path: new for path in _on_logs(steps) for new in _written_since(run, path)}
    if run.state is not RunState.APPLIED:
        own = {path for step in steps for path in step.paths}
        return {
            path: new for path, end in ends.items() if path not in own for new in _behind(path, *end, own)
        }
    went = {step.source: step.target for step in steps if isinstance(step, MoveDir)}
    return {path: new for path, end in ends.items() for new in _behind(went.get(path, path), *end)}


def refuse_appended(run: PlanRun) -> None:
    """Raise `SegmendError` if a broker appended behind what would go back, in files that the plan has not."""
    appended = next(iter(behind(run).values()), None)
    if appended is not None:
        said = f"refused: {appended.path}: {appended.why}; nothing was changed{way_back(run)}"
        raise RunRefused(said, run.told_steps())


def _behind(path: str, last: str, size: int | None, own: Set[str] = frozenset()) -> Iterator[Behind]:
    names = (name for name in _logs(path) if f"{path}/{name}" not in own)
    newest = max(names, key=_order, default="")
    if _order(newest) > _order(last):
        yield Behind(path=f"{path}/{newest}", why="was made since, by a broker or a later plan", end=last)
    elif newest and newest == last and size not in (None, disk.file_size(f"{path}/{last}")):
        why = f"has grown since, by a broker or a later plan: it was {size} bytes long"
        yield Behind(path=f"{path}/{last}", why=why, end=last)
    elif last and _order(newest) < _order(last) and f"{path}/{last}" not in own and disk.path_type(path):
        why = "was the last one of that log, and is there no more: cut off, or of a topic that was deleted"
        yield Behind(path=f"{path}/{last}", why=why, end=None)


def _written_since(run: PlanRun, path: str) -> Iterator[Behind]:
    """By the time of the log that the plan has left alone: older journals do not say where it ended."""
    own = {path for step in run.plan.steps for path in step.paths}
    places = {step.source: step.target for step in run.plan.steps if isinstance(step, MoveDir)}
    here = places.get(path, path)
    newest = max((f"{here}/{name}" for name in _logs(here)), key=_order, default="")
    ended = max((event["at"] for event in run.events), default=0.0)
    if newest and newest not in own and disk.file_stat(newest).mtime_ns > ended * 1e9:
        why = "was written since, by a broker or a later plan, and this journal does not say where it ended"
        yield Behind(path=newest, why=why, end=None)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _logs(path: str) -> list[str]:
    names = disk.names(path) if disk.path_type(path) == "dir" else []
    return [name for name in names if _base(name) is not None]


def _order(name: str) -> int:
    """By base offset; no log comes before all."""
    base = _base(name)
    return -1 if base is None else base


def _base(path: str) -> int | None:
    """The base offset of a live log; None for any other file."""
    parsed = parse_file_name(_name(path))
    return parsed.base_offset if parsed.kind == "log" and parsed.state == "live" else None
