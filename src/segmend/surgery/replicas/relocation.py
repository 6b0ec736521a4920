"""The steps that move partitions from some log dirs of a broker to others."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from segmend.broker.identity import DIRECTORY_IDS
from segmend.errors import SegmendError, UsageError
from segmend.formats.offset_checkpoint import FILE_NAMES
from segmend.frozen import frozen
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.metadata_image import MetadataImage
from segmend.surgery.options import option
from segmend.surgery.plan import THROTTLE, Plan
from segmend.surgery.planning import amounts, assembly
from segmend.surgery.planning.assembly import Draft
from segmend.surgery.request import Request
from segmend.surgery.step import Step
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.writing.transfer import written
from segmend.surgery.writing.work import crosses

_MANY: Final = 500


@frozen
class Move:
    """One partition, and the log dir to which it goes."""

    partition: PartitionDir
    target: LogDir

    @property
    def key(self) -> tuple[str, int]:
        return self.partition.key


def plan_moves(
    operation: str, arguments: Mapping[str, object], request: Request[object], moves: Sequence[Move],
    remarks: Sequence[str] = (), *, throttle: int | None = None,
) -> Plan:  # fmt: skip
    """The plan for all of them; raises `UsageError` and `SegmendError` for what cannot be moved."""
    assembly.refuse_strangers(request.broker, request.given)
    for move in moves:
        _refuse(move)
    markers, notes = _markers(request, moves)
    steps = [
        *markers,
        *_begun_moves(request, moves),
        *_lines(request, moves, of_target=True),
        *(_step(move) for move in moves),
        *_lines(request, moves, of_target=False),
    ]
    extra: dict[str, object] = {"kafka-reassign-partitions": _reassignment(request, moves)} if moves else {}
    if throttle is not None:
        extra[THROTTLE] = throttle
        arguments = {**arguments, THROTTLE: f"{throttle}/s"}
        notes += list(_slowly(moves, throttle))
    draft = Draft(steps=steps, notes=[*remarks, *notes, *(_notes(request) if moves else ())], extra=extra)
    return assembly.make(operation, arguments, request, draft, only=_alone(request, moves, markers))


def _alone(request: Request[object], moves: Sequence[Move], markers: Sequence[Step]) -> frozenset[str] | None:
    """The partitions that move, where a broker has so many others that to forecast them takes far longer.

    None where all are to be: nothing is to be said of a start whose other partitions nobody looked at.
    """
    partitions = sum(len(log_dir.current) for log_dir in request.dirs)
    few = partitions > _MANY and len(moves) * 4 <= partitions and not markers
    return frozenset(move.partition.name for move in moves) if few else None


def throttle_option() -> Any:
    """`--throttle`, the same for all that moves."""
    return option("copy no more than so many bytes a second: 50MB/s", "RATE", amounts.rate)


def _slowly(moves: Sequence[Move], throttle: int) -> Iterator[str]:
    """How long a throttled copy takes at the least; what stays on its disk is only renamed."""
    away = [m for m in moves if crosses(m.partition.log_dir.path, m.target.path)]
    size = sum(written(move.partition.path) for move in away)
    if size:
        least = f"{size / throttle:,.1f} seconds at the least"
        yield f"{size:,} bytes are copied to another disk at {throttle:,} a second: {least}"


def _refuse(move: Move) -> None:
    partition, target = move.partition, move.target
    if partition.kind != "current":
        raise UsageError(f"{partition.path}: is no partition that a broker serves, but {partition.kind}")
    if partition.name in target.entries:
        raise SegmendError(f"{target.path}/{partition.name}: is there already; a broker refuses two of them")
    if partition.unreadable is not None:
        raise partition.unreadable


def _begun_moves(request: Request[object], moves: Sequence[Move]) -> Iterator[Step]:
    """A `-future` copy that the broker began is less than the partition itself, and in its way now."""
    keys = {move.key for move in moves}
    for partition in request.broker.partitions:
        if partition.kind == "future" and partition.key in keys:
            yield Quarantine.of(partition.path, "a copy that the broker began, needless after the move")


def _step(move: Move) -> Step:
    target = f"{move.target.path}/{move.partition.name}"
    return MoveDir.of(move.partition.path, target, "to another log dir of the same broker")


def _lines(request: Request[object], moves: Sequence[Move], *, of_target: bool) -> Iterator[Step]:
    """The checkpoint files with the lines of what comes, or without those of what goes.

    A dir that gets some and gives others is written once, before the moves.
    """
    getting = {move.target.path for move in moves}
    for log_dir in request.dirs:
        if (log_dir.path in getting) is not of_target:
            continue
        for name in FILE_NAMES:
            offsets = _offsets(moves, name)
            changes: dict[tuple[str, int], int | None] = {}
            for move in moves:
                if move.partition.log_dir is log_dir:
                    changes[move.key] = None
            for move in moves:
                if move.target is log_dir:
                    changes[move.key] = offsets[move.partition.log_dir.path].get(move.key)
            reason = "lines of the partitions that move"
            like = next((m.partition.log_dir for m in moves if m.target is log_dir), log_dir)
            if changes:
                yield from assembly.checkpoint_step(log_dir, name, changes, reason, like)


def _offsets(moves: Sequence[Move], name: str) -> dict[str, Mapping[tuple[str, int], int]]:
    """What a checkpoint says in each dir from which something goes; each is read once."""
    homes = {move.partition.log_dir.path: move.partition.log_dir for move in moves}
    return {path: log_dir.checkpointed(name) for path, log_dir in homes.items()}


def _markers(request: Request[object], moves: Sequence[Move]) -> tuple[list[Step], list[str]]:
    """A partition of a dir that was not stopped cleanly must not come under another dir's clean marker."""
    steps, notes = [], []
    for log_dir in request.dirs:
        sources = [m.partition.log_dir for m in moves if m.target is log_dir]
        if not sources or not log_dir.is_clean:
            continue
        unclean = next((d.path for d in sources if not d.is_clean), None)
        if unclean is None:
            notes.append(f"{log_dir.path}: {assembly.MARKER_KEPT}")
            continue
        reason = f"partitions come from {unclean}, which was not stopped cleanly"
        step = assembly.set_marker_aside(log_dir, reason)
        steps += [] if step is None else [step]
        notes.append(f"{log_dir.path}: {reason}; {assembly.MARKER_GONE}")
    return steps, notes


