"""What the newest metadata log says that is among the dirs of several brokers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from segmend.broker.cleanup_policy import COMPACTED_TOPICS
from segmend.cluster.members import members
from segmend.frozen import frozen
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.last_run import EarlierDir, Kind, times_were_lost
from segmend.node.metadata_image import MetadataImage
from segmend.node.metadata_log import MetadataLog


def by_cluster(dirs: Iterable[LogDir]) -> Collection[Sequence[LogDir]]:
    """The dirs of each cluster; those that do not say are a group, too."""
    clusters: dict[str | None, list[LogDir]] = {}
    for log_dir in dirs:
        clusters.setdefault(log_dir.cluster, []).append(log_dir)
    return clusters.values()


def newest_image(brokers: Iterable[BrokerDirs]) -> MetadataImage | None:
    """What the newest metadata log among the dirs says that has its beginning: else it may lack any topic."""
    newest = _newest(brokers)
    return newest and newest[0].image


def _newest(brokers: Iterable[BrokerDirs]) -> tuple[MetadataLog, BrokerDirs] | None:
    newest: tuple[MetadataLog, BrokerDirs] | None = None
    for broker in brokers:
        log = broker.own_metadata_log
        if log is not None and log.records and log.whole:
            candidate = log, broker
            newest = max(newest or candidate, candidate, key=lambda each: each[0].position)
    return newest


@frozen
class KnownCluster:
    """The newest metadata of one cluster, the node that `has` it, and the `brokers` whose `dirs` are here.

    `is_open` tells that a cleaner was at a topic without a policy of its own, and that nothing tells those of
    the brokers.
    """

    log: MetadataLog
    has: BrokerDirs
    is_open: bool
    brokers: Mapping[int, BrokerDirs]
    dirs: tuple[LogDir, ...]

    @property
    def image(self) -> MetadataImage:
        return self.log.image

    def earlier(self) -> Mapping[str, EarlierDir]:
        """By path, dirs that are not known to be as their brokers left them.

        Where the files of the metadata lost their times, too, younger ones tell nothing.
        """
        told, home = dict[str, EarlierDir](), self.has.metadata_dir
        for broker in self.brokers.values():
            elsewhere = None if broker is self.has else home
            told |= broker.earlier_by(self.log, elsewhere) if elsewhere else broker.earlier_dirs
        if home is not None and times_were_lost(home, self.image):
            told = {path: each.untold if each.kind is Kind.ANEW else each for path, each in told.items()}
        return {path: each for path, each in told.items() if not each.complete}


@frozen
class Policies:
    """The metadata of each cluster that has some here.

    `given` are the server.properties of brokers, as far as they are known.
    """

    known: tuple[KnownCluster, ...]
    given: tuple[Mapping[str, str], ...]

    def __call__(self, topic: str) -> bool | None:
        """Whether the topic is compacted; None where nothing says."""
        for each in self.known:
            told = each.image.compacts(topic, self.given)
            if told is not None:
                return None if each.is_open and not told and not each.image.has_policy(topic) else told
        return None

    def is_told(self, topic: str) -> bool:
        """Whether somebody tells the topic's policy: else it is Kafka's default, or what gaps look like."""
        knowing = [each.image for each in self.known if topic in each.image.ids]
        told = any(self.given or image.has_policy(topic) for image in knowing)
        return told or topic in COMPACTED_TOPICS


def compacts_by(dirs: Iterable[LogDir], configs: Sequence[ServerConfig] = ()) -> Policies:
    """What tells of a topic whether it is compacted.

    `configs` are server.properties of its brokers: they count where a topic has no cleanup.policy of its own.
    Without any a cleaner that was at such a topic shows that Kafka's default need not be theirs.
    """
    known, given = [], tuple(config.given for config in configs)
    for group in by_cluster(dirs):
        brokers = members(group).brokers
        newest = _newest(brokers.values())
        if newest is not None:
            log, has = newest
            image = log.image
            cleaned = {topic for log_dir in group for topic, _ in log_dir.cleaner_offsets}
            theirs = cleaned.intersection(image.ids).difference(COMPACTED_TOPICS)
            is_open = not given and not all(map(image.has_policy, theirs))
            known.append(KnownCluster(log=log, has=has, is_open=is_open, brokers=brokers, dirs=tuple(group)))
    return Policies(known=tuple(known), given=given)
