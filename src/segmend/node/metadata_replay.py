"""Whether metadata records fit those before them: what a node that replays them would end over.

Each look is at one record, by the image that those before it made. Follows the classes that
`segmend.broker.metadata_records` names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, cast

from segmend.broker.gates import reads
from segmend.broker.metadata_records import (
    ALWAYS,
    HAS_CREDENTIALS,
    HAS_DIRECTORIES,
    HAS_TOKENS,
    IDS_GO_BACK,
    MIGRATES,
    NO_ACL,
    NO_CREDENTIAL,
    NO_ELR,
    NO_MIGRATION,
    NO_PARTITION,
    NO_PRINCIPAL,
    NO_RECOVERY_STATE,
    NO_SUCH_TOPIC,
    NO_TOPIC,
    NOT_REGISTERED,
    OTHER_EPOCH,
    OTHER_LENGTHS,
    OTHER_TOPIC,
    SAME_TOPIC,
    TOPICS_ONCE,
    UNKNOWN_VALUE,
    UNNAMED,
)
from segmend.broker.rule import Rule
from segmend.frozen import frozen
from segmend.logdir.release import Release
from segmend.node.metadata_image import Data, MetadataImage

Said = Iterator[tuple[Rule[bool], str]]
_ACTIONS: Final = {
    "UNREGISTER_BROKER_RECORD": ("unregister", "brokerId", "brokerEpoch"),
    "FENCE_BROKER_RECORD": ("fence", "id", "epoch"),
    "UNFENCE_BROKER_RECORD": ("unfence", "id", "epoch"),
    "BROKER_REGISTRATION_CHANGE_RECORD": ("change", "brokerId", "brokerEpoch"),
}
"""Of each record about a broker that is registered: the word for it, and the names of its fields."""
_CHANGES: Final = {"fenced": (-1, 0, 1), "inControlledShutdown": (0, 1)}
_RECOVERY_STATES: Final = (0, 1)
_MIGRATION_STATES: Final = range(5)
_NO_CHANGE: Final = -1


@frozen
class Misfit:
    """A record that does not fit, and what is said of it by releases of which `rule` is true.

    `kind` is its api key, `unread` has the newest versions of it of such releases as cannot read it at all;
    `controllers`: nobody else says so.
    """

    rule: Rule[bool]
    offset: int
    says: str
    kind: int
    unread: tuple[int, ...] = ()
    controllers: bool = False

    def is_met(self, release: Release) -> bool:
        """Whether that release says so."""
        return self.rule.of(release) and reads(release, self.kind, self.unread)


def misfits(kind: str, data: Data, image: MetadataImage) -> Said:
    """What is said of a record by the image of those before it."""
    look = _LOOKS.get(kind)
    if kind in _ACTIONS:
        yield from _of_registered(kind, data, image)
    elif look is not None:
        yield from look(data, image)


def _of_registered(kind: str, data: Data, image: MetadataImage) -> Said:
    action, node, epoch = _ACTIONS[kind]
    numbers = cast(Mapping[str, int], data)
    now = image.broker_epochs.get(numbers[node])
    if now is None:
        yield ALWAYS, NOT_REGISTERED.format(action, numbers[node])
    elif now != numbers[epoch]:
        yield ALWAYS, OTHER_EPOCH.format(action, numbers[node], numbers[epoch], now)
    for name, known in _CHANGES.items() if action == "change" else ():
        if numbers.get(name, 0) not in known:
            yield ALWAYS, UNKNOWN_VALUE.format("BrokerRegistrationChangeRecord", name, numbers[name])


def _register(data: Data, _image: MetadataImage) -> Said:
    if not all(each["name"] for each in data["endPoints"]):
        yield ALWAYS, UNNAMED


def _topic(data: Data, image: MetadataImage) -> Said:
    name, topic_id = data["name"], data["topicId"]
    before = image.ids.get(name)
    if before is not None:
        same = SAME_TOPIC.format(name, topic_id)
        yield TOPICS_ONCE, same if before == topic_id else OTHER_TOPIC.format(name, before, topic_id)


def _partition(data: Data, image: MetadataImage) -> Said:
    if data["topicId"] not in image.names:
        yield ALWAYS, NO_TOPIC.format(data["topicId"], data["partitionId"])
    yield from _registration(data, data["replicas"], _RECOVERY_STATES)


def _change(data: Data, image: MetadataImage) -> Said:
    key = data["topicId"], data["partitionId"]
    if data["topicId"] not in image.names:
        yield ALWAYS, NO_TOPIC.format(*key)
    elif key not in image.replicas:
        yield ALWAYS, NO_PARTITION.format(*key)
    replicas = data.get("replicas")
    now = image.replicas.get(key, ()) if replicas is None else replicas
    yield from _registration(data, now, (_NO_CHANGE, *_RECOVERY_STATES))


def _registration(data: Data, replicas: Sequence[int], states: Sequence[int]) -> Said:
    directories, state = data.get("directories"), data.get("leaderRecoveryState", 0)
    if directories and len(directories) != len(replicas):
        yield HAS_DIRECTORIES, OTHER_LENGTHS
    if state not in states:
        yield ALWAYS, NO_RECOVERY_STATE.format(state)


def _remove(data: Data, image: MetadataImage) -> Said:
    if data["topicId"] not in image.names:
        yield ALWAYS, NO_SUCH_TOPIC.format(data["topicId"])


def _producer_ids(data: Data, image: MetadataImage) -> Said:
    if data["nextProducerId"] <= image.next_producer_id:
        yield ALWAYS, IDS_GO_BACK.format(data["nextProducerId"], image.next_producer_id)


def _remove_acl(data: Data, image: MetadataImage) -> Said:
    if data["id"] not in image.acls:
        yield ALWAYS, NO_ACL.format(data["id"])


def _remove_credential(data: Data, image: MetadataImage) -> Said:
    key = data["name"], data["mechanism"]
    if key not in image.credentials:
        yield HAS_CREDENTIALS, NO_CREDENTIAL.format(f"{key[0]} ({key[1]})")


def _token(data: Data, _image: MetadataImage) -> Said:
    for principal in (data["owner"], data["requester"], *data["renewers"]):
        if ":" not in principal:
            yield HAS_TOKENS, NO_PRINCIPAL.format(principal)


def _clear_elr(data: Data, image: MetadataImage) -> Said:
    if data["topicName"] and data["topicName"] not in image.ids:
        yield ALWAYS, NO_ELR.format(data["topicName"])


def _migrate(data: Data, _image: MetadataImage) -> Said:
    if data["zkMigrationState"] not in _MIGRATION_STATES:
        yield MIGRATES, NO_MIGRATION.format(data["zkMigrationState"])


_LOOKS: Final[dict[str, Callable[[Data, MetadataImage], Said]]] = {
    "REGISTER_BROKER_RECORD": _register,
    "TOPIC_RECORD": _topic,
    "PARTITION_RECORD": _partition,
    "PARTITION_CHANGE_RECORD": _change,
    "REMOVE_TOPIC_RECORD": _remove,
    "PRODUCER_IDS_RECORD": _producer_ids,
    "REMOVE_ACCESS_CONTROL_ENTRY_RECORD": _remove_acl,
    "REMOVE_USER_SCRAM_CREDENTIAL_RECORD": _remove_credential,
    "DELEGATION_TOKEN_RECORD": _token,
    "CLEAR_ELR_RECORD": _clear_elr,
    "ZK_MIGRATION_STATE_RECORD": _migrate,
}