def _notes(request: Request[object]) -> Iterator[str]:
    if DIRECTORY_IDS.of(request.release) and request.broker.metadata is not None:
        yield "when it starts, the broker tells the controller the new places by itself (KIP-858)"


def _reassignment(request: Request[object], moves: Sequence[Move]) -> dict[str, object]:
    """The same for a running broker: the JSON that `kafka-reassign-partitions --execute` takes.

    Other replicas stay where they are ("any"); they are named if this node has the cluster's metadata,
    else this broker's only, and the others must be filled in. A running broker knows its log dirs by the
    names that they have in `log.dirs`, links and all (`LogManager.isLogDirOnline`), so as they were given.
    """
    image, node_id = request.broker.metadata, request.broker.node_id
    names = {
        log_dir.path: posixpath.normpath(given) if given.startswith("/") else log_dir.path
        for log_dir, given in zip(request.dirs, request.given, strict=True)
    }
    rows = []
    for move in moves:
        known = _replicas(image, move)
        me = -1 if node_id is None else node_id
        replicas = list(known) if me in known else [me]
        places = [names[move.target.path] if replica == me else "any" for replica in replicas]
        topic, number = move.key
        rows.append({"topic": topic, "partition": number, "replicas": replicas, "log_dirs": places})
    return {"version": 1, "partitions": rows}


def _replicas(image: MetadataImage | None, move: Move) -> Sequence[int]:
    if image is None:
        return ()
    topic, number = move.key
    return image.replicas.get((image.ids.get(topic, ""), number), ())
