"""The replica that is to get the merged log, and the others, read into runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from segmend.cluster.cluster_dirs import FleetDirs
from segmend.cluster.policies import Policies
from segmend.errors import SegmendError, UsageError
from segmend.frozen import frozen, replace
from segmend.logdir import disk
from segmend.logdir.config import ServerConfig
from segmend.logdir.file_system import Unreadable
from segmend.logdir.partition_dir import PartitionDir
from segmend.merge.look import Second
from segmend.merge.packed import Packed
from segmend.merge.replicas import read_replicas
from segmend.merge.rows import iter_rows
from segmend.merge.rule import merge, refuse_strangers
from segmend.merge.values import Damaged, Merged, Replica, Run
from segmend.merge.walk import Walk
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.counted import Tell
from segmend.surgery.planning.expected import refuse_other_topic
from segmend.surgery.replicas.leader import Leader
from segmend.surgery.replicas.recovery import refuse_unfinished
from segmend.surgery.request import Request

HOME: Final = 0
"""The number of the replica that is operated on."""


@frozen
class Case:
    """All replicas by number: where they lie and what they say; `brokers` are the nodes they are of.

    `limits` has the high watermark of each that a broker writes to, beyond which nothing of it is read.
    `compacted` says whether the topic is, by the metadata of one of them.
    """

    places: tuple[PartitionDir, ...]
    replicas: tuple[Replica, ...]
    look: Second
    brokers: tuple[BrokerDirs, ...]
    limits: tuple[int | None, ...]
    compacted: bool | None

    @property
    def target(self) -> PartitionDir:
        """Where the merged log goes."""
        return self.places[HOME]

    @property
    def own(self) -> Replica:
        """The same, read."""
        return self.replicas[HOME]

    @property
    def topic_id(self) -> str | None:
        """What the replicas say that the topic's is, else the metadata that assigns it to this node."""
        told = next((each.topic_id for each in self.places if each.topic_id is not None), None)
        image, topic = self.brokers[HOME].metadata, self.target.topic
        if told is None and image is not None:
            ours = image.assigned(topic, self.target.partition, self.brokers[HOME].node_id)
            return image.ids[topic] if ours else None
        return told

    def merged(self, prefer: int | None) -> Merged:
        """The merge of all for this replica, by the newest branch or that of the replica `prefer`."""
        return merge(self.replicas, self.look, compacted=self.compacted, prefer=prefer, home=HOME)

    def called(self, number: int) -> str:
        """A replica as `--prefer` takes it: by its broker, or by its directory."""
        replica = self.replicas[number]
        same = [each for each in self.replicas if each.broker == replica.broker]
        return str(replica.broker) if replica.broker is not None and len(same) == 1 else replica.path

    def number_of(self, wish: str) -> int:
        """The replica that `--prefer` means; raises `UsageError`."""
        real = disk.real_path(wish)
        numbers = [n for n in range(len(self.replicas)) if wish == self.called(n)]
        numbers = numbers or [n for n, each in enumerate(self.replicas) if each.path == real]
        if len(numbers) != 1:
            known = ", ".join(self.called(number) for number in range(len(self.replicas)))
            raise UsageError(f"--prefer {wish}: is none of these replicas; give one of {known}")
        return numbers[0]


def open_case(
    request: Request[object],
    partition: str,
    sources: Sequence[str],
    *,
    live: bool,
    configs: Sequence[ServerConfig] = (),
) -> Case:
    """Open and read all; raises `UsageError`, `BrokerRunning`, `SegmendError` for what cannot be merged."""
    target = _target(request, partition)
    leaders = [_other(path, target) for path in sources]
    limits = (None, *(each.limit(live=live and each.in_use() is not None) for each in leaders))
    places = (target, *(leader.partition for leader in leaders))
    twice = next((each.path for n, each in enumerate(places) if each.path in _paths(places[:n])), None)
    if twice is not None:
        raise UsageError(f"{twice}: is given twice")
    for place in places:
        refuse_unfinished(place)
    for place in places if target.topic_id is None else ():
        refuse_other_topic(place, request.broker.metadata)
    homes = [BrokerDirs([each.home], release=request.release) for each in leaders if each.home is not None]
    brokers = (request.broker, *homes)
    fleet = FleetDirs(log_dir for broker in brokers for log_dir in broker.dirs)
    compacted = Policies([fleet], configs)(target.topic)
    read = zip(places, _read(places, compacted, request.on_progress), limits, strict=True)
    replicas = tuple(each if at is None else committed(place, each, at) for place, each, at in read)
    refuse_strangers(replicas)
    return Case(
        places=places, replicas=replicas, look=Second(places, replicas), brokers=brokers,
        limits=limits, compacted=compacted,
    )  # fmt: skip


