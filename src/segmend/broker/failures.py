"""What one failed partition costs: which exception of a load takes a dir offline, and which the broker.

Follows `LogManager.loadLogs`: an IOException, or a KafkaStorageException caused by one, takes
the log dir offline (KIP-112, since 1.0); anything else, and before 1.0 everything, ends the
start of the broker ("There was an error in one of the threads during logs loading").
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Final

from segmend.broker.rule import Rule, gone_in, new_in
from segmend.logdir.release import Release


class Fate(StrEnum):
    """What does not survive the exception."""

    DIR = "dir"
    BROKER = "broker"


IO_ERROR: Rule[Fate] = Rule(
    "LogManager.loadLogs, LogDirFailureChannel; KIP-112", (((0, 8), Fate.BROKER), ((1, 0), Fate.DIR))
)

STORAGE_ERROR: Rule[Fate] = Rule(
    "LogManager.loadLogs; over a KafkaStorageException the broker ended up to KAFKA-13773, 3.3",
    (((0, 8), Fate.BROKER), ((3, 3), Fate.DIR)),
)
OFFLINE_STOPS_READS: Final = new_in(
    "LocalLog.maybeHandleIOException asks first whether the dir is offline; KAFKA-12553, 3.0", (3, 0)
)
NEEDS_METADATA_DIR: Final = new_in(
    "ReplicaManager.handleLogDirFailure ends a KRaft broker over its metadata log dir; KIP-858", (3, 7)
)
POTENTIALLY_OFFLINE = (
    "Skipping creation of log for partition {} because there are potentially offline log directories"
)
"""`Partition.createLogIfNotExists`, by `LogManager.getOrCreateLog`."""
RECREATES_OFFLINE: Rule[bool] = Rule(
    "ReplicaManager.applyDelta: to a KRaft broker that starts every partition is new, so that "
    "LogManager.getOrCreateLog makes those of an offline dir again in another; KIP-858 ended it",
    (((0, 8), False), ((3, 0), True), ((3, 7), False)),
)
UNASSIGNED = "AAAAAAAAAAAAAAAAAAAAAQ"
"""`DirectoryId.UNASSIGNED`: a replica without a log dir yet is made in any that is online, whatever the
others are (`Partition.createLogInAssignedDirectoryId`, KIP-858), and led once the broker has told where."""

UNLISTED_IS_NULL: Final = gone_in(
    "ProducerStateManager.listSnapshotFiles takes the null of File.listFiles; Files.list, KAFKA-14475, 3.5",
    (3, 5),
)

DIR_FAILED = "Error while loading log dir {}"
LOADING_FAILED = "There was an error in one of the threads during logs loading: {}"
"""`LogManager.loadLogs`, over any other exception."""
IO_EXCEPTION = "IOException"
READ_UNCHECKED = (".log", ".log.swap", ".txnindex")
"""Files of a partition whose failing reads are no IOException to who loads it."""
NOT_A_NUMBER = 'For input string: "{}"'
NUMBER_FORMAT = f"java.lang.NumberFormatException: {NOT_A_NUMBER}"
NO_FILE = "no file but a FIFO, socket or device; the start may fail over it, or wait for it for ever"
NOT_READABLE = "Could not read file {}"
CANNOT_CREATE = "Failed to create or validate data directory {}"
NO_READABLE_DIR = "{} is not a readable log directory."
NAME_TAKEN = "Error while creating log for {} in dir {}: java.nio.file.FileAlreadyExistsException"
"""`LogManager.createLogDirectory`, where something else than a directory has the name."""
NOT_EMPTY = "java.nio.file.DirectoryNotEmptyException: {}"
CANNOT_LOCK = "Disk error while locking directory {}"
CANNOT_RENAME = "Error while renaming dir for {} in log dir {}"
REPLACED = "The current replica is successfully replaced with the future replica for {}"
"""`LogManager.replaceCurrentWithFutureLog`; KIP-113."""
IS_A_DIRECTORY = "Is a directory"
"""What the system says to who opens or renames onto one."""
CANNOT_WRITE_CHECKPOINT = "Error while writing to checkpoint file {}"
LOCKED = (
    "Failed to acquire lock on file .lock in {}. A Kafka instance in another process or thread is using this "
    "directory."
)
READ_ONLY = "java.nio.file.FileSystemException: Read-only file system"
CANNOT_REPLACE = "java.nio.file.FileSystemException: {}: {}"
DISK_FULL = "java.io.IOException: No space left on device"
DUPLICATE: Rule[str] = Rule(
    "LogManager.loadLog; KIP-113",
    (
        ((0, 8), "Duplicate log directories found: {1}, {2}!"),
        (
            (1, 1),
            "Duplicate log directories for {0} are found in both {1} and {2}. It is likely because log "
            "directory failure happened while broker was replacing current replica with future replica. "
            "Recover broker from this failure by manually deleting one of the two directories for this "
            "partition. It is recommended to delete the partition in the log directory that is known to have "
            "failed recently.",
        ),
    ),
)
NOT_A_PARTITION: Rule[str] = Rule(
    "Log.parseTopicPartitionName; KAFKA-1911",
    (
        ((0, 8), "Found directory {}, '{}' is not in the form of topic-partition"),
        (
            (0, 10, 2),
            "Found directory {}, '{}' is not in the form of topic-partition or "
            "topic-partition.uniqueId-delete (if marked for deletion).",
        ),
    ),
)
ALL_DIRS_FAILED = "Shutdown broker because all log dirs in {} have failed"
ENDS_WITH_IT = "The broker ends with it: the cluster's metadata is in that dir"
METADATA_DIR_FAILED = "Shutdown broker because the metadata log dir {} has failed: {}"
ALREADY_OFFLINE = "The log dir {} is already offline due to a previous IO exception."


class LoadFailure(Exception):
    """The exception that escapes from Kafka's load of one partition, with its class and words.

    Raised by the rules as Kafka raises it, and caught once, where Kafka catches it. `marks_dir`: whoever
    threw it has told the `LogDirFailureChannel` already, while other logs of the dir wait to be loaded.
    """

    def __init__(
        self, kind: str, says: str, fate: Fate, file: str | None = None, *, marks_dir: bool = False
    ) -> None:
        super().__init__(f"{kind}: {says}")
        self.marks_dir = marks_dir
        self.kind = kind
        self.says = says
        self.fate = fate
        self.file = file

    def __reduce__(self) -> tuple[object, ...]:
        """It comes out of other processes, too."""
        made = partial(LoadFailure, marks_dir=self.marks_dir)
        return made, (self.kind, self.says, self.fate, self.file)


def io_failure(release: Release, says: str, file: str | None = None) -> LoadFailure:
    return LoadFailure(IO_EXCEPTION, says, IO_ERROR.of(release), file)


def storage_failure(release: Release, says: str, file: str | None = None) -> LoadFailure:
    """An IOException that the reader of the file has put into a KafkaStorageException."""
    return LoadFailure("KafkaStorageException", says, STORAGE_ERROR.of(release), file, marks_dir=True)


def failed_read(release: Release, path: str, says: str, *, opened: bool) -> LoadFailure:
    """What comes of a file that the system cannot read.

    `RecordBatchIterator`, `FileLogInputStream` and `TransactionIndex` put the IOException of a read, not of
    an open, into a KafkaException, which nothing that loads logs catches (played on 1.1.0 to 4.3.1).
    """
    if opened and path.endswith(READ_UNCHECKED):
        return fatal("KafkaException", says, path)
    return io_failure(release, says)


def fatal(kind: str, says: str | None, file: str | None = None) -> LoadFailure:
    """Any other exception: the broker does not start."""
    return LoadFailure(kind, says or "", Fate.BROKER, file)
