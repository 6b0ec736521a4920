"""The cluster's metadata as a node has it on disk: topics, replicas, settings, registrations, voters.

Built as `MetadataImage` is, record by record; where the records come from is the business of
`metadata_log`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from segmend.broker.authorizer import StandardAcl
from segmend.broker.cleanup_policy import POLICY, compacted
from segmend.broker.features import METADATA_VERSION
from segmend.frozen import dataclass, field, frozen, replace
from segmend.node.runs import Runs

_TOPIC_RESOURCE, _BROKER_RESOURCE = 2, 4

_NO_CHANGE = -2


class Feature(TypedDict):
    """A feature in a registration."""

    name: str
    maxSupportedVersion: int


class EndPoint(TypedDict):
    """A listener in a registration."""

    name: str


class Data(TypedDict, total=False):
    """The fields of the records that count here, by the tables of `topics/metadata.py`."""

    topicId: str
    name: str
    partitionId: int
    replicas: list[int]
    isr: list[int]
    removingReplicas: list[int]
    leader: int
    leaderEpoch: int
    directories: list[str]
    eligibleLeaderReplicas: list[int] | None
    lastKnownElr: list[int] | None
    topicName: str
    resourceType: int
    resourceName: str
    value: str | None
    brokerId: int
    brokerEpoch: int
    isMigratingZkBroker: bool
    fenced: bool | int
    inControlledShutdown: bool | int
    logDirs: list[str]
    features: list[Feature]
    featureLevel: int
    nextProducerId: int
    zkMigrationState: int
    id: str
    patternType: int
    principal: str
    host: str
    operation: int
    permissionType: int
    mechanism: int
    endPoints: list[EndPoint]
    owner: str
    requester: str
    renewers: list[str]
    leaderRecoveryState: int


@frozen
class PartitionLeader:
    """Who leads a partition (-1: nobody), its ISR, and its eligible leader replicas (KIP-966).

    `removing` are replicas that a reassignment takes away once it is done. `led` is who led last, and in
    which epoch; -1 where that is not told.
    """

    leader: int = -1
    epoch: int = 0
    isr: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    led: tuple[int, int] = (-1, -1)


@dataclass(slots=True)
class MetadataImage:
    """Replicas and their directory ids by (topic id, partition), names by id, ids by name, settings.

    `configs` are those of topics, `brokers` what was changed while brokers ran ("": for all of them).
    `log_dirs` are the directory ids that each node registered last, `levels` the newest metadata.version that
    its release knew then, `migrating` whether it had ZooKeeper still, `features` the cluster's levels,
    `voters` the directory ids under which nodes vote (KIP-853), `leaders` who led which partition.
    `broker_epochs` are those under which nodes registered last. `next_producer_id` is the first that was not
    yet given out.
    `created` is when the record that made a topic was written to the log (ms), by the topic's id.
    `acls` are those of the authorizer, by their ids.
    `runs` are when nodes served with which of their dirs.
    `credentials` are those of SCRAM, by user and mechanism. `levels_told` are all levels of features that
    its records name, also those that later ones replace.
    """

    names: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    replicas: dict[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    directories: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    brokers: dict[str, dict[str, str]] = field(default_factory=dict)
    log_dirs: dict[int, tuple[str, ...]] = field(default_factory=dict)
    levels: dict[int, int] = field(default_factory=dict)
    migrating: dict[int, bool] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    voters: dict[int, str] = field(default_factory=dict)
    leaders: dict[tuple[str, int], PartitionLeader] = field(default_factory=dict)
    registered: set[int] = field(default_factory=set)
    broker_epochs: dict[int, int] = field(default_factory=dict)
    next_producer_id: int = 0
    migration: int = 0
    created: dict[str, int] = field(default_factory=dict)
    credentials: set[tuple[str, int]] = field(default_factory=set)
    levels_told: set[tuple[str, int]] = field(default_factory=set)
    acls: dict[str, StandardAcl] = field(default_factory=dict)
    runs: Runs = field(default_factory=Runs)

    def dynamic(self, node_id: int | None) -> dict[str, str]:
        """Settings of the broker that were changed while it ran: for all brokers, then for this one."""
        return {**self.brokers.get("", {}), **self.brokers.get(str(node_id), {})}

    def compacts(self, topic: str, given: Sequence[Mapping[str, str]] = ()) -> bool | None:
        """Whether any node compacts the topic; None for a topic that is not here.

        `given` are the server.properties of nodes, as far as they are known.
        """
        if topic not in self.ids:
            return None
        own, usual = self.configs.get(topic, {}), self.brokers.get("", {})
        nodes = [usual, *({**usual, **changed} for changed in self.brokers.values())]
        return any(compacted(topic, None, own, node, file) for node in nodes for file in given or [{}])

    def has_policy(self, topic: str) -> bool:
        """Whether it tells the topic's cleanup.policy, whatever server.properties says."""
        return "cleanup.policy" in self.configs.get(topic, {}) or POLICY in self.brokers.get("", {})

    def assigned(self, topic: str, partition: int, node_id: int | None) -> bool:
        topic_id = self.ids.get(topic)
        return topic_id is not None and node_id in self.replicas.get((topic_id, partition), ())

    def alone(self, topic: str, partition: int) -> bool:
        topic_id = self.ids.get(topic)
        return topic_id is not None and len(self.replicas.get((topic_id, partition), ())) == 1

    def alone_in_sync(self, topic: str, partition: int, node_id: int | None) -> bool:
        """Whether no other node is known to have all of the partition."""
        leader = self.leaders.get((self.ids.get(topic, ""), partition))
        return self.alone(topic, partition) or (leader is not None and leader.isr == (node_id,))

    def leads_alone(self, topic: str, partition: int, node_id: int | None) -> bool:
        """Whether nobody else may lead the partition, as far as this copy knows."""
        leader = self.leaders.get((self.ids.get(topic, ""), partition))
        return self.alone(topic, partition) or (
            leader is not None and {*leader.isr, *leader.elr} == {node_id}
        )

    def directory(self, topic_id: str, partition: int, node_id: int | None) -> str | None:
        """The id of the log dir in which the node is to hold its replica, None if that is not told."""
        key = topic_id, partition
        pairs = zip(self.replicas.get(key, ()), self.directories.get(key, ()), strict=False)
        return next((directory for replica, directory in pairs if replica == node_id), None)

    def apply(self, kind: str, data: Data, time: int = -1) -> None:
        """Take one metadata record; `time` is when it was written, -1 where that is not known."""
        if kind == "TOPIC_RECORD" and time >= 0:
            self.created[data["topicId"]] = time
        if kind in _OF_RUNS:
            self._run(kind, data, time)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, data)

    def _run(self, kind: str, data: Data, time: int) -> None:
        node_id, dirs, stops = data["brokerId"], data.get("logDirs") or (), data.get("inControlledShutdown")
        if kind == "REGISTER_BROKER_RECORD":
            serves = not data.get("fenced", True)
            self.runs.start(node_id, data["brokerEpoch"], dirs, serves=serves, stops=bool(stops))
        else:  # 1: from now on, -1: no more, 0: as it was
            change = {1: False, -1: True}.get(data.get("fenced", 0))
            self.runs.change(node_id, dirs, serves=change, stops=stops == 1, time=time)

    def _topic(self, data: Data) -> None:
        self._forget_partitions(data["topicId"])  # a second record of the same begins anew
        self.names[data["topicId"]] = data["name"]
        self.ids[data["name"]] = data["topicId"]

    def _partition(self, data: Data) -> None:
        self.replicas[data["topicId"], data["partitionId"]] = tuple(data["replicas"])
        self._assign(data)
        self.leaders[data["topicId"], data["partitionId"]] = PartitionLeader(
            leader=data["leader"],
            epoch=data["leaderEpoch"],
            isr=tuple(data["isr"]),
            elr=tuple(data.get("eligibleLeaderReplicas") or ()),
            last_known=tuple(data.get("lastKnownElr") or ()),
            removing=tuple(data.get("removingReplicas") or ()),
            led=_led(data["leader"], data["leaderEpoch"], data["replicas"]),
        )

    def _change(self, data: Data) -> None:
        replicas = data.get("replicas")
        if replicas is not None:
            self.replicas[data["topicId"], data["partitionId"]] = tuple(replicas)
        self._assign(data)
        key = data["topicId"], data["partitionId"]
        before, leader = self.leaders.get(key, PartitionLeader()), data.get("leader", _NO_CHANGE)
        lists = {
            "isr": data.get("isr"), "elr": data.get("eligibleLeaderReplicas"),
            "last_known": data.get("lastKnownElr"), "removing": data.get("removingReplicas"),
        }  # fmt: skip
        changed: dict[str, object] = {name: tuple(ids) for name, ids in lists.items() if ids is not None}
        if leader != _NO_CHANGE:
            changed |= {"leader": leader, "epoch": before.epoch + 1}
        if leader >= 0:
            changed["led"] = leader, before.epoch + 1
        self.leaders[key] = replace(before, **changed)

    def _migrate(self, data: Data) -> None:
        self.migration = data["zkMigrationState"]

    def _clear_elr(self, data: Data) -> None:
        """Of one topic, or of all if it names none."""
        only = self.ids.get(data["topicName"])
        for key, leader in self.leaders.items():
            if not data["topicName"] or key[0] == only:
                self.leaders[key] = replace(leader, elr=(), last_known=())

    def _assign(self, data: Data) -> None:
        directories = data.get("directories")
        if directories is not None:
            self.directories[data["topicId"], data["partitionId"]] = tuple(directories)

    def _remove(self, data: Data) -> None:
        topic_id = data["topicId"]
        name = self.names.pop(topic_id, None)
        if name is not None and self.ids.get(name) == topic_id:
            del self.ids[name]
            self.configs.pop(name, None)
        self._forget_partitions(topic_id)

    def _forget_partitions(self, topic_id: str) -> None:
        for key in [key for key in self.replicas if key[0] == topic_id]:
            del self.replicas[key]
            self.leaders.pop(key, None)

    def _config(self, data: Data) -> None:
        kinds = {_TOPIC_RESOURCE: self.configs, _BROKER_RESOURCE: self.brokers}
        if data["resourceType"] not in kinds:
            return
        settings = kinds[data["resourceType"]].setdefault(data["resourceName"], {})
        if data["value"] is None:
            settings.pop(data["name"], None)
        else:
            settings[data["name"]] = data["value"]

    def _register(self, data: Data) -> None:
        self.registered.add(data["brokerId"])
        self.broker_epochs[data["brokerId"]] = data["brokerEpoch"]
        if "isMigratingZkBroker" in data:
            self.migrating[data["brokerId"]] = data["isMigratingZkBroker"]
        for feature in data.get("features", ()):
            if feature["name"] == METADATA_VERSION:
                self.levels[data["brokerId"]] = feature["maxSupportedVersion"]
        if data.get("logDirs"):
            self.log_dirs[data["brokerId"]] = tuple(data["logDirs"])

    def _unregister(self, data: Data) -> None:
        self.registered.discard(data["brokerId"])
        self.broker_epochs.pop(data["brokerId"], None)
        self.log_dirs.pop(data["brokerId"], None)

    def _producer_ids(self, data: Data) -> None:
        self.next_producer_id = data["nextProducerId"]

    def _feature(self, data: Data) -> None:
        self.features[data["name"]] = data["featureLevel"]
        self.levels_told.add((data["name"], data["featureLevel"]))

    def _credential(self, data: Data) -> None:
        self.credentials.add((data["name"], data["mechanism"]))

    def _remove_credential(self, data: Data) -> None:
        self.credentials.discard((data["name"], data["mechanism"]))

    def _acl(self, data: Data) -> None:
        self.acls[data["id"]] = StandardAcl(
            resource_type=data["resourceType"], resource_name=data["resourceName"],
            pattern_type=data["patternType"], principal=data["principal"], host=data["host"],
            operation=data["operation"], permission=data["permissionType"],
        )  # fmt: skip

    def _remove_acl(self, data: Data) -> None:
        self.acls.pop(data["id"], None)


