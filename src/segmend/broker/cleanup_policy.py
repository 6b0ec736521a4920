"""`cleanup.policy`: which topics are compacted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from segmend.formats.names import CONSUMER_OFFSETS, TRANSACTION_STATE

POLICY: Final = "log.cleanup.policy"
"""Of a broker: it counts for a topic without a cleanup.policy of its own."""
COMPACTED_TOPICS: Final = (CONSUMER_OFFSETS, TRANSACTION_STATE)
"""What a broker makes compacted by itself."""

UNLESS_COMPACTED: Final = ", unless the cleaner left it so: whether the topic is compacted is not known here"
"""Of a segment without a byte whose indexes have no entry."""


def policies_in(value: str) -> frozenset[str]:
    """What `LogConfig` reads in `cleanup.policy`."""
    return frozenset(part.strip().lower() for part in value.split(",") if part.strip())


def compacted(
    topic: str,
    cleaned_to: int | None,
    own: Mapping[str, str],
    dynamic: Mapping[str, str],
    given: Mapping[str, str],
) -> bool:
    """Whether the cleaner has been at work in a partition, or is to be, so that offsets may be missing.

    `cleaned_to` is what cleaner-offset-checkpoint says; the settings are the topic's own, the broker's
    dynamic ones, and those of server.properties, as far as they are known.
    """
    if cleaned_to is not None or topic in COMPACTED_TOPICS:
        return True
    usual = dynamic.get(POLICY, given.get(POLICY, ""))
    return "compact" in policies_in(own.get("cleanup.policy", usual))


def newly_compacted(
    topic: str,
    cleaned_to: int | None,
    own: Mapping[str, str],
    dynamic: Mapping[str, str],
    given: Mapping[str, str],
) -> bool:
    """Whether a setting of the broker, not of the topic, has the cleaner take a log that it never took."""
    return (
        cleaned_to is None
        and topic not in COMPACTED_TOPICS
        and "cleanup.policy" not in own
        and compacted(topic, cleaned_to, own, dynamic, given)
    )
