"""Partitions whose directory is gone: told by the lines that brokers keep of each log in their checkpoints.

Without a line a partition may just as well never have been here.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from segmend.formats.offset_checkpoint import HIGH_WATERMARK, LOG_START_OFFSET, RECOVERY_POINT
from segmend.frozen import replace
from segmend.loading.dirs import DirState
from segmend.loading.replicas import Loaded
from segmend.loading.values import DirectoryOutcome, Extent, PartitionOutcome, Service
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage

_ENDS = (RECOVERY_POINT, HIGH_WATERMARK)


def missed(created: Loaded, loaded: Sequence[Loaded], states: Sequence[DirState]) -> Loaded:
    """An empty replica, with what was lost if it was here before, and where that is by now."""
    outcome = created.outcome
    assert isinstance(outcome, PartitionOutcome)
    start, end = _reached((outcome.topic, outcome.partition), states) or (0, 0)
    if end <= start:
        return created
    told = _renamed(outcome.name, loaded)
    told = told or f"{outcome.name} is gone: its lines in the checkpoints reach to offset {end}"
    effect = replace(outcome.effects[0], records_lost=end - start)
    before = Extent(log_start_offset=start, log_end_offset=end, segments=0, bytes=0)
    reason = f"{told}. {outcome.reason}"
    return replace(created, outcome=replace(outcome, before=before, effects=(effect,), reason=reason))


def never_seen(
    loaded: Sequence[Loaded], image: MetadataImage | None, states: Sequence[DirState], broker: BrokerDirs
) -> list[str]:
    """Partitions without a directory of which nothing tells whether they had one."""
    outcomes = [one.outcome for one in loaded]
    if image is not None:
        return [each.name for each in outcomes if _is_unseen(each, image, states, broker)]
    deleted = {(each.topic, each.partition) for each in outcomes if _is_deleted(each)}
    there = {(each.topic, each.partition) for each in outcomes if not _is_deleted(each)}
    # Of a topic that was deleted the high watermark stays where the last log of a dir went with it. Its
    # recovery point goes at once, unless it was the last of its dir: else somebody named it `-delete`.
    lines = {
        key
        for state in states for name in (_ENDS if state.log_dir.current else (RECOVERY_POINT,))
        for key, offset in state.offsets.get(name, {}).items()
        if offset > 0 and not (key in deleted and (name != RECOVERY_POINT or not state.log_dir.current))
    }  # fmt: skip
    return sorted(f"{topic}-{partition}" for topic, partition in lines - there)


def _is_deleted(outcome: PartitionOutcome | DirectoryOutcome) -> bool:
    return isinstance(outcome, DirectoryOutcome) and outcome.kind == "delete"


def _is_unseen(
    outcome: PartitionOutcome | DirectoryOutcome,
    image: MetadataImage,
    states: Sequence[DirState],
    broker: BrokerDirs,
) -> bool:
    """Whether it is made anew here, no checkpoint has a line of it, and what it had may be nowhere else."""
    if (
        not isinstance(outcome, PartitionOutcome)
        or outcome.outcome != Service.EMPTY
        or outcome.before.segments
        or _reached((outcome.topic, outcome.partition), states) is not None
    ):
        return False
    if image.alone_in_sync(outcome.topic, outcome.partition, broker.node_id):
        return True
    home = image.directory(image.ids[outcome.topic], outcome.partition, broker.node_id)
    return broker.given is None and home in {*broker.registered_dirs} - {
        each.directory_id for each in broker.dirs
    }


def _renamed(name: str, loaded: Sequence[Loaded]) -> str | None:
    """The directory to which an earlier start renamed it, and how it comes back."""
    for one in loaded:
        outcome = one.outcome
        if not isinstance(outcome, DirectoryOutcome) or outcome.kind != "stray":
            continue
        if f"{outcome.topic}-{outcome.partition}" == name:
            place, called = shlex.quote(one.dir_state.path), shlex.quote(outcome.name)
            command = f"segmend plan adopt {place} --directory {called} -o plan.json"
            return f"an earlier start renamed {name} to {outcome.name}: `{command}` brings it back"
    return None


def _reached(key: tuple[str, int], states: Sequence[DirState]) -> tuple[int, int] | None:
    """(log start, end) of a partition by the lines of the checkpoints; None if no dir has one."""
    ends = [state.offsets.get(name, {}).get(key) for state in states for name in _ENDS]
    starts = [state.offsets.get(LOG_START_OFFSET, {}).get(key, 0) for state in states]
    known = [end for end in ends if end is not None]
    return (max(starts, default=0), max(known)) if known else None
