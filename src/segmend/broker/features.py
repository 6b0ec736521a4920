"""The cluster's features (`metadata.version` and others), and the levels of them that each release runs.

Follows `MetadataVersion`, `Feature` and `QuorumFeatures`, read off the jars of each release. A release knows
levels that it does not support yet: those of the next one, which it takes for its own tests only.
"""

from __future__ import annotations

import re
from typing import Final

from segmend.broker.rule import Rule
from segmend.frozen import frozen
from segmend.logdir.release import Release, highest_level

METADATA_VERSION: Final = "metadata.version"
_NAMES: Final = """
3.0-IV1 3.1-IV0 3.2-IV0 3.3-IV0 3.3-IV1 3.3-IV2 3.3-IV3 3.4-IV0 3.5-IV0 3.5-IV1 3.5-IV2 3.6-IV0
3.6-IV1 3.6-IV2 3.7-IV0 3.7-IV1 3.7-IV2 3.7-IV3 3.7-IV4 3.8-IV0 3.9-IV0 4.0-IV0 4.0-IV1 4.0-IV2
4.0-IV3 4.1-IV0 4.1-IV1 4.2-IV0 4.2-IV1 4.3-IV0 4.4-IV0
"""
LEVELS: Final = tuple(_NAMES.split())
"""The names of the levels of `metadata.version`, from 1 on."""
LOOKED_AT: Final = (4, 3)
"""The newest release whose classes were looked at: of a later one nothing is known to be refused."""
UNSTABLE: Final = ("unstable.feature.versions.enable", "unstable.metadata.versions.enable")
"""Settings by which a broker supports what its release knows, that in development as well."""
LOWEST_LEVEL: Rule[int] = Rule("MetadataVersion.MINIMUM_VERSION; KIP-1106 (4.0)", (((0, 8), 1), ((4, 0), 7)))
KNOWN_LEVEL: Rule[int] = Rule(
    "MetadataVersion.VERSIONS, those in development as well",
    (((0, 8), 0), ((3, 0), 1), ((3, 1), 2), ((3, 2), 3), ((3, 3), 7), ((3, 4), 8), ((3, 5), 11), ((3, 6), 14),
     ((3, 7), 20), ((3, 8), 21), ((3, 9), 23), ((4, 0), 26), ((4, 1), 29), ((4, 2), 30), ((4, 3), 31)),
)  # fmt: skip
_NEVER: Final = ((0, 8), 0)
HIGHEST: Final = {
    "kraft.version": Rule("KRaftVersion; KIP-853", (_NEVER, ((3, 9), 1))),
    "transaction.version": Rule("TransactionVersion; KIP-890", (_NEVER, ((4, 0), 2))),
    "group.version": Rule("GroupVersion; KIP-848", (_NEVER, ((4, 0), 1))),
    "eligible.leader.replicas.version": Rule("EligibleLeaderReplicasVersion; KIP-966", (_NEVER, ((4, 0), 1))),
    "share.version": Rule("ShareVersion; KIP-932", (_NEVER, ((4, 1), 1))),
    "streams.version": Rule("StreamsVersion; KIP-1071", (_NEVER, ((4, 2), 1))),
}
"""The highest level of every other feature that a release supports; 0: it does not know the feature."""
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:\.\d+)*(?:-IV\d+)?")


@frozen
class Supported:
    lowest: int
    highest: int

    def __str__(self) -> str:
        """As `VersionRange` prints it."""
        return f"{self.lowest}" if self.lowest == self.highest else f"{self.lowest}-{self.highest}"


def supported(feature: str, release: Release) -> Supported:
    """Of a feature that no release of these rules knows: level 0 alone."""
    if feature == METADATA_VERSION:
        return Supported(lowest=LOWEST_LEVEL.of(release), highest=highest_level(release))
    rule = HIGHEST.get(feature)
    return Supported(lowest=0, highest=0 if rule is None else rule.of(release))


def level_name(level: int) -> str:
    """`3.9-IV0 (21)`, or the number alone of a level that is newer than these rules."""
    return f"{LEVELS[level - 1]} ({level})" if 0 < level <= len(LEVELS) else str(level)


def version_number(text: str) -> tuple[int, ...]:
    """The release of a version such as `2.8` or `0.10.2-IV0`; () if it is none."""
    match = _VERSION.fullmatch(text)
    return () if match is None else tuple(int(part) for part in match.groups()[:3] if part is not None)


def knows_version(release: Release, text: str) -> bool:
    """Whether `inter.broker.protocol.version` and its like may name this version: none in development."""
    number = version_number(text)[:2]
    if not number:
        return False
    return (0, 8) <= number <= release.padded[:2]
