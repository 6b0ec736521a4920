"""What operations share: a plan put together, with what a broker would do before and after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from segmend.checks import remedies
from segmend.errors import SegmendError, UsageError
from segmend.formats import clean_shutdown
from segmend.formats.offset_checkpoint import CheckpointEntry, OffsetCheckpoint, render
from segmend.frozen import field, frozen, replace
from segmend.json_values import JsonObject
from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import AS_GIVEN, Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.boundaries import links
from segmend.surgery.dir_fingerprint import DirFingerprint
from segmend.surgery.fingerprint import Fingerprint, below
from segmend.surgery.mounts import mounted, renamed
from segmend.surgery.plan import Left, Loss, Plan
from segmend.surgery.planning.harm import HarmOfStart, left_by, still_harmful, without_harmful
from segmend.surgery.planning.view import planned
from segmend.surgery.request import Request
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.cut_file import CutFile
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.patch_file import PatchFile
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.surgery.writing.atomic import other_names
from segmend.surgery.writing.work import crosses, folder
from segmend.wording import plural

Lines = Mapping[tuple[str, int], int | None]
"""New offsets by (topic, partition); None takes the line out."""

MOST_CARRIED: Final = 8 << 20
"""Bytes out of recipes that stand in one plan."""
MARKER_KEPT: Final = "the clean shutdown marker stays as it is: nothing that it vouches for is changed"
MARKER_GONE: Final = (
    "the clean shutdown marker is set aside: the next start recovers this dir's active segments"
)
MARKER_FITS: Final = (
    "the clean shutdown marker stays: log, indexes, snapshots and epochs of the replica fit each other"
)


@frozen
class Draft:
    """What an operation wants, before a broker's start was asked about it; fields as those of `Plan`."""

    steps: Sequence[Step] = ()
    losses: Sequence[Loss] = ()
    notes: Sequence[str] = ()
    left: Sequence[Left] = ()
    extra: JsonObject = field(default_factory=dict)


def make(
    operation: str, arguments: JsonObject, request: Request[object], draft: Draft, *,
    spare: bool = False, only: frozenset[str] | None = None,
) -> Plan:  # fmt: skip
    """The plan; raises `Unreadable`. Without steps nothing is forecast.

    With `spare` derived files stay as they are where a start would lose more with them than without. The
    partitions `only` are forecast, if nothing becomes of the others by the plan; all, if it is not given.
    """
    broker, linked = request.broker, _linked(draft.steps, spare=spare)
    left = (*draft.left, *(left_by(draft.steps[number], why) for number, why in linked.items()))
    steps = [step for number, step in enumerate(draft.steps) if number not in linked]
    plan = Plan(
        operation=operation, arguments=arguments, release=broker.release,
        dirs=tuple(DirFingerprint.of(path) for path in request.given),
        steps=tuple(_with_content(steps, broker.release)), losses=tuple(draft.losses),
        notes=tuple(dict.fromkeys([*_forgotten(broker), *draft.notes, *_parted(steps), *_mounted(steps)])),
        left=tuple(_with_release(each, broker) for each in left),
        extra=draft.extra,
    )  # fmt: skip
    if not steps:
        return plan
    broker = broker if spare else broker.settled  # What a start does decides of no step then.
    tell = request.on_progress
    before, after = HarmOfStart.of(broker, tell, only), _after(plan, broker, tell, only)
    if spare and (worse := after.worse_than(before)):
        # Where a start is no better without these steps, something else in the plan has made it so.
        helped = after.worse_than(_after(without_harmful(plan, worse), broker, tell)).keys() & worse.keys()
        plan = without_harmful(plan, {place: worse[place] for place in helped})
        after = _after(plan, broker, tell)
        plan = replace(plan, notes=(*plan.notes, *still_harmful(after.worse_than(before))))
    return replace(plan, forecast={"before": before.line, "after": after.line} if plan.steps else {})


def _with_release(left: Left, broker: BrokerDirs) -> Left:
    """With the release that was given in its next command, too."""
    if left.next is None or broker.release_reason != AS_GIVEN:
        return left
    return replace(left, next=remedies.command_by_rules_of(str(broker.release), left.next))


def _linked(steps: Sequence[Step], *, spare: bool) -> dict[int, str]:
    """Which steps go through a symbolic link; raises `SegmendError` where the others make no sense alone."""
    linked = links(steps)
    if linked and not spare:
        raise SegmendError(next(iter(linked.values())))
    return linked


def _with_content(steps: Sequence[Step], release: Release) -> Iterator[Step]:
    """Steps whose bytes a recipe gives, with these bytes as long as the plan stays a file one can read.

    `apply` then need not read the logs again to have them.
    """
    room = MOST_CARRIED
    for step in steps:
        size = step.after.size if isinstance(step, ReplaceFile) and step.content is None else None
        if isinstance(step, ReplaceFile) and size is not None and size <= room:
            room -= size
            yield step.with_content(release)
        else:
            yield step


