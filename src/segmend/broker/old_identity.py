"""meta.properties as brokers read it before the ensemble of 3.7 (KIP-858).

Follows `BrokerMetadataCheckpoint` and `KafkaServer.getBrokerMetadataAndOfflineDirs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

from segmend.broker.failures import NOT_A_NUMBER
from segmend.broker.rule import Rule, Words, new_in
from segmend.formats.java_number import parse_int
from segmend.formats.meta_properties import BROKER_ID, CLUSTER_ID, NODE_ID, VERSION, MetaProperties, trimmed
from segmend.logdir.release import Release


class Reading(StrEnum):
    """What a broker asks of the files of its dirs."""

    STRICT = "strict"
    """Both numbers must be there; another version than 0 takes the dir offline."""
    ALIKE = "alike"
    """All files must have the same properties; one of them is taken for all."""
    ENSEMBLE = "ensemble"
    """Each is judged by itself."""


READING: Rule[Reading] = Rule(
    "BrokerMetadataCheckpoint; KIP-500 (2.8), MetaPropertiesEnsemble (3.7)",
    (((0, 8), Reading.STRICT), ((2, 8), Reading.ALIKE), ((3, 7), Reading.ENSEMBLE)),
)

DELETES_HALF: Rule[bool] = Rule(
    "BrokerMetadataCheckpoint deletes a meta.properties.tmp, also an empty directory, up to 3.6",
    (((0, 8), True), ((3, 7), False)),
)
KEEPS_CLUSTER_ID: Final = new_in(
    "KafkaServer.getBrokerMetadataAndOfflineDirs compares the cluster ids as well; KAFKA-7335, 2.4", (2, 4)
)
MISSING = "requirement failed: Missing required property '{}'"
OUT_OF_RANGE = "requirement failed: {} has value {} which is not in the range (0,2147483647)"
INCONSISTENT = (
    "BrokerMetadata is not consistent across log.dirs. This could happen if multiple brokers shared a log "
    "directory (log.dirs) or partial data was manually copied from another broker."
)
UNEXPECTED_VERSION = (
    "Found unexpected version in loaded `meta.properties`: {}. Zk-based brokers only support version 0 "
    "(which is implicit when the `version` field is missing)."
)
UNRECOGNIZED_VERSION = Words.since(
    "BrokerMetadataCheckpoint.read",
    ((0, 9), "Unrecognized version of the server meta.properties file: {}"),
    ((2, 8), None),
)
EXPECTED_VERSION = Words(
    "MetaProperties.parse; KAFKA-14124 (3.4) lets KRaft nodes read the files of ZooKeeper's time",
    (
        ((0, 8), "Expected version 1, but got version {}"),
        ((3, 4), "Expected version 0 or 1, but got version {}"),
    ),
)
KRAFT_READS: Rule[frozenset[int]] = Rule(
    "MetaProperties.parse; KAFKA-14124 (3.4)", (((0, 8), frozenset({1})), ((3, 4), frozenset({0, 1})))
)
NOT_AN_INT = f"Failed to parse {VERSION} property as an int"
REQUIRED = "Failed to find required property {}."


def as_read(value: MetaProperties, release: Release) -> MetaProperties:
    """As the broker takes it: `VerifiableProperties` trims every value, up to 2.7."""
    return trimmed(value) if READING.of(release) == Reading.STRICT else value


def goes_offline(value: MetaProperties | None, release: Release) -> bool:
    """Whether a dir whose file is there goes offline over it; None for one that cannot be read at all."""
    if value is None:
        return True
    version = parse_int(value.properties.get(VERSION) or "")
    return READING.of(release) == Reading.STRICT and version is not None and version > 0


def refusals(values: Sequence[MetaProperties], release: Release, *, kraft: bool) -> Iterator[str]:
    """Kafka's words on the files that can be read, where the broker does not start over them."""
    reading = READING.of(release)
    if reading == Reading.STRICT:
        for value in values:
            yield from _missing(value)
        if KEEPS_CLUSTER_ID.of(release) and len({_identity(value) for value in values}) > 1:
            yield INCONSISTENT
    if reading == Reading.ALIKE:
        yield from _of_kraft(values, release) if kraft else _of_zookeeper(values)


def _identity(value: MetaProperties) -> tuple[int | None, str | None]:
    return parse_int(value.properties.get(BROKER_ID) or ""), value.properties.get(CLUSTER_ID)


def _missing(value: MetaProperties) -> Iterator[str]:
    for key in (VERSION, BROKER_ID):
        text = value.properties.get(key)
        number = None if text is None else parse_int(text)
        if text is None:
            yield MISSING.format(key)
        elif number is None:
            yield NOT_A_NUMBER.format(text)
        elif number < 0:
            yield OUT_OF_RANGE.format(key, number)


def _of_zookeeper(values: Sequence[MetaProperties]) -> Iterator[str]:
    properties = [value.properties.as_dict() for value in values]
    if any(each != properties[0] for each in properties):
        yield INCONSISTENT
    for identity in properties:
        version = parse_int(identity.get(VERSION, "0"))
        if version is None:
            yield NOT_AN_INT
        elif version != 0:
            shown = ", ".join(f"{key}={identity[key]}" for key in sorted(identity))
            yield UNEXPECTED_VERSION.format(f"{{{shown}}}")


def _of_kraft(values: Sequence[MetaProperties], release: Release) -> Iterator[str]:
    """Up to 3.3 the files must be alike; since 3.4 only what they say counts, not how."""
    properties = [value.properties.as_dict() for value in values]
    read, versions = [], KRAFT_READS.of(release)
    if 0 not in versions and any(each != properties[0] for each in properties):
        yield INCONSISTENT
    for identity in properties:
        version = parse_int(identity.get(VERSION, "0"))
        keys = CLUSTER_ID, BROKER_ID if version == 0 else NODE_ID
        if version is None:
            yield NOT_AN_INT
        elif version not in versions:
            yield str(EXPECTED_VERSION.say(release, version))
        else:
            yield from (REQUIRED.format(key) for key in keys if key not in identity)
        read.append(tuple(identity.get(key) for key in keys))
    if any(each != read[0] for each in read):
        yield INCONSISTENT
