"""What a KRaft node goes by when it starts: its own copy of the cluster's metadata, or that of others.

One that is the only voter goes by what is left of its copy (`MetadataLoader`, `QuorumState.isOnlyVoter`);
one that has others catches up with them before its first partition is touched.
"""

from __future__ import annotations

from segmend.broker.election import NOT_REGISTERED, majority
from segmend.broker.rule import Words
from segmend.broker.server_listeners import ROLES
from segmend.broker.server_names import BOOTSTRAP
from segmend.broker.settings import MISSING
from segmend.formats.names import CLUSTER_METADATA
from segmend.frozen import frozen, replace
from segmend.loading.values import DirectoryOutcome, Effect
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage

EMPTIED = "a node that is the only voter starts with empty metadata and takes every topic here for a stray"

_OTHER_MODE = (
    "server.properties for a release without ZooKeeper: as it was for ZooKeeper, the broker refuses to start "
    f"({MISSING.format(ROLES)}); with roles, and no migration (KIP-866), {EMPTIED}"
)
_WITHOUT_MIGRATION = "it starts with roles and no migration"
_OTHERS = (
    "whether other voters are alive that have the cluster's metadata: {}. Then nothing turns stray; this is "
    "told for a node that is alone: {}"
)
NO_VOTERS_ANYWHERE = (
    "nobody is elected to lead the metadata: server.properties has no controller.quorum.voters, and the log "
    "names none either, as that of a quorum with voters in server.properties (kraft.version 0)"
)
NO_CONTROLLER_ANY_MORE = (
    "nobody is elected to lead the metadata: the log names this node as a voter, and it is no controller by "
    "process.roles"
)
_ALONE = "no other voter has the cluster's metadata"
_ELSEWHERE = (
    "where the cluster's metadata is: {}, and server.properties was not given (--config). If it is in a "
    "metadata.log.dir apart (give that dir, too), or other voters have it, nothing turns stray; this is told "
    "for the worst, that it is gone: {}"
)
ANOTHER_HOME = (
    "whether metadata.log.dir is {0.path} (by default it is the first of log.dirs): else the broker refuses "
    "to start; server.properties, which tells it, was not given (--config)"
)
IN_ITS_HOME = "metadata.log.dir is {0.path}, where the metadata lies (by default it is the first of log.dirs)"
FOLLOWS = (
    "what lies here is no longer than what leads it: a replica cuts off what its leader, another broker, "
    "does not have"
)
_OTHER_CLUSTER = Words.since(
    "KafkaServer.startup; KIP-500",
    ((2, 4), ", the cluster is the one of meta.properties (else the broker refuses: "
             "InconsistentClusterIdException)"),
)  # fmt: skip
_OTHER_TOPIC = Words.since(
    "ReplicaManager.becomeLeaderOrFollower; KIP-516",
    ((2, 8), ", topics are those of the ids in partition.metadata (else nobody serves them)"),
)
_OLD_FORMAT = Words.since(
    "UnifiedLog.maybeCreateLeaderEpochCache; KIP-101",
    ((0, 11), ", leader epochs go by message.format.version"),
    ((4, 0), None),
)
_IN_ZOOKEEPER = (
    "no settings of topics or dynamic ones, no other partitions of it, and no deletion of a topic that goes "
    "on: ZooKeeper has them, and by them retention may delete more or less, a topic go as a whole{}, and the "
    "broker refuse an index longer than segment.index.bytes; that there the replicas here are its own, by "
    "this broker.id (of another one, or where ZooKeeper is empty, nobody serves them, and the files "
    "stay){}{}; that {}"
)
NOBODYS = (
    "whose replicas these are: none of the dirs has meta.properties, and ZooKeeper knows them by the "
    "broker.id and in the cluster that they had; under others nobody serves them"
)
_GONE = (
    "its copy of the cluster's metadata is gone, not in a dir that was not given, and no other voter has it"
)


@frozen
class Metadata:
    """What the node goes by: `image` is None where nobody can say, as what ZooKeeper has.

    `lost` tells what of it is not there any more, `where` in which dir; `unknown` and `assumed` what that
    leaves open; `waits` why the node never comes up; `supposed` is what the worst supposes, if that is told.
    """

    image: MetadataImage | None = None
    lost: str | None = None
    where: LogDir | None = None
    unknown: str | None = None
    assumed: str | None = None
    waits: str | None = None
    supposed: str | None = None

    def line(self) -> DirectoryOutcome | None:
        if self.lost is None or self.where is None or self.where.cluster_metadata is not None:
            return None
        return DirectoryOutcome(
            dir=self.where.path, name=CLUSTER_METADATA, kind="cluster-metadata", outcome="lost",
            effects=self._effects,
        )  # fmt: skip

    def on(self, outcome: DirectoryOutcome) -> DirectoryOutcome:
        """The line of the metadata log with what is lost."""
        return replace(outcome, effects=(*outcome.effects, *self._effects))

    @property
    def _effects(self) -> tuple[Effect, ...]:
        if self.lost is None:
            return ()
        return (Effect(effect="metadata-lost", file=CLUSTER_METADATA, broker_says=self.lost),)


