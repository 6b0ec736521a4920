"""`meta.properties`: which cluster, node and directory a log dir belongs to.

Follows `org.apache.kafka.metadata.properties.MetaProperties`, versions 0 (`broker.id`) and
1 (`node.id`). Everything but a reserved directory id puts the dir among those that cannot
be read; the Damage kinds are `bad-escape`, `bad-version`, `missing-key`, `not-a-number`,
`bad-uuid` and `reserved-directory-id`.
"""

from __future__ import annotations

from segmend.formats import java_properties
from segmend.formats.damage import Damage
from segmend.formats.java_number import parse_int
from segmend.formats.java_properties import JavaProperties, PropertyLine
from segmend.formats.kafka_uuid import is_reserved, parse_uuid
from segmend.frozen import frozen

FILE_NAME = "meta.properties"
VERSION, CLUSTER_ID, BROKER_ID, NODE_ID, DIRECTORY_ID = (
    "version", "cluster.id", "broker.id", "node.id", "directory.id",
)  # fmt: skip


@frozen
class MetaProperties:
    """None stands for a key that is absent or cannot be read; `properties` is the text itself.

    `node_id` is `broker.id` in version 0.
    """

    properties: JavaProperties
    version: int | None = None
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: str | None = None

    @property
    def cluster(self) -> str | None:
        """The cluster's id, where it has one: an empty one tells nothing."""
        return self.cluster_id or None


def parse(data: bytes) -> tuple[MetaProperties, tuple[Damage, ...]]:
    """The identity, each field where it can be read."""
    properties, escapes = java_properties.parse(data)
    damages = list(escapes)
    version = _version(properties, damages)
    node_key = BROKER_ID if version in (0, None) else NODE_ID
    node_id = _number(properties.line_of(node_key), damages)
    cluster_id = properties.get(CLUSTER_ID)
    if version not in (0, None):
        if properties.get(NODE_ID) is None:
            damages.append(Damage("missing-key", len(data), "Failed to find node.id"))
        if cluster_id is None:
            damages.append(Damage("missing-key", len(data), "cluster.id was not found."))
    value = MetaProperties(
        properties=properties,
        version=version,
        cluster_id=cluster_id,
        node_id=node_id,
        directory_id=_directory_id(properties.line_of(DIRECTORY_ID), damages),
    )
    return value, tuple(damages)


def _version(properties: JavaProperties, damages: list[Damage]) -> int | None:
    line = properties.line_of(VERSION)
    if line is None or line.value is None:
        return 0
    version = parse_int(java_properties.trim(line.value))
    if version is None:
        reason = f"Invalid meta.properties version string '{line.value[:80]}'"
        damages.append(Damage("bad-version", line.position, reason))
    elif version not in (0, 1):
        damages.append(
            Damage("bad-version", line.position, f"Unknown meta.properties version number {version}")
        )
    return version


def _number(line: PropertyLine | None, damages: list[Damage]) -> int | None:
    if line is None or line.value is None:
        return None
    number = parse_int(line.value)
    if number is None:
        reason = f"Unable to read {line.key} as a base-10 number."
        damages.append(Damage("not-a-number", line.position, reason))
    return number


def _directory_id(line: PropertyLine | None, damages: list[Damage]) -> str | None:
    if line is None or line.value is None:
        return None
    try:
        raw = parse_uuid(line.value)
    except ValueError as error:
        damages.append(Damage("bad-uuid", line.position, f"Unable to read directory.id as a Uuid: {error}"))
        return None
    if is_reserved(raw):
        reason = f"directory.id {line.value} is one of the reserved ids"
        damages.append(Damage("reserved-directory-id", line.position, reason))
    return line.value


def trimmed(meta: MetaProperties) -> MetaProperties:
    """The same without blanks around each value."""
    lines = (
        java_properties.property_line(key, java_properties.trim(value))
        for key, value in meta.properties.as_dict().items()
    )
    return parse("".join(lines).encode("latin-1"))[0]


def render(meta: MetaProperties) -> bytes:
    """The file again, comments and order kept."""
    return java_properties.render(meta.properties)
