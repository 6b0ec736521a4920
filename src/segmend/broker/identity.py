"""meta.properties of all log dirs together: whether the process starts at all.

Follows `MetaPropertiesEnsemble.Loader` and `verify`, and `KafkaRaftServer.initializeLogDirs`; what
releases up to 3.6 did is in `segmend.broker.old_identity`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from enum import Enum
from typing import Final

from segmend.broker.old_identity import READING, Reading, as_read, goes_offline, refusals
from segmend.broker.rule import Rule, new_in
from segmend.broker.server_listeners import ROLES
from segmend.broker.server_rules import ZOOKEEPER
from segmend.formats.damage import Damage
from segmend.formats.meta_properties import BROKER_ID, CLUSTER_ID, DIRECTORY_ID, NODE_ID, MetaProperties
from segmend.frozen import frozen, replace
from segmend.logdir.release import Release

DIRECTORY_IDS: Final = new_in("MetaPropertiesEnsemble; KIP-858", (3, 7))
CLUSTER_IDS: Final = new_in("KafkaServer; KAFKA-7335", (2, 4))


class Rewriting(Enum):
    """When a broker writes a meta.properties that is there anew, and what comes of it where nobody can."""

    NEVER = "never"
    ENDS = "at each start, and the process ends"
    PASSED_OVER = "at each start, and it marks a dir of the file's name, which is none"
    OFFLINE = "at each start, and the dir goes offline"
    IF_OTHER = "if it says something else then"


REWRITING: Final = Rule(
    "KafkaServer.checkpointBrokerMetadata; MetaPropertiesEnsemble.Copier (3.7)",
    (
        ((0, 8), Rewriting.NEVER),
        ((2, 4), Rewriting.ENDS),
        ((3, 2, 1), Rewriting.PASSED_OVER),
        ((3, 6, 2), Rewriting.OFFLINE),
        ((3, 7), Rewriting.IF_OTHER),
    ),
)
"""With ZooKeeper; a KRaft node writes one that says something else then (3.7), and ends over that."""
UNWRITTEN_IDENTITY: Final = "Error while writing meta.properties to {}: {} ({})"

TO_BE_GIVEN: Final = "CLUSTER_ID"
"""Stands in a suggested command for a cluster id that nobody but the user knows."""

UNFORMATTED = "No `meta.properties` found in {} (have you run `kafka-storage.sh` to format the directory?)"
NONE_READABLE = "No readable meta.properties files found."
METADATA_DIR_FAILED = "Encountered I/O error in metadata log directory {}. Cannot continue."
NO_NODE_ID = "Error: node ID not found in {}"
NO_CLUSTER_ID = "Error: cluster ID not found in {}"
"""In a file of version 0, which may lack it."""
ZOOKEEPER_ONLY_V0 = (
    "Found unexpected version in {}/meta.properties. ZK-based brokers that are not migrating only support "
    "version 0 (which is implicit when the `version` field is missing)."
)
UNREADABLE = "Error while reading meta.properties file {}/meta.properties"
UNEXPECTED_METADATA = (
    "Found unexpected metadata location in data directory `{}` (the configured metadata directory is {})."
)
OTHER_CLUSTER = "Invalid cluster.id in: {path}/meta.properties. Expected {expected}, but read {stored}"
OTHER_NODE = (
    "Stored node id {stored} doesn't match previous node id {expected} in {path}/meta.properties. "
    "If you moved your data, make sure your configured node id matches."
)
GENERATED_ID: Final = new_in("KafkaServer.generateBrokerId; KAFKA-1070", (0, 9))
"""Whether a broker without an id gets a new one from ZooKeeper."""
NEITHER = (
    "neither server.properties nor meta.properties has a broker.id: ZooKeeper gives the broker a new one, "
    "under which it has no partition"
)
OTHER_BROKER = "Configured broker.id {expected} doesn't match stored broker.id {stored} in meta.properties."
RESERVED_ID = "Invalid reserved directory ID {} found in {}"
DUPLICATE_ID = "Duplicate directory ID Optional[{}] found. It was the ID of {}, but also of {}"


def is_kraft(
    release: Release, values: Sequence[MetaProperties], *, given: Container[str], has_metadata_log: bool
) -> bool:
    """Whether the broker runs in KRaft mode (KIP-500, KIP-631): what is `given` in server.properties says so.

    Without server.properties the files tell it: `kafka-storage format` writes version 1 of
    meta.properties. Where none of them tells a version, only a KRaft node has a metadata log; a
    broker with ZooKeeper follows one, too, while it migrates (3.4), but beside files of version 0.
    """
    if (ZOOKEEPER in given and ROLES not in given and release < (4, 0)) or release < (2, 8):
        return False
    versions = {value.version for value in values} - {None}
    # The release comes last: where the files tell, nobody need ask of which one they are.
    return ROLES in given or 1 in versions or (not versions and has_metadata_log) or release >= (4, 0)


_ONE_LINE: Final = frozenset({"bad-uuid", "reserved-directory-id"})
"""Damages beside which the rest of the file can be kept."""


@frozen
class Identity:
    """One dir's meta.properties: `value` None if missing (or unreadable, then with `damages`)."""

    path: str
    missing: bool
    value: MetaProperties | None
    damages: tuple[Damage, ...] = ()
    is_metadata_dir: bool = False

    @property
    def failed(self) -> bool:
        """Whether it cannot be read; a reserved directory id is another matter."""
        return not self.missing and (self.value is None or any(map(_breaks, self.damages)))

    @property
    def reserved(self) -> bool:
        return any(damage.kind == "reserved-directory-id" for damage in self.damages)

    @property
    def kept(self) -> MetaProperties | None:
        """What it says; None if it is missing, or says nothing as a whole that could be kept.

        A full disk leaves empty ones.
        """
        value, kinds = self.value, {damage.kind for damage in self.damages}
        keys = (CLUSTER_ID, NODE_ID, BROKER_ID, DIRECTORY_ID)
        silent = value is None or all(value.properties.get(key) is None for key in keys)
        return None if self.missing or silent or kinds - _ONE_LINE else value