def metadata_of(broker: BrokerDirs, *, whole: bool) -> Metadata:
    """What the node starts with; `whole` if no log dir of it lies elsewhere."""
    if not broker.kraft:
        return Metadata(image=broker.learned)
    if broker.learned is not None:
        return Metadata(image=broker.learned)
    lost, where = _lost(broker, whole=whole), broker.metadata_dir
    waits = _no_majority(broker)
    if waits is not None:
        return Metadata(image=broker.metadata, where=where, waits=waits)
    if lost is None:
        return Metadata(image=broker.metadata, lost=_dropped(broker), where=where, assumed=_behind(broker))
    others = broker.others
    if others is None and _of_zookeeper(broker):
        lost = f"{lost}: {EMPTIED}"
        return Metadata(
            image=MetadataImage(), lost=lost, where=where, unknown=_OTHER_MODE, supposed=_WITHOUT_MIGRATION
        )
    if others:
        catches_up = f"voters {_ids(others)} are up, and have the cluster's metadata"
        return Metadata(
            lost=f"{lost}; it fetches all of it again if a majority of the voters is up",
            where=where, assumed=catches_up,
            unknown=f"the cluster's metadata: {lost}. If {catches_up}, nothing is lost; else {EMPTIED}",
        )  # fmt: skip
    if others is None and _waits(broker):
        waits = f"the process lives and waits for a leader: {lost}, and with it the voters (KIP-853)"
        return Metadata(lost=lost, where=where, waits=waits)
    alone = Metadata(image=MetadataImage(), lost=f"{lost}: {EMPTIED}", where=where)
    if others is not None:
        return alone
    if broker.metadata_is_gone is None:
        return replace(alone, unknown=_ELSEWHERE.format(lost, EMPTIED), supposed=_GONE)
    return replace(alone, unknown=_OTHERS.format(lost, EMPTIED), supposed=_ALONE)


def _ids(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))


def _waits(broker: BrokerDirs) -> bool:
    """Whether the voters are known by the log alone, and it is lost."""
    given = broker.given
    return given is not None and BOOTSTRAP in given.given


def _no_majority(broker: BrokerDirs) -> str | None:
    """Why this node has no vote, where the others are too few to elect a leader."""
    if len(broker.others or ()) >= majority(len(broker.voters or ())):
        return None
    if broker.lost_vote:
        return f"the process lives and waits for a leader that cannot be elected: {broker.lost_vote}"
    given, log = broker.config.given, broker.own_metadata_log
    if log is None or not log.whole or not given.get(ROLES, "").strip():
        return None
    votes = "controller" in given[ROLES]
    if votes and BOOTSTRAP in given and not (broker.config.voters or log.image.voters):
        return f"{NO_VOTERS_ANYWHERE}: {NOT_REGISTERED}"
    if broker.node_id in log.image.voters and not votes:
        return f"{NO_CONTROLLER_ANY_MORE}: {NOT_REGISTERED}"
    return None


def _lost(broker: BrokerDirs, *, whole: bool) -> str | None:
    """What is gone of the metadata, None if it is there, or lies where nobody looked."""
    home = broker.metadata_dir
    if home is None or not any(each.current for each in broker.dirs):
        return None  # There is nothing that could become a stray.
    log = broker.metadata_log(home)
    if log is not None:
        return f"{home.path}/{CLUSTER_METADATA} holds no metadata" if log.whole and log.blank else None
    gone, apart = broker.metadata_is_gone, broker.metadata_elsewhere
    if gone or (
        gone is None and broker.given is None and (_of_zookeeper(broker) or (whole and broker.is_formatted))
    ):
        looked = broker.dirs if gone is None else [apart or home]
        return f"there is no {CLUSTER_METADATA} in {', '.join(sorted(each.path for each in looked))}"
    return None


def in_zookeeper(release: Release) -> str:
    """What is taken for granted of it, and what each of that may change."""
    more = (words.say(release) or "" for words in (_OLD_FORMAT, _OTHER_CLUSTER, _OTHER_TOPIC))
    return _IN_ZOOKEEPER.format(*more, FOLLOWS)


def _of_zookeeper(broker: BrokerDirs) -> bool:
    """Whether only brokers with ZooKeeper had these dirs: KRaft nodes from 3.7 on write ids into them."""
    identities = broker.identities
    return bool(identities) and all(each.version == 0 and each.directory_id is None for each in identities)


def _dropped(broker: BrokerDirs) -> str | None:
    """What goes with a log that ends before its newest snapshot."""
    log = broker.own_metadata_log
    if log is None or log.snapshot is None or not log.ahead:
        return None
    return (
        f"the log ends at {log.end} of epoch {log.epoch} and is dropped for its newest snapshot, which "
        f"ends at {log.snapshot[0]} of epoch {log.snapshot[1]}: what was written after that is gone"
    )


def _behind(broker: BrokerDirs) -> str | None:
    if broker.metadata is None or broker.others == ():
        return None
    who = f"the other voters ({_ids(broker.others)})" if broker.others else "other voters, if there are any,"
    return f"{who} know nothing that this copy of the cluster's metadata does not"