def _led(leader: int, epoch: int, replicas: Sequence[int]) -> tuple[int, int]:
    """Who led last, and in which epoch; where nobody leads, a lone replica did before."""
    if leader < 0 and len(replicas) == 1:
        return replicas[0], epoch - 1
    return (leader, epoch) if leader >= 0 else (-1, -1)


_HANDLERS = {
    "ACCESS_CONTROL_ENTRY_RECORD": MetadataImage._acl,
    "REMOVE_ACCESS_CONTROL_ENTRY_RECORD": MetadataImage._remove_acl,
    "USER_SCRAM_CREDENTIAL_RECORD": MetadataImage._credential,
    "REMOVE_USER_SCRAM_CREDENTIAL_RECORD": MetadataImage._remove_credential,
    "TOPIC_RECORD": MetadataImage._topic,
    "PARTITION_RECORD": MetadataImage._partition,
    "PARTITION_CHANGE_RECORD": MetadataImage._change,
    "REMOVE_TOPIC_RECORD": MetadataImage._remove,
    "CONFIG_RECORD": MetadataImage._config,
    "REGISTER_BROKER_RECORD": MetadataImage._register,
    "UNREGISTER_BROKER_RECORD": MetadataImage._unregister,
    "BROKER_REGISTRATION_CHANGE_RECORD": MetadataImage._register,
    "FEATURE_LEVEL_RECORD": MetadataImage._feature,
    "PRODUCER_IDS_RECORD": MetadataImage._producer_ids,
    "ZK_MIGRATION_STATE_RECORD": MetadataImage._migrate,
    "CLEAR_ELR_RECORD": MetadataImage._clear_elr,
}
_OF_RUNS = frozenset({"REGISTER_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD"})
