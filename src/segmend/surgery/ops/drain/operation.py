"""A log dir emptied of its partitions, so that its disk can be taken away.

Each partition goes to the other log dir whose disk has most room left after those before it,
the largest first. What is no partition that a broker serves stays: the cluster's metadata log, which belongs
to `metadata.log.dir`, and left-overs (`-delete`, `-stray`, `-future`).
"""

from __future__ import annotations

from collections.abc import Sequence

from segmend.errors import SegmendError, UsageError
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.options import required
from segmend.surgery.plan import Plan
from segmend.surgery.planning.topic_dirs import topic_dirs
from segmend.surgery.replicas.relocation import Move, plan_moves, throttle_option
from segmend.surgery.request import Request
from segmend.surgery.writing.transfer import allocated

NAME = "drain"
EXAMPLES = """\
examples:
  segmend plan drain /data/a /data/b /data/c --from /data/a -o plan.json
  segmend plan drain /data/a /data/b --from /data/a --throttle 50MB/s -o plan.json"""


@frozen
class Options:
    """What `plan drain` may be asked."""

    from_: str = required("the log dir to empty", "DIR")
    throttle: int | None = throttle_option()


def plan(request: Request[Options]) -> Plan:
    """The plan; raises `UsageError` without another log dir, `SegmendError` if nothing has the room."""
    source = request.dir_called(request.options.from_, "--from")
    targets = [log_dir for log_dir in topic_dirs(request.broker) if log_dir is not source]
    if not targets:
        raise UsageError(f"--from {request.options.from_}: give the other log dirs of the broker too")
    moving = source.current
    stay = [f"{p.path} stays: {p.kind}" for p in source.partitions if p.kind != "current"]
    stay += [f"{source.path}/{name} stays: no partition" for name in source.foreign]
    moves, arguments = spread(moving, source, targets), {"from": request.options.from_}
    return plan_moves(NAME, arguments, request, moves, stay, throttle=request.options.throttle)


def spread(partitions: Sequence[PartitionDir], source: LogDir, targets: Sequence[LogDir]) -> list[Move]:
    """Largest first, each to where most is free; on the disk where it lies already it needs no room.

    Raises `SegmendError` if one fits nowhere.
    """
    home = disk.file_stat(source.path).device
    device = {target.path: disk.file_stat(target.path).device for target in targets}
    free = {device[target.path]: target.space().available for target in targets}
    sizes = sorted(((allocated(p.path), p.name, p) for p in partitions), key=lambda row: (-row[0], row[1]))
    count = {target.path: 0 for target in targets}
    moves = []
    for size, name, partition in sizes:
        best = max(targets, key=lambda t: (free[device[t.path]], -count[t.path]))
        where = device[best.path]
        if where != home and free[where] < size:
            raise SegmendError(
                f"{source.path}/{name}: {size:,} bytes, and {free[where]:,} are free elsewhere"
            )
        free[where] -= size if where != home else 0
        count[best.path] += 1
        moves.append(Move(partition=partition, target=best))
    return sorted(moves, key=lambda move: move.partition.name)
