"""Copies of the cluster's metadata of other nodes: whose they are, and what they know of votes."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence

from segmend.errors import BrokerRunning, UsageError
from segmend.formats.names import CLUSTER_METADATA
from segmend.formats.quorum_state import QuorumState
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.processes import writers
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_copy import MetadataCopy
from segmend.node.voter_files import VoterFiles, sound_state


@frozen
class Source:
    """Another node's copy; `node_id` is None where no meta.properties beside it tells whose it is."""

    given: str
    copy: MetadataCopy
    node_id: int | None

    @property
    def path(self) -> str:
        return self.copy.partition.path

    @property
    def state(self) -> QuorumState | None:
        """Its quorum-state, if that can be read."""
        return sound_state(self.copy.partition)

    @property
    def files(self) -> VoterFiles:
        """What they tell of votes."""
        return VoterFiles.of(str(self), self.node_id, None, self.copy, self.state)

    def __str__(self) -> str:
        return self.path if self.node_id is None else f"{self.path} (node {self.node_id})"


def sources(paths: Iterable[str], broker: BrokerDirs, home: str, *, live: bool) -> Sequence[Source]:
    """What `--from` names; raises `UsageError`, `BrokerRunning`, `Unreadable`."""
    return [_source(path, broker, home, live=live) for path in paths]


def _source(given: str, broker: BrokerDirs, home: str, *, live: bool) -> Source:
    real = disk.real_path(given)
    if disk.path_type(f"{real}/{CLUSTER_METADATA}") == "dir":
        real = f"{real}/{CLUSTER_METADATA}"
    if disk.path_type(real) is None:
        raise Unreadable(given, "no such directory")
    if real == home:
        raise UsageError(f"--from {given}: is the copy that is to be mended")
    around, name = posixpath.split(real)
    log_dir = LogDir.attempt(around)
    partition = PartitionDir.forced(log_dir, name)
    if not partition.layout.logs and not partition.layout.kraft_snapshots:
        raise partition.unreadable or UsageError(
            f"--from {given}: holds no {CLUSTER_METADATA}: no log, and no snapshot"
        )
    _refuse_other_cluster(given, log_dir, broker)
    if not live and (log_dir.broker_running() or any(writers([real]))):
        raise BrokerRunning(f"{real}: a node runs on it; stop it, or read it as it is now: --live-source")
    return Source(given=given, copy=MetadataCopy.of(partition), node_id=log_dir.node_id)


def _refuse_other_cluster(given: str, log_dir: LogDir, broker: BrokerDirs) -> None:
    theirs = log_dir.meta_properties.value
    for ours in broker.identities:
        if theirs is not None and theirs.cluster_id != ours.cluster_id:
            raise UsageError(
                f"--from {given}: is of cluster {theirs.cluster_id}, these dirs are of {ours.cluster_id}"
            )
        if theirs is not None and theirs.node_id == ours.node_id:
            raise UsageError(f"--from {given}: is of node {ours.node_id} itself, as are these dirs")
