"""A directory stands where a start reads or writes a small file of a partition."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Where
from segmend.formats.names import parse_file_name
from segmend.logdir.file_system import FOLDERS
from segmend.logdir.partition_dir import PartitionDir

from .context import PartitionContext
from .manual import ERROR, OFFLINE, Code, Level, Page, Scope

CODES = (Code("N30", ERROR, "a directory is named like leader-epoch-checkpoint or its like", OFFLINE),)
PAGE = Page(
    meaning="""
        leader-epoch-checkpoint, partition.metadata or quorum-state is a directory, or what they are first
        written to is: the same name with `.tmp`.""",
    broker="""
        It cannot read the file, or not write it anew: the log dir goes offline, and up to 3.2 the broker
        ends. Over the metadata log it always ends. An empty directory in place of quorum-state.tmp is
        removed.""",
    advice="""
        Move the directory out of the log dirs. Where it was partition.metadata or quorum-state itself, check
        again before the broker starts: the file must come back first (M01; `plan quorum`).""",
    kafka="CheckpointFile, PartitionMetadataFile, FileQuorumStateStore.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP

_KINDS = ("leader-epochs", "partition-metadata", "quorum-state")


def is_text(name: str) -> bool:
    """Whether Kafka has a small file of that name in a partition's directory."""
    return parse_file_name(name).kind in _KINDS


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """From names alone."""
    for name in sorted(filter(is_text, partition.layout.directories)):
        if partition.entries[name] in FOLDERS:
            message = "a directory stands where a file of the partition should be, or is written"
            remedy = context.set_aside(name) if _can_be_spared(name) else None
            yield context.finding("N30", message, Where(name), remedy=remedy)


def _can_be_spared(name: str) -> bool:
    """A start makes it anew; without a topic id the log becomes a stray, without its vote a voter may err."""
    parsed = parse_file_name(name)
    return parsed.state == "tmp" or parsed.kind == "leader-epochs"
