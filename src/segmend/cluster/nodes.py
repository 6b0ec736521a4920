"""The nodes of a cluster, one by one: what their disks tell before the start, and what the start does.

`Nodes` plays them here; whoever has many has them played elsewhere, by the same two functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from segmend.broker.election import FORGOTTEN, MIN_INSYNC, UNCLEAN_ELECTION
from segmend.broker.strays import NO_DIR_IDS
from segmend.cluster.values import Name, NodeOutcome
from segmend.frozen import field, frozen, replace
from segmend.loading import DirOutcome, ForecastOptions, Later, PartitionOutcome, Service, forecast_any
from segmend.loading.values import TOO_EARLY, Losses
from segmend.logdir.as_user import user_of
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_copy import MetadataCopy
from segmend.node.metadata_image import MetadataImage
from segmend.node.metadata_log import MetadataLog
from segmend.node.older import ahead, newest_epoch
from segmend.node.voter_files import VoterFiles, sound_state

_RECORD = 7
"""`DefaultRecord`: none is shorter, as each of its seven fields takes a byte at least."""


@frozen
class Sight:
    """What the disks of a node tell before it starts.

    `position` is where its metadata log ends, None without one; `snapshot` where its newest snapshot ends,
    `epochs` are the leader epochs behind that with their first offsets; `voters` and `replicas` the nodes
    that the log names; `marks` the high watermarks in its checkpoints: so much is committed; `settings`
    its server.properties, as far as it was given and matters to others; `lost_vote` why it has none;
    `followed` the leader and epoch in its quorum-state; `files` what they tell of votes, its own and others',
    in the dir `home`; `kraft` whether it has no ZooKeeper.
    """

    position: tuple[int, int] | None
    voters: tuple[int, ...] = ()
    replicas: frozenset[int] = frozenset()
    marks: Mapping[Name, int] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    snapshot: int = 0
    epochs: tuple[tuple[int, int], ...] = ()
    lost_vote: str | None = None
    followed: tuple[int, int] = (-1, 0)
    files: VoterFiles | None = None
    home: str | None = None
    kraft: bool = False

    @property
    def epoch(self) -> int:
        """The newest leader epoch of the metadata that its files know of."""
        return max(self.followed[1], 0 if self.position is None else self.position[0])

    @property
    def end(self) -> int:
        """The offset after its metadata log."""
        return 0 if self.position is None else self.position[1]

    def before(self, cut: Losses) -> tuple[int, int] | None:
        """Where its metadata log ended at most before that was cut off."""
        if self.position is None or not cut.partitions:
            return self.position
        return (self.epoch, self.end + cut.bytes // _RECORD) if cut.bytes else None

    def epoch_at(self, offset: int) -> int | None:
        """The leader epoch of the record at an offset of the metadata log."""
        return next((epoch for epoch, first in reversed(self.epochs) if first <= offset), None)

    def shared(self, other: Sight) -> int:
        """Where the metadata logs of two nodes part: up to there both hold the same records.

        No two leaders have one epoch, so one epoch at one offset is one record. What a snapshot has is
        committed, and the same everywhere.
        """
        same, end = max(self.snapshot, other.snapshot), min(self.end, other.end)
        firsts = sorted({first for _, first in (*self.epochs, *other.epochs)} | {same})
        for first in (each for each in firsts if same <= each < end):
            if self.epoch_at(first) != other.epoch_at(first):
                return first
        return end


@frozen
class NodeStart:
    """Its start: the line, and what becomes of each replica.

    `stopped_in` is the broker epoch that it stopped cleanly in, None where its dirs do not agree.
    `ahead` are logs newer than the metadata that is elected, `homeless` the replicas that it has in log dirs
    which are none of the node's, with the id.
    """

    outcome: NodeOutcome
    replicas: Mapping[Name, PartitionOutcome]
    stopped_in: int | None = None
    ahead: frozenset[Name] = frozenset()
    homeless: Mapping[Name, str] = field(default_factory=dict)


class Playing(Protocol):
    @property
    def node_ids(self) -> Iterable[int]: ...

    def sights(self) -> dict[int, Sight]: ...

    def image(self, node_id: int) -> MetadataImage | None:
        """The metadata of that node."""

    def starts(self, node_ids: Iterable[int], leader: int | None) -> Iterator[NodeStart]:
        """The starts of these nodes, by the image of the node that leads the metadata quorum."""


class Nodes:
    """Played here, one after another; `as_user` is whom they run as, each the owner of most files if None.

    `tell` is told how far the start of each is.
    """

    def __init__(
        self, brokers: Mapping[int, BrokerDirs], options: ForecastOptions, as_user: str | None = None,
        tell: Callable[[int, int], None] | None = None,
    ) -> None:  # fmt: skip
        self._brokers = brokers
        self._options = options
        self._as_user = as_user
        self._tell = tell

    @property
    def node_ids(self) -> Iterable[int]:
        return self._brokers.keys()

    def sights(self) -> dict[int, Sight]:
        return {node_id: sight(broker) for node_id, broker in self._brokers.items()}

    def image(self, node_id: int) -> MetadataImage | None:
        return image_of(self._brokers[node_id])

    def starts(self, node_ids: Iterable[int], leader: int | None) -> Iterator[NodeStart]:
        image = None if leader is None else self.image(leader)
        for node_id in node_ids:
            yield start(node_id, self._brokers[node_id], image, self._options, self._as_user, self._tell)


def sight(broker: BrokerDirs) -> Sight:
    log, marks = _metadata_log(broker), dict[Name, int]()
    given = {} if broker.given is None else broker.given.given
    settings = {name: given[name].strip() for name in (UNCLEAN_ELECTION, MIN_INSYNC) if name in given}
    voters = tuple(sorted(broker.voters or ()))
    for log_dir in broker.dirs:
        for name, offset in log_dir.high_watermarks.items():
            marks[name] = max(marks.get(name, 0), offset)
    if log is None:
        return Sight(position=None, voters=voters, marks=marks, settings=settings, kraft=broker.kraft)
    named = log.image.replicas.values()
    return Sight(
        position=log.position, voters=voters, marks=marks, settings=settings,
        replicas=frozenset(node for replicas in named for node in replicas),
        snapshot=log.snapshot[0] if log.snapshot else 0, epochs=tuple(sorted(log.epochs.items())),
        lost_vote=broker.lost_vote, followed=_followed(broker), kraft=broker.kraft,
        files=_voter_files(broker), home=None if broker.metadata_dir is None else broker.metadata_dir.path,
    )  # fmt: skip


def _followed(broker: BrokerDirs) -> tuple[int, int]:
    """The leader and the epoch in its quorum-state; nobody's where that tells none."""
    partition = None if broker.metadata_dir is None else broker.metadata_dir.cluster_metadata
    state = None if partition is None else partition.quorum_state.value
    if state is None or state.leader_id is None or state.leader_epoch is None:
        return -1, 0
    return state.leader_id, state.leader_epoch


