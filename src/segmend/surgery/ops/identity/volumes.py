"""meta.properties of the volumes of one broker: what is in each, and what is to be in it.

Follows `MetaProperties` and `MetaPropertiesEnsemble`: version 0 has `broker.id` (ZooKeeper), version
1 `node.id` (KRaft, KIP-631); `directory.id` came with 3.7 (KIP-858).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.broker.identity import GENERATED_ID, Identity
from segmend.broker.old_identity import READING, Reading
from segmend.errors import UsageError
from segmend.formats import java_properties, meta_properties
from segmend.formats.java_number import parse_int
from segmend.formats.java_properties import JavaProperties
from segmend.formats.meta_properties import BROKER_ID, CLUSTER_ID, DIRECTORY_ID, FILE_NAME, NODE_ID, VERSION
from segmend.frozen import frozen, replace
from segmend.loading.dirs import identity_of
from segmend.logdir.log_dir import LogDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.fingerprint import look
from segmend.surgery.plan import Left


@frozen
class Volume:
    """One log dir. `kraft` is that of the broker; `version` the one a new file would have.

    `strict`: a file without a version is refused (up to 2.7). `untold`: no dir has a file, so nobody looks
    whose replicas these are; where another one has, a broker of ZooKeeper's writes this one itself.
    """

    log_dir: LogDir
    identity: Identity
    kraft: bool
    version: int
    strict: bool
    untold: bool

    @property
    def path(self) -> str:
        return self.log_dir.path

    @property
    def value(self) -> meta_properties.MetaProperties | None:
        """What it says that can be kept; one of KRaft's that lost its version alone is no ZooKeeper's."""
        kept = self.identity.kept
        if kept is None or not self.kraft or kept.properties.get(VERSION) is not None:
            return kept
        node_id, broker_id = (kept.properties.get(key) for key in (NODE_ID, BROKER_ID))
        if node_id is None and broker_id is not None:
            return kept
        return replace(kept, version=1, node_id=parse_int(node_id or ""))

    @property
    def directory_id(self) -> str | None:
        """Its own, unless that is a reserved one."""
        return None if self.value is None or self.identity.reserved else self.value.directory_id

    @property
    def is_written_by_broker(self) -> bool:
        """Whether a start makes the file that is not there, with what the other dirs say."""
        return not self.kraft and self.identity.missing and not self.untold

    @property
    def wants_directory_id(self) -> bool:
        """Whether there is none that a broker would take; a file without one is fine."""
        return self.value is None or bool(self.identity.damages)


@frozen
class NewProperties:
    """What a volume's file is to be: `data` None if it stays. `left`: what is wrong and stays so."""

    volume: Volume
    data: bytes | None
    directory_id: str | None
    reason: str = ""
    new_owner: bool = False
    left: Left | None = None

    @property
    def path(self) -> str:
        return f"{self.volume.path}/{FILE_NAME}"

    @property
    def identity(self) -> Identity:
        """As a broker will read it."""
        if self.data is None:
            return self.volume.identity
        value, damages = meta_properties.parse(self.data)
        known = self.volume.identity
        return Identity(
            path=known.path, missing=False, value=value, damages=damages,
            is_metadata_dir=known.is_metadata_dir,
        )  # fmt: skip


def volumes(broker: BrokerDirs) -> list[Volume]:
    """All log dirs of a broker. Raises `Unreadable` for a file that is there and cannot be read."""
    for log_dir in broker.dirs:
        log_dir.meta_properties.readable()
    kraft, home = broker.kraft, broker.metadata_dir
    version = 1 if kraft or any(value.version == 1 for value in broker.identities) else 0
    identities = [identity_of(each, broker.release, is_metadata_dir=each is home) for each in broker.dirs]
    untold = GENERATED_ID.of(broker.release) and all(each.missing for each in identities)
    return [
        Volume(
            log_dir=log_dir, identity=identity, kraft=kraft, version=version,
            strict=READING.of(broker.release) == Reading.STRICT, untold=untold,
        )
        for log_dir, identity in zip(broker.dirs, identities, strict=True)
    ]  # fmt: skip


def agreed_cluster(all_volumes: Sequence[Volume]) -> str | None:
    """The cluster id on which the dirs agree; None if none says. Raises `UsageError` if they differ."""
    said = [(v.path, v.value.cluster_id) for v in all_volumes if v.value and v.value.cluster_id is not None]
    for path, cluster_id in said:
        if cluster_id != said[0][1]:
            raise UsageError(
                f"{path}: cluster.id {cluster_id}, but {said[0][0]} has {said[0][1]}; if both disks belong "
                "to this broker, say to which cluster: --cluster-id ID"
            )
    return said[0][1] if said else None


