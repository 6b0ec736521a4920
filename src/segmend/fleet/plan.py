"""What an audit will read, cut into tasks: names and sizes are listed, by tasks where the fleet is large."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from segmend.checks.any_release import READ_AGAIN
from segmend.errors import UsageError
from segmend.fleet import delta
from segmend.fleet.carried import Earlier, about
from segmend.fleet.driver import Driver
from segmend.fleet.folder import is_remote, make_folder
from segmend.fleet.listing import Place, brokers, find_places
from segmend.fleet.pack import ROUNDS, WORTH_A_CORE, chunks, pack, target_bytes
from segmend.fleet.remote import files_of, listed_once
from segmend.fleet.task import AuditJob, Share, Task, TaskPiece
from segmend.frozen import frozen, replace
from segmend.grouping import grouped
from segmend.logdir.above import log_dir_around
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs

LISTED_AT_ONCE: Final = 64
"""So many brokers are listed where we are; of a larger fleet every task of the listing takes as many."""


@frozen
class AuditPlan:
    """The tasks of an audit, the heaviest first, and the log dirs that they read."""

    job: AuditJob
    places: tuple[Place, ...]
    tasks: tuple[Task, ...]


@frozen
class Broker:
    """The log dirs of one broker, on their way to be listed; `release` None: read off its disks."""

    places: tuple[Place, ...]
    release: Release | None


def make_plan(
    paths: Sequence[str],
    job: AuditJob,
    driver: Driver,
    release: Release | None,
    earlier: Sequence[Earlier] = (),
) -> AuditPlan:
    """List `paths` and pack their partitions; UsageError when a path or `out` makes no sense.

    `earlier` are the files from which tasks take over what has not changed.
    """
    places = find_places(paths)
    _keep_out(job.out, places)
    make_folder(job.out)
    delta.refuse_torn(job.out)
    driver.ready(places, job.out)
    groups = [Broker(places=tuple(group), release=release) for group in brokers(places).values()]
    lists = [groups[at : at + LISTED_AT_ONCE] for at in range(0, len(groups), LISTED_AT_ONCE)]
    listed = map(list_brokers, lists) if len(lists) == 1 else driver.run(list_brokers, lists)
    tasks = pack_shares(chain.from_iterable(listed), cores=driver.cores)
    known = grouped(earlier, lambda each: each.broker)
    return AuditPlan(
        job=job,
        places=tuple(places),
        tasks=tuple(Task(job=job, shares=tuple(_with(known, each) for each in shares)) for shares in tasks),
    )


def _with(known: Mapping[int, Sequence[Earlier]], share: Share) -> Share:
    """The share, with the files that may know of its pieces."""
    names = [piece.name for piece in share.pieces if piece.name is not None]
    files = known.get(share.places[0].broker, ())
    return replace(share, earlier=about(files, names)) if files and names else share


def list_brokers(group: Sequence[Broker]) -> list[Share]:
    """Names and sizes of everything that there is to read, a share a broker."""
    with listed_once(place.path for broker in group for place in broker.places):
        return [_listed(broker) for broker in group]


def _listed(broker: Broker) -> Share:
    dirs = [(place, opened) for place in broker.places if (opened := place.opened()) is not None]
    pieces = [piece for place, log_dir in dirs for piece in _pieces(place, log_dir)]
    whole = TaskPiece(log_dir_id=broker.places[0].log_dir_id, name=None, bytes=0, files=len(broker.places))
    release = BrokerDirs((log_dir for _, log_dir in dirs), release=broker.release).guess
    return Share(release=release, places=broker.places, pieces=(whole, *pieces), dir_bytes=_dir_bytes(pieces))


def _pieces(place: Place, log_dir: LogDir) -> Iterable[TaskPiece]:
    for partition in log_dir.partitions:
        yield TaskPiece(
            log_dir_id=place.log_dir_id,
            name=partition.name,
            bytes=partition.size,
            files=len(partition.entries),
        )


def _dir_bytes(pieces: Iterable[TaskPiece]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for piece in pieces:
        sizes[piece.log_dir_id] = sizes.get(piece.log_dir_id, 0) + piece.bytes
    return sizes


def pack_shares(shares: Iterable[Share], *, cores: int, target: int | None = None) -> list[list[Share]]:
    """In tasks: a broker is cut only where it is more than a task should read, so few open it twice."""
    whole = list(shares)
    total = sum(share.weight for share in whole)
    size = min(target or target_bytes(total, cores), max(total // (ROUNDS * cores), WORTH_A_CORE // ROUNDS))
    # One that `check` would read again for another release that it may be of is judged whole here, too.
    kept = READ_AGAIN if target is None else 0
    cut = [part for share in whole for part in ([share] if share.weight <= kept else _cut(share, size))]
    return pack(cut, cores=cores, target=target)


def _cut(share: Share, size: int) -> Iterator[Share]:
    parts = list(chunks(share.pieces, size))
    for number, pieces in enumerate(parts):
        # What is said of the broker as a whole is said with its first piece.
        sizes = share.dir_bytes if number == 0 else {}
        yield replace(share, pieces=tuple(pieces), dir_bytes=sizes, cut=len(parts) > 1)


def _keep_out(out: str, places: Iterable[Place]) -> None:
    """Reading never writes: nothing of ours goes into a log dir."""
    target = files_of(out).real_path(out).rstrip("/") + "/"
    for place in places:
        if target.startswith(place.files.real_path(place.path).rstrip("/") + "/"):
            raise UsageError(f"--out {out} lies in the log dir {place.path}; choose another place")
    around = None if is_remote(out) else log_dir_around(out)
    if around is not None:
        raise UsageError(f"--out {out} lies in the log dir {around}; choose another place")
