"""The log dirs of a broker made about equally full, moving as few bytes as that takes.

A disk's fill is what is used of it, by whomever, by its capacity; log dirs on one file system count as
one, since a move between them gains nothing. Which partitions go is the answer of a search
(`solver` says how good it is) within these limits: the bytes that come to a disk must fit beside the
reserve before anything is freed elsewhere, and a disk that gets something must have room for what its
partitions will grow by in a week (`--days`), by the timestamps of their records.
The metadata log and left-overs (`-delete`, `-stray`, `-future`) stay, and so do partitions that the broker
itself was moving.
"""

from __future__ import annotations

from collections.abc import Sequence

from segmend.balancing.movable import can_move, growth, twice
from segmend.balancing.solver import Balance, BalanceProblem, Disk, Movable, solve
from segmend.errors import UsageError
from segmend.frozen import frozen
from segmend.grouping import grouped
from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir
from segmend.logdir.overview import PartitionOverview, partition_overview
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.options import option
from segmend.surgery.plan import Plan
from segmend.surgery.planning import amounts
from segmend.surgery.planning.topic_dirs import topic_dirs
from segmend.surgery.replicas.relocation import Move, plan_moves, throttle_option
from segmend.surgery.request import Request

NAME = "balance"
EXAMPLES = """\
examples:
  segmend plan balance /data/a /data/b /data/c -o plan.json                  to within 5 % of fill
  segmend plan balance /data/a /data/b --spread 2% --reserve 50GB -o plan.json"""


@frozen
class Options:
    """What `plan balance` may be asked."""

    spread: float = option(
        "how far apart the fullest and the emptiest disk may be, in points of fill (default: 5%)",
        "PERCENT",
        amounts.percent,
        default=0.05,
    )
    reserve: int = option(
        "what stays free on every disk that gets something (default: 10GB)",
        "SIZE",
        amounts.size_or_nothing,
        default=10_000_000_000,
    )
    days: float = option(
        "leave room for what partitions grow by in so many days (default: 7)", "N", amounts.days, default=7.0
    )
    throttle: int | None = throttle_option()


@frozen
class FileSystem:
    """A file system, and the log dirs on it."""

    disk: Disk
    dirs: tuple[LogDir, ...]

    @property
    def name(self) -> str:
        return ", ".join(log_dir.path for log_dir in self.dirs)


def plan(request: Request[Options]) -> Plan:
    """The plan; raises `UsageError` for a single disk."""
    systems = file_systems(request.broker)
    if len(systems) < 2:
        raise UsageError(
            f"{', '.join(request.given)}: one disk only; give the log dirs of the broker's other disks too"
        )
    options = request.options
    rows = _movable(request, systems)
    items = [_item(partition, overview, number, options.days) for partition, overview, number in rows]
    problem = BalanceProblem([v.disk for v in systems], items, spread=options.spread, reserve=options.reserve)
    balance = solve(problem)
    places = _FreestDirs(systems)
    moves = [
        Move(partition=rows[n][0], target=places.take(rows[n][0], target, items[n].size))
        for n, target in balance.moves
    ]
    arguments = {"spread": f"{options.spread * 100:g}%", "reserve": options.reserve, "days": options.days}
    remarks = _remarks(systems, problem, balance, items)
    moves.sort(key=lambda move: move.partition.name)
    return plan_moves(NAME, arguments, request, moves, remarks, throttle=options.throttle)


def file_systems(broker: BrokerDirs) -> list[FileSystem]:
    """Those under its dirs for topics, in the order of their first log dir; raises `Unreadable`."""
    systems = []
    for group in grouped(topic_dirs(broker), lambda log_dir: disk.file_stat(log_dir.path).device).values():
        space = group[0].space()
        whole = Disk(capacity=max(space.total, 1), used=space.total - space.free, available=space.available)
        systems.append(FileSystem(disk=whole, dirs=tuple(group)))
    return systems


Row = tuple[PartitionDir, PartitionOverview, int]


def _movable(request: Request[Options], systems: Sequence[FileSystem]) -> list[Row]:
    """Every partition that can move, and the number of its disk; read with progress."""
    dirs = [(log_dir, number) for number, system in enumerate(systems) for log_dir in system.dirs]
    every = [(partition, number) for log_dir, number in dirs for partition in log_dir.partitions]
    busy = twice(request.broker.partitions)
    every = [(p, number) for p, number in every if can_move(p) and p.key not in busy]
    rows = []
    for done, (partition, number) in enumerate(every):
        request.on_progress(done, len(every))
        rows.append((partition, partition_overview(partition), number))
    return rows


def _item(partition: PartitionDir, overview: PartitionOverview, number: int, days: float) -> Movable:
    return Movable(name=partition.name, size=overview.allocated, disk=number, growth=growth(overview, days))


class _FreestDirs:
    """Which log dir of a disk gets a partition: the one that holds, and got, least."""

    def __init__(self, systems: Sequence[FileSystem]) -> None:
        self._systems = systems
        self._bytes: dict[str, int] = {}

    def take(self, partition: PartitionDir, number: int, size: int) -> LogDir:
        dirs = [d for d in self._systems[number].dirs if partition.name not in d.entries]
        best = min(dirs or self._systems[number].dirs, key=self._held)
        self._bytes[best.path] = self._held(best) + size
        return best

    def _held(self, log_dir: LogDir) -> int:
        if log_dir.path not in self._bytes:
            self._bytes[log_dir.path] = sum(partition.size for partition in log_dir.partitions)
        return self._bytes[log_dir.path]


def _remarks(
    systems: Sequence[FileSystem], problem: BalanceProblem, balance: Balance, items: Sequence[Movable]
) -> list[str]:
    before = problem.fills([system.disk.used for system in systems])
    rows = zip(systems, before, balance.fills, strict=True)
    lines = [f"{system.name}: {old:.1%} full, then {new:.1%}" for system, old, new in rows]
    if problem.reached([system.disk.used for system in systems]):
        return [*lines, f"the disks are within {problem.wanted:.1%} of each other already"]
    moved = sum(items[number].size for number, _ in balance.moves)
    lines.append(f"{moved:,} bytes move; {_quality(balance)}")
    if balance.spread > problem.wanted + 1e-12:
        lines.append(
            f"the disks come within {balance.spread:.1%}, not {problem.wanted:.1%}: no other partition can "
            "go where it is wanted, by its size or for want of room (--reserve, --days)"
        )
    return lines


def _quality(balance: Balance) -> str:
    return "nothing less does it" if balance.exact else "found by search: perhaps less would do"
