"""Several brokers of one cluster by their disks: each one's start, the metadata quorum, who leads what."""

from __future__ import annotations

from segmend.cluster.cluster_dirs import ClusterDirs, FleetDirs, with_zookeeper
from segmend.cluster.nodes import Nodes
from segmend.cluster.start import ClusterForecast, Line
from segmend.cluster.values import ClusterOutcome, Leadership, NodeOutcome, Quorum, QuorumVoter, ReplicaCopy

__all__ = [
    "ClusterDirs",
    "ClusterForecast",
    "ClusterOutcome",
    "FleetDirs",
    "Leadership",
    "Line",
    "NodeOutcome",
    "Nodes",
    "Quorum",
    "QuorumVoter",
    "ReplicaCopy",
    "with_zookeeper",
]
