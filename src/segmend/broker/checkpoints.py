"""What a broker does with text files it cannot read: checkpoints, leader epochs, partition.metadata.

The damage kinds are those of `segmend.formats.checkpoint_file` and of its users. Follows
`CheckpointFile`, `CheckpointFileWithFailureHandler`, `LeaderEpochFileCache`,
`PartitionMetadataFile` and `LogManager.loadLogs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from segmend.broker.failures import LoadFailure, fatal, storage_failure
from segmend.broker.features import version_number
from segmend.broker.rule import Rule, Words, gone_in, new_in
from segmend.formats.damage import Damage
from segmend.formats.offset_checkpoint import LOG_START_OFFSET, RECOVERY_POINT
from segmend.logdir.release import Release


class DirCheckpoint(StrEnum):
    """What becomes of a damaged offset checkpoint of a log dir while logs are loaded."""

    RESET = "reset"
    """Its values are taken for missing; nothing else happens."""
    OFFLINE = "offline"
    """The same, and the dir goes offline once its logs are loaded."""
    FATAL = "fatal"
    """The broker does not start."""


MALFORMED: Rule[frozenset[str]] = Rule(
    "CheckpointFile.read; its Java version (3.1) lets a NumberFormatException through, and allots a list "
    "of the size that the file promises",
    (((0, 8), frozenset({"malformed", "not-a-number", "huge-count"})), ((3, 1), frozenset({"malformed"}))),
)
EPOCHS_ASSIGNED: Final = new_in(
    "LeaderEpochFileCache takes the entries of its file as they are; since 2.7 it assigns them one by one",
    (2, 7),
)
EPOCHS_AGREE: Final = new_in(
    "LeaderEpochFileCache.truncateAndAppend, truncateFromStart (KAFKA-7415)", (2, 0, 1)
)
"""Whether entries that contradict a new one go, and all that is not above a new log start offset."""
EPOCHS_BEGIN_AT_FIRST_SEGMENT: Final = gone_in(
    "Log trimmed the cache to its new log start offset; since 3.0 LogLoader to what the checkpoint says",
    (3, 0),
)
OPENING_ASSIGNS_EPOCHS: Final = new_in(
    "Log.recoverSegment had no leader epoch cache where a segment was opened; LogLoader.recoverSegment has",
    (3, 0),
)
MALFORMED_DIR_CHECKPOINT: Rule[DirCheckpoint] = Rule(
    "LogManager.loadLogs, CheckpointFileWithFailureHandler; KIP-112",
    (((0, 8), DirCheckpoint.RESET), ((1, 0), DirCheckpoint.OFFLINE)),
)
EMPTY_DIR_KEEPS_ITS_LINES: Final = gone_in(
    "LogManager.checkpointLogRecoveryOffsets: up to 2.6 a log dir that lost its last log was not written for",
    (2, 7),
)
"""Whether recovery-point-offset-checkpoint still names the last partition that the broker itself took away.

replication-offset-checkpoint does so in every release (`ReplicaManager.checkpointHighWatermarks`).
"""
TOPIC_IDS: Final = new_in("PartitionMetadataFile; KIP-516", (2, 8))
LOG_STARTS: Final = new_in("LogManager.loadLogs, log-start-offset-checkpoint; KIP-107", (0, 11))
LEADER_EPOCHS: Final = new_in("LeaderEpochFileCache; KIP-101", (0, 11))
EPOCHS_BY_FORMAT: Final = Rule(
    "UnifiedLog.maybeCreateLeaderEpochCache; KAFKA-7897",
    (((0, 8), False), ((2, 1, 1), True), ((4, 0), False)),
)
"""Whether the epochs of a log go that is written in a format before 0.11."""
FORMAT_IGNORED: Final = new_in("LogConfig.shouldIgnoreMessageFormatVersion; KIP-724", (3, 0))
"""Whether a format that is set counts for nothing, unless brokers speak as before 3.0 to each other."""
_OLD_FORMAT: Final = (0, 11)
EPOCHS_DELETED: Final = "Deleting non-empty leader epoch cache due to incompatible message format V1"


def drops_epochs(topic: Mapping[str, str], given: Mapping[str, str], release: Release) -> bool:
    """Whether a broker with ZooKeeper keeps no leader epochs of a topic: by its settings and the broker's."""
    written = topic.get("message.format.version") or given.get("log.message.format.version") or ""
    if not written.strip() or not EPOCHS_BY_FORMAT.of(release):
        return False
    spoken = given.get("inter.broker.protocol.version", "").strip()
    ignored = FORMAT_IGNORED.of(release) and not (spoken and version_number(spoken) < (3, 0))
    return not ignored and version_number(written.strip()) < _OLD_FORMAT