def _voter_files(broker: BrokerDirs) -> VoterFiles | None:
    home = broker.metadata_dir
    partition = None if home is None else home.cluster_metadata
    if home is None or partition is None:
        return None
    whose = f"{partition.path} (node {broker.node_id})"
    copy, state = MetadataCopy.of(partition), sound_state(partition)
    return VoterFiles.of(whose, broker.node_id, home.directory_id, copy, state)


def forgotten(sights: Mapping[int, Sight]) -> Iterator[tuple[int, str]]:
    """Nodes that others know as the leader of an epoch of which they themselves do not know any more."""
    for node, own in sights.items():
        later = [(seen.followed[1], other) for other, seen in sights.items() if seen.followed[0] == node]
        epoch, other = max(later, default=(0, node))
        if epoch > own.epoch:
            yield node, FORGOTTEN.format(node=node, other=other, epoch=epoch, own=own.epoch)


def image_of(broker: BrokerDirs) -> MetadataImage:
    """The metadata on its disks, as far as it goes; without any it knows of no topic."""
    log = _metadata_log(broker)
    return MetadataImage() if log is None else log.image


def _metadata_log(broker: BrokerDirs) -> MetadataLog | None:
    home = broker.metadata_dir
    return None if home is None else broker.metadata_log(home)


def start(
    node_id: int,
    broker: BrokerDirs,
    image: MetadataImage | None,
    options: ForecastOptions,
    as_user: str | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> NodeStart:
    """Play the start of one node, by its own metadata if `image` is None."""
    user, assumed = user_of(as_user, broker.dirs)
    options = replace(options, user=user, user_assumed=assumed)
    told = broker if image is None else broker.told(image)
    lines, clean, replicas = forecast_any(told, options, tell), True, {}
    later: list[Later] = []
    for line in lines:
        if isinstance(line, Later):
            later.append(line)
        if isinstance(line, PartitionOutcome):
            replicas[line.topic, line.partition] = line
        if isinstance(line, DirOutcome) and not line.metadata_alone:
            clean = clean and line.clean_shutdown
    assert lines.broker is not None, "a forecast ends with its broker"
    outcome = NodeOutcome(
        node_id=node_id, dirs=tuple(each.path for each in broker.dirs), clean_shutdown=clean,
        broker=lines.broker, deleted=sum(each.records_lost for each in later),
        undue=tuple(
            f"{each.dir}/{each.file}: whether its records stay: {each.why}, but {TOO_EARLY}"
            for each in later if each.undue
        ),
    )  # fmt: skip
    known = image or broker.learned or MetadataImage()
    return NodeStart(
        outcome=outcome, replicas=replicas, stopped_in=stopped_in(broker),
        ahead=ahead(dict(_epochs_of(broker, replicas)), known),
        homeless={} if lines.broker.offline else dict(_homeless(node_id, broker, replicas, known)),
    )  # fmt: skip


def _homeless(
    node_id: int, broker: BrokerDirs, replicas: Iterable[Name], image: MetadataImage
) -> Iterator[tuple[Name, str]]:
    """What the controller elects only once it hears where it lies now (KIP-858).

    Of a node all of whose log dirs come up: one that does not may be the one that the metadata means.
    """
    homes = {each.directory_id for each in broker.dirs} | NO_DIR_IDS | {None}
    for name in replicas:
        directory = image.directory(image.ids.get(name[0], ""), name[1], node_id)
        if directory is not None and directory not in homes:
            yield name, directory


def stopped_in(broker: BrokerDirs) -> int | None:
    """What the node registers with (`LogManager.readBrokerEpochFromCleanShutdownFiles`)."""
    markers = [each.clean_shutdown.value for each in broker.dirs if not each.is_metadata_apart]
    epochs = {None if marker is None else marker.broker_epoch for marker in markers}
    return epochs.pop() if len(epochs) == 1 else None


def _epochs_of(broker: BrokerDirs, replicas: Mapping[Name, PartitionOutcome]) -> Iterator[tuple[Name, int]]:
    """The newest leader epoch of each log that the node serves."""
    for partition in broker.current:
        line = replicas.get(partition.key)
        if line is not None and line.dir == partition.log_dir.path and line.outcome == Service.SERVED:
            yield partition.key, newest_epoch(partition)