def _parted(steps: Sequence[Step]) -> Iterator[str]:
    """Files with other names, which are parted from them rather than changed with them."""
    for step in steps:
        if isinstance(step, PatchFile | AppendFile | CutFile) and (count := other_names(step.path)):
            yield (
                f"{step.path}: has {plural(count, 'other name')} (a snapshot of hard links?): the copy of it "
                "that is changed has none; an undo makes it one file with them again, if the old bytes are "
                "kept on the same disk and those names were not changed"
            )
        elif isinstance(step, MoveDir) and (linked := _linked_files(step)):
            yield (
                f"{step.source}: other names of {plural(linked, 'file')} in it (a snapshot of hard links?), "
                "which the copy on the other disk does not have: what they hold does not come free here; an "
                "undo makes them one file again, if the backups are kept on this disk"
            )


def _mounted(steps: Sequence[Step]) -> Iterator[str]:
    """What keeps `apply` from its first step, as things are."""
    return mounted(path for step in steps for path in renamed(step))


def _linked_files(step: MoveDir) -> int:
    """Files with hard links that a move to another file system parts from them."""
    if disk.path_type(step.source) != "dir" or not crosses(folder(step.source), folder(step.target)):
        return 0
    return sum(status.type == "file" and status.nlink > 1 for _, status in below(step.source))


def _forgotten(broker: BrokerDirs) -> Iterator[str]:
    """Log dirs of the broker that were not given, as far as the metadata in those that were tells."""
    registered, given, node = broker.registered_dirs, len(broker.dirs), broker.node_id
    missing = sorted(set(registered) - {value.directory_id for value in broker.identities})
    if missing and len(registered) > given:
        yield (
            f"node {node} has {len(registered)} log dirs in the metadata, {given} of them given here: "
            f"what is said of the whole broker needs the others too (directory.id {', '.join(missing)})"
        )


def _after(
    plan: Plan, broker: BrokerDirs, tell: Callable[[int, int], None], only: frozenset[str] | None = None
) -> HarmOfStart:
    return HarmOfStart.of(planned(broker, plan.steps), tell, only)


def checkpoint_step(
    log_dir: LogDir, name: str, changes: Lines, reason: str, like: LogDir | None = None
) -> Iterator[Step]:
    """The step for other lines in one of the four offset checkpoints; none if all are right already.

    Order and all other lines stay. A file that is missing is made, owned as that of `like`. Raises
    `SegmendError` for a file that a broker could not read, since what else it says is not known.
    """
    loaded = log_dir.offset_checkpoint(name).readable()
    if loaded.damages:
        first = remedies.repair(log_dir.path).command
        raise SegmendError(f"{log_dir.path}/{name}: {loaded.damages[0].reason}; mend it first: {first}")
    old = loaded.value.entries if loaded.value is not None else ()
    new = [entry for entry in old if (entry.topic, entry.partition) not in changes]
    new += [CheckpointEntry(*key, offset) for key, offset in changes.items() if offset is not None]
    if set(new) != set(old) or len(new) != len(old):
        data = render(OffsetCheckpoint(entries=tuple(new)))
        model = _model(like or log_dir, name)
        yield ReplaceFile.with_bytes(f"{log_dir.path}/{name}", data, reason, like=model)


def at_most(offset: int | None, limit: int) -> int | None:
    """The offset of a line where it says no more than what is there; None stays without a line."""
    return None if offset is None else min(offset, limit)


def _model(like: LogDir, name: str) -> Fingerprint | None:
    entry = like.entry(name)
    if entry is None:
        return None
    s = entry.stat()
    return Fingerprint(kind="file", mode=s.mode & 0o7777, uid=s.uid, gid=s.gid)


def set_marker_aside(log_dir: LogDir, reason: str) -> Step | None:
    """The step that makes the next start an unclean one; None if it is one already."""
    if not log_dir.is_clean:
        return None
    return Quarantine.of(f"{log_dir.path}/{clean_shutdown.FILE_NAME}", reason)


def refuse_strangers(broker: BrokerDirs, given: Sequence[str]) -> None:
    """Raise `UsageError` if the dirs belong to two brokers."""
    first: tuple[str, object] | None = None
    for path, log_dir in zip(given, broker.dirs, strict=True):
        value = log_dir.meta_properties.value
        if value is None:
            continue
        identity = (value.cluster_id, value.node_id)
        if first is not None and first[1] != identity:
            raise UsageError(f"{path}: belongs to another broker than {first[0]} (see meta.properties)")
        first = first or (path, identity)
