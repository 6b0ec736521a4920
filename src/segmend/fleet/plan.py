"""What an audit will read, cut into tasks: listing names and sizes, on the driver."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from segmend.checks import Level
from segmend.errors import UsageError
from segmend.fleet.delta import AuditRun
from segmend.fleet.listing import Place, brokers, find_places
from segmend.fleet.pack import pack
from segmend.fleet.task import AuditJob, Piece, Task
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.logdir.release import Release
from segmend.logdir.tree import LogDir
from segmend.node.broker_dirs import BrokerDirs


@frozen
class AuditPlan:
    """The tasks of an audit, the heaviest first, and what they add up to."""

    job: AuditJob
    tasks: tuple[Task, ...]

    @property
    def bytes(self) -> int:
        """Bytes of all logs."""
        return sum(task.bytes for task in self.tasks)


def make_plan(
    paths: Sequence[str], out: str, run: AuditRun, *, level: Level, release: Release | None, cores: int
) -> AuditPlan:
    """List `paths` and pack their partitions; UsageError when a path or `out` makes no sense."""
    places = find_places(paths)
    _keep_out(out, places)
    releases: dict[tuple[str, int], str] = {}
    pieces: list[Piece] = []
    for key, group in brokers(places).items():
        dirs = [(place, found) for place in group if (found := place.opened()) is not None]
        releases[key] = str(BrokerDirs((log_dir for _, log_dir in dirs), release=release).release)
        pieces.append(Piece(log_dir_id=group[0].log_dir_id, name=None, bytes=0, files=len(group)))
        for place, log_dir in dirs:
            pieces.extend(_pieces(place, log_dir))
    job = AuditJob(
        out=out,
        run=run,
        level=level,
        places=tuple(places),
        releases=releases,
        dir_bytes=_dir_bytes(pieces),
    )
    tasks = (Task(job=job, pieces=tuple(packed)) for packed in pack(pieces, cores=cores))
    return AuditPlan(job=job, tasks=tuple(tasks))


def _pieces(place: Place, log_dir: LogDir) -> Iterable[Piece]:
    for partition in log_dir.partitions:
        yield Piece(
            log_dir_id=place.log_dir_id,
            name=partition.name,
            bytes=partition.size,
            files=len(partition.entries),
        )


def _dir_bytes(pieces: Iterable[Piece]) -> dict[int, int]:
    found: dict[int, int] = {}
    for piece in pieces:
        found[piece.log_dir_id] = found.get(piece.log_dir_id, 0) + piece.bytes
    return found


def _keep_out(out: str, places: Iterable[Place]) -> None:
    """Reading never writes: nothing of ours goes into a log dir."""
    target = disk.real_path(out).rstrip("/") + "/"
    for place in places:
        if target.startswith(place.files.real_path(place.path).rstrip("/") + "/"):
            raise UsageError(f"--out {out} lies in the log dir {place.path}; choose another place")