def agreed_node(all_volumes: Sequence[Volume], broker: BrokerDirs) -> int | None:
    """The node id on which the dirs, server.properties and, if they say none, the metadata agree.

    Raises `UsageError` if they differ; None if none says.
    """
    configured = broker.config.node_id
    said = [] if configured is None else [("server.properties", configured)]
    values = ((volume.path, volume.value) for volume in all_volumes)
    ids = ((path, value.node_id) for path, value in values if value is not None)
    said += [(path, node_id) for path, node_id in ids if node_id is not None and node_id >= 0]
    for path, node_id in said:
        if node_id != said[0][1]:
            raise UsageError(
                f"{path}: node id {node_id}, but {said[0][0]} has {said[0][1]}; if the disk belongs to this "
                "broker, say which one it is: --node-id N"
            )
    if said:
        return said[0][1]
    own = {volume.directory_id for volume in all_volumes}
    registered = {} if broker.metadata is None else broker.metadata.log_dirs
    nodes = {node for node, ids in registered.items() if own.intersection(ids)}
    return nodes.pop() if len(nodes) == 1 else None


def new_properties(
    volume: Volume, cluster_id: str | None, node_id: int | None, directory_id: str | None, *, asked: bool
) -> NewProperties:
    """The file with these ids. `asked`: the user named the node, so a file of ZooKeeper's may become KRaft's.

    Raises `UsageError` if a file must be written and its ids are not known.
    """
    new = _to_be(volume, cluster_id, node_id, directory_id, asked=asked)
    if new.data is None or look(new.path, content=False).kind in ("file", "missing"):
        return new
    left = Left(
        why=f"{FILE_NAME}: {new.reason}; it is no plain file: move it out of the way first", path=volume.path
    )
    return NewProperties(volume=volume, data=None, directory_id=volume.directory_id, left=left)


def _to_be(
    volume: Volume, cluster_id: str | None, node_id: int | None, directory_id: str | None, *, asked: bool
) -> NewProperties:
    value = volume.value
    if value is None:
        return _written(volume, cluster_id, node_id, directory_id)
    if volume.kraft and value.version == 0 and not asked:
        why = f"a {FILE_NAME} of ZooKeeper's; a KRaft broker refuses it (--node-id N mends it)"
        left = Left(why=why, path=volume.path)
        return NewProperties(volume=volume, data=None, directory_id=volume.directory_id, left=left)
    wanted = _values(
        volume.version if volume.kraft else value.version or 0, cluster_id, node_id, directory_id
    )
    wanted = {key: text for key, text in wanted.items() if text is not None or key != CLUSTER_ID}
    if volume.strict and value.properties.get(VERSION) is None:
        wanted[VERSION] = "0"
    if value.version == 0 and volume.kraft:
        wanted[BROKER_ID] = None
    changes = {key: text for key, text in wanted.items() if value.properties.get(key) != text}
    if not changes:
        return NewProperties(volume=volume, data=None, directory_id=directory_id)
    data = java_properties.render(java_properties.replaced(value.properties, changes))
    reason = ", ".join(_words(value.properties, changes))
    moved = bool(changes.keys() & {CLUSTER_ID, NODE_ID, BROKER_ID})
    return NewProperties(volume=volume, data=data, directory_id=directory_id, reason=reason, new_owner=moved)


def _values(
    version: int, cluster_id: str | None, node_id: int | None, directory_id: str | None
) -> dict[str, str | None]:
    values: dict[str, str | None] = {CLUSTER_ID: cluster_id, DIRECTORY_ID: directory_id}
    if version == 1:
        values[VERSION] = "1"
    if node_id is not None:
        values[NODE_ID if version == 1 else BROKER_ID] = str(node_id)
    return values


def _words(old: JavaProperties, changes: dict[str, str | None]) -> Iterator[str]:
    for key, text in sorted(changes.items()):
        before = old.get(key)
        if text is None:
            yield f"{key} {before} goes"
        else:
            yield f"{key} {text}" if before is None else f"{key} {text} instead of {before}"


def _written(
    volume: Volume, cluster_id: str | None, node_id: int | None, directory_id: str | None
) -> NewProperties:
    """A whole new file: the old one is missing, or nothing of it can be kept."""
    if volume.is_written_by_broker:
        return NewProperties(volume=volume, data=None, directory_id=None)
    if volume.kraft and cluster_id is None:
        raise UsageError(f"{volume.path}: no {FILE_NAME} tells the cluster; give --cluster-id ID")
    if node_id is None:
        raise UsageError(f"{volume.path}: no {FILE_NAME} tells the node; give --node-id N")
    values = {VERSION: str(volume.version), **_values(volume.version, cluster_id, node_id, directory_id)}
    text = java_properties.replaced(JavaProperties(), values)
    why = "it is missing" if volume.identity.missing else f"it cannot be read ({_damage(volume)})"
    return NewProperties(
        volume=volume, data=java_properties.render(text), directory_id=directory_id, reason=why
    )


def _damage(volume: Volume) -> str:
    return next((damage.reason for damage in volume.identity.damages), "it says nothing")
