"""What ends a start before any log is loaded, because of the release alone: features, records, settings.

Follows `FeaturesDelta`, `MetadataRecordSerde` and `LogManager.fetchTopicConfigOverrides`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, Protocol

from segmend.broker.features import (
    KNOWN_LEVEL,
    LEVELS,
    LOOKED_AT,
    LOWEST_LEVEL,
    METADATA_VERSION,
    UNSTABLE,
    supported,
)
from segmend.broker.metadata_log import ENDS_UNREAD, UNKNOWN_LEVEL
from segmend.broker.rule import Rule, Words, gone_in
from segmend.broker.server_listeners import ROLES
from segmend.broker.server_names import MIGRATION
from segmend.broker.settings import Refused, refused_topic
from segmend.formats.config_values import boolean
from segmend.logdir.release import Release

UNSUPPORTED_LEVEL: Final = (
    "Tried to apply FeatureLevelRecord FeatureLevelRecord(name='{}', featureLevel={}), but this controller "
    "only supports versions {}"
)
"""A level that the release knows, and keeps for its own tests (`FeatureControlManager.replay`)."""
CANNOT_PARSE: Final = "Failed to deserialize record with type {}"
UNKNOWN_KIND: Final = "MetadataParseException: Unknown metadata id {}"
RECORD_VERSIONS: Final = {
    0: Rule("RegisterBrokerRecord", (((0, 8), 0), ((3, 3), 1), ((3, 4), 2), ((3, 7), 3), ((4, 3), 4))),
    3: Rule("PartitionRecord", (((0, 8), 0), ((3, 7), 2))),
    5: Rule("PartitionChangeRecord", (((0, 8), 0), ((3, 7), 2))),
    17: Rule("BrokerRegistrationChangeRecord", (((0, 8), 0), ((3, 3), 1), ((3, 7), 2), ((4, 3), 3))),
}
"""The newest version of each kind of metadata record that a release reads, where it ever changed."""
RECORD_SINCE: Final = {
    **dict.fromkeys((15, 16, 17), (3, 0)), **dict.fromkeys((18, 19), (3, 2)), 20: (3, 3), 21: (3, 4),
    22: (3, 5), **dict.fromkeys((23, 24, 25, 26), (3, 6)), 27: (3, 7), 28: (4, 0),
}  # fmt: skip
"""The first release that knows a kind of metadata record; those left out came with the first of all."""


_MIGRATES: Final = 8
"""3.4-IV0."""
NEVER_MIGRATED = Words.since(
    "ActivationRecordsGenerator.recordsForNonEmptyLog; KIP-866",
    ((3, 5), "Should not have ZK migrations enabled on a cluster {}"),
    ((4, 0), None),
)
LEVEL_FIRST: Final = gone_in("FeaturesDelta, since 4.0 once all is read", (4, 0))
"""Whether the level is looked at when its record is met, before those behind it are read."""


class GateImage(Protocol):
    @property
    def features(self) -> Mapping[str, int]: ...

    @property
    def levels_told(self) -> Collection[tuple[str, int]]: ...

    @property
    def configs(self) -> Mapping[str, Mapping[str, str]]: ...

    @property
    def ids(self) -> Mapping[str, str]: ...

    @property
    def migration(self) -> int: ...


def metadata_refusals(
    image: GateImage, records: Mapping[int, Collection[int]], release: Release, given: Mapping[str, str]
) -> Iterator[str]:
    """Kafka's words on a cluster's metadata that the release cannot read.

    `records` has each kind that there is, with the newest versions of releases that cannot read all of them;
    `given` is server.properties.
    """
    said = [_unknown_level(image, release)]
    if release.padded[:2] <= LOOKED_AT:
        unknown = unknown_record(records, release) if ENDS_UNREAD.of(release) else None
        said.insert(1 if LEVEL_FIRST.of(release) else 0, unknown)
        unstable = any(boolean(given.get(name)) for name in UNSTABLE)
        said += [] if unstable else _unsupported(image, release)
    yield from filter(None, said)


def migration_refusal(image: GateImage, release: Release, given: Mapping[str, str]) -> str | None:
    """The words with which a controller ends once it is elected: a migration that is none."""
    level = image.features.get(METADATA_VERSION, 0)
    wanted = boolean(given.get(MIGRATION)) and "controller" in given.get(ROLES, "")
    if image.migration or not (level and wanted):
        return None
    older = level < _MIGRATES
    which = f"running metadata.version {LEVELS[level - 1]}" if older else "that was created in KRaft mode."
    return NEVER_MIGRATED.say(release, which)


def _unsupported(image: GateImage, release: Release) -> Iterator[str]:
    """Each level is looked at when its record is met, whatever replaces it later."""
    for name, level in sorted(image.levels_told):
        range_ = supported(name, release)
        lowest = range_.lowest if image.features.get(name) == level else 0
        if level and not lowest <= level <= range_.highest:
            yield UNSUPPORTED_LEVEL.format(name, level, range_)


def _unknown_level(image: GateImage, release: Release) -> str | None:
    now = image.features.get(METADATA_VERSION, 0)
    level = max((told for name, told in image.levels_told if name == METADATA_VERSION), default=now)
    lowest, highest = LOWEST_LEVEL.of(release), KNOWN_LEVEL.of(release)
    newer = level > highest and release.padded[:2] <= LOOKED_AT
    if not newer:
        level = now
    if not level or not (level < lowest or newer):
        return None
    return UNKNOWN_LEVEL.say(release, level)


def unknown_record(records: Mapping[int, Collection[int]], release: Release) -> str | None:
    """What the release says of a kind of record, or of a version of one, that it cannot read."""
    for kind, unread in sorted(records.items()):
        if kind > max(RECORD_SINCE):
            return UNKNOWN_KIND.format(kind)
        if not reads(release, kind, unread):
            return CANNOT_PARSE.format(kind)
    return None


def reads(release: Release, kind: int, unread: Collection[int]) -> bool:
    """Whether it reads records of that kind that releases with these newest versions of it cannot read."""
    rule = RECORD_VERSIONS.get(kind)
    return release >= RECORD_SINCE.get(kind, (0, 8)) and (rule is None or rule.of(release) not in unread)


def topic_refusals(
    image: GateImage, release: Release, retention: Mapping[str, int]
) -> Iterator[tuple[str, Refused]]:
    """(topic, what is refused): every topic's settings are parsed, also of those on other brokers."""
    for topic, settings in sorted(image.configs.items()):
        if topic in image.ids:
            refused = refused_topic(settings, release, retention)
            if refused is not None:
                yield topic, refused
