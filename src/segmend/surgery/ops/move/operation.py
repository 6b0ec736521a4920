"""Partitions moved between the log dirs of a broker, with what the checkpoints say of them.

The directory is renamed, or copied, compared and then removed where the log dirs are on two disks.
The partition's line leaves the four offset checkpoints of one dir and goes to those of the other;
hand-made moves forget that, and the broker then starts with a high watermark of the log's start.
Before 3.7 a broker needs nothing else; since then it tells the controller the new place by itself
when it starts (KIP-858, AssignReplicasToDirs).
"""

from __future__ import annotations

from segmend.errors import UsageError
from segmend.frozen import frozen
from segmend.logdir.log_dir import LogDir
from segmend.surgery.options import required
from segmend.surgery.plan import Plan
from segmend.surgery.planning.topic_dirs import check_target
from segmend.surgery.replicas.relocation import Move, plan_moves, throttle_option
from segmend.surgery.request import Request

NAME = "move"
EXAMPLES = """\
examples:
  segmend plan move /data/a /data/b --partition orders-3 --to /data/b -o plan.json
  segmend plan move /data/a /data/b --partition orders-3 --partition orders-4 --to /data/b -o plan.json
  segmend plan move /data/a /data/b --partition orders-3 --to /data/b --throttle 50MB/s -o plan.json"""


@frozen
class Options:
    """What `plan move` may be asked."""

    partition: tuple[str, ...] = required("what to move; repeatable", "TOPIC-N")
    to: str = required("the log dir to move it to", "DIR")
    throttle: int | None = throttle_option()


def plan(request: Request[Options]) -> Plan:
    """The plan; raises `UsageError` for partitions that are not there, or there already."""
    target = request.dir_called(request.options.to, "--to")
    check_target(request.broker, target)
    names = dict.fromkeys(name.rstrip("/").rpartition("/")[2] for name in request.options.partition)
    moves = [_move(request, name, target) for name in names]
    arguments = {"partition": list(names), "to": request.options.to}
    return plan_moves(NAME, arguments, request, moves, throttle=request.options.throttle)


def _move(request: Request[Options], name: str, target: LogDir) -> Move:
    homes = [d for d in request.dirs if name in d.entries and d is not target]
    partition = next((p for d in homes for p in d.partitions if p.name == name), None)
    if partition is None:
        there = "it is there already" if name in target.entries else "no log dir has it"
        raise UsageError(f"--partition {name}: {there} ({', '.join(request.given)})")
    return Move(partition=partition, target=target)
