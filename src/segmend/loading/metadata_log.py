"""The metadata log when a KRaft node starts: scanned from end to end every time, clean stop or not.

Follows `KafkaMetadataLog.apply` (`KafkaRaftLog`): the marker is not asked, the recovery point is 0; then
`KafkaMetadataLog.recoverSnapshots`, `KafkaRaftClient.initialize` and `MetadataLoader`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from segmend.broker.metadata_log import (
    ALREADY_A_FILE,
    CANNOT_DELETE,
    CLEARS_QUORUM_STATE,
    FOREIGN_ID,
    INCONSISTENT,
    METADATA_TOPIC_ID,
    NO_EPOCH_LEFT,
    OTHER_VOTERS,
    QUORUM_STATE,
    READS_BOOTSTRAP,
    READS_ITSELF,
    SNAPSHOT_FIRST,
    UNREAD_KINDS,
    UNREADABLE_SNAPSHOT,
    UNWRITTEN_QUORUM,
    WAITS_FOR_RECORDS,
    snapshot_name_failure,
)
from segmend.formats import quorum_state
from segmend.formats.java_number import INT_MAX
from segmend.formats.names import CLUSTER_METADATA
from segmend.loading.load import LoadedLog, load
from segmend.loading.state import Settings
from segmend.loading.timing.estimate import Work
from segmend.loading.values import DirectoryOutcome
from segmend.logdir.file_system import FOLDERS, is_full
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.bootstrap import bootstrap_failure
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_misfits import misfits

UNKNOWN: Final = "unknown"
"""The outcome of a directory that this process may not read."""


def look_at_metadata(
    partition: PartitionDir, broker: BrokerDirs
) -> tuple[DirectoryOutcome, Work, str | None]:
    """(the `directory` line, what is scanned, why the process ends, or None)."""
    loaded = load(partition, Settings(release=broker.release, clean=False))
    refusal = next(_refusals(partition, broker, loaded), None)
    unknown = loaded.unknown or loaded.dangling
    if _in_the_last_epoch(partition) and _has_others(broker):
        unknown = unknown or NO_EPOCH_LEFT.format(INT_MAX)
    outcome = DirectoryOutcome(
        dir=partition.log_dir.path, name=partition.name, kind=partition.kind, topic=partition.topic,
        partition=partition.partition,
        outcome="fatal" if refusal else UNKNOWN if unknown else "loaded",
        effects=tuple(loaded.state.effects), failure=refusal or unknown,
    )  # fmt: skip
    return outcome, loaded.state.work, refusal


def look_at_home(log_dir: LogDir, broker: BrokerDirs) -> str | None:
    """Why the process ends over what lies beside the metadata log, or in its place."""
    place = f"{log_dir.path}/{CLUSTER_METADATA}"
    if log_dir.entries.get(CLUSTER_METADATA, "dir") not in FOLDERS:
        return ALREADY_A_FILE.format(place)
    bootstrap = log_dir.bootstrap
    reads = bootstrap is not None and READS_BOOTSTRAP.of(broker.release)
    return bootstrap_failure(bootstrap) if bootstrap is not None and reads else None


def _refusals(partition: PartitionDir, broker: BrokerDirs, loaded: LoadedLog) -> Iterator[str]:
    """In the order in which the node meets them."""
    if loaded.failure is not None:
        yield str(loaded.failure)
    elif loaded.state.closed_epochs is not None:
        yield loaded.state.closed_epochs
    if loaded.topic_id not in (None, METADATA_TOPIC_ID):
        yield FOREIGN_ID.format(METADATA_TOPIC_ID, loaded.topic_id)
    yield from filter(None, map(snapshot_name_failure, sorted(partition.entries)))
    start = 0 if loaded.after is None else loaded.after.log_start_offset or 0
    ends = [file.parsed.base_offset or 0 for file in partition.kraft_snapshots]
    if start > 0 and max(ends, default=-1) < start:
        yield INCONSISTENT.format(start)
    yield from _of_snapshot(partition, broker)
    yield from _of_quorum(partition, broker)
    yield from _of_records(partition, broker, loaded)


def _of_snapshot(partition: PartitionDir, broker: BrokerDirs) -> Iterator[str]:
    """Its newest one cannot be read; a log from offset 0 on is read without it up to 3.5."""
    log = broker.metadata_log(partition.log_dir)
    if log is None or log.snapshot is None or log.snapshot_damage is None:
        return
    if SNAPSHOT_FIRST.of(broker.release) or log.ahead:
        yield UNREADABLE_SNAPSHOT.format(log.snapshot[0], log.snapshot_damage)


def _of_quorum(partition: PartitionDir, broker: BrokerDirs) -> Iterator[str]:
    """Its quorum-state cannot be read, or has other voters than server.properties."""
    quorum, clears = partition.quorum_state, CLEARS_QUORUM_STATE.of(broker.release)
    path, files = f"{partition.path}/{quorum_state.FILE_NAME}", partition.log_dir.files
    kept = files.fixed(path) if quorum_state.FILE_NAME in partition.entries else None
    if kept is not None:
        yield UNWRITTEN_QUORUM.format(path, kept)
    if quorum.damages and not (clears and quorum.damages[0].kind in UNREAD_KINDS):
        yield QUORUM_STATE.format(path, quorum.damages[0].reason)
    refused = quorum.unreadable
    if refused is not None and not refused.forbidden and not clears:
        yield QUORUM_STATE.format(path, refused.reason)
    if _in_the_last_epoch(partition) and not _has_others(broker):
        yield NO_EPOCH_LEFT.format(INT_MAX)
    for name in (quorum_state.FILE_NAME, f"{quorum_state.FILE_NAME}.tmp"):
        if partition.entries.get(name) == "dir" and is_full(files, f"{partition.path}/{name}"):
            yield CANNOT_DELETE.format(f"{partition.path}/{name}")
    given = None if broker.given is None else broker.given.voters
    stored = None if quorum.value is None or quorum.damages else quorum.value.current_voters
    if clears and given and stored and given != set(stored):
        yield OTHER_VOTERS.format(sorted(given), sorted(stored))


def _in_the_last_epoch(partition: PartitionDir) -> bool:
    quorum = partition.quorum_state
    return quorum.value is not None and not quorum.damages and quorum.value.leader_epoch == INT_MAX


def _has_others(broker: BrokerDirs) -> bool:
    """Whether other nodes vote, so that what comes of it is theirs to say."""
    return broker.voters is not None and set(broker.voters) != {broker.node_id}


def _of_records(partition: PartitionDir, broker: BrokerDirs, loaded: LoadedLog) -> Iterator[str]:
    """What the records make of the node that reads them."""
    log = broker.metadata_log(partition.log_dir)
    if log is None:
        return
    yield from misfits(log, broker)
    end = 0 if loaded.after is None else loaded.after.log_end_offset or 0
    known = max(log.reached, log.snapshot[0] if log.snapshot else 0)
    if READS_ITSELF.of(broker.release) and end > known and not log.ahead:
        if partition.log_dir.broker_running():
            return  # which has written more since the records were read
        yield WAITS_FOR_RECORDS.format(end, known)
