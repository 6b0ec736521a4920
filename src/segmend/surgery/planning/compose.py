"""Several plans in one: applied together, journalled together, undone together.

They must have been made for the same log dirs in the same state, and each must be possible beside the
others. What two of them change is refused, but for the lines of an offset checkpoint: each plan
changes those of its own partitions, and the one step that is left changes all.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from segmend.errors import SegmendError, UsageError
from segmend.formats import offset_checkpoint
from segmend.formats.offset_checkpoint import FILE_NAMES, CheckpointEntry, OffsetCheckpoint
from segmend.frozen import replace
from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.counted import Tell
from segmend.surgery.dir_fingerprint import DirFingerprint
from segmend.surgery.fingerprint import hash_bytes
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.plan import Left, Plan
from segmend.surgery.planning import assembly
from segmend.surgery.planning.assembly import Draft
from segmend.surgery.request import Request
from segmend.surgery.step import Neighbours, Step
from segmend.surgery.steps.cut_file import CutFile
from segmend.surgery.steps.patch_file import PatchFile
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.surgery.twins import twins

_LIMIT: Final = 64 << 20
Entries = dict[tuple[str, int], CheckpointEntry]


def composed(plans: Sequence[Plan], on_progress: Tell = lambda _done, _total: None) -> Plan:
    """The plan of all; raises `UsageError` if they do not go together, `SegmendError` if one is too old."""
    releases = sorted({str(plan.release) for plan in plans})
    if len(releases) > 1:
        raise UsageError(
            f"the plans follow the rules of Kafka {' and '.join(releases)}; make them for one (--kafka)"
        )
    dirs = _dirs(plans)
    broker = BrokerDirs([LogDir.open(each.path) for each in dirs], release=plans[0].release)
    assembly.refuse_strangers(broker, [each.given for each in dirs])
    draft = Draft(
        steps=_steps(plans), losses=list(dict.fromkeys(loss for plan in plans for loss in plan.losses)),
        notes=list(dict.fromkeys(note for plan in plans for note in plan.notes)),
        left=list(dict.fromkeys(_left(plans))), extra=_extra(plans),
    )  # fmt: skip
    given = [each.path for each in dirs]
    request = Request(broker=broker, given=given, options=None, on_progress=on_progress)
    name, arguments = ", ".join(plan.operation for plan in plans), {"plans": [plan.sha256 for plan in plans]}
    plan_of_all = assembly.make(name, arguments, request, draft)
    twin = next(twins(plan_of_all), None)
    if twin is not None:
        raise UsageError(f"{twin}: the plans do not go together")
    return replace(plan_of_all, dirs=dirs)


def _dirs(plans: Sequence[Plan]) -> tuple[DirFingerprint, ...]:
    fingerprints: dict[str, DirFingerprint] = {}
    for each in (each for plan in plans for each in plan.dirs):
        if fingerprints.setdefault(each.path, each).files != each.files:
            raise UsageError(f"{each.path}: was not the same when each plan was made; make them again")
    why = next((why for each in fingerprints.values() if (why := each.difference()) is not None), None)
    if why is not None:
        raise SegmendError(f"{why}; make the plans again")
    return tuple(fingerprints.values())


def _left(plans: Sequence[Plan]) -> Iterator[Left]:
    """What none of the plans mends: a torn end that a repair leaves is nothing left beside the trim of it."""
    for plan in plans:
        others = [step for other in plans if other is not plan for step in other.steps]
        yield from (left for left in plan.left if not any(_mends(step, left) for step in others))


def _mends(step: Step, left: Left) -> bool:
    """Whether a step takes away, or writes anew, the very bytes that were left; only where that is told."""
    if left.path != step.paths[0]:
        return False
    if isinstance(step, CutFile):
        return left.position is not None and left.position >= (step.after.size or 0)
    if isinstance(step, PatchFile):
        at = left.position
        return at is not None and step.position <= at < step.position + step.content.length
    return isinstance(step, Quarantine)


def _steps(plans: Sequence[Plan]) -> list[Step]:
    """In the order of the plans; what is merged stands where the first of the two stood."""
    steps: list[Step] = []
    homes: list[int] = []
    for number, plan in enumerate(plans):
        before, fresh = len(steps), list(plan.steps)
        neighbours = Neighbours([*steps, *fresh])
        taken = [sorted(n for n in neighbours.of(before + at) if n < before) for at in range(len(fresh))]
        for step, others in zip(fresh, taken, strict=True):
            if not others:
                steps.append(step)
                homes.append(number)
                continue
            both = _merged(steps[others[0]], step) if len(others) == 1 else None
            if both is None:
                raise UsageError(
                    f"{step.paths[0]}: plans {homes[others[0]] + 1} and {number + 1} both change it; apply "
                    "the one, then make the other again"
                )
            steps[others[0]] = both
    return steps


def _merged(one: Step, other: Step) -> Step | None:
    if one == other:
        return one
    if isinstance(one, Quarantine) and isinstance(other, Quarantine) and one.path == other.path:
        return replace(one, reason="; ".join(dict.fromkeys((one.reason, other.reason))))
    if not (isinstance(one, ReplaceFile) and isinstance(other, ReplaceFile)) or one.path != other.path:
        return None
    if posixpath.basename(one.path) not in FILE_NAMES or one.content is None or other.content is None:
        return None
    data = _lines(one.path, one.content.read(), other.content.read())
    if data is None or one.before != other.before:
        return None
    after = one.after.but(size=len(data), sha256=hash_bytes(data))
    return replace(one, after=after, content=NewBytes.inline(data))


def _lines(path: str, one: bytes, other: bytes) -> bytes | None:
    """The checkpoint with the changes of both, None if they contradict each other."""
    old = _entries(disk.read(path, _LIMIT)) if disk.path_type(path) is not None else {}
    first, second = _entries(one), _entries(other)
    entries: Entries = {}
    for key in {**old, **first, **second}:
        was, a, b = old.get(key), first.get(key), second.get(key)
        if a != was and b not in (was, a):
            return None
        entry = b if a == was else a
        if entry is not None:
            entries[key] = entry
    return offset_checkpoint.render(OffsetCheckpoint(entries=tuple(entries.values())))


def _entries(data: bytes) -> Entries:
    value, _ = offset_checkpoint.parse(data)
    return {} if value is None else {(entry.topic, entry.partition): entry for entry in value.entries}


def _extra(plans: Sequence[Plan]) -> Mapping[str, object]:
    """What they add; of JSON for Kafka's tools the partitions of all, each once; of other things a list."""
    extra: dict[str, list[object]] = {}
    for name, value in ((name, value) for plan in plans for name, value in plan.extra.items()):
        if value not in extra.setdefault(name, []):
            extra[name].append(value)
    return {name: _together(values) for name, values in extra.items()}


def _together(values: Sequence[object]) -> object:
    first = values[0]
    if len(values) == 1:
        return first
    plans = [value for value in values if isinstance(value, dict) and "partitions" in value]
    if len(plans) < len(values):
        return list(values)
    rows = {(row["topic"], row["partition"]): row for value in plans for row in value["partitions"]}
    return {**plans[0], "partitions": [*rows.values()]}