class EpochWrite(StrEnum):
    """When a sound leader-epoch-checkpoint is written first after the start."""

    APPENDING = "appending"
    """Not before a producer writes."""
    LOADING = "loading"
    """Whenever an entry starts at the log start offset or below."""
    LEADING = "leading"
    """In the background, or when the partition gets its leader."""


EPOCHS_WRITTEN: Rule[EpochWrite] = Rule(
    "LeaderEpochFileCache.truncateFromStart flushes since KAFKA-7415, 2.1; not at once since 3.8",
    (((0, 8), EpochWrite.APPENDING), ((2, 1), EpochWrite.LOADING), ((3, 8), EpochWrite.LEADING)),
)

RESETTING = {
    RECOVERY_POINT: Words(
        "LogManager.loadLogs; one line since 2.6",
        (
            ((0, 8), f"Error occured while reading {RECOVERY_POINT} file of directory {{}}"),
            ((0, 11), f"Error occurred while reading {RECOVERY_POINT} file of directory {{}}"),
            (
                (2, 6),
                f"Error occurred while reading {RECOVERY_POINT} file of directory {{}}, resetting the "
                "recovery checkpoint to 0",
            ),
        ),
    ),
    LOG_START_OFFSET: Words.since(
        "LogManager.loadLogs; KIP-107, one line since 2.6",
        ((0, 11), f"Error occurred while reading {LOG_START_OFFSET} file of directory {{}}"),
        (
            (2, 6),
            f"Error occurred while reading {LOG_START_OFFSET} file of directory {{}}, resetting to the "
            "base offset of the first segment",
        ),
    ),
}
UNREADABLE_CHECKPOINT = Words.since(
    "CheckpointFileWithFailureHandler; KIP-112", ((1, 0), "Error while reading checkpoint file {}")
)
MARKER_GOES_FIRST: Final = new_in(
    "LogManager.loadLogs deletes the clean shutdown marker before it lists the dir; KAFKA-10471, 2.8", (2, 8)
)
"""An empty directory of that name is a marker like any other then, not a directory that is no partition."""
BROKER_EPOCHS: Final = new_in("CleanShutdownFileHandler; KIP-966", (3, 7))
EPOCHS_DIFFER = Words.since(
    "LogManager.readBrokerEpochFromCleanShutdownFiles; KIP-966",
    ((3, 7), "Found different broker epochs in {dir}. Other={other} vs current={current}."),
)
NO_BROKER_EPOCH = Words.since(
    "LogManager.readBrokerEpochFromCleanShutdownFiles; KIP-966",
    ((3, 7), "Unable to read the broker epoch in {}."),
)


_THROWN = {
    "not-a-number": "NumberFormatException",
    "huge-count": "OutOfMemoryError",
    "negative-count": "IllegalArgumentException",
}
"""By kind of damage, what `CheckpointFile.read` lets through."""


def kind_of(damage: Damage, release: Release) -> str:
    return "malformed" if damage.kind in MALFORMED.of(release) else damage.kind


def dir_checkpoint(damage: Damage, release: Release) -> DirCheckpoint:
    """What a damaged recovery-point or log-start-offset checkpoint does to its dir."""
    kind = kind_of(damage, release)
    if kind == "huge-count":
        return DirCheckpoint.FATAL
    return MALFORMED_DIR_CHECKPOINT.of(release) if kind == "malformed" else DirCheckpoint.RESET


def mark_failure(damage: Damage, release: Release) -> str | None:
    """What is thrown where a partition asks for its high watermark; None where it begins at 0.

    Follows `LazyOffsetCheckpoints.fetch`, out of `Partition.createLog`: an IOException takes the dir offline.
    """
    thrown = _THROWN.get(kind_of(damage, release))
    return None if thrown is None else f"{thrown}: {damage.reason}"


def epoch_file_failure(damage: Damage, release: Release, file: str) -> LoadFailure | None:
    """The exception of a damaged leader-epoch-checkpoint; None where the broker mends it by itself."""
    kind = kind_of(damage, release)
    if kind == "not-increasing" or (kind == "negative-entry" and not EPOCHS_ASSIGNED.of(release)):
        return None
    if kind == "malformed":
        return storage_failure(release, damage.reason, file)
    return fatal(_THROWN.get(kind, "IllegalArgumentException"), damage.reason, file)


def topic_id_failure(damage: Damage, release: Release, file: str) -> LoadFailure:
    if damage.kind == "malformed":
        return storage_failure(release, damage.reason, file)
    kind = "NullPointerException" if damage.kind == "too-short" else "IllegalArgumentException"
    return fatal(kind, damage.reason, file)
