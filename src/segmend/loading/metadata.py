"""The metadata log when a KRaft node starts: scanned from end to end every time, clean stop or not.

Follows `KafkaMetadataLog.apply` (`KafkaRaftLog`): the marker is not asked, the recovery point is 0.
"""

from __future__ import annotations

from segmend.broker.metadata_log import INCONSISTENT, QUORUM_STATE
from segmend.loading.load import load
from segmend.loading.state import Settings
from segmend.loading.timing.estimate import Work
from segmend.loading.values import DirectoryOutcome
from segmend.logdir.release import Release
from segmend.logdir.tree import PartitionDir


def look_at_metadata(partition: PartitionDir, release: Release) -> tuple[DirectoryOutcome, Work, str | None]:
    """(the `directory` line, what is scanned, why the process ends, or None)."""
    loaded = load(partition, Settings(release=release, clean=False))
    refusal = None if loaded.failure is None else str(loaded.failure)
    quorum = partition.quorum_state
    if quorum.damages:
        refusal = refusal or QUORUM_STATE.format(f"{partition.path}/quorum-state", quorum.damages[0].reason)
    start = 0 if loaded.after is None else loaded.after.log_start_offset or 0
    ends = [file.parsed.base_offset or 0 for file in partition.kraft_snapshots]
    if start > 0 and max(ends, default=-1) < start:
        refusal = refusal or INCONSISTENT.format(start)
    outcome = DirectoryOutcome(
        dir=partition.log_dir.path, name=partition.name, kind=partition.kind, topic=partition.topic,
        partition=partition.partition, outcome="loaded" if refusal is None else "fatal",
        effects=tuple(loaded.state.effects), failure=refusal,
    )  # fmt: skip
    return outcome, loaded.state.work, refusal
