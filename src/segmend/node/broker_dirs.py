"""All log dirs of one broker: whose they are, how it runs, and what its copy of the metadata says.

Nothing else derives these. Each is looked at when first asked for, and once.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from segmend.broker.election import ANY_DIRECTORY, NOT_THE_VOTER
from segmend.broker.identity import GENERATED_ID, is_kraft
from segmend.broker.log_dirs import Place
from segmend.broker.metadata_log import SNAPSHOT_FIRST
from segmend.broker.server_listeners import ROLES, entries_of
from segmend.broker.server_rules import ZOOKEEPER, is_whole
from segmend.formats.meta_properties import MetaProperties
from segmend.formats.names import BOOTSTRAP_CHECKPOINT, CLUSTER_METADATA
from segmend.frozen import replace
from segmend.logdir import disk
from segmend.logdir.beside import told_beside
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import AS_GIVEN, Asked, Guess, Release, guess_release
from segmend.node.last_run import EarlierDir, earlier_dirs
from segmend.node.metadata_image import MetadataImage
from segmend.node.metadata_log import MetadataLog, read_metadata_log
from segmend.node.metadata_version import registered_metadata_version

if TYPE_CHECKING:
    from segmend.logdir.as_user import AsUser


class BrokerDirs:
    """The entries of its `log.dirs` (and `metadata.log.dir`), as far as they were given.

    `release` says whose rules count (`3.7`: those of each of its patches), or what somebody has read off the
    dirs; if it is None they are asked here;
    `given` is server.properties; `learned` the metadata that the node gets of its fellows before it loads a
    log, where they are known; `unlisted` are log dirs of it that nobody could look into.
    """

    def __init__(
        self,
        dirs: Iterable[LogDir],
        *,
        release: Release | Guess | None = None,
        release_reason: str = AS_GIVEN,
        given: ServerConfig | None = None,
        unlisted: Iterable[str] = (),
    ) -> None:
        self.dirs = tuple(dirs)
        self.given = given
        self.unlisted = tuple(unlisted)
        named = Guess.named(release, release_reason) if isinstance(release, Release) else release
        self._release = named and _noting(named)
        self._metadata_logs: dict[str, MetadataLog] = {}
        self._present: BrokerDirs | None = None
        self._same: Mapping[str, LogDir] = {}
        self._reading = threading.Lock()
        self.learned: MetadataImage | None = None

    def later(self, dirs: Iterable[LogDir], changed: Iterable[str]) -> BrokerDirs:
        """The same broker with its dirs as a plan leaves them; `changed` are paths that it touches.

        `dirs` are those of this one, in the same order.
        """
        planned = self._with(dirs, self.given)
        touched = tuple(changed)
        pairs = zip(planned.dirs, self.dirs, strict=True)
        planned._same = {new.path: old for new, old in pairs if not _metadata_is_in(old, touched)}
        return planned

    def configured(self, given: ServerConfig | None) -> BrokerDirs:
        broker = self._with(self.dirs, given)
        broker._same = {log_dir.path: log_dir for log_dir in self.dirs}
        return broker

    @property
    def settled(self) -> BrokerDirs:
        """The same broker, where its release is taken for granted: nothing is noted of what it is asked."""
        broker = self.configured(self.given)
        broker._release = replace(self.guess, release=replace(self.release, asked=None))
        return broker

    def told(self, image: MetadataImage) -> BrokerDirs:
        """The same broker in a quorum whose leader has this image: it catches up before it loads a log."""
        broker = self._with(self.dirs, self.given)
        broker._same = {log_dir.path: log_dir for log_dir in self.dirs}
        broker.learned = image
        return broker

    def _with(self, dirs: Iterable[LogDir], given: ServerConfig | None) -> BrokerDirs:
        broker = BrokerDirs(dirs, given=given, unlisted=self.unlisted)
        broker._release = self.guess
        broker._present, broker.learned = self, self.learned
        return broker

    def seen_by(self, view: AsUser) -> BrokerDirs:
        """The same broker with what its user may do in its dirs; those that lie elsewhere as they are."""
        return self.later((view.dir(each) if each.files is disk else each for each in self.dirs), ())

    @property
    def partitions(self) -> Iterator[PartitionDir]:
        """Every directory of a partition, of whatever kind, dir by dir."""
        return (each for log_dir in self.dirs for each in log_dir.partitions)

    @property
    def current(self) -> Iterator[PartitionDir]:
        """Those that it serves."""
        return (each for log_dir in self.dirs for each in log_dir.current)

    @property
    def present(self) -> BrokerDirs:
        """The broker as it is, of one that was made by `later` or `configured`; else itself."""
        return self if self._present is None else self._present

    def of_release(self, release: Release) -> BrokerDirs:
        """The same dirs by the rules of another release that they may be of."""
        broker = BrokerDirs(self.dirs, given=self.given, unlisted=self.unlisted)
        broker._release = Guess(release, "it may be this one", release, release)
        broker.learned = self.learned
        return broker

    def registered_with(self, level: int) -> BrokerDirs:
        """The same dirs, where the metadata of others tells with which metadata.version it registered."""
        guess = guess_release(self.dirs, level)
        broker = BrokerDirs(self.dirs, release=guess, given=self.given, unlisted=self.unlisted)
        broker.learned = self.learned
        return broker

    @cached_property
    def guess(self) -> Guess:
        """What is known of the release: the one whose rules count, and those that it may be."""
        if self._release is not None:
            return self._release
        logs = filter(None, (log_dir.cluster_metadata for log_dir in self.dirs))
        levels = (registered_metadata_version(log, self.stored_node_id) for log in logs)
        level = next(filter(None, levels), None)
        told = (
            None
            if level is not None
            else told_beside(self.dirs, None if self.given is None else self.given.given)
        )
        return _noting(guess_release(self.dirs, level, told))

    @property
    def release(self) -> Release:
        return self.guess.release

    @property
    def release_reason(self) -> str:
        return self.guess.reason

    @cached_property
    def config(self) -> ServerConfig:
        """server.properties, with Kafka's defaults for all that is not in it."""
        return replace(self.given or ServerConfig(), release=self.release)

    @property
    def identities(self) -> list[MetaProperties]:
        """What the meta.properties say that can be read."""
        values = (log_dir.meta_properties.value for log_dir in self.dirs)
        return [value for value in values if value is not None]

    @property
    def stored_node_id(self) -> int | None:
        """The id of this node in the meta.properties beside the metadata, or in the first other with one."""
        home = () if self.metadata_dir is None else (self.metadata_dir,)
        values = (each.meta_properties.value for each in (*home, *self.dirs))
        return next((each.node_id for each in values if each and each.node_id is not None), None)

    @property
    def node_id(self) -> int | None:
        """The id of this node: as server.properties says, or else meta.properties."""
        own = None if self.given is None else self.given.node_id
        return self.stored_node_id if own is None else own

    def place(self, path: str) -> Place:
        """An entry of `log.dirs` as a broker compares it with others."""
        real = disk.real_path(path)
        return path, real, next((each.directory_id for each in self.dirs if each.real_path == real), None)

    @property
    def gets_new_id(self) -> bool | None:
        """Whether ZooKeeper gives it a new id; None if a server.properties that was not given tells."""
        if self.kraft or self.node_id is not None or not GENERATED_ID.of(self.release):
            return False
        return True if self.given is not None and is_whole(self.given.given) else None

    @cached_property
    def is_nobodys(self) -> bool:
        """Whether replicas for ZooKeeper lie in dirs of which none has meta.properties.

        A broker writes it into each since 0.9, and time indexes since 0.10.1: it was there.
        """
        if self.kraft or not all(each.meta_properties.missing for each in self.dirs):
            return False
        return any(name.endswith(".timeindex") for each in self.current for name in each.entries)

    @cached_property
    def kraft(self) -> bool:
        given, follows = self.config.given, any(each.cluster_metadata is not None for each in self.dirs)
        told = is_kraft(self.release, self.identities, given=given, has_metadata_log=follows)
        return told or (follows and ZOOKEEPER not in given and self._has_migrated)

    @property
    def _has_migrated(self) -> bool:
        """Whether it registered last as a broker of KRaft: 3.9 leaves version 0 in its meta.properties."""
        image, node_id = self.metadata, self.stored_node_id
        if image is None or node_id is None or not image.migration:
            return False
        return image.migrating.get(node_id) is False

    @cached_property
    def earlier_dirs(self) -> Mapping[str, EarlierDir]:
        """By path, dirs that were not there when the broker last ran: older copies, or away meanwhile."""
        log, home = self.own_metadata_log if self.kraft else None, self.metadata_dir
        metadata = None if log is None or home is None else (log, home)
        return earlier_dirs(self.dirs, self.release, self.config, metadata, self.node_id)

    def earlier_by(self, log: MetadataLog, home: LogDir) -> Mapping[str, EarlierDir]:
        """The same by another node's copy of the metadata, in `home`, and those of which nothing tells."""
        copies = {each.path: own for each in self.dirs if (own := self.metadata_log(each)) is not None}
        return earlier_dirs(self.dirs, self.release, self.config, (log, home), self.node_id, copies)

    @property
    def older_dirs(self) -> Mapping[str, str]:
        """Why nobody knows what it should have: by the path of each of them that was not only away."""
        return {path: each.words for path, each in self.earlier_dirs.items() if not each.complete}

    @property
    def complete_dirs(self) -> tuple[str, ...]:
        """Of each that was only away: what is taken for granted of it."""
        return tuple(f"{path}: {each.words}" for path, each in self.earlier_dirs.items() if each.complete)

    @cached_property
    def metadata_dir(self) -> LogDir | None:
        """The dir of `metadata.log.dir`; without a configuration the one that has the metadata."""
        if self._configured_home is not None:
            return self._configured_home
        if self.given is not None and self.given.metadata_log_dir == "":
            return None  # `metadata.log.dir=`: none of these, to the broker
        return min(self.dirs, key=_is_home, default=None)

    @cached_property
    def _configured_home(self) -> LogDir | None:
        """The dir of these that server.properties names for the metadata."""
        if self.given is None or not self.given.metadata_log_dir:
            return None
        wanted = disk.real_path(self.given.metadata_log_dir)
        return next((each for each in self.dirs if each.real_path == wanted), None)

    @property
    def serves(self) -> bool:
        """Whether it is a broker, as far as server.properties tells: a controller alone loads no logs."""
        return entries_of(self.config.given.get(ROLES, "")) != ["controller"]

    @property
    def is_controller(self) -> bool:
        """Whether it is a controller, too, as far as anything tells: without its roles, who votes."""
        roles = entries_of(self.config.given.get(ROLES, ""))
        return "controller" in roles if roles else self.voters is None or self.node_id in self.voters

    def is_apart(self, log_dir: LogDir) -> bool | None:
        """Whether a dir has the metadata alone, and is none of `log.dirs`; None if only its names say so."""
        if self._configured_home is None:
            return None if log_dir.is_metadata_apart else False
        others = map(disk.real_path, self.config.log_dirs)
        return log_dir is self._configured_home and log_dir.real_path not in others

    @property
    def home_is_known(self) -> bool:
        """Whether server.properties says that the metadata is to be in `metadata_dir`."""
        return self._configured_home is not None

    @property
    def home_is_assumed(self) -> bool:
        """Whether one of several dirs has the metadata, and only that tells where it is to be."""
        alone = self.given is not None or not self.kraft or len(self.dirs) == 1
        return not alone and self.own_metadata_log is not None and not self.home_is_doubtful

    @property
    def home_is_doubtful(self) -> bool:
        """Whether another dir may be where it is to be: the voters' name for it (KIP-853), or else the first.

        A dir that has the metadata alone was made for it. The voters' name moves with the disk, so it does
        not tell that disks were not exchanged: the metadata is to be in the first dir all the same.
        """
        home, log = self.metadata_dir, self.own_metadata_log
        if log is None or home is None or self.given is not None or not self.kraft:
            return False
        here = {each.directory_id for each in self.dirs} - {None, ANY_DIRECTORY, home.directory_id}
        return self.own_voter in here or (home is not self.dirs[0] and not home.is_metadata_apart)

    @cached_property
    def metadata_elsewhere(self) -> LogDir | None:
        """The dir of the metadata by server.properties of these dirs, if it is none of them."""
        if self.given is None or self.home_is_known or not self.given.metadata_log_dir:
            return None
        here = {each.real_path for each in self.dirs}
        if here.isdisjoint(map(disk.real_path, self.given.log_dirs)):
            return None  # It is of another machine: its paths say nothing here.
        return LogDir.attempt(self.given.metadata_log_dir)

    @cached_property
    def metadata_is_gone(self) -> bool | None:
        """Whether the metadata log is not where it is to be; None if nobody tells where that is.

        A node that keeps it in a dir apart (`metadata.log.dir`) leaves no trace of that in `log.dirs`.
        """
        if self.metadata_dir is not None and self.metadata_dir.cluster_metadata is not None:
            return False
        if self.home_is_known:
            return True
        apart = self.metadata_elsewhere
        return None if apart is None or apart.unreadable else apart.cluster_metadata is None

    @property
    def metadata_is_unseen(self) -> bool:
        """Whether a KRaft node's metadata log is in none of these dirs, and is or may be elsewhere."""
        there = any(each.cluster_metadata is not None for each in self.dirs)
        return self.kraft and self.is_formatted and not there and not self.metadata_is_gone

    def metadata_log(self, log_dir: LogDir) -> MetadataLog | None:
        """What `__cluster_metadata-0` in one of the dirs says; None where there is none."""
        if log_dir.path in self._same:
            return self.present.metadata_log(self._same[log_dir.path])
        partition = log_dir.cluster_metadata
        if partition is None:
            return None
        with self._reading:
            if log_dir.path not in self._metadata_logs:
                first = SNAPSHOT_FIRST.of(self.release)
                self._metadata_logs[log_dir.path] = read_metadata_log(partition, snapshot_first=first)
            return self._metadata_logs[log_dir.path]

    @property
    def own_metadata_log(self) -> MetadataLog | None:
        """What `__cluster_metadata-0` in `metadata_dir` says; None where there is none."""
        return None if self.metadata_dir is None else self.metadata_log(self.metadata_dir)

    @property
    def metadata(self) -> MetadataImage | None:
        """What the cluster's metadata on these disks says; None without, or if its beginning is lost."""
        if self.learned is not None:
            return self.learned
        log = self.own_metadata_log
        return log.image if log is not None and log.records and log.whole else None

    @cached_property
    def voters(self) -> frozenset[int] | None:
        """The nodes that elect the leader of the metadata, this one perhaps among them; None if nobody tells.

        They are in the log itself (KIP-853, `KRaftControlRecordStateMachine.lastVoterSet`), or else in
        server.properties; `quorum-state` had them up to 3.8.
        """
        log = self.own_metadata_log
        if log is not None and log.image.voters:
            return frozenset(log.image.voters)
        if self.given is not None and self.given.voters:
            return self.given.voters
        partition = None if self.metadata_dir is None else self.metadata_dir.cluster_metadata
        state = None if partition is None else partition.quorum_state.value
        return None if state is None or not state.current_voters else frozenset(state.current_voters)

    @property
    def others(self) -> tuple[int, ...] | None:
        """The voters but for this node; None if nobody tells."""
        return None if self.voters is None else tuple(sorted(self.voters - {self.node_id}))

    @property
    def own_voter(self) -> str | None:
        """The id of the dir by which the voters in the log know this node; None if they do not."""
        log, node_id = self.own_metadata_log, self.node_id
        return None if log is None or node_id is None else log.image.voters.get(node_id)

    @property
    def lost_vote(self) -> str | None:
        """Why the node has no vote although the log names it as a voter: its metadata dir is another one."""
        home, node_id, wanted = self.metadata_dir, self.node_id, self.own_voter
        if home is None or home.meta_properties.value is None:
            return None  # Whose dir it is, nobody can read: that is told for itself.
        directory_id = home.directory_id
        if wanted in (None, ANY_DIRECTORY, directory_id):
            return None
        return NOT_THE_VOTER.format(node_id, wanted, directory_id or "none")

    @property
    def metadata_records(self) -> Mapping[int, Collection[int]]:
        """The kinds (api keys) of records in the metadata on these disks, and which releases cannot read all
        of them, told by their newest versions."""
        log = self.own_metadata_log
        return {} if log is None else log.unread

    @property
    def is_formatted(self) -> bool:
        """Whether dirs of it were formatted for a KRaft node (`kafka-storage format`, 3.3)."""
        return any(BOOTSTRAP_CHECKPOINT in each.entries for each in self.dirs)

    @property
    def registered_dirs(self) -> tuple[str, ...]:
        """The directory ids that this node registered last, as far as the metadata tells them."""
        metadata, node_id = self.metadata, self.node_id
        return () if metadata is None or node_id is None else metadata.log_dirs.get(node_id, ())

    @property
    def image(self) -> MetadataImage | None:
        """The metadata that the broker goes by; None in ZooKeeper mode."""
        return self.metadata if self.kraft else None


def _noting(guess: Guess) -> Guess:
    """Of several releases the one taken notes what it is asked."""
    if guess.oldest == guess.newest:
        return guess
    return replace(guess, release=replace(guess.release, asked=Asked()))


def _metadata_is_in(log_dir: LogDir, touched: Iterable[str]) -> bool:
    home = f"{log_dir.path}/{CLUSTER_METADATA}/"
    return any(f"{path}/".startswith(home) for path in touched)


def _is_home(log_dir: LogDir) -> tuple[bool, bool, bool, str]:
    """Whether the metadata is there, or may be: nobody can look into it. The dirs' order tells nothing."""
    gone, nothing = log_dir.cluster_metadata is None, CLUSTER_METADATA not in log_dir.entries
    return gone, nothing, log_dir.unreadable is None, log_dir.path