def _breaks(damage: Damage) -> bool:
    return damage.kind != "reserved-directory-id"


@frozen
class IdentityVerdict:
    """`refusal`: why the process ends, or None. `offline`: dirs in error, by path, with Kafka's words."""

    refusal: str | None
    offline: dict[str, str]


def verify(
    identities: Sequence[Identity],
    *,
    kraft: bool,
    node_id: int | None,
    release: Release,
    migrating: bool = False,
) -> IdentityVerdict:
    """Judge all dirs; `node_id` is that of server.properties, None if not known.

    `migrating`: a broker with ZooKeeper that is to move to KRaft (KIP-866).
    """
    identities = [
        each if each.value is None else replace(each, value=as_read(each.value, release))
        for each in identities
    ]
    offline = {each.path: UNREADABLE.format(each.path) for each in identities if _failed(each, release)}
    refused = _refusals(identities, kraft=kraft, node_id=node_id, release=release, migrating=migrating)
    refusal = next(refused, None)
    return IdentityVerdict(refusal=refusal, offline=offline)


def _failed(identity: Identity, release: Release) -> bool:
    if READING.of(release) == Reading.ENSEMBLE:
        return identity.failed
    return not identity.missing and goes_offline(identity.value, release)


def _refusals(
    identities: Sequence[Identity], *, kraft: bool, node_id: int | None, release: Release, migrating: bool
) -> Iterator[str]:
    readable = [each for each in identities if each.value is not None and not _failed(each, release)]
    yield from refusals([each.value for each in readable if each.value], release, kraft=kraft)
    if kraft and not readable and identities:
        first_is_told = identities[0].missing and READING.of(release) != Reading.ENSEMBLE
        yield UNFORMATTED.format(identities[0].path) if first_is_told else NONE_READABLE
    for each in identities:
        if kraft and _failed(each, release) and each.is_metadata_dir:
            yield METADATA_DIR_FAILED.format(each.path)
    if len(identities) and all(_failed(each, release) for each in identities):
        yield NONE_READABLE
    if READING.of(release) == Reading.ENSEMBLE and not kraft and not migrating:
        newer = (each for each in readable if each.value is not None and each.value.version == 1)
        yield from (ZOOKEEPER_ONLY_V0.format(each.path) for each in newer)
    yield from _clashes(readable, kraft=kraft, node_id=node_id, release=release)
    if DIRECTORY_IDS.of(release):
        yield from _directory_ids(readable)
    if kraft:
        yield from _incomplete(identities, release)


def _incomplete(identities: Sequence[Identity], release: Release) -> Iterator[str]:
    """What a KRaft node misses in the files of its dirs."""
    for each in identities:
        if each.missing:
            yield UNFORMATTED.format(each.path)
        if not _failed(each, release) and each.value is not None:
            if each.value.node_id is None:
                yield NO_NODE_ID.format(each.path)
            if each.value.cluster_id is None:
                yield NO_CLUSTER_ID.format(each.path)


def _clashes(
    readable: Sequence[Identity], *, kraft: bool, node_id: int | None, release: Release
) -> Iterator[str]:
    cluster: str | None = None
    node = node_id
    for each in readable:
        properties = each.value
        if properties is None:
            continue
        if properties.cluster_id is not None and CLUSTER_IDS.of(release):
            if cluster is not None and properties.cluster_id != cluster:
                yield OTHER_CLUSTER.format(path=each.path, expected=cluster, stored=properties.cluster_id)
            cluster = cluster or properties.cluster_id
        if properties.node_id is not None:
            if node is not None and properties.node_id != node:
                words = OTHER_NODE if kraft else OTHER_BROKER
                yield words.format(path=each.path, stored=properties.node_id, expected=node)
            node = properties.node_id if node is None else node


def _directory_ids(readable: Sequence[Identity]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for each in readable:
        directory_id = None if each.value is None else each.value.directory_id
        if directory_id is None:
            continue
        if each.reserved:
            yield RESERVED_ID.format(directory_id, each.path)
        if directory_id in seen:
            yield DUPLICATE_ID.format(directory_id, seen[directory_id], each.path)
        seen[directory_id] = each.path
