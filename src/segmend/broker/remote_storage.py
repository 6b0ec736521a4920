"""What brokers do with topics whose older segments are in remote storage (KIP-405)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from segmend.broker.rule import Words, new_in


class RemoteStorage(StrEnum):
    """What a broker makes of a topic's segments in remote storage (`UnifiedLog.isRemoteLogEnabled`)."""

    NONE = "none"
    """The topic has none."""
    USED = "used"
    """The log begins where log-start-offset-checkpoint says, whatever segments are on the disk."""
    UNUSED = "unused"
    """The topic has some, and the broker was told to use none: the log begins with the disk's first."""


METADATA_TOPIC: Final = "__remote_log_metadata"
"""Which segments remote storage has, and of which epochs."""
ENABLED: Final = "remote.storage.enable"
"""The topic's setting."""
SYSTEM_ENABLED: Final = "remote.log.storage.system.enable"
"""The broker's setting, false by default."""

STARTS_AT_KNOWN_EPOCH: Final = new_in("RemoteLogManager.findLogStartOffset, once the broker leads", (3, 6))
"""Whether the log start offset moves to the first remote segment of an epoch that the log knows."""

NOT_USED: Words = Words.since(
    "LogConfig.validateRemoteStorageOnlyIfSystemEnabled",
    (
        (3, 6),
        "ConfigException: You have to delete all topics with the property remote.storage.enable=true "
        "before disabling tiered storage cluster-wide",
    ),
)
"""What the broker logs for each such topic; it goes on, without the topic's remote segments."""
FOUND: Final = "Found the logStartOffset: {} for partition: {} after becoming leader"
"""`RemoteLogManager`: where it moved the log start offset."""