def refuse_undecided_epoch(case: Case) -> None:
    """Raise `SegmendError` where a running leader's newest epoch begins above what it has committed.

    What this replica has from there on is of another branch then, of which nothing can be compared yet.
    """
    for place, limit in zip(case.places, case.limits, strict=True):
        lines = place.leader_epochs.value if limit is not None else None
        for line in lines.entries if lines else ():
            older = (run for run in case.own.runs if run.last_offset >= line.start_offset)
            if line.start_offset >= (limit or 0) and any(run.epoch < line.epoch for run in older):
                raise SegmendError(
                    f"{place.path}: leader epoch {line.epoch} begins at offset {line.start_offset}, and its "
                    f"high watermark is {limit}: what is committed there is not known yet; give the command "
                    "again in a few seconds, or stop that broker"
                )


def _paths(places: Sequence[PartitionDir]) -> set[str]:
    return {place.path for place in places}


def _target(request: Request[object], partition: str) -> PartitionDir:
    named, target = request.replica_called(partition)
    if target is None:
        raise UsageError(
            f"--partition {named.name}: is in none of the log dirs; a replica that is not there any more is "
            "copied from one that is sound: segmend plan graft"
        )
    return target


def _other(path: str, target: PartitionDir) -> Leader:
    """A replica elsewhere: its directory, or the log dir that it is in."""
    if disk.path_type(path) is None:
        raise Unreadable(path, "no such directory")
    inside = f"{path.rstrip('/')}/{target.name}"
    real = disk.real_path(inside if disk.path_type(inside) == "dir" else path)
    if real.rpartition("/")[2] != target.name:
        raise UsageError(f"--from {path}: has no {target.name}; give the directory of another replica of it")
    return Leader.open(real, *target.key)


def _read(places: Sequence[PartitionDir], compacted: bool | None, tell: Tell) -> Iterator[Replica]:
    """Each replica once."""
    total, done = sum(place.size for place in places), 0
    for place, replica in zip(places, read_replicas(places, compacted=compacted), strict=True):
        done += place.size
        tell(done, total)
        yield replica


def committed(partition: PartitionDir, replica: Replica, limit: int) -> Replica:
    """The same replica, of which is told what lies below offset `limit`; raises `Unreadable`."""
    runs = (part for run in replica.runs for part in _below(partition, run, limit))
    return replace(
        replica,
        log_end_offset=min(replica.log_end_offset, limit),
        high_watermark=limit,
        epochs=tuple(each for each in replica.epochs if each[1] < limit),
        runs=Packed(Run, runs),
        damaged=Packed(Damaged, (
            replace(each, last_offset=_least(each.last_offset, limit - 1))
            for each in replica.damaged if each.first_offset < limit
        )),
        gaps=tuple((first, min(last, limit - 1)) for first, last in replica.gaps if first < limit),
    )  # fmt: skip


def _least(offset: int | None, limit: int) -> int:
    return limit if offset is None else min(offset, limit)


def _below(partition: PartitionDir, run: Run, limit: int) -> Iterator[Run]:
    """The run, or the batches of it that end below the limit."""
    if run.last_offset < limit:
        yield run
    elif run.first_offset < limit:
        log = partition.entry(run.file)
        walk = Walk(run.file, run.segment, None)
        for row in iter_rows(log, base_offset=run.segment, start=run.first_position, stop=run.end_position):
            if row.batch.last_offset >= limit:
                break
            walk.take(row)
        walk.finish([], run.end_position)
        yield from walk.runs
