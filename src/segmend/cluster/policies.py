"""Whether a topic is compacted, by the metadata that is among the dirs of brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from segmend.broker.cleanup_policy import COMPACTED_TOPICS
from segmend.cluster.cluster_dirs import ClusterMetadata, FleetDirs
from segmend.logdir.config import ServerConfig


class Policies:
    """By the metadata of each cluster of these that has some.

    `configs` are server.properties of the brokers: they count where a topic has no cleanup.policy of its own.
    Without any a cleaner that was at such a topic shows that Kafka's default need not be theirs.
    """

    def __init__(self, fleets: Iterable[FleetDirs], configs: Sequence[ServerConfig] = ()) -> None:
        self._given: Sequence[Mapping[str, str]] = [config.given for config in configs]
        known = [each for fleet in fleets for each in fleet.known]
        self._known: Sequence[tuple[ClusterMetadata, bool]] = [
            (each, not configs and each.is_open) for each in known
        ]

    def __call__(self, topic: str) -> bool | None:
        """Whether the topic is compacted; None where nothing says."""
        for each, is_open in self._known:
            told = each.image.compacts(topic, self._given)
            if told is not None:
                return None if is_open and not told and not each.image.has_policy(topic) else told
        return None

    def is_told(self, topic: str) -> bool:
        """Whether somebody tells the topic's policy: else it is Kafka's default, or what gaps look like."""
        knowing = [each.image for each, _ in self._known if topic in each.image.ids]
        told = any(self._given or image.has_policy(topic) for image in knowing)
        return told or topic in COMPACTED_TOPICS
